// SPDX-License-Identifier: Apache-2.0
#include "formats/arrays/llmc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "formats/core/token_format.h"
#include "tests/formats/expect_source.h"
#include "tests/formats/little_endian.h"
#include "tests/formats/open_with.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::InMemory;
using ::testing::IsEmpty;
using testing::Little;
using testing::MadeIds;
using testing::OpenWith;
using testing::SliceOf;
using testing::StatusIs;
using testing::TempDir;
using testing::WriteFile;

std::string Header(int32_t magic, int32_t version, int32_t tokens) {
  std::string bytes = Little(magic) + Little(version) + Little(tokens);
  bytes.resize(1024);
  return bytes;
}
std::string Gpt2(const std::vector<uint32_t>& ids) {
  return Header(20240520, 1, static_cast<int32_t>(ids.size())) +
         testing::LittleIds(ids, 2);
}
std::string Llama3(const std::vector<uint32_t>& ids) {
  return Header(20240801, 7, static_cast<int32_t>(ids.size())) +
         testing::LittleIds(ids, 4);
}
bool Recognizes(const std::string& path) {
  const auto found = FindPath(path);
  return found.ok() && kLlmcFormat.recognizes(*found);
}

// What the pattern leaves out tells nothing of what it chooses.
TEST(LlmcTest, OfAFolderThoseThatAPatternChoosesAreLookedAt) {
  const TempDir folder;
  const std::vector<uint32_t> ids = MadeIds(1001, 65536, 1);
  WriteFile(folder.path("a.bin"), "neither header nor ids");
  WriteFile(folder.path("train_1.tokens"), Gpt2(ids));
  TokenSourceOptions options;
  options.glob = "train_*";
  ASSERT_OK_AND_ASSIGN(const auto source,
                       OpenTokenSource(folder.path(), options));
  EXPECT_EQ(source->format(), "llmc");
  testing::ExpectTokens(*source, ids);
  options.glob = "valid_*";
  EXPECT_THAT(OpenTokenSource(folder.path(), options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("none of which matches 'valid_*' (it has "
                                 "a.bin, train_1.tokens)")));
}

TEST(LlmcTest, BothKindsAreRead) {
  const TempDir folder;
  const std::vector<uint32_t> ids = MadeIds(1001, 65536, 1);
  WriteFile(folder.path("gpt2"), Gpt2(ids));
  EXPECT_TRUE(Recognizes(folder.path("gpt2")));
  ASSERT_OK_AND_ASSIGN(const auto gpt2,
                       OpenWith(kLlmcFormat, folder.path("gpt2")));
  EXPECT_EQ(gpt2->stored_type(), StoredType::kU16);
  EXPECT_EQ(gpt2->end_of_document(), 50256u);
  EXPECT_EQ(gpt2->num_bytes(), 1024u + 2002);
  testing::ExpectTokens(*gpt2, ids);
  testing::ExpectWindows(*gpt2, ids, {1001}, false, 100);

  const std::vector<uint32_t> wide = MadeIds(1001, 128256, 2);
  WriteFile(folder.path("llama3"), Llama3(wide));
  ASSERT_OK_AND_ASSIGN(const auto llama3,
                       OpenWith(kLlmcFormat, folder.path("llama3")));
  EXPECT_EQ(llama3->stored_type(), StoredType::kU32);
  EXPECT_EQ(llama3->end_of_document(), 128000u);
  testing::ExpectTokens(*llama3, wide);
}

TEST(LlmcTest, DocumentsBeginWithTheDelimiter) {
  const TempDir folder;
  WriteFile(folder.path("x.bin"), Gpt2({50256, 1, 2, 50256, 50256, 3}));
  TokenSourceOptions options;
  options.delimiter = {50256, true};
  ASSERT_OK_AND_ASSIGN(const auto source,
                       OpenWith(kLlmcFormat, folder.path("x.bin"), options));
  testing::ExpectDocuments(*source, {3, 4, 6});
  ASSERT_OK_AND_ASSIGN(const FoundPath found, FindPath(folder.path("x.bin")));
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, kLlmcFormat.open(found, {}));
  EXPECT_EQ(layout.delimiter, (DocumentDelimiter{50256, true}));
}

TEST(LlmcTest, WindowsOfAFolderStayWithinShards) {
  const TempDir folder;
  const std::vector<uint32_t> ids = MadeIds(35, 50000, 3);
  WriteFile(folder.path("fineweb_train_000002.bin"),
            Gpt2(SliceOf(ids, 10, 33)));
  WriteFile(folder.path("fineweb_train_000001.bin"), Gpt2(SliceOf(ids, 0, 10)));
  WriteFile(folder.path("fineweb_val_000000.bin"), Gpt2(SliceOf(ids, 33, 35)));
  WriteFile(folder.path("readme"), "no shard");
  EXPECT_TRUE(Recognizes(folder.path()));
  ASSERT_OK_AND_ASSIGN(const auto source, OpenWith(kLlmcFormat, folder.path()));
  testing::ExpectTokens(*source, ids);
  testing::ExpectWindows(*source, ids, {10, 33, 35}, false, 4);
}

