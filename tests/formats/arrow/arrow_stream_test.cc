// SPDX-License-Identifier: Apache-2.0
#include "formats/arrow/arrow_stream.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "formats/arrow/arrow_metadata.h"
#include "tests/formats/arrow_files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using ::poniente::testing::ArrowBatchParts;
using ::poniente::testing::ArrowBlockParts;
using ::poniente::testing::ArrowField;
using ::poniente::testing::ArrowWriter;
using ::poniente::testing::Integers;
using ::poniente::testing::IsOk;
using ::poniente::testing::ListOf;
using ::poniente::testing::LittleEndian;
using ::poniente::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const ArrowField kInts = Integers("item", 32, true);
const std::string kFileMagic("ARROW1\0\0", 8);

MemoryBytes Input(const std::string& bytes) {
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  return {"a.arrow", std::vector<std::byte>(data, data + bytes.size())};
}

struct Read {
  ArrowStream stream;
  std::vector<uint64_t> lengths;
  std::vector<uint64_t> ids;
};

absl::StatusOr<Read> ReadStream(const std::string& bytes,
                                std::string_view column = "") {
  const MemoryBytes input = Input(bytes);
  CompactEnds rows;
  auto stream = ParseArrowStream(input, column, &rows);
  if (!stream.ok()) return stream.status();
  Read read{*stream, {}, {}};
  for (uint64_t i = 0; i < rows.size(); ++i) {
    read.lengths.push_back(rows.Length(i));
  }
  const uint64_t width = StoredTypeBytes(stream->type);
  for (const ArrowRun& run : stream->runs) {
    for (uint64_t i = 0; i < run.tokens; ++i) {
      uint64_t id = 0;
      EXPECT_LE(run.offset + (i + 1) * width, bytes.size());
      std::memcpy(&id, bytes.data() + run.offset + i * width, width);
      read.ids.push_back(id);
    }
  }
  return read;
}

std::string Lists32(const std::vector<int32_t>& ends,
                    const std::vector<int32_t>& ids) {
  return ArrowWriter()
      .Schema({ListOf("input_ids", kInts)})
      .Lists(ends, ids)
      .End()
      .bytes;
}

// A stream of one column of `fields` and a batch of `parts`.
absl::Status StatusOf(const std::vector<ArrowField>& fields,
                      const ArrowBatchParts& parts) {
  return ReadStream(ArrowWriter().Schema(fields).Batch(parts).End().bytes)
      .status();
}

TEST(ArrowStreamTest, RowsOfSeveralBatchesFollowEachOther) {
  ASSERT_OK_AND_ASSIGN(
      const Read read,
      ReadStream(ArrowWriter()
                     .Schema({ListOf("input_ids", kInts)})
                     .Lists<int32_t>({0, 2, 2, 5},
                                     std::vector<int32_t>{7, 8, 9, 10, 11})
                     .Lists<int32_t>({0}, std::vector<int32_t>{})
                     .Lists<int32_t>({}, std::vector<int32_t>{})
                     .Lists<int32_t>({0, 1}, std::vector<int32_t>{12})
                     .End()
                     .bytes));
  EXPECT_THAT(read.lengths, ElementsAre(2, 0, 3, 1));
  EXPECT_THAT(read.ids, ElementsAre(7, 8, 9, 10, 11, 12));
  EXPECT_EQ(read.stream.runs.size(), 2u);
  EXPECT_EQ(read.stream.type, StoredType::kI32);
  EXPECT_EQ(read.stream.column, "input_ids");
  EXPECT_EQ(read.stream.rows, 4u);
  EXPECT_EQ(read.stream.tokens, 6u);
  EXPECT_THAT(read.stream.warnings, IsEmpty());
}

TEST(ArrowStreamTest, OffsetsNeedNotBeginWithZeroNorReachTheLastId) {
  ASSERT_OK_AND_ASSIGN(const Read read,
                       ReadStream(Lists32({2, 3, 5}, {1, 2, 3, 4, 5, 6})));
  EXPECT_THAT(read.lengths, ElementsAre(1, 2));
  EXPECT_THAT(read.ids, ElementsAre(3, 4, 5));
}

