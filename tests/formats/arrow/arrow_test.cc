// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "formats/arrow/arrow_folder.h"
#include "formats/core/token_format.h"
#include "tests/formats/arrow_files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using ::poniente::testing::ArrowWriter;
using ::poniente::testing::Integers;
using ::poniente::testing::ListOf;
using ::poniente::testing::ReadFile;
using ::poniente::testing::StatusIs;
using ::poniente::testing::TempDir;
using ::poniente::testing::WriteFile;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using ArrowRows = std::vector<std::vector<int32_t>>;

// Of column input_ids, `per_batch` rows in each batch.
std::string Stream(const ArrowRows& rows, size_t per_batch = 2) {
  ArrowWriter writer;
  writer.Schema({{"text", 5}, ListOf("input_ids", Integers("item", 32, true))});
  for (size_t begin = 0; begin < rows.size(); begin += per_batch) {
    std::vector<int32_t> ends = {0};
    std::vector<int32_t> ids;
    for (size_t i = begin; i < std::min(begin + per_batch, rows.size()); ++i) {
      ids.insert(ids.end(), rows[i].begin(), rows[i].end());
      ends.push_back(static_cast<int32_t>(ids.size()));
    }
    const auto n = static_cast<int64_t>(ends.size()) - 1;
    writer.Batch(
        {n,
         {{n, 0}, {n, 0}, {static_cast<int64_t>(ids.size()), 0}},
         {"", std::string(static_cast<size_t>(n + 1) * 4, '\0'), "", "",
          testing::LittleEndian(ends), "", testing::LittleEndian(ids)}});
  }
  return writer.End().bytes;
}

absl::StatusOr<TokenLayout> OpenArrow(const std::string& path,
                                      const TokenSourceOptions& options = {}) {
  auto found = FindPath(path);
  if (!found.ok()) return found.status();
  EXPECT_TRUE(kArrowFormat.recognizes(*found)) << path;
  return kArrowFormat.open(*found, options);
}

// Tokens [begin, end) as the layout places them.
std::vector<int32_t> TokensOf(const TokenLayout& layout, uint64_t begin,
                              uint64_t end) {
  std::vector<TokenRun> runs;
  EXPECT_TRUE(layout.locator->Locate({begin, end}, &runs).ok());
  std::vector<int32_t> tokens;
  for (const TokenRun& run : runs) {
    const std::string bytes = ReadFile(layout.files[run.place]);
    EXPECT_GT(run.tokens, 0u);
    for (uint64_t i = 0; i < run.tokens; ++i) {
      int32_t id = -1;
      EXPECT_LE(run.offset + (i + 1) * sizeof(id), bytes.size());
      std::memcpy(&id, bytes.data() + run.offset + i * sizeof(id), sizeof(id));
      tokens.push_back(id);
    }
  }
  return tokens;
}

std::vector<int32_t> AllTokens(const TokenLayout& layout) {
  return TokensOf(layout, 0, layout.documents->ends().total());
}

void Save(const std::string& folder, const std::string& state) {
  std::filesystem::create_directories(folder);
  WriteFile(folder + "/state.json", state);
  WriteFile(folder + "/dataset_info.json", "{}");
}

