// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <numeric>
#include <optional>

#include "formats/core/found_path.h"
#include "formats/core/token_format.h"
#include "formats/mds/mds_index.h"
#include "io/range_source.h"
#include "tests/formats/layout_tokens.h"
#include "tests/formats/mds_files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

#if defined(PONIENTE_HAS_ZSTD)
#include <zstd.h>
#endif

namespace poniente::internal {
namespace {

using absl::StatusCode;
using ::testing::AllOf;
using testing::AppendLittle;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Little;
using testing::MdsColumn;
using testing::MdsHead;
using testing::MdsIndexJson;
using testing::MdsIndexShardJson;
using testing::MdsRow;
using testing::MdsShardBytes;
using testing::ReadLayout;
using testing::StatusIs;
using testing::TempDir;
using testing::WriteFile;

using Ids = std::vector<uint32_t>;

// Document `d` of a dataset whose lengths are given.
Ids Document(size_t d, size_t length) {
  Ids ids(length);
  for (size_t i = 0; i < length; ++i) {
    ids[i] = static_cast<uint32_t>((d * 7919 + i * 31 + 5) % 50000);
  }
  return ids;
}

template <class T>
std::string As(const Ids& ids) {
  return Little(std::vector<T>(ids.begin(), ids.end()));
}

const std::vector<MdsColumn> kTokensColumn = {
    {"tokens", "ndarray:int32", std::nullopt}};

// A dataset in a folder, with the tokens it holds.
struct MdsFolder {
  TempDir dir;
  Ids tokens;
  std::vector<uint64_t> lengths;
  std::vector<std::string> shards;  // of the index

  std::string Row(const Ids& ids) {
    tokens.insert(tokens.end(), ids.begin(), ids.end());
    lengths.push_back(ids.size());
    return MdsRow(kTokensColumn, {MdsHead(0, {ids.size()}) + As<int32_t>(ids)});
  }
  void AddShard(const std::string& name, const std::vector<std::string>& rows,
                const std::vector<MdsColumn>& columns = kTokensColumn) {
    const std::string bytes = MdsShardBytes(rows);
    WriteFile(dir.path(name), bytes);
    shards.push_back(
        MdsIndexShardJson(columns, {name, bytes.size(), rows.size()}));
  }
  void WriteIndex() { WriteFile(dir.path("index.json"), MdsIndexJson(shards)); }

  absl::StatusOr<TokenLayout> Open(const TokenSourceOptions& options = {}) {
    const auto found = FindPath(dir.path());
    if (!found.ok()) return found.status();
    return kMdsFormat.open(*found, options);
  }
  // That a layout holds these tokens and documents.
  void Expect(const TokenLayout& layout) const {
    ASSERT_THAT(testing::CheckRuns(layout), testing::IsOk());
    ASSERT_OK_AND_ASSIGN(const auto source, testing::SourceOf(layout));
    testing::ExpectSource(*source, tokens, lengths);
  }
};

// Lengths on both sides of where the head of an array grows.
constexpr size_t kLengths[] = {1, 2, 255, 256, 257, 300, 65535, 65536, 65537};

TEST(MdsTest, RowsAreDocumentsWhateverTheirLengths) {
  MdsFolder data;
  std::vector<std::string> rows;
  for (const size_t length : kLengths) {
    rows.push_back(data.Row(Document(rows.size(), length)));
  }
  data.AddShard("shard.00000.mds", rows);
  data.AddShard("shard.00001.mds",
                {data.Row(Document(20, 4)), data.Row(Document(21, 9))});
  data.WriteIndex();
  ASSERT_OK_AND_ASSIGN(const FoundPath found, FindPath(data.dir.path()));
  EXPECT_TRUE(kMdsFormat.recognizes(found));
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, data.Open());
  data.Expect(layout);
  EXPECT_EQ(layout.format, "mds");
  EXPECT_EQ(layout.type, StoredType::kI32);
  ASSERT_EQ(layout.shards.size(), 2u);
  EXPECT_EQ(layout.shards[1].tokens, 13u);
  EXPECT_EQ(layout.windows, WindowRule{});
  EXPECT_THAT(layout.warnings, IsEmpty());
  EXPECT_THAT(layout.documents->Name(10),
              testing::IsOkAndHolds("shard.00001.mds row 1"));
}

TEST(MdsTest, ADatasetWithoutRowsIsRecognised) {
  TempDir dir;
  WriteFile(dir.path("index.json"), R"({"shards": [], "version": 2})");
  ASSERT_OK_AND_ASSIGN(const FoundPath found, FindPath(dir.path()));
  EXPECT_TRUE(kMdsFormat.recognizes(found));
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, kMdsFormat.open(found, {}));
  EXPECT_THAT(layout.shards, IsEmpty());
  for (const char* text :
       {R"({"shards": [], "version": 3})", R"({"shards": []})",
        R"({"shards": [], "version": 2, "config": {}})",
        R"({"shards": [{}], "version": 2})", R"({"shards": 1, "version": 2})",
        R"({"chunks": [], "version": 2})", R"({"shards": [], "version": 2)"}) {
    EXPECT_FALSE(IsMdsIndex(text)) << text;
  }
}

