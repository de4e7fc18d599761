// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "poniente/extend/piecewise_items.h"
#include "tests/formats/levanter_files.h"
#include "tests/formats/open_with.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::Flat;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kHasBlosc;
using testing::LevanterShard;
using testing::ReadFile;
using testing::Rows;
using testing::StatusIs;
using testing::TempDir;
using testing::WriteCache;
using testing::WriteField;
using testing::WriteFile;
using testing::WriteZarr;
using testing::ZarrStyle;

using Source = std::shared_ptr<const TokenSource>;

absl::StatusOr<Source> OpenLevanter(const std::string& path,
                                    const TokenSourceOptions& options = {}) {
  return testing::OpenWith(kLevanterFormat, path, options);
}

TokenSourceOptions Column(const std::string& column) {
  TokenSourceOptions options;
  options.column = column;
  return options;
}

const std::vector<std::string>& Warnings(const TokenSource& source) {
  return static_cast<const LayoutSource&>(source).layout().warnings;
}

bool Recognized(const std::string& path) {
  const auto found = FindPath(path);
  return found.ok() && kLevanterFormat.recognizes(*found);
}

// Rows of up to 20 ids below `limit`, some empty.
Rows MadeRows(size_t count, uint32_t limit, uint64_t seed) {
  std::mt19937_64 random(seed);
  Rows rows(count);
  for (auto& row : rows) {
    row.resize(random() % 4 == 0 ? 0 : random() % 20);
    for (uint32_t& id : row) id = static_cast<uint32_t>(random() % limit);
  }
  return rows;
}

// All tokens, every row, windows over shards.
void ExpectRows(const TokenSource& source, const Rows& rows) {
  const std::vector<uint32_t> ids = Flat(rows);
  ASSERT_EQ(source.num_tokens(), ids.size());
  ASSERT_TRUE(source.knows_documents());
  ASSERT_EQ(source.num_documents(), rows.size());
  ASSERT_OK_AND_ASSIGN(const auto all,
                       RunBlocking(source.ReadTokens(0, ids.size())));
  ASSERT_EQ(all, ids);
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_OK_AND_ASSIGN(const TokenRange range, source.DocumentRange(i));
    ASSERT_OK_AND_ASSIGN(const auto row, RunBlocking(source.ReadTokens(
                                             range.begin, range.size())));
    ASSERT_EQ(row, rows[i]) << i;
  }
  ASSERT_OK_AND_ASSIGN(const auto windows, source.Windows(7));
  ASSERT_EQ(windows->CurrentLength(), ids.size() / 7);
  for (uint64_t i = 0; i < ids.size() / 7; ++i) {
    ASSERT_OK_AND_ASSIGN(const TokenWindow window, windows->GetBlocking(i));
    const auto begin = ids.begin() + static_cast<ptrdiff_t>(i * 7);
    ASSERT_EQ(window.tokens, std::vector<uint32_t>(begin, begin + 7)) << i;
  }
}

template <class Id>
void ExpectZarrTypeIsRead(StoredType type, uint32_t limit) {
  std::vector<std::string> compressors = {""};
  if (kHasBlosc) compressors = {"", "lz4", "blosclz", "lz4hc", "zlib", "zstd"};
  const TempDir folder;
  const Rows rows = MadeRows(40, limit, testing::TestSeed(121));
  for (const std::string& cname : compressors) {
    const std::string cache = folder.path("cache" + cname);
    WriteCache<Id>(cache, rows, {64, 128, cname, "end", true});
    ASSERT_OK_AND_ASSIGN(const Source source, OpenLevanter(cache));
    EXPECT_EQ(source->stored_type(), type);
    EXPECT_EQ(source->format(), "levanter");
    EXPECT_THAT(Warnings(*source), IsEmpty());
    ExpectRows(*source, rows);
  }
}