TEST(ArrowStreamTest, EveryTypeOfIntegersIsRead) {
  const std::vector<std::pair<int32_t, bool>> types = {
      {8, false},  {8, true},  {16, false}, {16, true},
      {32, false}, {32, true}, {64, false}, {64, true}};
  for (const auto& [bits, is_signed] : types) {
    ArrowBatchParts parts;
    parts.rows = 2;
    parts.nodes = {{2, 0}, {3, 0}};
    std::string ids;
    for (const char id : {5, 6, 127}) {
      ids += id + std::string(static_cast<size_t>(bits / 8 - 1), '\0');
    }
    parts.buffers = {"", LittleEndian<int64_t>({0, 1, 3}), "", ids};
    ASSERT_OK_AND_ASSIGN(
        const Read read,
        ReadStream(ArrowWriter()
                       .Schema({ListOf("input_ids",
                                       Integers("item", bits, is_signed), 21)})
                       .Batch(parts)
                       .End()
                       .bytes));
    EXPECT_THAT(read.ids, ElementsAre(5, 6, 127)) << bits;
    EXPECT_EQ(StoredTypeName(read.stream.type),
              (is_signed ? "i" : "u") + std::to_string(bits));
  }
}

TEST(ArrowStreamTest, ListsOfAFixedSizeHaveNoOffsets) {
  ArrowBatchParts parts;
  parts.rows = 2;
  parts.nodes = {{2, 0}, {6, 0}};
  parts.buffers = {"", "", LittleEndian<int32_t>({1, 2, 3, 4, 5, 6})};
  const std::vector<ArrowField> fields = {ListOf("input_ids", kInts, 16, 3)};
  ASSERT_OK_AND_ASSIGN(
      const Read read,
      ReadStream(ArrowWriter().Schema(fields).Batch(parts).End().bytes));
  EXPECT_THAT(read.lengths, ElementsAre(3, 3));
  EXPECT_THAT(read.ids, ElementsAre(1, 2, 3, 4, 5, 6));

  parts.rows = 3;
  parts.nodes[0].first = 3;
  EXPECT_THAT(StatusOf(fields, parts),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("3 rows of 3 ids have only 6 ids")));
}

// Rows of no ids take no bytes, so that any number of them could be claimed.
TEST(ArrowStreamTest, ListsOfTheFixedSizeZeroAreRefused) {
  ArrowBatchParts parts;
  parts.rows = int64_t{1} << 62;
  parts.nodes = {{parts.rows, 0}, {0, 0}};
  parts.buffers = {"", "", ""};
  EXPECT_THAT(StatusOf({ListOf("input_ids", kInts, 16, 0)}, parts),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("is of type fixed_size_list<i32>")));
}

// Arrays and buffers lie depth-first: string 1 and 3, struct 1 and 1 with a
// float 1 and 2, a string view 1 and 2 and those it says, a list of dictionary
// codes 1 and 2 with 1 and 2.
TEST(ArrowStreamTest, TheColumnIsFoundBehindOthers) {
  const std::vector<ArrowField> fields = {
      {"text", 5},
      {"meta", 13, 0, false, false, {{"score", 3}}},
      {"view", 24},
      ListOf("codes", {"item", 5, 0, false, true}),
      ListOf("input_ids", kInts),
      {"after", 24}};
  ArrowBatchParts parts;
  parts.rows = 1;
  parts.nodes = {{1, 0}, {1, 0}, {1, 0}, {1, 1}, {1, 0},
                 {4, 0}, {1, 0}, {2, 0}, {1, 0}};
  parts.buffers = {"",     "text",
                   "text", "",
                   "",     "score",
                   "",     "view",
                   "more", "more",
                   "",     "codes",
                   "",     "codes",
                   "",     LittleEndian<int32_t>({0, 2}),
                   "",     LittleEndian<int32_t>({41, 42}),
                   "",     "after"};
  parts.view_buffers = {2, 0};
  const std::string bytes =
      ArrowWriter().Schema(fields).Batch(parts).End().bytes;
  ASSERT_OK_AND_ASSIGN(const Read read, ReadStream(bytes));
  EXPECT_THAT(read.ids, ElementsAre(41, 42));

  parts.view_buffers = {3, 0};
  EXPECT_THAT(StatusOf(fields, parts),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("the batch has 20 buffers, its schema asks "
                                 "for 21")));
  parts.view_buffers = {INT64_MAX, INT64_MAX};
  EXPECT_THAT(StatusOf(fields, parts),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("20 buffers")));
  parts.view_buffers = {};
  EXPECT_THAT(StatusOf(fields, parts),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("0 numbers of view buffers")));
}