// As that of some 230,000 shards; here most of it is space.
TEST(MdsTest, AnIndexMayHaveUpToAGibibyte) {
  MdsFolder data;
  data.AddShard("s.mds", {data.Row({1, 2, 3})});
  std::string text = testing::MdsIndexJson(data.shards);
  text.insert(1, uint64_t{65} << 20, ' ');
  WriteFile(data.dir.path("index.json"), text);
  ASSERT_OK_AND_ASSIGN(const FoundPath found, FindPath(data.dir.path()));
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, kMdsFormat.open(found, {}));
  data.Expect(layout);
  std::filesystem::resize_file(data.dir.path("index.json"),
                               (uint64_t{1} << 30) + 1);
  EXPECT_THAT(kMdsFormat.open(found, {}),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("has 1073741825 bytes, expected at most "
                                 "1073741824")));
}

TEST(MdsTest, TheIndexItselfCanBeGiven) {
  MdsFolder data;
  data.AddShard("s.mds", {data.Row({1, 2, 3})});
  data.WriteIndex();
  ASSERT_OK_AND_ASSIGN(const FoundPath found,
                       FindPath(data.dir.path("index.json")));
  EXPECT_TRUE(kMdsFormat.recognizes(found));
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, kMdsFormat.open(found, {}));
  data.Expect(layout);
}

TEST(MdsTest, MergedIndexesNameShardsInFolders) {
  MdsFolder data;
  ASSERT_EQ(::mkdir(data.dir.path("a").c_str(), 0755), 0);
  ASSERT_EQ(::mkdir(data.dir.path("b").c_str(), 0755), 0);
  data.AddShard("b/shard.00000.mds", {data.Row({7, 8})});
  data.AddShard("a/shard.00000.mds", {data.Row({9})});
  data.WriteIndex();
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, data.Open());
  data.Expect(layout);
}

TEST(MdsTest, ShardsOfNoRowsAreRead) {
  MdsFolder data;
  data.AddShard("shard.00000.mds", {});
  data.AddShard("shard.00001.mds", {data.Row({1, 2})});
  data.AddShard("shard.00002.mds", {});
  data.WriteIndex();
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, data.Open());
  data.Expect(layout);
  EXPECT_EQ(layout.shards.size(), 3u);
}

TEST(MdsTest, ADatasetOfNoShardsHasNoTokens) {
  MdsFolder data;
  data.WriteIndex();
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, data.Open());
  EXPECT_EQ(layout.documents->ends().size(), 0u);
  EXPECT_THAT(layout.shards, IsEmpty());
}

// Columns lie in the order of their names; the size of each that varies comes
// first.
TEST(MdsTest, OtherColumnsLieBeforeAndBehind) {
  struct Case {
    std::vector<MdsColumn> columns;
    size_t own;
    std::vector<std::vector<std::string>> others;  // one list for each row
  };
  const MdsColumn tokens = kTokensColumn[0];
  const Case cases[] = {
      {{{"id", "int", 8}, tokens}, 1, {{"12345678"}, {"abcdefgh"}}},
      {{tokens, {"zid", "int", 8}}, 0, {{"12345678"}, {"abcdefgh"}}},
      {{{"id", "str", std::nullopt}, tokens}, 1, {{""}, {"some text"}}},
      {{{"a", "str", std::nullopt},
        {"b", "int16", 2},
        tokens,
        {"u", "json", std::nullopt},
        {"v", "int", 8}},
       2,
       {{"x", "bb", "{}", "88888888"}, {"longer", "cc", "", "12345678"}}},
  };
  for (const Case& c : cases) {
    MdsFolder data;
    std::vector<std::string> rows;
    for (size_t r = 0; r < 2; ++r) {
      const Ids ids = Document(r, r == 0 ? 300 : 2);
      (void)data.Row(ids);
      std::vector<std::string> values = c.others[r];
      values.insert(values.begin() + static_cast<ptrdiff_t>(c.own),
                    MdsHead(0, {ids.size()}) + As<int32_t>(ids));
      rows.push_back(MdsRow(c.columns, values));
    }
    data.AddShard("s.mds", rows, c.columns);
    data.WriteIndex();
    ASSERT_OK_AND_ASSIGN(const TokenLayout layout, data.Open());
    data.Expect(layout);
  }
}