TEST(LevanterTest, EveryIntegerTypeIsRead) {
  ExpectZarrTypeIsRead<uint8_t>(StoredType::kU8, 256);
  ExpectZarrTypeIsRead<int8_t>(StoredType::kI8, 128);
  ExpectZarrTypeIsRead<uint16_t>(StoredType::kU16, 65536);
  ExpectZarrTypeIsRead<int16_t>(StoredType::kI16, 32768);
  ExpectZarrTypeIsRead<uint32_t>(StoredType::kU32, 4294967295);
  ExpectZarrTypeIsRead<int32_t>(StoredType::kI32, 2147483647);
  ExpectZarrTypeIsRead<uint64_t>(StoredType::kU64, 4294967295);
  ExpectZarrTypeIsRead<int64_t>(StoredType::kI64, 4294967295);
}

class StyleTest : public ::testing::TestWithParam<ZarrStyle> {};

TEST_P(StyleTest, ChunksAndFilesOfAnySizeAreRead) {
  const TempDir folder;
  for (const size_t count : {0, 1, 3, 50}) {
    const Rows rows = MadeRows(count, 1000, testing::TestSeed(122) + count);
    const std::string cache = folder.path(absl::StrCat(count));
    WriteCache(cache, rows, GetParam());
    ASSERT_OK_AND_ASSIGN(const Source source, OpenLevanter(cache));
    ExpectRows(*source, rows);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Levanter, StyleTest,
    ::testing::Values(ZarrStyle{1, 1, "", "end", true},
                      ZarrStyle{1, 3, "", "start", true},
                      ZarrStyle{7, 21, "", "end", false},
                      ZarrStyle{64, 64, "", "start", false},
                      ZarrStyle{1000, 4000, "", "end", true}));

// As TensorStore 0.1.86 wrote the items 1000 + i % 7 for i < 70: two frames of
// blosc (lz4, bytes shuffled), their index and its checksum.
constexpr uint8_t kWrittenByTensorStore[] = {
    0x02, 0x01, 0x31, 0x04, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00,
    0x33, 0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x1b, 0x00, 0x00, 0x00,
    0x7f, 0xe8, 0xe9, 0xea, 0xeb, 0xec, 0xed, 0xee, 0x07, 0x00, 0x26, 0x1f,
    0x03, 0x01, 0x00, 0x2c, 0x1f, 0x00, 0x01, 0x00, 0x67, 0x50, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x02, 0x01, 0x31, 0x04, 0x00, 0x01, 0x00, 0x00, 0x00,
    0x01, 0x00, 0x00, 0x39, 0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x21,
    0x00, 0x00, 0x00, 0xbf, 0xe9, 0xea, 0xeb, 0xec, 0xed, 0xee, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x05, 0x00, 0x22, 0x11, 0x03, 0x01, 0x00, 0x0f, 0x3a,
    0x00, 0x21, 0x0f, 0x02, 0x00, 0x6e, 0x50, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x33, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x33, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x39, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x57, 0x71, 0x5f,
    0x61};

TEST(LevanterTest, AFileOfTheRealWriterIsRead) {
  if (!kHasBlosc) GTEST_SKIP() << "this build has no blosc";
  const TempDir folder;
  Rows rows(1);
  for (uint32_t i = 0; i < 70; ++i) rows[0].push_back(1000 + i % 7);
  WriteCache(folder.path(), rows, {64, 128, "lz4", "end", true});
  WriteFile(
      folder.path("input_ids/data/c/0"),
      std::string_view(reinterpret_cast<const char*>(kWrittenByTensorStore),
                       sizeof(kWrittenByTensorStore)));
  ASSERT_OK_AND_ASSIGN(const Source source, OpenLevanter(folder.path()));
  ExpectRows(*source, rows);
}

TEST(LevanterTest, WithoutBloscACompressedCacheIsRefused) {
  const TempDir folder;
  WriteCache(folder.path(), {{1, 2}}, {});
  const std::string json = testing::ZarrJson(
      "int32", {4, 16, kHasBlosc ? "nosuch" : "lz4", "end", true});
  WriteFile(folder.path("input_ids/data/zarr.json"), json);
  EXPECT_THAT(OpenLevanter(folder.path()),
              StatusIs(absl::StatusCode::kUnimplemented,
                       AllOf(HasSubstr("data/zarr.json"), HasSubstr("blosc"),
                             HasSubstr(kHasBlosc ? "'nosuch'"
                                                 : "install libblosc-dev"))));
}

TEST(LevanterTest, ShardsFollowTheLedger) {
  const TempDir folder;
  const uint64_t seed = testing::TestSeed(123);
  const std::vector<LevanterShard> shards = {
      {"part-00002-of-00004", MadeRows(9, 500, seed)},
      {"empty", {}},
      {"deep/part-00000", MadeRows(30, 500, seed + 1)},
      {"only-empty-rows", {{}, {}}},
      {"a", {{1, 2, 3}}}};
  Rows rows;
  uint64_t chunk = 3;
  for (const LevanterShard& shard : shards) {
    rows.insert(rows.end(), shard.rows.begin(), shard.rows.end());
    if (shard.rows.empty()) continue;
    ++chunk;
    WriteCache(folder.path(shard.name), shard.rows,
               {chunk, chunk * 3, "", "end", true});
  }
  WriteFile(folder.path("shard_ledger.json"),
            testing::ShardedLedgerText(shards));
  ASSERT_OK_AND_ASSIGN(const Source source, OpenLevanter(folder.path()));
  ExpectRows(*source, rows);
  EXPECT_EQ(source->num_shards(), 5u);
  EXPECT_EQ(source->shard_ends()[0], Flat(shards[0].rows).size());
  EXPECT_EQ(source->shard_ends()[1], source->shard_ends()[0]);
  EXPECT_TRUE(source->window_rule().across_shards);
  EXPECT_FALSE(source->window_rule().keep_tail);
  EXPECT_EQ(source->window_rule().overlap, 0u);
}

TEST(LevanterTest, AShardedCacheMayBeEmpty) {
  const TempDir folder;
  for (const std::vector<LevanterShard>& shards :
       {std::vector<LevanterShard>{}, {{"a", {}}, {"b", {}}}}) {
    WriteFile(folder.path("shard_ledger.json"),
              testing::ShardedLedgerText(shards));
    ASSERT_OK_AND_ASSIGN(const Source source, OpenLevanter(folder.path()));
    EXPECT_EQ(source->num_tokens(), 0u);
    EXPECT_EQ(source->num_documents(), 0u);
  }
}

TEST(LevanterTest, ShardsOfTwoTypesAreRefused) {
  const TempDir folder;
  WriteCache<int32_t>(folder.path("a"), {{1}});
  WriteCache<uint16_t>(folder.path("b"), {{1}});
  WriteFile(folder.path("shard_ledger.json"),
            testing::ShardedLedgerText({{"a", {{1}}}, {"b", {{1}}}}));
  EXPECT_THAT(OpenLevanter(folder.path()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("b/input_ids/data' holds u16"),
                             HasSubstr("before it hold i32"))));
}