// Version 4 had a buffer of nulls for unions and run-end encoding.
TEST(ArrowStreamTest, BuffersOfUnionsAndRunsFollowTheVersion) {
  const ArrowField runs = {"runs", 22,    0,
                           false,  false, {kInts, Integers("item", 8, true)}};
  const ArrowField either = {"either", 14, 0, false, false, {kInts}};
  for (const int16_t version : {3, 4}) {
    ArrowBatchParts parts;
    parts.rows = 1;
    parts.nodes = {{1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}, {2, 0}};
    parts.buffers = {"",
                     "ends",
                     "",
                     "i",
                     "k",
                     "",
                     "ints",
                     "",
                     LittleEndian<int32_t>({0, 2}),
                     "",
                     LittleEndian<int32_t>({8, 9})};
    if (version == 3) {
      parts.buffers.insert(parts.buffers.begin(), "");
      parts.buffers.insert(parts.buffers.begin() + 5, "");
    }
    ArrowWriter writer;
    writer.version = version;
    writer.Schema({runs, either, ListOf("input_ids", kInts)});
    ASSERT_OK_AND_ASSIGN(const Read read,
                         ReadStream(writer.Batch(parts).End().bytes));
    EXPECT_THAT(read.ids, ElementsAre(8, 9)) << version;
  }
}

TEST(ArrowStreamTest, TheColumnIsTheOneStatedOrInputIdsOrTokensOrTheOnlyOne) {
  const auto chosen = [](const std::vector<std::string>& names,
                         std::string_view stated) {
    std::vector<ArrowField> fields = {{"text", 5}};
    for (const std::string& name : names) {
      fields.push_back(ListOf(name, kInts));
    }
    const auto read =
        ReadStream(ArrowWriter().Schema(fields).End().bytes, stated);
    return read.ok() ? read->stream.column
                     : std::string(read.status().message());
  };
  EXPECT_EQ(chosen({"labels", "tokens", "input_ids"}, ""), "input_ids");
  EXPECT_EQ(chosen({"labels", "tokens"}, ""), "tokens");
  EXPECT_EQ(chosen({"labels", "tokens"}, "labels"), "labels");
  EXPECT_EQ(chosen({"ids"}, ""), "ids");
  EXPECT_THAT(chosen({"a", "b\n"}, ""),
              HasSubstr("'a.arrow': message at byte 0: several columns hold "
                        "lists of integers: 'a' (list<i32>), 'b\\n' "
                        "(list<i32>); state one (column)"));
  EXPECT_THAT(chosen({"a"}, "b"),
              HasSubstr("there is no column 'b', only 'text' (string), 'a' "
                        "(list<i32>)"));
  EXPECT_THAT(chosen({}, ""),
              HasSubstr("no column holds lists of integers; the columns are "
                        "'text' (string); tokenize the text first"));
  EXPECT_THAT(chosen({"a", "a"}, "a"), HasSubstr("2 columns are called 'a'"));
}

TEST(ArrowStreamTest, OtherTypesAreRefusedByTheirName) {
  const std::vector<std::pair<ArrowField, std::string>> cases = {
      {{"input_ids", 5}, "is of type string"},
      {Integers("input_ids", 32, true), "is of type i32"},
      {ListOf("input_ids", {"item", 3, 0}), "is of type list<f16>"},
      {ListOf("input_ids", ListOf("item", kInts)),
       "is of type list<list<i32>>"},
      {ListOf("input_ids", {"item", 2, 32, true, true}),
       "is of type list<dictionary>"},
      {{"input_ids", 12, 0, false, true, {kInts}}, "is of type dictionary"},
      {ListOf("input_ids", kInts, 25), "is of type list_view<i32>"}};
  for (const auto& [field, message] : cases) {
    EXPECT_THAT(
        ReadStream(ArrowWriter().Schema({field}).End().bytes).status(),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  }
  EXPECT_THAT(ReadStream(ArrowWriter()
                             .Schema({ListOf("input_ids", kInts), {"x", 27}})
                             .End()
                             .bytes)
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("column 'x' is of type number 27")));
}