TEST(MdsTest, ArraysOfFixedShapeWithoutOtherColumnsAreOneArray) {
  MdsFolder data;
  const std::vector<MdsColumn> columns = {{"tokens", "ndarray:uint16:3,2", 12}};
  std::vector<std::string> rows;
  for (size_t i = 0; i < 5; ++i) {
    const Ids ids = Document(i, 6);
    (void)data.Row(ids);
    rows.push_back(As<uint16_t>(ids));
  }
  data.AddShard("s.mds", rows, columns);
  data.WriteIndex();
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, data.Open());
  EXPECT_EQ(layout.type, StoredType::kU16);
  EXPECT_EQ(layout.locator, nullptr);
  data.Expect(layout);
}

TEST(MdsTest, ArraysOfFixedShapeBesideAnotherColumnAreFound) {
  for (const bool varies : {false, true}) {
    MdsFolder data;
    const std::vector<MdsColumn> columns = {
        {"name", varies ? "str" : "int",
         varies ? std::nullopt : std::optional<uint32_t>(8)},
        {"tokens", "ndarray:uint32:4", 16}};
    std::vector<std::string> rows;
    for (size_t i = 0; i < 5; ++i) {
      const Ids ids = Document(i, 4);
      (void)data.Row(ids);
      rows.push_back(MdsRow(
          columns, {std::string(varies ? i : 8, 'n'), As<uint32_t>(ids)}));
    }
    data.AddShard("s.mds", rows, columns);
    data.WriteIndex();
    ASSERT_OK_AND_ASSIGN(const TokenLayout layout, data.Open());
    data.Expect(layout);
  }
}

TEST(MdsTest, ArraysOfSeveralAxesAreRead) {
  MdsFolder data;
  std::vector<std::string> rows;
  const std::vector<std::vector<uint64_t>> axes = {
      {1, 2048}, {2, 3}, {5}, {2, 2, 300}};
  for (size_t i = 0; i < axes.size(); ++i) {
    const Ids ids =
        Document(i, std::accumulate(axes[i].begin(), axes[i].end(), uint64_t{1},
                                    std::multiplies<>()));
    (void)data.Row(ids);
    rows.push_back(
        MdsRow(kTokensColumn, {MdsHead(0, axes[i]) + As<int32_t>(ids)}));
  }
  data.AddShard("s.mds", rows);
  data.WriteIndex();
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, data.Open());
  data.Expect(layout);
}

// Else locating a window reads the heads of its rows.
TEST(MdsTest, WindowsHaveRangesIfOpeningHasReadTheHeads) {
  for (const bool has_one_axis : {true, false}) {
    MdsFolder data;
    std::vector<std::string> rows;
    for (size_t i = 0; i < 20; ++i) {
      const Ids ids = Document(i, 2 * (i % 7 + 1));
      (void)data.Row(ids);
      const std::vector<uint64_t> axes =
          has_one_axis ? std::vector<uint64_t>{ids.size()}
                       : std::vector<uint64_t>{2, ids.size() / 2};
      rows.push_back(
          MdsRow(kTokensColumn, {MdsHead(0, axes) + As<int32_t>(ids)}));
    }
    data.AddShard("s.mds", rows);
    data.WriteIndex();
    ASSERT_OK_AND_ASSIGN(const TokenLayout layout, data.Open());
    data.Expect(layout);
    ASSERT_OK_AND_ASSIGN(const auto source, testing::SourceOf(layout));
    ASSERT_OK_AND_ASSIGN(const auto windows, source->Windows(10));
    const RangeSource* const ranges = windows->ranges();
    ASSERT_EQ(ranges == nullptr, has_one_axis);
    if (has_one_axis) continue;
    const std::string bytes = testing::ReadFile(data.dir.path("s.mds"));
    std::string ids;
    for (uint64_t i = 0; i < windows->CurrentLength(); ++i) {
      std::vector<FileRange> located;
      ranges->LocateAll(i, 0, 10, &located);
      for (const FileRange& range : located) {
        ids += bytes.substr(range.offset, range.bytes);
      }
    }
    EXPECT_EQ(ids, As<int32_t>(data.tokens).substr(0, ids.size()));
    EXPECT_EQ(ids.size(), data.tokens.size() / 10 * 40);
  }
}

template <class T>
void ExpectMdsTypeIsRead(uint8_t code, const std::string& name,
                         StoredType type) {
  for (const bool in_row : {false, true}) {
    MdsFolder data;
    const std::vector<MdsColumn> columns = {
        {"x", in_row ? "ndarray" : "ndarray:" + name, std::nullopt}};
    std::vector<std::string> rows;
    for (const size_t length : {1, 255, 256}) {
      Ids ids = Document(length, length);
      for (uint32_t& id : ids) id %= 128;
      (void)data.Row(ids);
      rows.push_back(
          MdsRow(columns, {MdsHead(in_row ? code : 0, {length}) + As<T>(ids)}));
    }
    data.AddShard("s.mds", rows, columns);
    data.WriteIndex();
    ASSERT_OK_AND_ASSIGN(const TokenLayout layout, data.Open());
    EXPECT_EQ(layout.type, type);
    data.Expect(layout);
  }
}

