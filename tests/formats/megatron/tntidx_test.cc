// SPDX-License-Identifier: Apache-2.0
#include "formats/megatron/tntidx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "formats/core/token_format.h"
#include "tests/formats/expect_source.h"
#include "tests/formats/megatron_files.h"
#include "tests/formats/open_with.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente::internal {
namespace {

using testing::EndsOf;
using ::testing::HasSubstr;
using testing::InMemory;
using testing::IsOkAndHolds;
using testing::MadeIds;
using testing::OpenWith;
using testing::StatusIs;
using testing::TempDir;
using testing::TntidxIndex;
using testing::WriteFile;

absl::StatusOr<TokenLayout> LayOutTntidx(
    const std::string& index, uint64_t bytes,
    const TokenSourceOptions& options = {}) {
  return LayOutTntidx(InMemory("x.idx", index), "x.bin", bytes, options);
}

TntidxIndex SmallTntidx() {
  TntidxIndex index;
  index.lengths = {3, 0, 5, 1, 4};
  return index;
}

class TntidxTest : public ::testing::Test {
 protected:
  // Ids are written `shift` greater.
  void Write(const TntidxIndex& index, const std::vector<uint32_t>& ids,
             uint64_t shift) {
    WriteFile(folder_.path("x.idx"), index.Bytes());
    WriteFile(folder_.path("x.bin"),
              testing::LittleIds(ids, index.width, shift));
  }

  const TempDir folder_;
};

TEST_F(TntidxTest, OneIsTakenOffFairseqsIds) {
  TntidxIndex index;
  for (int i = 0; i < 300; ++i) index.lengths.push_back(i * 7 % 23);
  const std::vector<uint64_t> ends = EndsOf(index.lengths);
  const std::vector<uint32_t> ids = MadeIds(ends.back(), 120, 1);
  for (const testing::CodedType& type : testing::kCodedTypes) {
    index.code = type.code;
    index.width = type.width;
    Write(index, ids, 1);
    ASSERT_OK_AND_ASSIGN(const auto source,
                         OpenWith(kTntidxFormat, folder_.path("x.idx")));
    EXPECT_EQ(StoredTypeName(source->stored_type()), type.name);
    testing::ExpectTokens(*source, ids);
    testing::ExpectDocuments(*source, ends);
    testing::ExpectWindows(*source, ids, {ids.size()}, true, 32);
    EXPECT_TRUE(source->arrays().empty());
  }
}

TEST_F(TntidxTest, MegatronsIdsAreAsStored) {
  TntidxIndex index = SmallTntidx();
  index.documents = {{0, 1, 1, 3, 5}};
  const std::vector<uint32_t> ids = MadeIds(13, 50000, 2);
  Write(index, ids, 0);
  for (const char* name : {"x.idx", "x.bin", ""}) {
    ASSERT_OK_AND_ASSIGN(const FoundPath found, FindPath(folder_.path(name)));
    EXPECT_TRUE(kTntidxFormat.recognizes(found));
    EXPECT_FALSE(kMegatronFormat.recognizes(found));
    ASSERT_OK_AND_ASSIGN(const auto source,
                         OpenWith(kTntidxFormat, folder_.path(name)));
    testing::ExpectTokens(*source, ids);
    testing::ExpectDocuments(*source, {3, 3, 8, 13});
    testing::ExpectWindows(*source, ids, {13}, false, 4);
    EXPECT_EQ(source->arrays().size(), 1u);
    EXPECT_THAT(source->DocumentName(3),
                IsOkAndHolds("document 3, sequences 3 to 4"));
  }
}

TEST_F(TntidxTest, BlocksOfIdsJoin) {
  TntidxIndex index;
  index.lengths = {200001, 0, 99998};
  const std::vector<uint32_t> ids = MadeIds(299999, 1u << 30, 3);
  Write(index, ids, 1);
  ASSERT_OK_AND_ASSIGN(const auto source,
                       OpenWith(kTntidxFormat, folder_.path("x.idx")));
  testing::ExpectTokens(*source, ids);
  testing::ExpectWindows(*source, ids, {299999}, true, 70000);
}

TEST_F(TntidxTest, TheTwoKindsHaveDifferentFingerprints) {
  TntidxIndex index = SmallTntidx();
  const std::vector<uint32_t> ids = MadeIds(13, 50000, 4);
  Write(index, ids, 1);
  ASSERT_OK_AND_ASSIGN(const auto fairseq,
                       OpenWith(kTntidxFormat, folder_.path("x.idx")));
  index.documents = {{0, 1, 2, 3, 4, 5}};
  Write(index, ids, 1);
  ASSERT_OK_AND_ASSIGN(const auto megatron,
                       OpenWith(kTntidxFormat, folder_.path("x.idx")));
  EXPECT_NE(fairseq->fingerprint(), megatron->fingerprint());
}

TEST_F(TntidxTest, AnIdStoredAsZeroIsNone) {
  Write(SmallTntidx(), {9, 9, 9, 0, 9, 9, 9, 9, 9, 9, 9, 9, 9}, 0);
  ASSERT_OK_AND_ASSIGN(const auto source,
                       OpenWith(kTntidxFormat, folder_.path("x.idx")));
  EXPECT_THAT(RunBlocking(source->ReadTokens(5, 1)),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("x.bin': byte 12 stores 0")));
}

