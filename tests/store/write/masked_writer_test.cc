// SPDX-License-Identifier: Apache-2.0
// TokenStoreWriter with loss masks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "poniente/token_store_writer.h"
#include "tests/store/small_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using testing::ByteOptions;
using testing::Documents;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::ProvenDocuments;
using testing::ReadStore;
using testing::StatusIs;
using testing::TempDir;
using testing::WriteStore;

TEST(MaskedWriterTest, AMaskCountsAmongTheFacts) {
  const TempDir folder;
  ASSERT_OK_AND_ASSIGN(
      const TokenStoreFacts facts,
      WriteStore(folder.path("s"),
                 testing::WithProvenLoss(ProvenDocuments({7, 0, 90}, 257))));
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder.path("s")));
  EXPECT_EQ(facts.fingerprint, store->fingerprint());
  uint64_t bytes = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(folder.path("s"))) {
    bytes += file.file_size();
  }
  EXPECT_EQ(facts.bytes, bytes);
  EXPECT_EQ(store->num_bytes(), bytes);
}

TEST(MaskedWriterTest, AMaskOfAnotherLengthIsRefusedAndNothingIsWritten) {
  const TempDir folder;
  const std::vector<uint32_t> ids = {1, 2, 3};
  const std::vector<uint8_t> two = {1, 0};
  const auto refused = StatusIs(
      absl::StatusCode::kInvalidArgument,
      AllOf(HasSubstr("document 0"), HasSubstr("3 tokens has 2 bytes")));
  ASSERT_OK_AND_ASSIGN(const auto writer, TokenStoreWriter::Create(
                                              folder.path("s"), ByteOptions()));
  EXPECT_THAT(writer->AddDocument(ids, "d", two), refused);
  ASSERT_THAT(writer->BeginDocument("d"), IsOk());
  EXPECT_THAT(writer->Append(ids, two), refused);
  ASSERT_THAT(writer->Append(ids), IsOk());
  ASSERT_THAT(writer->EndDocument(), IsOk());
  ASSERT_THAT(writer->Finish(), IsOk());
  EXPECT_THAT(ReadStore(folder.path("s")),
              IsOkAndHolds(Documents{{"d", {1, 2, 3}}}));
  EXPECT_FALSE(std::filesystem::exists(folder.path("s/loss_mask-1.bin")));
}

// Pieces of a document with masks of their own, and pieces without: the same
// bits, and any byte but 0 stands for loss.
TEST(MaskedWriterTest, PiecesWithoutAMaskHaveLoss) {
  const TempDir folder;
  ASSERT_OK_AND_ASSIGN(const auto writer, TokenStoreWriter::Create(
                                              folder.path("s"), ByteOptions()));
  ASSERT_THAT(writer->AddDocument(std::vector<uint32_t>{9, 9}, "a"), IsOk());
  ASSERT_THAT(writer->BeginDocument("b"), IsOk());
  ASSERT_THAT(writer->AppendBytes("xyz"), IsOk());
  ASSERT_THAT(writer->Append(std::vector<uint32_t>{1, 2, 3},
                             std::vector<uint8_t>{0, 2, 0}),
              IsOk());
  ASSERT_THAT(writer->Append(std::vector<uint32_t>{4}), IsOk());
  ASSERT_THAT(writer->Append(std::vector<uint32_t>{5}, std::vector<uint8_t>{0}),
              IsOk());
  ASSERT_THAT(writer->EndDocument(), IsOk());
  ASSERT_THAT(writer->Finish(), IsOk());
  EXPECT_THAT(
      ReadStore(folder.path("s")),
      IsOkAndHolds(Documents{{"a", {9, 9}, std::vector<uint8_t>{1, 1}},
                             {"b",
                              {120, 121, 122, 1, 2, 3, 4, 5},
                              std::vector<uint8_t>{1, 1, 1, 0, 1, 0, 1, 0}}}));
}

}  // namespace
}  // namespace poniente