TEST(ArrowTest, ASavedDatasetIsTheFilesOfItsStateInTheirOrder) {
  TempDir dir;
  Save(dir.path(), R"({"_data_files": [{"filename": "data-1.arrow"},
                                       {"filename": "data-0.arrow"}],
                       "_fingerprint": "a", "_format_columns": ["x"]})");
  WriteFile(dir.path("data-1.arrow"), Stream({{1, 2}, {}, {3}}));
  WriteFile(dir.path("data-0.arrow"), Stream({{4}, {5, 6}}));
  WriteFile(dir.path("cache-0123456789abcdef.arrow"), "other data");
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, OpenArrow(dir.path()));
  EXPECT_EQ(layout.format, "arrow");
  EXPECT_EQ(layout.type, StoredType::kI32);
  EXPECT_THAT(AllTokens(layout), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(layout.files,
              ElementsAre(dir.path("data-1.arrow"), dir.path("data-0.arrow")));
  ASSERT_EQ(layout.shards.size(), 2u);
  EXPECT_EQ(layout.shards[0].tokens, 3u);
  EXPECT_EQ(layout.shards[1].tokens, 3u);
  EXPECT_TRUE(layout.windows.across_shards);
  EXPECT_FALSE(layout.windows.keep_tail);
  EXPECT_EQ(layout.windows.overlap, 0u);
  const CompactEnds& ends = layout.documents->ends();
  ASSERT_EQ(ends.size(), 5u);
  EXPECT_EQ(ends.Length(1), 0u);
  EXPECT_EQ(ends.Begin(4), 4u);
  EXPECT_EQ(layout.bytes, ReadFile(dir.path("data-0.arrow")).size() +
                              ReadFile(dir.path("data-1.arrow")).size() +
                              ReadFile(dir.path("state.json")).size());
  EXPECT_THAT(layout.warnings, IsEmpty());
}

TEST(ArrowTest, EveryRangeIsTheSliceReadNaively) {
  TempDir dir;
  std::mt19937_64 random(testing::TestSeed(5));
  std::vector<int32_t> expected;
  std::string files;
  for (int file = 0; file < 3; ++file) {
    ArrowRows rows(random() % 8);
    for (auto& row : rows) {
      row.resize(random() % 4);
      std::iota(row.begin(), row.end(), static_cast<int32_t>(expected.size()));
      expected.insert(expected.end(), row.begin(), row.end());
    }
    const std::string name = std::to_string(file) + ".arrow";
    WriteFile(dir.path(name), Stream(rows, 1 + random() % 3));
    files += (file == 0 ? "" : ",") + ("{\"filename\":\"" + name + "\"}");
  }
  Save(dir.path(), "{\"_data_files\":[" + files + "]}");
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, OpenArrow(dir.path()));
  ASSERT_EQ(layout.documents->ends().total(), expected.size());
  for (size_t begin = 0; begin <= expected.size(); ++begin) {
    for (size_t end = begin; end <= expected.size(); ++end) {
      ASSERT_EQ(
          TokensOf(layout, begin, end),
          std::vector<int32_t>(expected.begin() + static_cast<ptrdiff_t>(begin),
                               expected.begin() + static_cast<ptrdiff_t>(end)));
    }
  }
}

TEST(ArrowTest, ASavedDictIsItsOnlySplitOrAnErrorThatListsThem) {
  TempDir dir;
  Save(dir.path("train"), R"({"_data_files":[{"filename":"a.arrow"}]})");
  WriteFile(dir.path("train/a.arrow"), Stream({{1}}));
  WriteFile(dir.path("dataset_dict.json"), R"({"splits": ["train"]})");
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, OpenArrow(dir.path()));
  EXPECT_THAT(AllTokens(layout), ElementsAre(1));
  WriteFile(dir.path("dataset_dict.json"), R"({"splits": ["train", "test"]})");
  EXPECT_THAT(OpenArrow(dir.path()).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("holds the splits train, test; open one of "
                                 "them: '" +
                                 dir.path("train") + "'")));
  WriteFile(dir.path("dataset_dict.json"), R"({"splits": ["../x"]})");
  EXPECT_THAT(OpenArrow(dir.path()).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'../x' leads out of")));
  WriteFile(dir.path("dataset_dict.json"), "{}");
  EXPECT_THAT(OpenArrow(dir.path()).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no splits")));
}

constexpr const char* kTwoSplits = R"({
  "features": {"input_ids": {"feature": {"dtype": "int64"}}},
  "builder_name": "json", "dataset_name": "tiny",
  "splits": {
    "train": {"name": "train", "num_bytes": 1, "num_examples": 3,
              "shard_lengths": [2, 1], "dataset_name": "tiny"},
    "test": {"name": "test", "num_examples": 1, "dataset_name": "tiny"}}})";