TEST_F(TntidxTest, NothingIsADatasetToo) {
  Write({}, {}, 0);
  ASSERT_OK_AND_ASSIGN(const auto source,
                       OpenWith(kTntidxFormat, folder_.path("x.idx")));
  EXPECT_EQ(source->num_tokens(), 0u);
  EXPECT_EQ(source->num_documents(), 0u);
}

TEST_F(TntidxTest, WhatCannotBeReadSaysWhy) {
  using absl::StatusCode;
  const auto fails = [](const std::string& index, uint64_t bytes,
                        StatusCode code, const std::string& message) {
    EXPECT_THAT(LayOutTntidx(index, bytes), StatusIs(code, HasSubstr(message)));
  };
  const std::string whole = SmallTntidx().Bytes();
  const auto with = [&](size_t at, uint64_t value) {
    std::string changed = whole;
    changed.replace(at, 8, testing::Little(value));
    return changed;
  };
  fails(whole, 48, StatusCode::kDataLoss,
        "first 5 sequences have 13 tokens, 'x.bin' holds 12");
  fails(whole, 53, StatusCode::kDataLoss, "no whole number of i32");
  fails(with(8, 2), 52, StatusCode::kInvalidArgument, "version 2 at byte 8");
  fails(with(16, 6), 52, StatusCode::kInvalidArgument,
        "6 as the code of its type at byte 16, which means fractions");
  fails(with(24, 8), 52, StatusCode::kDataLoss,
        "ids of 8 bytes at byte 24, but i32");
  fails(with(40, 10), 52, StatusCode::kInvalidArgument,
        "5 items at byte 32 and 10 sizes at byte 40");
  fails(with(48 + 16, 3), 52, StatusCode::kInvalidArgument,
        "the sizes of item 2 begin at 3 by byte 64, expected 2");
  fails(with(96 + 16, 4), 52, StatusCode::kDataLoss,
        "item 2 begins at id 4 by byte 112, but the sizes before it sum to 3");
  fails(with(96 + 40, 14), 52, StatusCode::kDataLoss, "item 5 begins at id 14");
  fails(with(144 + 8, UINT64_MAX), 52, StatusCode::kDataLoss,
        "sequence 1 has the length -1 at byte 152");
  for (const uint64_t count : {uint64_t{4}, uint64_t{1} << 61, UINT64_MAX,
                               UINT64_MAX / 24, UINT64_MAX / 8 + 1}) {
    std::string changed = with(32, count);
    changed.replace(40, 8, testing::Little(count));
    fails(changed, 52, StatusCode::kDataLoss, absl::StrCat(count, " items"));
  }
  TokenSourceOptions options;
  options.dtype = StoredType::kU16;
  EXPECT_THAT(LayOutTntidx(whole, 52, options),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("holds i32, stated was u16")));
}

TEST_F(TntidxTest, AnIndexCutAnywhereIsRefused) {
  for (const bool has_documents : {false, true}) {
    TntidxIndex index = SmallTntidx();
    if (has_documents) index.documents = {{0, 2, 5}};
    const std::string whole = index.Bytes();
    ASSERT_TRUE(LayOutTntidx(whole, 52).ok());
    for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
      EXPECT_FALSE(LayOutTntidx(whole.substr(0, bytes), 52).ok()) << bytes;
    }
  }
}

TEST_F(TntidxTest, AnyFlippedBitGivesAStatusOrALayoutWithinBounds) {
  for (const bool has_documents : {false, true}) {
    TntidxIndex index = SmallTntidx();
    if (has_documents) index.documents = {{0, 2, 5}};
    const std::string whole = index.Bytes();
    for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
      std::string bytes = whole;
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
      const auto layout = LayOutTntidx(bytes, 52);
      if (!layout.ok()) continue;
      EXPECT_LE(layout->shards[0].tokens * StoredTypeBytes(layout->type), 52u);
      EXPECT_EQ(layout->documents->ends().total(), layout->shards[0].tokens);
    }
  }
}

}  // namespace
}  // namespace poniente::internal