TEST(LevanterTest, APathIsACacheOrItsOnlySplitOrAField) {
  const TempDir folder;
  const Rows rows = {{5, 6, 7}, {}, {8}};
  WriteCache(folder.path("train"), rows);
  std::filesystem::create_directories(folder.path("logs"));
  for (const char* path : {"", "/train", "/train/", "/train/input_ids"}) {
    ASSERT_TRUE(Recognized(folder.path() + path)) << path;
    ASSERT_OK_AND_ASSIGN(const Source source,
                         OpenLevanter(folder.path() + path));
    ExpectRows(*source, rows);
  }
  ASSERT_OK_AND_ASSIGN(const Source field,
                       OpenLevanter(folder.path("train/input_ids")));
  EXPECT_THAT(Warnings(*field), ElementsAre(HasSubstr("was not looked at")));
  EXPECT_THAT(
      OpenLevanter(folder.path("train/input_ids"), Column("x")),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("is one field already; leave out column 'x'")));
  WriteCache(folder.path("validation"), rows);
  EXPECT_THAT(OpenLevanter(folder.path()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("has 2 splits; give the path of one of "
                                 "them: 'train', 'validation'")));
}

TEST(LevanterTest, OtherPathsAreNotRecognized) {
  const TempDir folder;
  WriteFile(folder.path("shard_ledger.txt"), "{}");
  std::filesystem::create_directories(folder.path("x/data"));
  WriteFile(folder.path("x/data/zarr.json"), "{}");
  EXPECT_FALSE(Recognized(folder.path()));
  EXPECT_FALSE(Recognized(folder.path("x")));
  EXPECT_FALSE(Recognized(folder.path("shard_ledger.txt")));
  EXPECT_THAT(OpenLevanter(folder.path()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("neither it nor a folder in it has "
                                 "shard_ledger.json")));
  EXPECT_THAT(OpenLevanter(folder.path("shard_ledger.txt")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("is a file; a Levanter cache is")));
}

