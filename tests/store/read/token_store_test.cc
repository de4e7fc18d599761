// SPDX-License-Identifier: Apache-2.0
#include "poniente/token_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/store/small_stores.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using testing::Documents;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::ProvenDocuments;
using testing::ReadStore;
using testing::StatusIs;
using testing::TempDir;
using testing::WriteStore;

TEST(TokenStoreTest, AMissingStoreIsNamedWithARemedy) {
  const TempDir folder;
  for (const std::string& path : {folder.path(), folder.path("nowhere")}) {
    EXPECT_THAT(
        TokenStore::Open(path),
        StatusIs(absl::StatusCode::kNotFound,
                 AllOf(HasSubstr("'" + path + "'"), HasSubstr("manifest.json"),
                       HasSubstr("poniente pack"))));
  }
}

TEST(TokenStoreTest, AFileIsNoStore) {
  const TempDir folder;
  testing::WriteFile(folder.path("tokens.bin"), "abc");
  EXPECT_THAT(TokenStore::Open(folder.path("tokens.bin")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("tokens.bin"), HasSubstr("folder"))));
}

TEST(TokenStoreTest, AStoreCutShortNamesFileSizesAndRemedy) {
  for (const std::string file :
       {"tokens-1.bin", "documents-1.bin", "checksums-1.bin"}) {
    const TempDir folder;
    ASSERT_THAT(WriteStore(folder.path(), ProvenDocuments({3000, 9}, 257)),
                IsOk());
    const uint64_t size = std::filesystem::file_size(folder.path(file));
    std::filesystem::resize_file(folder.path(file), size - 1);
    EXPECT_THAT(TokenStore::Open(folder.path()),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr(folder.path(file)),
                               HasSubstr(std::to_string(size - 1)),
                               HasSubstr(std::to_string(size)),
                               HasSubstr("cut short"), HasSubstr("copy it"))));
  }
}

TEST(TokenStoreTest, AMissingFileIsNamed) {
  for (const std::string file :
       {"tokens-1.bin", "documents-1.bin", "checksums-1.bin"}) {
    const TempDir folder;
    ASSERT_THAT(WriteStore(folder.path(), ProvenDocuments({10}, 257)), IsOk());
    std::filesystem::remove(folder.path(file));
    EXPECT_THAT(
        TokenStore::Open(folder.path()),
        StatusIs(absl::StatusCode::kDataLoss,
                 AllOf(HasSubstr(folder.path(file)), HasSubstr("missing"))));
  }
}

TEST(TokenStoreTest, ASmallStoreHoldsOneDescriptor) {
  const TempDir folder;
  const Documents documents = ProvenDocuments({3000, 9}, 257);
  ASSERT_THAT(WriteStore(folder.path(), documents), IsOk());
  const size_t before = testing::OpenDescriptors();
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder.path()));
  EXPECT_EQ(testing::OpenDescriptors(), before + 1);
  EXPECT_THAT(ReadStore(*store), IsOkAndHolds(documents));
}

TEST(TokenStoreTest, ManyDocumentsTakeADescriptorOfTheirOwn) {
  const TempDir folder;
  const Documents documents = ProvenDocuments(std::vector<uint64_t>(2000), 257);
  ASSERT_THAT(WriteStore(folder.path(), documents), IsOk());
  const size_t before = testing::OpenDescriptors();
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder.path()));
  EXPECT_EQ(testing::OpenDescriptors(), before + 2);
}

TEST(TokenStoreTest, AnEmptyStoreIsRead) {
  const TempDir folder;
  ASSERT_THAT(WriteStore(folder.path(), {}), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder.path()));
  EXPECT_THAT(VerifyTokenStore(*store), IsOk());
  EXPECT_EQ(store->num_tokens(), 0u);
  EXPECT_EQ(store->num_documents(), 0u);
  EXPECT_THAT(RunBlocking(store->ReadTokens(0, 0)), IsOkAndHolds(IsEmpty()));
  EXPECT_EQ(store->Documents()->CurrentLength(), 0u);
  EXPECT_THAT(store->DocumentAt(0),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("0 tokens")));
}

TEST(TokenStoreTest, TokensPastTheEndAreOutOfRange) {
  const TempDir folder;
  ASSERT_THAT(WriteStore(folder.path(), ProvenDocuments({10}, 257)), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder.path()));
  EXPECT_THAT(RunBlocking(store->ReadTokens(10, 0)), IsOkAndHolds(IsEmpty()));
  for (const auto& [begin, count] : std::vector<std::pair<uint64_t, uint64_t>>{
           {10, 1}, {0, 11}, {11, 0}, {5, UINT64_MAX}, {UINT64_MAX, 2}}) {
    EXPECT_THAT(RunBlocking(store->ReadTokens(begin, count)),
                StatusIs(absl::StatusCode::kOutOfRange,
                         AllOf(HasSubstr(std::to_string(begin)),
                               HasSubstr("which has 10"))));
  }
}

// One width after the other, with ids at both ends of its range.
struct WidthCase {
  TokenType type;
  uint64_t vocabulary_size;
};

class WidthTest : public ::testing::TestWithParam<WidthCase> {};