TEST(MdsTest, EveryTypeOfIntegersIsRead) {
  ExpectMdsTypeIsRead<uint8_t>(8, "uint8", StoredType::kU8);
  ExpectMdsTypeIsRead<int8_t>(9, "int8", StoredType::kI8);
  ExpectMdsTypeIsRead<uint16_t>(16, "uint16", StoredType::kU16);
  ExpectMdsTypeIsRead<int16_t>(17, "int16", StoredType::kI16);
  ExpectMdsTypeIsRead<uint32_t>(32, "uint32", StoredType::kU32);
  ExpectMdsTypeIsRead<int32_t>(33, "int32", StoredType::kI32);
  ExpectMdsTypeIsRead<uint64_t>(64, "uint64", StoredType::kU64);
  ExpectMdsTypeIsRead<int64_t>(65, "int64", StoredType::kI64);
}

TEST(MdsTest, BytesAreI64UnlessADtypeIsStated) {
  MdsFolder data;
  const std::vector<MdsColumn> columns = {{"tokens", "bytes", std::nullopt}};
  std::vector<std::string> wide, narrow;
  for (const size_t length : {3, 0, 300, 8}) {
    const Ids ids = Document(length, length);
    (void)data.Row(ids);
    wide.push_back(MdsRow(columns, {As<int64_t>(ids)}));
    narrow.push_back(MdsRow(columns, {As<uint16_t>(ids)}));
  }
  data.AddShard("s.mds", wide, columns);
  data.WriteIndex();
  {
    ASSERT_OK_AND_ASSIGN(const TokenLayout layout, data.Open());
    EXPECT_EQ(layout.type, StoredType::kI64);
    EXPECT_THAT(layout.warnings, ElementsAre(HasSubstr("read as i64")));
    data.Expect(layout);
  }
  data.shards.clear();
  data.AddShard("s.mds", narrow, columns);
  data.WriteIndex();
  TokenSourceOptions options;
  options.dtype = StoredType::kU16;
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, data.Open(options));
  EXPECT_THAT(layout.warnings, IsEmpty());
  data.Expect(layout);
  EXPECT_THAT(data.Open(), StatusIs(StatusCode::kDataLoss,
                                    AllOf(HasSubstr("no whole number of i64"),
                                          HasSubstr("state the dtype"))));
}

TEST(MdsTest, TheColumnOfIdsIsChosen) {
  const auto open = [](const std::vector<MdsColumn>& columns,
                       const std::string& wanted) {
    MdsFolder data;
    data.AddShard("s.mds", {}, columns);
    data.WriteIndex();
    TokenSourceOptions options;
    options.column = wanted;
    return data.Open(options);
  };
  const MdsColumn a = {"a", "ndarray:int32", std::nullopt};
  const MdsColumn b = {"b", "ndarray:uint16", std::nullopt};
  const MdsColumn f = {"f", "ndarray:float32", std::nullopt};
  const MdsColumn input_ids = {"input_ids", "ndarray:int64", std::nullopt};
  const MdsColumn text = {"text", "str", std::nullopt};
  const MdsColumn p = {"p", "pkl", std::nullopt};
  ASSERT_OK_AND_ASSIGN(const TokenLayout named, open({a, input_ids}, ""));
  EXPECT_EQ(named.type, StoredType::kI64);
  ASSERT_OK_AND_ASSIGN(const TokenLayout stated, open({a, b, input_ids}, "b"));
  EXPECT_EQ(stated.type, StoredType::kU16);
  ASSERT_OK_AND_ASSIGN(const TokenLayout only, open({b, f, p, text}, ""));
  EXPECT_EQ(only.type, StoredType::kU16);
  EXPECT_THAT(open({a, b}, ""),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("several columns"),
                             HasSubstr("'a' (ndarray:int32), 'b' "
                                       "(ndarray:uint16)"))));
  EXPECT_THAT(open({text}, ""),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("no column that can hold ids"),
                             HasSubstr("'text' (str)"))));
  EXPECT_THAT(open({a}, "c"), StatusIs(StatusCode::kInvalidArgument,
                                       HasSubstr("has no column 'c'")));
  for (const MdsColumn& column : {text, p, f}) {
    EXPECT_THAT(
        open({column}, column.name),
        StatusIs(StatusCode::kInvalidArgument, HasSubstr("holds no ids")));
  }
}

TEST(MdsTest, AnotherDtypeThanTheFilesIsRefused) {
  MdsFolder data;
  data.AddShard("s.mds", {data.Row({1, 2})});
  data.WriteIndex();
  TokenSourceOptions options;
  options.dtype = StoredType::kU16;
  EXPECT_THAT(data.Open(options),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("holds i32"), HasSubstr("u16"))));
}

