// SPDX-License-Identifier: Apache-2.0
// Levanter caches that contradict themselves, are cut short or changed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "formats/levanter/blosc_block.h"
#include "formats/levanter/levanter_ledger.h"
#include "formats/levanter/zarr3.h"
#include "tests/formats/levanter_files.h"
#include "tests/formats/open_with.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente::internal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::kHasBlosc;
using testing::LedgerText;
using testing::Little;
using testing::ReadFile;
using testing::StatusIs;
using testing::TempDir;
using testing::WriteFile;
using testing::WriteZarr;
using testing::ZarrStyle;

using testing::kDataLoss;
using testing::kInvalid;

absl::StatusOr<std::vector<uint32_t>> ReadAll(const std::string& path) {
  TokenSourceOptions options;
  options.io.backend = IoBackend::kPread;
  const auto source = testing::OpenWith(kLevanterFormat, path, options);
  if (!source.ok()) return source.status();
  return RunBlocking((*source)->ReadTokens(
      0, std::min<uint64_t>((*source)->num_tokens(), 64)));
}

struct Refused {
  const char* from;
  const char* to;
  absl::StatusCode code;
  const char* message;
};

TEST(Zarr3Test, WhatIsNotReadIsRefusedByName) {
  const std::string good = testing::ZarrJson("int32", {4, 16, "lz4", "end"});
  ASSERT_THAT(ParseZarr3("z", good), testing::IsOk());
  const Refused cases[] = {
      {R"("zarr_format":3)", R"("zarr_format":2)", kInvalid,
       "'z': zarr_format is 2, expected 3"},
      {R"("array")", R"("group")", kInvalid, "node_type is \"group\""},
      {R"("fill_value":0)", R"("fill_value":1)", kInvalid, "fill_value is 1"},
      {R"("int32")", R"("float32")", kInvalid,
       "data_type is \"float32\", expected a type of integers"},
      {R"("int32")", R"("bool")", kInvalid, "data_type is \"bool\""},
      {"[18014398509481984]", "[9,2]", kInvalid,
       "shape is [9,2], expected one positive number"},
      {"[18014398509481984]", "[-1]", kInvalid, "shape is [-1]"},
      {"[16]", "[0]", kInvalid, "chunk_shape is [0]"},
      {"[4]", "[5]", kDataLoss,
       "files of 16 items are no whole number of chunks of 5"},
      {"[4]", "[32]", kDataLoss, "no whole number of chunks of 32"},
      {"\"regular\"", "\"rectangular\"", kInvalid, "expected a regular grid"},
      {R"({"name":"default"})", R"({"name":"v2"})", kInvalid,
       "chunk_key_encoding is {\"name\":\"v2\"}"},
      {R"({"name":"default"})",
       R"({"name":"default","configuration":{"separator":"."}})", kInvalid,
       "separator is \".\", expected \"/\""},
      {"\"sharding_indexed\"", "\"gzip\"", kInvalid,
       "codecs[0].name is \"gzip\", expected \"sharding_indexed\""},
      {"\"blosc\"", "\"gzip\"", kInvalid,
       "codecs[1].name is \"gzip\", expected \"blosc\" or no compression"},
      {"\"blosc\"", "\"zstd\"", kInvalid, "codecs[1].name is \"zstd\""},
      {"\"little\"", "\"big\"", kInvalid, "endian is \"big\""},
      {"\"crc32c\"", "\"adler32\"", kInvalid, "name is \"adler32\""},
      {"\"end\"", "\"middle\"", kInvalid, "index_location is \"middle\""},
      {R"("cname":"lz4")", R"("cname":7)", kInvalid, "cname is 7"},
      {"\"zarr_format\"", "\"storage_transformers\":[{}],\"zarr_format\"",
       kInvalid, "storage_transformers is [{}], expected none"},
      {"[16]", "[134217728]", kInvalid, "have 33554432 chunks each"},
      {"}", "", kDataLoss, "are not valid JSON"}};
  for (const Refused& c : cases) {
    const std::string text = absl::StrReplaceAll(good, {{c.from, c.to}});
    ASSERT_NE(text, good) << c.from;
    EXPECT_THAT(ParseZarr3("z", text), StatusIs(c.code, HasSubstr(c.message)));
  }
  const std::string large =
      testing::ZarrJson("int64", {1u << 22, 1u << 22, "", "end"});
  EXPECT_THAT(ParseZarr3("z", large),
              StatusIs(kInvalid, HasSubstr("its chunks have 4194304 items of "
                                           "8 bytes")));
  const std::string deep = std::string(1'000'000, '[');
  EXPECT_THAT(ParseZarr3("z", deep),
              StatusIs(kDataLoss, HasSubstr("nested more than 32 deep")));
  std::string wide = "{\"a\":[0";
  for (int i = 0; i < 600'000; ++i) wide += ",0";
  EXPECT_THAT(ParseZarr3("z", wide + "]}"),
              StatusIs(kDataLoss, HasSubstr("expected at most 300000")));
}

TEST(LevanterDamageTest, LedgersThatContradictThemselvesAreRefused) {
  const TempDir folder;
  const std::vector<testing::LevanterShard> shards = {{"a", {{1, 2}, {3}}},
                                                      {"b", {{4}}}};
  for (const auto& shard : shards) {
    testing::WriteCache(folder.path(shard.name), shard.rows);
  }
  const std::string good = testing::ShardedLedgerText(shards);
  const Refused cases[] = {
      {"\"total_num_rows\": 3", "\"total_num_rows\": 4", kDataLoss,
       "total_num_rows is 4, its shards have 3"},
      {"\"total_num_rows\": 3", "\"total_num_rows\": -3", kDataLoss,
       "total_num_rows is no count"},
      {"\"total_num_rows\"", "\"rows\"", kDataLoss,
       "total_num_rows has no count"},
      {"\"sharded\"", "\"striped\"", kInvalid, "layout is \"striped\""},
      {"[\"a\", \"b\"]", "[\"a\", \"a\"]", kDataLoss, "names 'a' twice"},
      {"[\"a\", \"b\"]", "[\"a\", 7]", kDataLoss, "other than names"},
      {"[\"a\", \"b\"]", "7", kDataLoss, "finished_shards is no list"},
      {"\"a\", \"b\"", "\"a\", \"c\"", kDataLoss, "shard_rows.c has no count"},
      {"{\"a\": 2, \"b\": 1}", "{\"a\": 1, \"b\": 2}", kDataLoss,
       "a/input_ids': its offsets say 2 rows, the shard_ledger.json 1"},
      {"{\"input_ids\": 1}", "{\"input_ids\": 5}", kDataLoss,
       "b/input_ids': its offsets say 1 tokens, the shard_ledger.json 5"},
      {"{\"input_ids\": 1}", "[]", kDataLoss,
       "field_counts_by_shard.b is no object"},
      {"\"field_counts\": {\"input_ids\": 4}",
       "\"field_counts\": {\"input_ids\": 9}", kDataLoss,
       "field_counts.input_ids is 9, its shards have 4"},
      {"\"b\"", "\"../b\"", kInvalid, "'../b' leads out of"},
      {"\"b\"", "\"nowhere\"", absl::StatusCode::kNotFound, "nowhere"},
      {"true", "tru", kDataLoss, "are not valid JSON"}};
  for (const Refused& c : cases) {
    const std::string text = absl::StrReplaceAll(good, {{c.from, c.to}});
    ASSERT_NE(text, good) << c.from;
    WriteFile(folder.path("shard_ledger.json"), text);
    EXPECT_THAT(ReadAll(folder.path()), StatusIs(c.code, HasSubstr(c.message)));
  }
  WriteFile(folder.path("shard_ledger.json"), good);
  EXPECT_THAT(ReadAll(folder.path()),
              testing::IsOkAndHolds(std::vector<uint32_t>{1, 2, 3, 4}));
}

TEST(LevanterDamageTest, LedgersOfVeryManyShardsAreRead) {
  std::vector<testing::LevanterShard> shards(100'001);
  for (size_t i = 0; i < shards.size(); ++i) {
    shards[i] = {absl::StrCat("shard_", i), {{1}, {2, 3}}};
  }
  ASSERT_OK_AND_ASSIGN(
      const LevanterLedger ledger,
      ParseLevanterLedger("l", testing::ShardedLedgerText(shards)));
  ASSERT_EQ(ledger.shards.size(), 100'001u);
  EXPECT_EQ(ledger.shards[100'000].name, "shard_100000");
  EXPECT_EQ(ledger.shards[100'000].rows, 2u);
  EXPECT_EQ(ledger.shards[100'000].tokens.at("input_ids"), 3u);
}

TEST(LevanterDamageTest, AConsolidatedCacheHasWhatItsLedgerSays) {
  const TempDir folder;
  testing::WriteCache(folder.path(), {{1, 2}, {3}});
  const std::string ledger = folder.path("shard_ledger.json");
  WriteFile(ledger, LedgerText(3, 3));
  EXPECT_THAT(ReadAll(folder.path()),
              StatusIs(kDataLoss, HasSubstr("its offsets say 2 rows, the "
                                            "shard_ledger.json 3")));
  WriteFile(ledger, LedgerText(2, 4));
  EXPECT_THAT(ReadAll(folder.path()),
              StatusIs(kDataLoss, HasSubstr("its offsets say 3 tokens")));
  WriteFile(ledger, R"({"total_num_rows": 2, "is_finished": true})");
  EXPECT_THAT(ReadAll(folder.path()), testing::IsOk());
  std::filesystem::remove_all(folder.path("input_ids/offsets/c"));
  EXPECT_THAT(ReadAll(folder.path()),
              StatusIs(kDataLoss, HasSubstr("its offsets say 0 rows")));
}

// A field with these offsets, and 40 ids.
absl::Status StatusOfOffsets(const std::vector<int64_t>& offsets) {
  const TempDir folder;
  WriteZarr(folder.path("f/data"), std::vector<int32_t>(40, 7), {});
  WriteZarr(folder.path("f/offsets"), offsets, {});
  return ReadAll(folder.path("f")).status();
}

TEST(LevanterDamageTest, OffsetsMustAscendAndBeThere) {
  EXPECT_THAT(StatusOfOffsets({3, 10, 20, 40}), testing::IsOk());
  EXPECT_THAT(StatusOfOffsets({3, 10, 9, 40}),
              StatusIs(kDataLoss, HasSubstr("row 1 ends at token 9, before "
                                            "token 10 where it begins")));
  EXPECT_THAT(StatusOfOffsets({1, -1}),
              StatusIs(kDataLoss, HasSubstr("row 0 ends at token "
                                            "18446744073709551615")));
  EXPECT_THAT(StatusOfOffsets({-1, 10}),
              StatusIs(kDataLoss, HasSubstr("item 0 says there are "
                                            "18446744073709551615 rows")));
  EXPECT_THAT(StatusOfOffsets({1, int64_t{1} << 55}),
              StatusIs(kDataLoss, HasSubstr("the array has")));
  EXPECT_THAT(StatusOfOffsets({40, 1, 2, 3}),
              StatusIs(kDataLoss,
                       AllOf(HasSubstr("chunk 1, which holds the end of row 3"),
                             HasSubstr("a file is lost"))));
  EXPECT_THAT(StatusOfOffsets({int64_t{1} << 50}),
              StatusIs(kDataLoss, HasSubstr("more than the files hold")));
}

TEST(LevanterDamageTest, IndexesThatCannotBeAreRefused) {
  const TempDir folder;
  const ZarrStyle style{4, 8, "", "end", false};
  testing::WriteCache(folder.path(), {{1, 2, 3, 4, 5, 6, 7, 8}}, style);
  const std::string path = folder.path("input_ids/data/c/0");
  const std::string chunks = ReadFile(path).substr(0, 32);
  const auto with = [&](uint64_t offset, uint64_t bytes) {
    WriteFile(path, chunks + Little<uint64_t>(0) + Little<uint64_t>(16) +
                        Little(offset) + Little(bytes));
    return ReadAll(folder.path()).status();
  };
  EXPECT_THAT(with(16, 16), testing::IsOk());
  EXPECT_THAT(with(17, 16),
              StatusIs(kDataLoss,
                       AllOf(HasSubstr("c/0': chunk 1 is said to lie at byte "
                                       "17, 16 bytes long"),
                             HasSubstr("lie in bytes 0 to 32"))));
  for (const auto& [offset, bytes] : std::vector<std::pair<uint64_t, uint64_t>>{
           {16, 0}, {UINT64_MAX, 16}, {16, UINT64_MAX}, {UINT64_MAX - 8, 16}}) {
    EXPECT_THAT(with(offset, bytes),
                StatusIs(kDataLoss, HasSubstr("chunk 1 is said to lie at")));
  }
  EXPECT_THAT(with(16, 12),
              StatusIs(kDataLoss, HasSubstr("chunk 1 at byte 16 has 12 bytes, "
                                            "expected 16")));
  WriteFile(path, std::string(8, 'x') + Little<uint64_t>(0) +
                      Little<uint64_t>(16) + Little<uint64_t>(0) +
                      Little<uint64_t>(16));
  EXPECT_THAT(ReadAll(folder.path()),
              StatusIs(kDataLoss, HasSubstr("chunk 0")));
  WriteFile(path, std::string(16, 'x') + Little<uint64_t>(0) +
                      Little<uint64_t>(16) + Little<uint64_t>(0) +
                      Little<uint64_t>(16));
  EXPECT_THAT(ReadAll(folder.path()),
              StatusIs(kDataLoss, HasSubstr("they lie on each other")));
}

TEST(LevanterDamageTest, AChangedIndexFailsItsChecksum) {
  const TempDir folder;
  testing::WriteCache(folder.path(), {{1, 2, 3}});
  const std::string path = folder.path("input_ids/data/c/0");
  const uint64_t size = ReadFile(path).size();
  for (const uint64_t at : {size - 1, size - 4, size - 5, size - 68}) {
    testing::FlipBit(path, at);
    EXPECT_THAT(
        ReadAll(folder.path()),
        StatusIs(kDataLoss,
                 AllOf(HasSubstr(absl::StrCat("chunks at byte ", size - 68)),
                       HasSubstr("stored 0x"))));
    testing::FlipBit(path, at);
  }
}

TEST(LevanterDamageTest, BloscFramesAreCheckedBeforeTheyAreDecoded) {
  if (!kHasBlosc) GTEST_SKIP() << "this build has no blosc";
  const std::string plain(256, 'x');
  const std::string good = testing::BloscFrame(plain, "lz4", 4);
  const auto decode = [](const std::string& frame, size_t size) {
    std::vector<std::byte> decoded(size);
    return DecodeBlosc("here", std::as_bytes(std::span(frame)), decoded);
  };
  EXPECT_THAT(decode(good, 256), testing::IsOk());
  EXPECT_THAT(decode(good, 252),
              StatusIs(kDataLoss,
                       HasSubstr("here: its blosc frame says it decodes to 256 "
                                 "bytes, expected 252")));
  EXPECT_THAT(decode(good + "x", 256),
              StatusIs(kDataLoss, HasSubstr("stored are ")));
  EXPECT_THAT(decode("short", 256),
              StatusIs(kDataLoss, HasSubstr("a blosc frame of 5 bytes")));
  for (const uint32_t block : {0u, 257u, 0xffffffffu}) {
    std::string frame = good;
    frame.replace(8, 4, Little(block));
    EXPECT_THAT(decode(frame, 256),
                StatusIs(kDataLoss, HasSubstr("has blocks of ")));
  }
  std::string broken = good;
  broken.replace(16, 4, Little<uint32_t>(0x7fffffff));
  EXPECT_THAT(decode(broken, 256),
              StatusIs(kDataLoss, HasSubstr("does not decode")));
}

// Every file of a small cache, cut at every byte and changed at every byte,
// gives an error or ids; never more.
TEST(LevanterDamageTest, NoChangeOfAByteDoesHarm) {
  const TempDir folder;
  const ZarrStyle style{32, 64, kHasBlosc ? "lz4" : "", "end", true};
  testing::WriteCache(folder.path(), {{1, 2, 3, 70000}, {}, {5, 6}}, style);
  for (const char* name :
       {"shard_ledger.json", "input_ids/data/zarr.json", "input_ids/data/c/0",
        "input_ids/offsets/zarr.json", "input_ids/offsets/c/0"}) {
    const std::string path = folder.path(name);
    const std::string good = ReadFile(path);
    int refused = 0;
    for (size_t i = 0; i < good.size(); ++i) {
      WriteFile(path, good.substr(0, i));
      const auto cut = ReadAll(folder.path());
      EXPECT_FALSE(cut.ok()) << name << " cut at " << i;
      std::string changed = good;
      changed[i] = static_cast<char>(changed[i] ^ (1 << i % 8));
      WriteFile(path, changed);
      const auto read = ReadAll(folder.path());
      refused += !read.ok();
      const bool says_why = read.ok() || !read.status().message().empty();
      EXPECT_TRUE(says_why) << name << " changed at " << i;
    }
    EXPECT_GT(refused, 0) << name;
    WriteFile(path, good);
  }
  EXPECT_THAT(ReadAll(folder.path()), testing::IsOk());
}

}  // namespace
}  // namespace poniente::internal
