// SPDX-License-Identifier: Apache-2.0
#include "formats/arrays/litpkds.h"

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

using ::testing::HasSubstr;
using testing::InMemory;
using testing::Little;
using testing::MadeIds;
using testing::OpenWith;
using testing::SliceOf;
using testing::StatusIs;
using testing::TempDir;
using testing::WriteFile;

std::string Chunk(const std::vector<uint32_t>& ids, uint8_t code,
                  uint32_t width) {
  return "LITPKDS" + Little(uint64_t{1}) + Little(code) +
         Little<uint64_t>(ids.size()) + testing::LittleIds(ids, width);
}

TEST(LitpkdsTest, EveryTypeIsRead) {
  const TempDir folder;
  const std::vector<uint32_t> ids = MadeIds(1001, 120, 1);
  for (const testing::CodedType& type : testing::kCodedTypes) {
    WriteFile(folder.path("x"), Chunk(ids, type.code, type.width));
    ASSERT_OK_AND_ASSIGN(const FoundPath found, FindPath(folder.path("x")));
    EXPECT_TRUE(kLitpkdsFormat.recognizes(found));
    ASSERT_OK_AND_ASSIGN(const auto source,
                         OpenWith(kLitpkdsFormat, folder.path("x")));
    EXPECT_EQ(StoredTypeName(source->stored_type()), type.name);
    testing::ExpectTokens(*source, ids);
  }
}

TEST(LitpkdsTest, WindowsOfAFolderStayWithinChunks) {
  const TempDir folder;
  const std::vector<uint32_t> ids = MadeIds(30, 30000, 2);
  for (uint32_t i = 0; i < 3; ++i) {
    WriteFile(folder.path(absl::StrCat("train_star_000000000", i, ".bin")),
              Chunk(SliceOf(ids, i * 10, i * 10 + 10), 8, 2));
  }
  WriteFile(folder.path("index.json"), "{}");
  ASSERT_OK_AND_ASSIGN(const FoundPath found, FindPath(folder.path()));
  EXPECT_TRUE(kLitpkdsFormat.recognizes(found));
  EXPECT_FALSE(kLlmcFormat.recognizes(found));
  ASSERT_OK_AND_ASSIGN(const auto source,
                       OpenWith(kLitpkdsFormat, folder.path()));
  testing::ExpectTokens(*source, ids);
  testing::ExpectWindows(*source, ids, {10, 20, 30}, false, 4);
  TokenSourceOptions options;
  options.glob = "*2.bin";
  ASSERT_OK_AND_ASSIGN(const auto last,
                       OpenWith(kLitpkdsFormat, folder.path(), options));
  testing::ExpectTokens(*last, SliceOf(ids, 20, 30));
}

TEST(LitpkdsTest, WhatCannotBeReadSaysWhy) {
  using absl::StatusCode;
  const auto fails = [](const std::string& bytes, StatusCode code,
                        const std::string& message) {
    EXPECT_THAT(ParseLitpkds(InMemory("x.bin", bytes)),
                StatusIs(code, HasSubstr(message)));
  };
  const std::string whole = Chunk({1, 2, 3}, 8, 2);
  const auto with = [&](size_t at, const std::string& bytes) {
    std::string changed = whole;
    return changed.replace(at, bytes.size(), bytes);
  };
  fails(whole.substr(0, 29), StatusCode::kDataLoss,
        "has 5 bytes of ids after its header, which says 3 ids at byte 16");
  fails(whole + "xx", StatusCode::kDataLoss, "has 8 bytes of ids");
  for (const uint64_t count :
       {uint64_t{2}, (uint64_t{1} << 63) + 3, UINT64_MAX}) {
    fails(with(16, Little(count)), StatusCode::kDataLoss,
          absl::StrCat("says ", count, " ids"));
  }
  fails(with(7, Little(uint64_t{2})), StatusCode::kInvalidArgument,
        "version 2 at byte 7");
  fails(with(15, "\6"), StatusCode::kInvalidArgument, "which means fractions");
  fails(with(15, std::string(1, '\0')), StatusCode::kInvalidArgument,
        "has 0 as the code of its type at byte 15");
  fails(with(0, "litpkds"), StatusCode::kInvalidArgument,
        "does not begin with 'LITPKDS'");
}

TEST(LitpkdsTest, AFileCutAnywhereIsRefusedAndAnyFlippedBitIsAStatus) {
  const std::string whole = Chunk({1, 2, 3}, 8, 2);
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_FALSE(ParseLitpkds(InMemory("x", whole.substr(0, bytes))).ok());
  }
  for (size_t bit = 0; bit < 24 * 8; ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    const auto array = ParseLitpkds(InMemory("x", bytes));
    if (!array.ok()) continue;
    EXPECT_EQ(array->tokens * StoredTypeBytes(array->type), 6u) << bit;
  }
}

}  // namespace
}  // namespace poniente::internal