TEST(MdsTest, RowsOfSeveralTypesAreRefused) {
  const std::vector<MdsColumn> columns = {{"x", "ndarray", std::nullopt}};
  const std::string u16 =
      MdsRow(columns, {MdsHead(16, {2}) + As<uint16_t>({1, 2})});
  const std::string u32 =
      MdsRow(columns, {MdsHead(32, {2}) + As<uint32_t>({1, 2})});
  MdsFolder data;
  data.AddShard("a.mds", {u16}, columns);
  data.AddShard("b.mds", {u32}, columns);
  data.WriteIndex();
  EXPECT_THAT(data.Open(), StatusIs(StatusCode::kInvalidArgument,
                                    AllOf(HasSubstr("b.mds': row 0 holds u32"),
                                          HasSubstr("are u16"))));
  // In one shard, from the size alone it is two ids more.
  MdsFolder mixed;
  mixed.AddShard("a.mds", {u16, u32}, columns);
  mixed.WriteIndex();
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, mixed.Open());
  EXPECT_THAT(ReadLayout(layout),
              StatusIs(StatusCode::kDataLoss,
                       AllOf(HasSubstr("row 1"), HasSubstr("head"))));
}

// A row whose words and head say less than its size.
TEST(MdsTest, ARowThatContradictsItsSizeIsDamaged) {
  MdsFolder data;
  const std::string good = data.Row({1, 2, 3});
  for (const size_t at : {size_t{0}, size_t{4}, size_t{5}}) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x40);
    MdsFolder damaged;
    damaged.AddShard("s.mds", {good, bad});
    damaged.WriteIndex();
    ASSERT_OK_AND_ASSIGN(const TokenLayout layout, damaged.Open());
    std::vector<TokenRun> runs;
    EXPECT_THAT(layout.locator->Locate({0, 3}, &runs), testing::IsOk());
    EXPECT_THAT(layout.locator->Locate({3, 4}, &runs),
                StatusIs(StatusCode::kDataLoss,
                         AllOf(HasSubstr("s.mds': row 1, at byte"),
                               HasSubstr("copy it again"))));
    MdsFolder first;
    first.AddShard("s.mds", {bad, good});
    first.WriteIndex();
    EXPECT_THAT(first.Open(),
                StatusIs(StatusCode::kDataLoss, HasSubstr("row 0, at byte")));
  }
}

TEST(MdsTest, CountsThatDisagreeAreDamage) {
  const std::string bytes = MdsShardBytes(
      {MdsRow(kTokensColumn, {MdsHead(0, {2}) + As<int32_t>({1, 2})})});
  const auto open = [&](const testing::MdsIndexShard& shard,
                        const std::string& content) {
    MdsFolder data;
    WriteFile(data.dir.path("s.mds"), content);
    data.shards.push_back(MdsIndexShardJson(kTokensColumn, shard));
    data.WriteIndex();
    return data.Open();
  };
  EXPECT_THAT(open({"s.mds", bytes.size(), 1}, bytes), testing::IsOk());
  EXPECT_THAT(open({"s.mds", bytes.size(), 2}, bytes),
              StatusIs(StatusCode::kDataLoss,
                       HasSubstr("at byte 0 says it has 1 rows, its index.json "
                                 "says 2")));
  EXPECT_THAT(
      open({"s.mds", bytes.size() + 1, 1}, bytes),
      StatusIs(StatusCode::kDataLoss, HasSubstr("its index.json says")));
  EXPECT_THAT(open({"s.mds", bytes.size() + 1, 1}, bytes + "x"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("last row ends")));
  std::string backwards = bytes;
  backwards[8] = 1;
  EXPECT_THAT(
      open({"s.mds", bytes.size(), 1}, backwards),
      StatusIs(StatusCode::kDataLoss,
               AllOf(HasSubstr("by byte 8"), HasSubstr("begins at byte 1"))));
  std::string many = bytes;
  many[3] = '\x7f';
  EXPECT_THAT(open({"s.mds", bytes.size(), 0x7f000001}, many),
              StatusIs(StatusCode::kDataLoss, HasSubstr("its table of")));
}