TEST(LlmcTest, ShardsForValidationAmongOthersAreWarnedOf) {
  const TempDir folder;
  WriteFile(folder.path("fineweb_train_000001.bin"), Gpt2({1}));
  WriteFile(folder.path("fineweb_val_000000.bin"), Gpt2({2}));
  ASSERT_OK_AND_ASSIGN(const FoundPath found, FindPath(folder.path()));
  ASSERT_OK_AND_ASSIGN(const TokenLayout both, kLlmcFormat.open(found, {}));
  EXPECT_THAT(both.warnings,
              ElementsAre(HasSubstr("'fineweb_val_000000.bin' is for "
                                    "validation by its name")));
  TokenSourceOptions options;
  options.glob = "*_val_*";
  ASSERT_OK_AND_ASSIGN(const TokenLayout one, kLlmcFormat.open(found, options));
  EXPECT_THAT(one.warnings, IsEmpty());
  EXPECT_EQ(one.files.size(), 1u);
}

TEST(LlmcTest, ExamplesOfAnEvaluationAreRefusedWithAReason) {
  const TempDir folder;
  WriteFile(folder.path("hellaswag_val.bin"), Header(20240522, 1, 10042));
  EXPECT_TRUE(Recognizes(folder.path("hellaswag_val.bin")));
  EXPECT_THAT(OpenWith(kLlmcFormat, folder.path("hellaswag_val.bin")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("holds the examples of an evaluation")));
}

TEST(LlmcTest, WhatCannotBeReadSaysWhy) {
  using absl::StatusCode;
  const auto fails = [](const std::string& bytes, StatusCode code,
                        const std::string& message) {
    EXPECT_THAT(ParseLlmc(InMemory("x.bin", bytes)),
                StatusIs(code, HasSubstr(message)));
  };
  const std::string whole = Gpt2({1, 2, 3});
  fails(whole.substr(0, 1029), StatusCode::kDataLoss,
        "has 5 bytes of ids after its header, which says 3 ids at byte 8");
  fails(whole + "xx", StatusCode::kDataLoss, "has 8 bytes of ids");
  fails(Header(20240520, 1, -3), StatusCode::kDataLoss, "says -3 ids");
  fails(Header(20240520, 2, 0), StatusCode::kInvalidArgument,
        "version 2 at byte 4, only 1");
  fails(Header(20240801, 1, 0), StatusCode::kInvalidArgument, "only 7");
  fails(Header(20240521, 1, 0), StatusCode::kInvalidArgument,
        "has 20240521 at byte 0, expected 20240520 (GPT-2) or 20240801");
  fails(Header(20240520, 1, 0).substr(1), StatusCode::kDataLoss,
        "has 1023 bytes");
}

TEST(LlmcTest, AFileCutAnywhereIsRefusedAndAnyFlippedBitIsAStatus) {
  const std::string whole = Gpt2({1, 2, 3});
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_FALSE(ParseLlmc(InMemory("x", whole.substr(0, bytes))).ok());
  }
  for (size_t bit = 0; bit < 12 * 8; ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    EXPECT_FALSE(ParseLlmc(InMemory("x", bytes)).ok()) << bit;
  }
}

TEST(LlmcTest, ShardsOfTwoTypesAreRefused) {
  const TempDir folder;
  WriteFile(folder.path("a.bin"), Gpt2({1}));
  WriteFile(folder.path("b.bin"), Llama3({1}));
  EXPECT_THAT(OpenWith(kLlmcFormat, folder.path()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("holds u32, the files before it hold u16")));
  TokenSourceOptions options;
  options.dtype = StoredType::kI32;
  EXPECT_THAT(OpenWith(kLlmcFormat, folder.path("a.bin"), options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("holds u16, stated was i32")));
}

// Ids at the end of the largest file that the header can count.
TEST(LlmcTest, AFileOfFourGigabytesIsRead) {
  const TempDir folder;
  WriteFile(folder.path("x.bin"), Header(20240520, 1, INT32_MAX));
  std::filesystem::resize_file(folder.path("x.bin"),
                               1024 + 2 * (uint64_t{INT32_MAX} - 3));
  {
    std::ofstream out(folder.path("x.bin"), std::ios::binary | std::ios::app);
    out << testing::LittleIds({7, 8, 9}, 2);
  }
  ASSERT_OK_AND_ASSIGN(const auto source,
                       OpenWith(kLlmcFormat, folder.path("x.bin")));
  ASSERT_OK_AND_ASSIGN(const auto ids,
                       RunBlocking(source->ReadTokens(INT32_MAX - 3u, 3)));
  EXPECT_THAT(ids, ElementsAre(7, 8, 9));
}

}  // namespace
}  // namespace poniente::internal