TEST(LevanterTest, AnUnfinishedCacheIsRefused) {
  const TempDir folder;
  WriteCache(folder.path(), {{1, 2}});
  const std::string path = folder.path("shard_ledger.json");
  const std::string text = ReadFile(path);
  for (const char* other :
       {R"("is_finished": false)", R"("is_finished": 1)", R"("other": true)"}) {
    WriteFile(path,
              absl::StrReplaceAll(text, {{R"("is_finished": true)", other}}));
    EXPECT_THAT(OpenLevanter(folder.path()),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("is_finished is not true"),
                               HasSubstr("let Levanter finish it"))));
  }
  std::filesystem::remove(path);
  EXPECT_TRUE(Recognized(folder.path()));
  EXPECT_THAT(OpenLevanter(folder.path()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("has parts of a cache but no "
                                 "shard_ledger.json, which is written last")));
}

// One shard of a cache that is being built is not the cache.
TEST(LevanterTest, ShardsWithoutTheLedgerAboveThemAreRefused) {
  for (const char* name : {"00000_train_jsonl", "part-00000-of-00002"}) {
    const TempDir folder;
    WriteCache(folder.path(name), {{1, 2}});
    EXPECT_TRUE(Recognized(folder.path()));
    EXPECT_THAT(OpenLevanter(folder.path()),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("has parts of a cache but no")));
    EXPECT_THAT(OpenLevanter(folder.path(name)), testing::IsOk());
  }
}

