// SPDX-License-Identifier: Apache-2.0
// dolma's and OLMo's token files: types, tails, folders, names, and damage.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "formats/core/token_format.h"
#include "poniente/open_token_source.h"
#include "tests/formats/dolma_files.h"
#include "tests/formats/naive_source.h"
#include "tests/formats/npy_files.h"
#include "tests/formats/open_with.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente::internal {
namespace {

using ::testing::AllOf;
using testing::DolmaOrigin;
using testing::DolmaRowsOf;
using ::testing::ElementsAre;
using testing::ExpectSame;
using testing::Gzip;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOkAndHolds;
using testing::LittleBytes;
using testing::OlmoRowsOf;
using testing::OpenWith;
using testing::StatusIs;
using testing::TempDir;
using testing::WithGlob;
using testing::WithType;
using testing::WriteFile;

using testing::kDataLoss;
using testing::kInvalid;
constexpr WindowRule kRule{.across_shards = false};

class DolmaTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& bytes) {
    WriteFile(folder_.path(name), bytes);
    return folder_.path(name);
  }
  // NAME.npy of these bytes, and its table.
  std::string Pair(const std::string& name, const std::string& bytes,
                   const std::string& rows) {
    Write(name + ".csv.gz", Gzip(rows));
    return Write(name + ".npy", bytes);
  }
  bool Recognizes(const std::string& path) const {
    return kDolmaFormat.recognizes(*FindPath(path));
  }
  std::vector<std::string> Warnings(const std::string& path,
                                    const TokenSourceOptions& options) const {
    return kDolmaFormat.open(*FindPath(path), options)->warnings;
  }

  const TempDir folder_;
};

const std::vector<uint64_t> kIds = {9, 8, 7, 6, 5, 4, 3, 2};
const std::vector<uint32_t> kTokens = {9, 8, 7, 6, 5, 4, 3, 2};

TEST_F(DolmaTest, TheTypeFollowsFromTheLastDocument) {
  for (const auto& [width, type] :
       std::vector<std::pair<size_t, StoredType>>{{1, StoredType::kU8},
                                                  {2, StoredType::kU16},
                                                  {4, StoredType::kU32},
                                                  {8, StoredType::kU64}}) {
    const std::string path =
        Pair("part-0-00000", LittleBytes(kIds, width), OlmoRowsOf({3, 0, 5}));
    EXPECT_TRUE(Recognizes(path));
    ASSERT_OK_AND_ASSIGN(const auto source, OpenWith(kDolmaFormat, path));
    EXPECT_EQ(source->stored_type(), type);
    ExpectSame(*source, {{kTokens}, {{3, 0, 5}}}, kRule);
    EXPECT_EQ(source->arrays().size(), 1u);
    EXPECT_THAT(source->DocumentName(0), IsOkAndHolds(""));
    EXPECT_THAT(Warnings(path, {}), IsEmpty());
  }
}

TEST_F(DolmaTest, AStatedTypeMustFit) {
  const std::string path = Pair("a", LittleBytes(kIds, 4), OlmoRowsOf({8}));
  ASSERT_OK_AND_ASSIGN(const auto source, OpenWith(kDolmaFormat, path,
                                                   WithType(StoredType::kI32)));
  ExpectSame(*source, {{kTokens}, {{8}}}, kRule);
  for (const StoredType type : {StoredType::kU16, StoredType::kU64}) {
    EXPECT_THAT(OpenWith(kDolmaFormat, path, WithType(type)),
                StatusIs(kInvalid, AllOf(HasSubstr("32 bytes for 8 tokens"),
                                         HasSubstr("holds u32; stated was"))));
  }
}