TEST(MdsTest, IndexesThatAreNoneAreRefused) {
  const std::string good =
      MdsIndexJson({MdsIndexShardJson(kTokensColumn, {"s.mds", 10, 1})});
  EXPECT_THAT(ParseMdsIndex("i", good), testing::IsOk());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return ParseMdsIndex("i", text);
  };
  const StatusCode invalid = StatusCode::kInvalidArgument;
  EXPECT_THAT(with("\"mds\"", "\"jsonl\""),
              StatusIs(invalid, HasSubstr("format 'jsonl', version 2")));
  EXPECT_THAT(with("\"version\": 2, \"zip", "\"version\": 3, \"zip"),
              StatusIs(invalid, HasSubstr("version 3 is not read")));
  EXPECT_THAT(with("], \"version\": 2}", "], \"version\": 1}"),
              StatusIs(invalid, HasSubstr("is of version 1")));
  EXPECT_THAT(with("\"samples\": 1", "\"samples\": -1"),
              StatusIs(invalid, HasSubstr("'samples' is -1")));
  EXPECT_THAT(with("\"samples\": 1", "\"samples\": 1.5"),
              StatusIs(invalid, HasSubstr("'samples' is 1.5")));
  EXPECT_THAT(with("\"samples\": 1, ", ""),
              StatusIs(invalid, AllOf(HasSubstr("'i': shard 0, at byte 12"),
                                      HasSubstr("'samples' is missing"))));
  EXPECT_THAT(with("[null]", "[null, 8]"),
              StatusIs(invalid, HasSubstr("'column_sizes' has 2")));
  EXPECT_THAT(with("\"shards\"", "\"chards\""),
              StatusIs(invalid, HasSubstr("has no 'shards'")));
  EXPECT_THAT(ParseMdsIndex("i", ""),
              StatusIs(invalid, HasSubstr("at byte 0 has the end")));
  EXPECT_THAT(ParseMdsIndex("i", std::string(100000, '[')),
              StatusIs(invalid, HasSubstr("expected '{'")));
  EXPECT_THAT(ParseMdsIndex("i", "{\"x\": " + std::string(100000, '[')),
              StatusIs(invalid, HasSubstr("nested at most")));
  EXPECT_THAT(
      ParseMdsIndex("i", "{\"x\": [" + std::string(3'000'000, '1') + "]}"),
      StatusIs(invalid, HasSubstr("1048576 bytes")));
  for (size_t cut = 0; cut < good.size(); ++cut) {
    ASSERT_THAT(ParseMdsIndex("i", good.substr(0, cut)),
                StatusIs(invalid, HasSubstr("'i'")))
        << cut;
  }
}

TEST(MdsTest, PathsThatLeaveTheFolderAreRefused) {
  for (const char* name : {"../s.mds", "/etc/passwd", "a/../../s.mds"}) {
    MdsFolder data;
    data.shards.push_back(MdsIndexShardJson(kTokensColumn, {name, 10, 1}));
    data.WriteIndex();
    EXPECT_THAT(data.Open(),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("leads out")));
  }
}

TEST(MdsTest, MissingShardsAreNamed) {
  MdsFolder data;
  data.shards.push_back(MdsIndexShardJson(kTokensColumn, {"s.mds", 10, 1}));
  data.WriteIndex();
  EXPECT_THAT(data.Open(), StatusIs(StatusCode::kNotFound, HasSubstr("s.mds")));
}

TEST(MdsTest, ColumnSizesThatContradictTheEncodingAreRefused) {
  for (const MdsColumn& column :
       {MdsColumn{"tokens", "ndarray:int32:4", 12},
        MdsColumn{"tokens", "ndarray:int32:4", std::nullopt},
        MdsColumn{"tokens", "ndarray:int32", 16},
        MdsColumn{"tokens", "bytes", 16}}) {
    MdsFolder data;
    data.AddShard("s.mds", {}, {column});
    data.WriteIndex();
    EXPECT_THAT(data.Open(),
                StatusIs(StatusCode::kDataLoss, HasSubstr("is encoded as")));
  }
}

TEST(MdsTest, AFolderOfStreamsSaysWhereToLook) {
  TempDir dir;
  ASSERT_EQ(::mkdir(dir.path("train").c_str(), 0755), 0);
  ASSERT_OK_AND_ASSIGN(const FoundPath found, FindPath(dir.path()));
  EXPECT_FALSE(kMdsFormat.recognizes(found));
  EXPECT_THAT(kMdsFormat.open(found, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("'train'")));
}

// Offsets are u32: a shard just below 4 GiB, of which only the ends are stored.
TEST(MdsTest, OffsetsNearFourGiBAreRead) {
  MdsFolder data;
  const uint64_t tokens = (uint64_t{1} << 30) - 16;
  const std::string settings = "{}";
  const uint64_t begin = 4 * 4 + settings.size();
  std::string head;
  AppendLittle(uint32_t{2}, &head);
  const uint64_t row = 4 + 1 + 4 + tokens * 4;
  const std::string last =
      MdsRow(kTokensColumn, {MdsHead(0, {3}) + As<int32_t>({5, 6, 7})});
  const uint64_t end = begin + row + last.size();
  ASSERT_LT(end, uint64_t{1} << 32);
  for (const uint64_t offset : {begin, begin + row, end}) {
    AppendLittle(static_cast<uint32_t>(offset), &head);
  }
  head += settings;
  AppendLittle(static_cast<uint32_t>(row - 4), &head);
  head += MdsHead(0, {tokens});
  WriteFile(data.dir.path("s.mds"), head);
  ASSERT_EQ(::truncate(data.dir.path("s.mds").c_str(),
                       static_cast<off_t>(begin + row)),
            0);
  std::ofstream(data.dir.path("s.mds"), std::ios::app | std::ios::binary)
      << last;
  data.shards.push_back(MdsIndexShardJson(kTokensColumn, {"s.mds", end, 2}));
  data.WriteIndex();
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, data.Open());
  ASSERT_EQ(layout.documents->ends().Length(0), tokens);
  std::vector<TokenRun> runs;
  ASSERT_THAT(layout.locator->Locate({tokens - 1, tokens + 3}, &runs),
              testing::IsOk());
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].offset, begin + row - 4);
  EXPECT_EQ(runs[1].offset, end - 12);
  EXPECT_EQ(runs[1].tokens, 3u);
}