TEST(ArrowStreamTest, NullsAndCompressionAreRefused) {
  const std::vector<ArrowField> fields = {ListOf("input_ids", kInts)};
  ArrowBatchParts parts;
  parts.rows = 2;
  parts.nodes = {{2, 1}, {3, 0}};
  parts.buffers = {"\1", LittleEndian<int32_t>({0, 1, 3}), "",
                   LittleEndian<int32_t>({1, 2, 3})};
  EXPECT_THAT(StatusOf(fields, parts),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("column 'input_ids' has 1 null rows; drop")));
  parts.nodes = {{2, 0}, {3, 2}};
  EXPECT_THAT(StatusOf(fields, parts),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("has 2 null ids")));
  parts.nodes = {{2, 3}, {3, 0}};
  EXPECT_THAT(StatusOf(fields, parts),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("array 0 has 2 values and 3 nulls")));
  parts.nodes = {{2, 0}, {3, 0}};
  parts.is_compressed = true;
  EXPECT_THAT(StatusOf(fields, parts),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("compressed (lz4), which is not read; write "
                                 "the data again without compression")));
}

TEST(ArrowStreamTest, OffsetsThatDescendOrLeaveTheIdsAreFound) {
  EXPECT_THAT(ReadStream(Lists32({0, 2, 1}, {1, 2, 3})).status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("row 1 ends at id 1 of 3, after it began at "
                                 "2; the file is damaged")));
  EXPECT_THAT(ReadStream(Lists32({0, 2, 4}, {1, 2, 3})).status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("row 1 ends at id 4 of 3")));
  EXPECT_THAT(ReadStream(Lists32({-1, 2}, {1, 2, 3})).status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("row 0 begins at id -1 of 3")));
}

TEST(ArrowStreamTest, SizesThatDisagreeAreFound) {
  const std::vector<ArrowField> fields = {ListOf("input_ids", kInts)};
  ArrowBatchParts parts;
  parts.rows = 2;
  parts.nodes = {{2, 0}, {3, 0}};
  parts.buffers = {"", LittleEndian<int32_t>({0, 1, 3}), "",
                   LittleEndian<int32_t>({1, 2, 3})};
  ASSERT_THAT(StatusOf(fields, parts), IsOk());
  const auto loses = [&](const ArrowBatchParts& wrong, const char* message) {
    EXPECT_THAT(StatusOf(fields, wrong),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(message)));
  };
  ArrowBatchParts wrong = parts;
  wrong.rows = 3;
  loses(wrong, "the batch has 3 rows, column 'input_ids' has 2");
  wrong = parts;
  wrong.rows = wrong.nodes[0].first = INT64_MAX;
  loses(wrong, "a buffer of 12 bytes is too small for 9223372036854775808 row");
  wrong = parts;
  wrong.nodes[1].first = 4;
  loses(wrong, "a buffer of 12 bytes is too small for 4 ids");
  wrong = parts;
  wrong.nodes[1].first = -1;
  loses(wrong, "array 1 has -1 values");
  wrong = parts;
  wrong.nodes.pop_back();
  loses(wrong, "the batch has 1 arrays, its schema asks for 2");
  wrong = parts;
  wrong.places = {{0, 0}, {0, 12}, {16, 0}, {16, 17}};
  loses(wrong, "buffer 3 has 17 bytes at byte 16 of a body of 32");
  wrong.places[3] = {INT64_MAX, INT64_MAX};
  loses(wrong, "of a body of 32");
  wrong.places[3] = {-8, 8};
  loses(wrong, "buffer 3 has 8 bytes at byte -8");
}