TEST_F(DolmaTest, NamesAreWhereDocumentsCameFrom) {
  std::vector<uint64_t> lengths;
  std::vector<DolmaOrigin> origins;
  for (uint64_t i = 0; i < 600; ++i) {
    lengths.push_back(i % 4);
    origins.push_back({"doc,\n" + std::to_string(i), "src \"q\"", i});
  }
  const std::vector<uint64_t> ids(900, 1);
  Pair("a", LittleBytes(ids, 2), DolmaRowsOf(lengths, origins));
  Pair("b", LittleBytes({1, 2}, 2), OlmoRowsOf({1, 1}));
  Pair("c", "", "");
  Pair("d", LittleBytes(ids, 2), DolmaRowsOf(lengths, origins));
  ASSERT_OK_AND_ASSIGN(const auto source,
                       OpenWith(kDolmaFormat, folder_.path()));
  ASSERT_EQ(source->num_documents(), 1202u);
  const auto expected = [](uint64_t i) {
    return "id=doc,\n" + std::to_string(i) +
           " src=src \"q\" loc=" + std::to_string(i);
  };
  for (uint64_t i = 0; i < 600; ++i) {
    ASSERT_THAT(source->DocumentName(i), IsOkAndHolds(expected(i)));
  }
  for (const uint64_t i : {599, 0, 300, 299, 300, 0}) {
    ASSERT_THAT(source->DocumentName(i), IsOkAndHolds(expected(i)));
    ASSERT_THAT(source->DocumentName(602 + i), IsOkAndHolds(expected(i)));
  }
  EXPECT_THAT(source->DocumentName(600), IsOkAndHolds(""));
  EXPECT_THAT(source->DocumentName(601), IsOkAndHolds(""));

  Write("a.csv.gz", Gzip(OlmoRowsOf({900})));
  EXPECT_THAT(source->DocumentName(10),
              StatusIs(kDataLoss, HasSubstr("not what it was")));
  std::filesystem::remove(folder_.path("d.csv.gz"));
  EXPECT_THAT(source->DocumentName(700),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("d.csv.gz")));
}