TEST(MdsTest, FilesCutShortAreDamage) {
  MdsFolder data;
  data.AddShard("s.mds", {data.Row({1, 2}), data.Row({3})});
  data.WriteIndex();
  const std::string bytes = testing::ReadFile(data.dir.path("s.mds"));
  for (size_t cut = 0; cut < bytes.size(); ++cut) {
    WriteFile(data.dir.path("s.mds"), bytes.substr(0, cut));
    ASSERT_THAT(data.Open(),
                StatusIs(StatusCode::kDataLoss, HasSubstr("s.mds")));
    data.shards = {MdsIndexShardJson(kTokensColumn, {"s.mds", cut, 2})};
    data.WriteIndex();
    ASSERT_THAT(data.Open(),
                StatusIs(StatusCode::kDataLoss, HasSubstr("s.mds")));
    data.shards = {
        MdsIndexShardJson(kTokensColumn, {"s.mds", bytes.size(), 2})};
    data.WriteIndex();
  }
}

// Every byte of a shard in three other values: an error, or a layout whose runs
// lie in the file.
TEST(MdsTest, DamagedBytesNeverLeadOutOfTheFile) {
  const std::vector<MdsColumn> two = {{"a", "str", std::nullopt},
                                      kTokensColumn[0]};
  for (const bool several : {false, true}) {
    MdsFolder data;
    const auto value = [](const Ids& ids) {
      return MdsHead(0, {ids.size()}) + As<int32_t>(ids);
    };
    if (several) {
      data.AddShard(
          "s.mds",
          {MdsRow(two, {"xy", value({1, 2})}), MdsRow(two, {"", value({3})})},
          two);
    } else {
      data.AddShard("s.mds", {data.Row({1, 2}), data.Row({3})});
    }
    data.WriteIndex();
    const std::string bytes = testing::ReadFile(data.dir.path("s.mds"));
    for (size_t at = 0; at < bytes.size(); ++at) {
      for (const int change : {0x01, 0x80, 0xff}) {
        std::string bad = bytes;
        bad[at] = static_cast<char>(bad[at] ^ change);
        WriteFile(data.dir.path("s.mds"), bad);
        const auto layout = data.Open();
        if (!layout.ok()) continue;
        const absl::Status runs = testing::CheckRuns(*layout);
        ASSERT_TRUE(runs.ok() || absl::IsDataLoss(runs)) << at << " " << runs;
      }
    }
  }
}

#if defined(PONIENTE_HAS_ZSTD)

std::string Zstd(const std::string& bytes) {
  std::string zip(ZSTD_compressBound(bytes.size()), '\0');
  zip.resize(
      ZSTD_compress(zip.data(), zip.size(), bytes.data(), bytes.size(), 7));
  return zip;
}

// Replaces a shard's file by its compressed one.
void Compress(MdsFolder* data, const std::string& name, size_t shard,
              uint64_t rows,
              const std::vector<MdsColumn>& columns = kTokensColumn) {
  const std::string raw = testing::ReadFile(data->dir.path(name));
  const std::string zip = Zstd(raw);
  WriteFile(data->dir.path(name + ".zstd"), zip);
  ASSERT_EQ(::unlink(data->dir.path(name).c_str()), 0);
  data->shards[shard] = MdsIndexShardJson(
      columns, {name, raw.size(), rows, name + ".zstd", zip.size(), "zstd:7"});
}

TEST(MdsZstdTest, CompressedShardsAreDecoded) {
  MdsFolder data;
  std::vector<std::string> rows;
  for (size_t d = 0; d < 2000; ++d) {
    rows.push_back(data.Row(Document(d, d % 700 + 1)));
  }
  data.AddShard("a.mds", rows);
  data.AddShard("b.mds", {data.Row({1, 2, 3})});  // stays as it is
  data.AddShard("c.mds", {});
  Compress(&data, "a.mds", 0, rows.size());
  Compress(&data, "c.mds", 2, 0);
  data.WriteIndex();
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, data.Open());
  ASSERT_NE(layout.decoder, nullptr);
  EXPECT_THAT(layout.files,
              ElementsAre(HasSubstr("a.mds.zstd"), ::testing::EndsWith("b.mds"),
                          HasSubstr("c.mds.zstd")));
  data.Expect(layout);
}