TEST(ArrowStreamTest, MessagesThatAreNotExpectedAreFound) {
  const std::vector<ArrowField> fields = {ListOf("input_ids", kInts)};
  ArrowWriter twice;
  twice.Schema(fields).Schema(fields);
  EXPECT_THAT(
      ReadStream(twice.bytes).status(),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("second schema")));
  ArrowWriter none;
  none.Lists<int32_t>({0, 1}, std::vector<int32_t>{1});
  EXPECT_THAT(
      ReadStream(none.bytes).status(),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no schema before it")));
  EXPECT_THAT(ReadStream(ArrowWriter().End().bytes).status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("ends before its schema")));
  ArrowWriter old;
  old.version = 2;
  EXPECT_THAT(ReadStream(old.Schema(fields).bytes).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("version 3, expected 4 or 5")));
  ArrowWriter big;
  big.endianness = 1;
  EXPECT_THAT(
      ReadStream(big.Schema(fields).bytes).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("big-endian")));
  EXPECT_THAT(
      ReadStream(ArrowWriter().Schema(fields).bytes + std::string(16, '\0'))
          .status(),
      StatusIs(absl::StatusCode::kDataLoss,
               HasSubstr("begins with 00000000, expected ffffffff")));
  EXPECT_THAT(
      ReadStream("\xff\xff\xff\xff" + LittleEndian<uint32_t>({0x80000000}) +
                 std::string(64, 'x'))
          .status(),
      StatusIs(absl::StatusCode::kDataLoss,
               HasSubstr("2147483648 bytes at byte 8 are expected, but "
                         "all end at byte 72")));
  ArrowWriter negative;
  negative.Schema(fields);
  flatbuffers::FlatBufferBuilder builder;
  const auto table = builder.EndTable(builder.StartTable());
  negative.Message(&builder, 3, table, "", INT64_MAX);
  EXPECT_THAT(ReadStream(negative.bytes).status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("9223372036854775807 bytes at byte")));
}

TEST(ArrowStreamTest, WhatIsOddAtTheEndIsReadWithAWarning) {
  ArrowWriter writer;
  writer.Schema({ListOf("input_ids", kInts)})
      .Lists<int32_t>({0, 2}, std::vector<int32_t>{3, 4});
  ASSERT_OK_AND_ASSIGN(Read read, ReadStream(writer.bytes));
  EXPECT_THAT(read.ids, ElementsAre(3, 4));
  EXPECT_THAT(read.stream.warnings,
              ElementsAre(HasSubstr("'a.arrow' has no end mark")));
  ASSERT_OK_AND_ASSIGN(read, ReadStream(writer.End().bytes + "more"));
  EXPECT_THAT(read.ids, ElementsAre(3, 4));
  EXPECT_THAT(read.stream.warnings,
              ElementsAre(HasSubstr("4 bytes after the end mark")));
}

TEST(ArrowStreamTest, TheFileFormIsReadIfItsFooterAgrees) {
  const auto write = [](auto blocks_of) {
    ArrowWriter writer(kFileMagic);
    writer.Schema({ListOf("input_ids", kInts)})
        .Lists<int32_t>({0, 2}, std::vector<int32_t>{3, 4})
        .Lists<int32_t>({0, 1}, std::vector<int32_t>{5})
        .End();
    return writer.Footer(blocks_of(writer.batches)).bytes;
  };
  using Blocks = std::vector<int64_t>;
  const std::string good = write([](Blocks blocks) { return blocks; });
  ASSERT_OK_AND_ASSIGN(const Read read, ReadStream(good));
  EXPECT_THAT(read.ids, ElementsAre(3, 4, 5));
  EXPECT_THAT(read.stream.warnings, IsEmpty());
  EXPECT_THAT(ReadStream(write([](Blocks blocks) {
                return Blocks{blocks[1], blocks[0]};
              })).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the footer lists batch 0 at byte")));
  EXPECT_THAT(ReadStream(write([](Blocks blocks) {
                return Blocks{blocks[0]};
              })).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the footer lists batch 1 nowhere")));
  EXPECT_THAT(ReadStream(write([](Blocks blocks) {
                blocks.push_back(9);
                return blocks;
              })).status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("has 2 batches, its footer lists 3")));
  EXPECT_THAT(ReadStream(good.substr(0, good.size() - 1)).status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("does not end with a footer and 'ARROW1'")));
}