TEST_F(DolmaTest, ZerosAfterTheLastDocumentAreNoTokens) {
  const std::string rows = DolmaRowsOf({3, 5}, {{"a", "b", 1}, {"c", "d", 2}});
  const std::string path =
      Pair("a", LittleBytes(kIds, 2) + std::string(200'000, '\0'), rows);
  EXPECT_THAT(OpenWith(kDolmaFormat, path),
              StatusIs(kInvalid, AllOf(HasSubstr("ends at token 8"),
                                       HasSubstr("state the dtype"))));
  const auto u16 = WithType(StoredType::kU16);
  ASSERT_OK_AND_ASSIGN(const auto source, OpenWith(kDolmaFormat, path, u16));
  ExpectSame(*source, {{kTokens}, {{3, 5}}}, kRule);
  EXPECT_THAT(Warnings(path, u16),
              ElementsAre(AllOf(HasSubstr("has 100008 tokens"),
                                HasSubstr("ends at 8: zeros follow"))));
  // The type is known from another file.
  Pair("b", LittleBytes({1}, 2), OlmoRowsOf({1}));
  ASSERT_OK_AND_ASSIGN(const auto both, OpenWith(kDolmaFormat, folder_.path()));
  ExpectSame(*both, {{kTokens, {1}}, {{3, 5, 1}}}, kRule);
}

TEST_F(DolmaTest, WhatNoDocumentHoldsIsLeftOutOrADocument) {
  const auto u16 = WithType(StoredType::kU16);
  const std::string dolma =
      Pair("a", LittleBytes(kIds, 2), DolmaRowsOf({3}, {{"a", "b", 1}}));
  ASSERT_OK_AND_ASSIGN(const auto killed, OpenWith(kDolmaFormat, dolma, u16));
  ExpectSame(*killed, {{{9, 8, 7}}, {{3}}}, kRule);
  EXPECT_THAT(Warnings(dolma, u16),
              ElementsAre(AllOf(HasSubstr("has 8 tokens"),
                                HasSubstr("ends at 3: what follows is in no "
                                          "document"))));
  // OLMo's tables have no document that does not end.
  const std::string olmo = Pair("b", LittleBytes(kIds, 2), OlmoRowsOf({3}));
  ASSERT_OK_AND_ASSIGN(const auto open, OpenWith(kDolmaFormat, olmo, u16));
  ExpectSame(*open, {{kTokens}, {{3, 5}}}, kRule);
  EXPECT_THAT(open->DocumentName(1), IsOkAndHolds(""));
  EXPECT_THAT(Warnings(olmo, u16),
              ElementsAre(HasSubstr("a document that never ended")));
}

TEST_F(DolmaTest, SizesThatDisagreeAreDataLoss) {
  const std::string path =
      Pair("a", LittleBytes(kIds, 2).substr(0, 15), OlmoRowsOf({3, 5}));
  EXPECT_THAT(OpenWith(kDolmaFormat, path),
              StatusIs(kInvalid, HasSubstr("state the dtype")));
  EXPECT_THAT(OpenWith(kDolmaFormat, path, WithType(StoredType::kU16)),
              StatusIs(kDataLoss, HasSubstr("15 bytes of ids are no whole")));
  Pair("a", LittleBytes(kIds, 2).substr(0, 14), OlmoRowsOf({3, 5}));
  EXPECT_THAT(OpenWith(kDolmaFormat, path, WithType(StoredType::kU16)),
              StatusIs(kDataLoss,
                       AllOf(HasSubstr("a.csv.gz' line 2: the document ends at "
                                       "token 8"),
                             HasSubstr("a.npy' has 7 of u16"))));
  Pair("a", "12", OlmoRowsOf({3, 5}));
  EXPECT_THAT(OpenWith(kDolmaFormat, path),
              StatusIs(kDataLoss, HasSubstr("line 1: the document ends at "
                                            "token 3, expected at most 2")));
}

TEST_F(DolmaTest, AFolderIsCutFileByFile) {
  Pair("part-0-00001", LittleBytes({1, 2, 3}, 4), OlmoRowsOf({1, 2}));
  Pair("part-0-00000", LittleBytes(kIds, 4), OlmoRowsOf({3, 5}));
  Pair("part-1-00000", "", "");
  EXPECT_TRUE(Recognizes(folder_.path()));
  ASSERT_OK_AND_ASSIGN(const auto source,
                       OpenWith(kDolmaFormat, folder_.path()));
  ExpectSame(*source, {{kTokens, {1, 2, 3}, {}}, {{3, 5, 1, 2}}}, kRule);

  ASSERT_OK_AND_ASSIGN(const auto some, OpenWith(kDolmaFormat, folder_.path(),
                                                 WithGlob("*-00001.npy")));
  ExpectSame(*some, {{{1, 2, 3}}, {{1, 2}}}, kRule);
  EXPECT_THAT(OpenWith(kDolmaFormat, folder_.path(), WithGlob("*.bin")),
              StatusIs(kInvalid, HasSubstr("none of which matches")));

  Pair("part-2-00000", LittleBytes({1, 2, 3}, 2), OlmoRowsOf({3}));
  EXPECT_THAT(OpenWith(kDolmaFormat, folder_.path()),
              StatusIs(kInvalid, AllOf(HasSubstr("part-2-00000.npy"),
                                       HasSubstr("holds u16; others hold "
                                                 "u32"))));
  Write("part-0-00000.mask.npy", "mask");
  EXPECT_THAT(OpenWith(kDolmaFormat, folder_.path()),
              StatusIs(kInvalid, AllOf(HasSubstr("mask.npy' has no table"),
                                       HasSubstr("glob"))));
}

TEST_F(DolmaTest, IsKnownByItsTableAndTheMissingHeader) {
  EXPECT_FALSE(Recognizes(Write("alone.npy", "1234")));
  EXPECT_FALSE(Recognizes(folder_.path()));
  const std::string npy =
      Pair("real", testing::NpyOf("<u2", {1}).Bytes(), OlmoRowsOf({1}));
  EXPECT_FALSE(Recognizes(npy));
  EXPECT_THAT(OpenWith(kDolmaFormat, npy),
              StatusIs(kInvalid, HasSubstr("state the format npy")));
  EXPECT_FALSE(Recognizes(Pair("zip", "PK\3\4 more", OlmoRowsOf({1}))));
  Write("text.csv.gz", "id;length\n");
  EXPECT_FALSE(Recognizes(Write("text.npy", "1234")));
  Write("plain.csv", "0,2\n");
  const std::string plain = Write("plain.npy", LittleBytes({7, 8}, 2));
  EXPECT_TRUE(Recognizes(plain));
  ASSERT_OK_AND_ASSIGN(const auto source, OpenWith(kDolmaFormat, plain));
  ExpectSame(*source, {{{7, 8}}, {{2}}}, kRule);
  EXPECT_THAT(OpenWith(kDolmaFormat, folder_.path("alone.npy")),
              StatusIs(kInvalid, HasSubstr("state the format raw")));
}

TEST_F(DolmaTest, AFileOfMoreThanFourGiBIsRead) {
  const uint64_t count = (uint64_t{1} << 32) + 5;
  const std::string path = Pair("a", "", OlmoRowsOf({count - 2, 2}));
  std::filesystem::resize_file(path, 2 * count);
  ASSERT_OK_AND_ASSIGN(const auto source, OpenWith(kDolmaFormat, path));
  EXPECT_EQ(source->num_tokens(), count);
  EXPECT_THAT(source->DocumentAt(count - 1), IsOkAndHolds(1u));
}

}  // namespace
}  // namespace poniente::internal