TEST(LevanterTest, TheFieldIsChosenWhereThereAreSeveral) {
  const TempDir folder;
  WriteCache(folder.path(), {{1, 2}, {3}});
  WriteField(folder.path("chosen/ids"), {{7}, {8, 9}});
  ASSERT_OK_AND_ASSIGN(const Source usual, OpenLevanter(folder.path()));
  ExpectRows(*usual, {{1, 2}, {3}});
  ASSERT_OK_AND_ASSIGN(const Source chosen,
                       OpenLevanter(folder.path(), Column("chosen/ids")));
  ExpectRows(*chosen, {{7}, {8, 9}});
  EXPECT_THAT(OpenLevanter(folder.path(), Column("labels")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("has no field 'labels'; state one of its "
                                 "fields (column): 'chosen/ids', "
                                 "'input_ids'")));
  EXPECT_THAT(OpenLevanter(folder.path(), Column("../x")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'../x' leads out of")));
  std::filesystem::rename(folder.path("input_ids"), folder.path("tokens"));
  EXPECT_THAT(OpenLevanter(folder.path()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("has no field 'input_ids'")));
  std::filesystem::remove_all(folder.path("chosen"));
  WriteFile(folder.path("shard_ledger.json"),
            testing::LedgerText(2, 3, "tokens"));
  ASSERT_OK_AND_ASSIGN(const Source only, OpenLevanter(folder.path()));
  ExpectRows(*only, {{1, 2}, {3}});
  std::filesystem::remove_all(folder.path("tokens"));
  EXPECT_THAT(
      OpenLevanter(folder.path()),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("has no field: ")));
}

TEST(LevanterTest, TheStatedTypeMustBeTheStoredOne) {
  const TempDir folder;
  WriteCache(folder.path(), {{1, 2}});
  TokenSourceOptions options;
  options.dtype = StoredType::kI32;
  EXPECT_THAT(OpenLevanter(folder.path(), options), testing::IsOk());
  options.dtype = StoredType::kU16;
  EXPECT_THAT(OpenLevanter(folder.path(), options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("data' holds i32, stated was u16")));
}

TEST(LevanterTest, WhatIsNotStoredIsZerosWithAWarning) {
  const TempDir folder;
  Rows rows = {{1, 2, 3, 4, 0, 0, 0, 0, 9}, std::vector<uint32_t>(30, 0), {5}};
  WriteCache(folder.path(), rows);
  ASSERT_FALSE(std::filesystem::exists(folder.path("input_ids/data/c/1")));
  ASSERT_OK_AND_ASSIGN(const Source source, OpenLevanter(folder.path()));
  ExpectRows(*source, rows);
  EXPECT_THAT(Warnings(*source),
              ElementsAre(AllOf(HasSubstr("input_ids/data': 7 of 10 chunks"),
                                HasSubstr("a lost file cannot be told"))));

  std::filesystem::remove_all(folder.path("input_ids/data/c"));
  for (auto& row : rows) std::fill(row.begin(), row.end(), 0u);
  ASSERT_OK_AND_ASSIGN(const Source lost, OpenLevanter(folder.path()));
  ExpectRows(*lost, rows);
  EXPECT_THAT(Warnings(*lost), ElementsAre(HasSubstr("10 of 10 chunks")));
}

TEST(LevanterTest, RowsWithShapesAreReadFlat) {
  const TempDir folder;
  WriteCache(folder.path(), {{1, 2, 3, 4}});
  std::filesystem::create_directories(folder.path("input_ids/shapes"));
  WriteFile(folder.path("input_ids/shapes/zarr.json"), "{}");
  ASSERT_OK_AND_ASSIGN(const Source source, OpenLevanter(folder.path()));
  ExpectRows(*source, {{1, 2, 3, 4}});
  EXPECT_THAT(Warnings(*source), ElementsAre(HasSubstr("read end to end")));
}

TEST(LevanterTest, FilesThatAreNotChunksAreLeftAlone) {
  const TempDir folder;
  const Rows rows = MadeRows(20, 100, testing::TestSeed(124));
  WriteCache(folder.path(), rows);
  WriteFile(folder.path(".success"), "");
  for (const char* name : {"0.__lock", "00", "-1", "+1", "x", "900719925474"}) {
    const std::string path = folder.path("input_ids/data/c/") + name;
    WriteFile(path, name[0] == '9' ? ReadFile(folder.path("input_ids/data/c/0"))
                                   : "no chunk");
  }
  ASSERT_OK_AND_ASSIGN(const Source source, OpenLevanter(folder.path()));
  ExpectRows(*source, rows);
}

// Items of more than 2^32 files, without their bytes.
TEST(LevanterTest, TokensLieWhereverTheOffsetsSay) {
  const TempDir folder;
  const uint64_t far = uint64_t{1} << 50;
  WriteZarr<int32_t>(folder.path("f/data"), {1, 2, 3}, {}, far / 16);
  WriteZarr<int64_t>(
      folder.path("f/offsets"),
      {2, static_cast<int64_t>(far), static_cast<int64_t>(far + 3)}, {});
  ASSERT_OK_AND_ASSIGN(const Source source, OpenLevanter(folder.path("f")));
  EXPECT_EQ(source->num_tokens(), far + 3);
  ASSERT_OK_AND_ASSIGN(const auto end,
                       RunBlocking(source->ReadTokens(far - 2, 5)));
  EXPECT_THAT(end, ElementsAre(0, 0, 1, 2, 3));
  ASSERT_OK_AND_ASSIGN(const TokenRange last, source->DocumentRange(1));
  EXPECT_EQ(last, (TokenRange{far, far + 3}));
}

}  // namespace
}  // namespace poniente::internal