// A file of two batches. `change` changes what its footer says of them.
std::string FileOfBlocks(
    const std::function<void(std::vector<ArrowBlockParts>*)>& change,
    bool has_schema = true) {
  ArrowWriter writer(kFileMagic);
  writer.Schema({ListOf("input_ids", kInts)})
      .Lists<int32_t>({0, 2}, std::vector<int32_t>{3, 4})
      .Lists<int32_t>({0, 1}, std::vector<int32_t>{5});
  std::vector<ArrowBlockParts> blocks(writer.blocks().begin() + 1,
                                      writer.blocks().end());
  change(&blocks);
  return writer.End().FooterOf(blocks, has_schema).bytes;
}

// As polars, which writes the schema without the bytes before it, and arrow-rs,
// which aligns messages to 64 bytes: only the footer says where batches are.
TEST(ArrowStreamTest, TheFileFormIsReadWhereItsFooterSays) {
  const std::string schema_of_its_own("\x04\0\0\0\xf2\xff\xff\xff schema", 15);
  for (const std::string& between :
       {std::string(56, '\0'), schema_of_its_own, std::string("\xff", 1)}) {
    ArrowWriter writer(kFileMagic);
    writer.Schema({ListOf("input_ids", kInts)});
    writer.bytes = kFileMagic + between;
    writer.Lists<int32_t>({0, 2}, std::vector<int32_t>{3, 4});
    writer.bytes += between;
    writer.Lists<int32_t>({0, 1}, std::vector<int32_t>{5});
    writer.bytes += between;
    ASSERT_OK_AND_ASSIGN(const Read read,
                         ReadStream(writer.Footer(writer.batches).bytes));
    EXPECT_THAT(read.ids, ElementsAre(3, 4, 5));
    EXPECT_THAT(read.lengths, ElementsAre(2, 1));
    EXPECT_THAT(read.stream.warnings, IsEmpty());
  }
  ArrowWriter none(kFileMagic);
  none.Schema({ListOf("input_ids", kInts)});
  none.bytes = kFileMagic;
  ASSERT_OK_AND_ASSIGN(const Read read, ReadStream(none.Footer({}).bytes));
  EXPECT_EQ(read.stream.rows, 0u);
  EXPECT_EQ(read.stream.type, StoredType::kI32);
}

TEST(ArrowStreamTest, FootersThatLeadElsewhereAreDataLoss) {
  using Blocks = std::vector<ArrowBlockParts>;
  const auto loses = [](const std::function<void(Blocks*)>& change,
                        const std::string& message) {
    EXPECT_THAT(ReadStream(FileOfBlocks(change)).status(),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(message)));
  };
  ASSERT_THAT(ReadStream(FileOfBlocks([](Blocks*) {})).status(), IsOk());
  loses([](Blocks* b) { (*b)[1].offset = INT64_MAX; },
        "has 1 batches, its footer lists 2: batch 1, of");
  loses([](Blocks* b) { (*b)[1].offset = -8; }, "does not lie between byte");
  loses([](Blocks* b) { (*b)[0].offset = 0; }, "does not lie between byte 8");
  loses([](Blocks* b) { (*b)[1].metadata = INT32_MAX; }, "of 2147483647 and ");
  loses([](Blocks* b) { (*b)[1].metadata = -1; }, "of 4294967295 and ");
  loses([](Blocks* b) { (*b)[1].body = INT64_MAX; },
        " and 9223372036854775807 bytes at byte ");
  loses([](Blocks* b) { (*b)[1].body = -1; }, "does not lie between byte");
  // One batch listed twice, or a million times.
  loses([](Blocks* b) { (*b)[1] = (*b)[0]; }, "does not lie between byte");
  loses([](Blocks* b) { b->resize(1'000'000, (*b)[0]); },
        "its footer lists 1000000: batch 2, of");
  loses([](Blocks* b) { (*b)[1].body -= 8; }, "; there is one of ");
  loses([](Blocks* b) { (*b)[1].metadata = 4; },
        "lists batch 1 with metadata of 4 bytes");
  loses([](Blocks* b) { (*b)[1].metadata -= 8; },
        "the footer lists batch 1 with metadata of ");

  ArrowWriter schema(kFileMagic);
  schema.Schema({ListOf("input_ids", kInts)});
  EXPECT_THAT(ReadStream(schema.Footer({8}).bytes).status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("there is another message")));
  EXPECT_THAT(
      ReadStream(FileOfBlocks([](Blocks*) {}, /*has_schema=*/false)).status(),
      StatusIs(absl::StatusCode::kDataLoss,
               HasSubstr("the schema is damaged")));
}