TEST_P(WidthTest, KeepsTheGreatestId) {
  const TempDir folder;
  TokenStoreWriterOptions options;
  options.vocabulary = {"any", GetParam().vocabulary_size};
  const auto greatest = static_cast<uint32_t>(GetParam().vocabulary_size - 1);
  const Documents documents = {{"a", {0, greatest, 1, greatest}}};
  ASSERT_OK_AND_ASSIGN(const TokenStoreFacts facts,
                       WriteStore(folder.path(), documents, options));
  EXPECT_EQ(facts.token_type, GetParam().type);
  EXPECT_THAT(ReadStore(folder.path()), IsOkAndHolds(documents));
  EXPECT_THAT(VerifyTokenStore(folder.path()), IsOk());
}

INSTANTIATE_TEST_SUITE_P(NarrowestTypes, WidthTest,
                         ::testing::Values(WidthCase{TokenType::kU8, 1 + 1},
                                           WidthCase{TokenType::kU8, 256},
                                           WidthCase{TokenType::kU16, 257},
                                           WidthCase{TokenType::kU16, 65536},
                                           WidthCase{TokenType::kU32, 65537},
                                           WidthCase{TokenType::kU32,
                                                     uint64_t{1} << 32}));

TEST(TokenStoreTest, NamesAreAnyBytes) {
  const TempDir folder;
  const Documents documents = {{"", {1}},
                               {"two\nlines", {2}},
                               {"", {}},
                               {std::string("\0\xff", 2), {3}},
                               {"\xe6\x97\xa5\xe6\x9c\xac.txt", {4}},
                               {std::string(100000, 'n'), {5}}};
  ASSERT_THAT(WriteStore(folder.path(), documents), IsOk());
  EXPECT_THAT(ReadStore(folder.path()), IsOkAndHolds(documents));
  EXPECT_THAT(VerifyTokenStore(folder.path()), IsOk());
}

TEST(TokenStoreTest, TheFingerprintIsThatOfTheContent) {
  const TempDir folder;
  const Documents documents = ProvenDocuments({40000, 0, 7}, 256);
  TokenStoreWriterOptions options;
  options.vocabulary = {"bytes", 256};
  int stores = 0;
  const auto print = [&](const Documents& content,
                         const TokenStoreWriterOptions& how) {
    const auto facts =
        WriteStore(folder.path(std::to_string(stores++)), content, how);
    EXPECT_THAT(facts, IsOk());
    return facts->fingerprint;
  };
  const uint64_t base = print(documents, options);
  EXPECT_EQ(print(documents, options), base);
  TokenStoreWriterOptions small_blocks = options;
  small_blocks.block_bytes = 4096;
  EXPECT_EQ(print(documents, small_blocks), base) << "block size";

  std::vector<uint64_t> prints = {base};
  TokenStoreWriterOptions other = options;
  other.vocabulary.tokenizer = "other";
  prints.push_back(print(documents, other));
  other = options;
  other.vocabulary.size = 255 + 1000;
  other.token_type = TokenType::kU16;
  prints.push_back(print(documents, other));
  other = options;
  other.token_type = TokenType::kU32;
  prints.push_back(print(documents, other));
  other = options;
  other.end_of_document = 0;
  prints.push_back(print(documents, other));
  Documents changed = documents;
  changed[0].ids[39999] ^= 1;
  prints.push_back(print(changed, options));
  changed = documents;
  changed[2].name += "x";
  prints.push_back(print(changed, options));
  changed = documents;
  std::swap(changed[0], changed[1]);
  prints.push_back(print(changed, options));
  changed = documents;
  changed.push_back({"", {}});
  prints.push_back(print(changed, options));
  std::sort(prints.begin(), prints.end());
  EXPECT_EQ(std::unique(prints.begin(), prints.end()), prints.end());
}

TEST(TokenStoreTest, AnOpenStoreOutlivesItsReplacement) {
  const TempDir folder;
  const Documents before = ProvenDocuments({5000, 3}, 257);
  const Documents after = ProvenDocuments({10, 20, 30}, 200);
  ASSERT_THAT(WriteStore(folder.path(), before), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder.path()));
  ASSERT_THAT(WriteStore(folder.path(), after), IsOk());
  EXPECT_THAT(ReadStore(*store), IsOkAndHolds(before));
  EXPECT_THAT(ReadStore(folder.path()), IsOkAndHolds(after));
  EXPECT_THAT(VerifyTokenStore(*store),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("replaced")));
}

TEST(TokenStoreTest, OpeningWhileAWriterReplacesGivesOneOrTheOther) {
  const TempDir folder;
  const Documents even = ProvenDocuments({3000, 3}, 257);
  const Documents odd = ProvenDocuments({10, 20, 30}, 200);
  ASSERT_THAT(WriteStore(folder.path(), even), IsOk());
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int i = 1; i <= 40; ++i) {
      EXPECT_THAT(WriteStore(folder.path(), i % 2 ? odd : even), IsOk());
    }
    stop = true;
  });
  int opened = 0;
  while (!stop) {
    const auto content = ReadStore(folder.path());
    EXPECT_THAT(content, IsOk());
    EXPECT_TRUE(content.ok() && (*content == even || *content == odd));
    ++opened;
  }
  writer.join();
  EXPECT_GT(opened, 10);
}

}  // namespace
}  // namespace poniente