TEST(MdsZstdTest, CompressedRowsOfSeveralColumnsAreFound) {
  const std::vector<MdsColumn> columns = {{"a", "str", std::nullopt},
                                          kTokensColumn[0]};
  MdsFolder data;
  std::vector<std::string> rows;
  for (size_t d = 0; d < 300; ++d) {
    const Ids ids = Document(d, d % 500 + 1);
    (void)data.Row(ids);
    rows.push_back(
        MdsRow(columns, {std::string(d % 17, 'q'),
                         MdsHead(0, {ids.size()}) + As<int32_t>(ids)}));
  }
  data.AddShard("a.mds", rows, columns);
  Compress(&data, "a.mds", 0, rows.size(), columns);
  data.WriteIndex();
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, data.Open());
  data.Expect(layout);
}

TEST(MdsZstdTest, TheUnpackedFileIsReadIfItLiesThere) {
  MdsFolder data;
  data.AddShard("a.mds", {data.Row({1, 2, 3})});
  const std::string raw = testing::ReadFile(data.dir.path("a.mds"));
  Compress(&data, "a.mds", 0, 1);
  data.WriteIndex();
  WriteFile(data.dir.path("a.mds"), raw);
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, data.Open());
  EXPECT_EQ(layout.decoder, nullptr);
  data.Expect(layout);
}

TEST(MdsZstdTest, DamagedHeadsAreFoundWhenDecoded) {
  MdsFolder data;
  std::string bad = data.Row({1, 2, 3});
  bad[4] = '\x05';
  data.AddShard("a.mds", {data.Row({1, 2, 3}), bad});
  Compress(&data, "a.mds", 0, 2);
  data.WriteIndex();
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, data.Open());
  EXPECT_THAT(ReadLayout(layout),
              StatusIs(StatusCode::kDataLoss, HasSubstr("row 1")));
}

TEST(MdsZstdTest, DamagedOrOddCompressionIsRefused) {
  const auto open = [](const testing::MdsIndexShard& shard,
                       const std::string& zip) {
    MdsFolder data;
    WriteFile(data.dir.path("a.mds.zip"), zip);
    data.shards.push_back(MdsIndexShardJson(kTokensColumn, shard));
    data.WriteIndex();
    const auto layout = data.Open();
    return layout.ok() ? ReadLayout(*layout).status() : layout.status();
  };
  const std::string raw = MdsShardBytes(
      {MdsRow(kTokensColumn, {MdsHead(0, {2}) + As<int32_t>({1, 2})})});
  const std::string zip = Zstd(raw);
  EXPECT_THAT(
      open({"a.mds", raw.size(), 1, "a.mds.zip", zip.size(), "zstd"}, zip),
      testing::IsOk());
  EXPECT_THAT(
      open({"a.mds", raw.size(), 1, "a.mds.zip", zip.size(), "gz:6"}, zip),
      StatusIs(StatusCode::kUnimplemented,
               AllOf(HasSubstr("'gz:6'"), HasSubstr("unpack"))));
  EXPECT_THAT(open({"a.mds", raw.size(), 1, "a.mds.zip", zip.size(), "zstd"},
                   zip + "x"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("bytes")));
  EXPECT_THAT(
      open({"a.mds", uint64_t{300} << 20, 1, "a.mds.zip", zip.size(), "zstd"},
           zip),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("unpack")));
  EXPECT_THAT(
      open({"a.mds", raw.size(), 1, "a.mds.zip", 9, "zstd"}, "no frame."),
      StatusIs(StatusCode::kDataLoss, HasSubstr("zstd cannot")));
  for (size_t cut = 0; cut < zip.size(); ++cut) {
    ASSERT_THAT(open({"a.mds", raw.size(), 1, "a.mds.zip", cut, "zstd"},
                     zip.substr(0, cut)),
                StatusIs(StatusCode::kDataLoss, HasSubstr("a.mds.zip")))
        << cut;
  }
  EXPECT_THAT(
      open({"a.mds", raw.size() + 8, 1, "a.mds.zip", zip.size(), "zstd"}, zip),
      StatusIs(StatusCode::kDataLoss, HasSubstr("last row ends")));
}

TEST(MdsZstdTest, ShardsThatNoCompressorMakesAreDataLoss) {
  MdsFolder data;
  const std::string raw = MdsShardBytes(
      {MdsRow(kTokensColumn, {MdsHead(0, {2}) + As<int32_t>({1, 2})})});
  std::string zip = Zstd(raw);
  zip.resize(raw.size() + raw.size() / 128 + 65537, '\0');
  WriteFile(data.dir.path("a.mds.zip"), zip);
  data.shards.push_back(MdsIndexShardJson(
      kTokensColumn,
      {"a.mds", raw.size(), 1, "a.mds.zip", zip.size(), "zstd"}));
  data.WriteIndex();
  EXPECT_THAT(data.Open().status(),
              StatusIs(StatusCode::kDataLoss,
                       AllOf(HasSubstr("a.mds.zip' has "),
                             HasSubstr("unpacked, which take at most "))));
}

#endif

}  // namespace
}  // namespace poniente::internal