// Arrow before 0.15 wrote no mark before the length of a message.
TEST(ArrowStreamTest, MessagesWithoutMarksAreRead) {
  for (const bool is_file : {false, true}) {
    ArrowWriter writer(is_file ? kFileMagic : "");
    writer.has_marks = false;
    writer.Schema({ListOf("input_ids", kInts)})
        .Lists<int32_t>({0, 2}, std::vector<int32_t>{3, 4})
        .Lists<int32_t>({0, 1}, std::vector<int32_t>{5});
    writer.bytes += std::string(4, '\0');
    if (is_file) writer.Footer(writer.batches);
    ASSERT_OK_AND_ASSIGN(const Read read, ReadStream(writer.bytes));
    EXPECT_THAT(read.ids, ElementsAre(3, 4, 5));
    EXPECT_THAT(read.stream.warnings, IsEmpty());
    EXPECT_TRUE(IsArrow(std::as_bytes(std::span(writer.bytes))));
    const std::string cut = writer.bytes.substr(0, 60);
    EXPECT_EQ(IsArrow(std::as_bytes(std::span(cut))), is_file);
    for (size_t size = 1; is_file && size < writer.bytes.size(); ++size) {
      EXPECT_FALSE(ReadStream(writer.bytes.substr(0, size)).ok()) << size;
    }
  }
}

TEST(ArrowStreamTest, IsSurelyKnownByItsHead) {
  const std::string stream = Lists32({0, 1}, {1});
  const auto is_arrow = [](const std::string& text) {
    return IsArrow(std::as_bytes(std::span(text)));
  };
  EXPECT_TRUE(is_arrow(stream));
  EXPECT_TRUE(is_arrow(stream.substr(0, 16)));
  EXPECT_TRUE(is_arrow(kFileMagic));
  EXPECT_FALSE(is_arrow(stream.substr(0, 15)));
  EXPECT_FALSE(is_arrow(""));
  EXPECT_FALSE(is_arrow(std::string(4096, '\xff')));
  EXPECT_FALSE(is_arrow(
      LittleEndian<uint16_t>({65535, 65535, 65, 0, 16, 0, 3, 4, 5, 6, 7, 8})));
}

// Tokens and rows of a stream cut anywhere are an error, or those before.
TEST(ArrowStreamTest, CutAnywhereItIsAnErrorOrShorter) {
  ArrowWriter writer;
  writer.Schema({ListOf("input_ids", kInts)});
  const uint64_t after_schema = writer.bytes.size();
  writer.Lists<int32_t>({0, 2}, std::vector<int32_t>{3, 4});
  const uint64_t after_batch = writer.bytes.size();
  writer.End();
  for (uint64_t size = 0; size < writer.bytes.size(); ++size) {
    const auto read = ReadStream(writer.bytes.substr(0, size));
    const bool is_between = size == after_schema || size == after_batch;
    ASSERT_EQ(read.ok(), is_between) << size;
    if (read.ok()) {
      EXPECT_EQ(read->ids.size(), size == after_schema ? 0u : 2u);
      EXPECT_EQ(read->stream.warnings.size(), 1u);
    } else {
      EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss)
          << read.status();
    }
  }
}