TEST(ArrowTest, AFolderOfTheCacheIsOneSplitOfItsInfo) {
  TempDir dir;
  WriteFile(dir.path("dataset_info.json"), kTwoSplits);
  WriteFile(dir.path("tiny-train-00000-of-00002.arrow"), Stream({{1}, {2, 3}}));
  WriteFile(dir.path("tiny-train-00001-of-00002.arrow"), Stream({{4}}));
  WriteFile(dir.path("tiny-test.arrow"), Stream({{9}}));
  WriteFile(dir.path("cache-0123456789abcdef.arrow"), "other data");
  EXPECT_THAT(OpenArrow(dir.path()).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("holds the splits train, test; choose one by "
                                 "a pattern (glob), such as "
                                 "'*-train*.arrow'")));
  TokenSourceOptions options;
  options.glob = "*-train*.arrow";
  ASSERT_OK_AND_ASSIGN(TokenLayout layout, OpenArrow(dir.path(), options));
  EXPECT_THAT(AllTokens(layout), ElementsAre(1, 2, 3, 4));
  options.glob = "*-test*.arrow";
  ASSERT_OK_AND_ASSIGN(layout, OpenArrow(dir.path(), options));
  EXPECT_THAT(AllTokens(layout), ElementsAre(9));
  options.glob = "cache*";
  EXPECT_THAT(OpenArrow(dir.path(), options).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("none of 3 files matches 'cache*'")));

  options.glob = "*-train*.arrow";
  WriteFile(dir.path("tiny-train-00001-of-00002.arrow"), Stream({{4}, {5}}));
  EXPECT_THAT(OpenArrow(dir.path(), options).status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("tiny-train-00001-of-00002.arrow' has 2 rows, "
                                 "the list of files beside it says 1")));
  std::filesystem::remove(dir.path("tiny-train-00001-of-00002.arrow"));
  EXPECT_THAT(OpenArrow(dir.path(), options).status(),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("tiny-train-00001-of-00002.arrow")));
}

TEST(ArrowTest, InfoMayNotListMoreFilesThanThereAre) {
  const std::string shards = "[1,1,1,1]";
  const std::string text =
      R"({"splits":{"a":{"shard_lengths":)" + shards + "}}}";
  EXPECT_THAT(ParseCacheInfo("i.json", text, 3).status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("shard 3 of split 'a' is listed, but the "
                                 "folder has only 3 files")));
  ASSERT_OK_AND_ASSIGN(const auto files, ParseCacheInfo("i.json", text, 4));
  EXPECT_EQ(files[3].name, "-a-00003-of-00004.arrow");
  EXPECT_THAT(
      ParseCacheInfo("i.json", R"({"splits":{"a":{},"b":{}}})", 1).status(),
      StatusIs(absl::StatusCode::kDataLoss,
               HasSubstr("lists more Arrow files than the folder has")));
  EXPECT_THAT(
      ParseCacheInfo("i.json", R"({"splits":{"a":{"shard_lengths":[-1]}}})", 9)
          .status(),
      StatusIs(absl::StatusCode::kDataLoss,
               HasSubstr("shard 0 of split 'a' has no number of rows")));
}

// Before 2.0 the library did not write dataset_name beside the splits.
TEST(ArrowTest, AnInfoWithoutDatasetNameNamesTheFilesByItsBuilder) {
  ASSERT_OK_AND_ASSIGN(
      const auto files,
      ParseCacheInfo("i.json", R"({"builder_name":"json","splits":
          {"train":{"name":"train","num_examples":7}}})",
                     9));
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].name, "json-train.arrow");
  EXPECT_EQ(files[0].rows, 7u);
}

TEST(ArrowTest, DescriptionsThatAreDamagedOrSelectRowsAreRefused) {
  const auto state = [](const std::string& text) {
    return ParseSavedState("s.json", text).status();
  };
  EXPECT_THAT(state("{\"_data_files\": ["),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("'s.json': no JSON at byte 18")));
  EXPECT_THAT(state("{}"), StatusIs(absl::StatusCode::kDataLoss,
                                    HasSubstr("has no list '_data_files'")));
  EXPECT_THAT(state(R"({"_data_files":[{"filename":"a"},{}]})"),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("no name for each data file")));
  EXPECT_THAT(state(R"({"_data_files":[{"filename":"a"}],
                        "_indices_data_files":[{"filename":"i"}]})"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("call flatten_indices() and save it again")));
  EXPECT_THAT(state(R"({"_data_files":[{"filename":"a","skip":3}]})"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a selection (skip)")));
  EXPECT_TRUE(state(R"({"_data_files":[{"filename":"a","skip":0,"take":null}],
                        "_indices_data_files":null})")
                  .ok());
  const std::string deep(1'000'000, '[');
  EXPECT_THAT(state(deep), StatusIs(absl::StatusCode::kDataLoss,
                                    HasSubstr("no JSON at byte")));
}

TEST(ArrowTest, AFileIsItsOnlyShard) {
  TempDir dir;
  WriteFile(dir.path("x.bin"), Stream({{1}, {2}}));
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, OpenArrow(dir.path("x.bin")));
  EXPECT_THAT(AllTokens(layout), ElementsAre(1, 2));
  EXPECT_EQ(layout.shards.size(), 1u);
}

TEST(ArrowTest, FilesThatNothingListsNeedAPattern) {
  TempDir dir;
  WriteFile(dir.path("a-1.arrow"), Stream({{1}}));
  WriteFile(dir.path("a-2.arrow"), Stream({{2}}));
  WriteFile(dir.path("cache-3.arrow"), Stream({{3}}));
  EXPECT_THAT(OpenArrow(dir.path()).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("has neither state.json nor a "
                                 "dataset_info.json with splits")));
  TokenSourceOptions options;
  options.glob = "a-*";
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout,
                       OpenArrow(dir.path(), options));
  EXPECT_THAT(AllTokens(layout), ElementsAre(1, 2));
}

TEST(ArrowTest, ADatasetWithoutRowsHasNoTokens) {
  TempDir dir;
  Save(dir.path(), R"({"_data_files": []})");
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, OpenArrow(dir.path()));
  EXPECT_EQ(layout.documents->ends().size(), 0u);
  EXPECT_THAT(layout.shards, IsEmpty());
  EXPECT_THAT(layout.warnings, ElementsAre(HasSubstr("it has no rows")));
}

TEST(ArrowTest, TypesThatContradictAreRefused) {
  TempDir dir;
  WriteFile(dir.path("a.arrow"), Stream({{1}}));
  WriteFile(dir.path("b.arrow"),
            ArrowWriter()
                .Schema({ListOf("input_ids", Integers("item", 64, true))})
                .End()
                .bytes);
  TokenSourceOptions options;
  options.dtype = StoredType::kU16;
  EXPECT_THAT(OpenArrow(dir.path("a.arrow"), options).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("column 'input_ids' holds i32, stated was "
                                 "u16; leave the dtype out")));
  options.dtype = StoredType::kI32;
  EXPECT_TRUE(OpenArrow(dir.path("a.arrow"), options).ok());
  options.dtype = std::nullopt;
  options.glob = "*";
  EXPECT_THAT(OpenArrow(dir.path(), options).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("b.arrow': column 'input_ids' holds "
                                       "i64, the files before it hold i32"))));
}

TEST(ArrowTest, OtherFoldersAreNotRecognised) {
  TempDir dir;
  const auto recognises = [&] {
    const auto found = FindPath(dir.path());
    return found.ok() && kArrowFormat.recognizes(*found);
  };
  EXPECT_FALSE(recognises());
  WriteFile(dir.path("state.json"), "{}");
  EXPECT_FALSE(recognises());
  WriteFile(dir.path("x.arrow"), "no stream");
  EXPECT_TRUE(recognises());
  std::filesystem::remove(dir.path("state.json"));
  EXPECT_FALSE(recognises());
}

}  // namespace
}  // namespace poniente::internal