// Whatever bit is wrong: a status, or runs within the file (ReadStream()).
TEST(ArrowStreamTest, EveryWrongByteIsAStatusOrWithinBounds) {
  ArrowWriter file(kFileMagic);
  file.Schema({{"text", 5}, ListOf("input_ids", kInts)});
  ArrowBatchParts parts;
  parts.rows = 2;
  parts.nodes = {{2, 0}, {2, 0}, {3, 0}};
  parts.buffers = {"",
                   LittleEndian<int32_t>({0, 1, 2}),
                   "ab",
                   "",
                   LittleEndian<int32_t>({0, 1, 3}),
                   "",
                   LittleEndian<int32_t>({1, 2, 3})};
  file.Batch(parts).End().Footer(file.batches);
  for (const std::string& good : {Lists32({0, 2, 3}, {5, 6, 7}), file.bytes}) {
    ASSERT_THAT(ReadStream(good).status(), IsOk());
    for (size_t at = 0; at < good.size(); ++at) {
      std::string bad = good;
      for (int bit = 0; bit < 8; ++bit) {
        bad[at] = static_cast<char>(good[at] ^ (1 << bit));
        (void)ReadStream(bad);
      }
      for (const int byte : {0x00, 0x7f, 0x80, 0xff}) {
        bad[at] = static_cast<char>(byte);
        (void)ReadStream(bad);
      }
    }
  }
}

// Tables may share children, so that few bytes describe 2^40 columns.
TEST(ArrowStreamTest, SharedTablesDoNotMultiply) {
  flatbuffers::FlatBufferBuilder builder;
  const auto name = builder.CreateString("shared");
  auto start = builder.StartTable();
  const auto type = builder.EndTable(start);
  flatbuffers::Offset<flatbuffers::Table> field;
  for (int level = 0; level < 30; ++level) {
    std::vector<flatbuffers::Offset<flatbuffers::Table>> children;
    if (level > 0) children = {field, field};
    const auto below = builder.CreateVector(children);
    start = builder.StartTable();
    builder.AddOffset(ArrowWriter::Slot(0), name);
    builder.AddElement<uint8_t>(ArrowWriter::Slot(2), 13);
    builder.AddOffset(ArrowWriter::Slot(3),
                      flatbuffers::Offset<flatbuffers::Table>(type));
    builder.AddOffset(ArrowWriter::Slot(5), below);
    field = flatbuffers::Offset<flatbuffers::Table>(builder.EndTable(start));
  }
  const auto fields = builder.CreateVector(
      {field, ArrowWriter::Field(&builder, ListOf("input_ids", kInts))});
  start = builder.StartTable();
  builder.AddOffset(ArrowWriter::Slot(1), fields);
  const auto schema = builder.EndTable(start);
  ArrowWriter writer;
  writer.Message(&builder, 1, schema, "");
  EXPECT_THAT(ReadStream(writer.bytes).status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("the schema is damaged")));
}

TEST(ArrowStreamTest, RandomRowsAreThoseThatWereWritten) {
  std::mt19937_64 random(testing::TestSeed(13));
  for (int round = 0; round < 20; ++round) {
    ArrowWriter writer;
    writer.Schema({ListOf("tokens", Integers("item", 16, false), 21)});
    std::vector<uint64_t> lengths;
    std::vector<uint64_t> ids;
    for (uint64_t batches = random() % 5; batches > 0; --batches) {
      std::vector<int64_t> ends = {static_cast<int64_t>(random() % 3)};
      std::vector<uint16_t> values(static_cast<size_t>(ends[0]), 9);
      for (uint64_t rows = random() % 300; rows > 0; --rows) {
        lengths.push_back(random() % 4 == 0 ? 0 : random() % 200);
        for (uint64_t i = 0; i < lengths.back(); ++i) {
          values.push_back(static_cast<uint16_t>(random()));
          ids.push_back(values.back());
        }
        ends.push_back(static_cast<int64_t>(values.size()));
      }
      writer.Lists(ends, values);
    }
    ASSERT_OK_AND_ASSIGN(const Read read, ReadStream(writer.End().bytes));
    ASSERT_EQ(read.lengths, lengths);
    ASSERT_EQ(read.ids, ids);
  }
}

}  // namespace
}  // namespace poniente::internal
