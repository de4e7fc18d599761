// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>

#include "formats/core/found_path.h"
#include "formats/core/token_format.h"
#include "formats/litdata/litdata_index.h"
#include "tests/formats/layout_tokens.h"
#include "tests/formats/little_bytes.h"
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
using testing::IsOk;
using testing::ReadLayout;
using testing::StatusIs;
using testing::TempDir;
using testing::WriteFile;

using Ids = std::vector<uint32_t>;

template <class T>
std::string ChunkBytes(const std::vector<Ids>& items) {
  std::string bytes;
  AppendLittle(static_cast<uint32_t>(items.size()), &bytes);
  uint64_t at = 4 * (items.size() + 2);
  AppendLittle(static_cast<uint32_t>(at), &bytes);
  for (const Ids& item : items) {
    AppendLittle(static_cast<uint32_t>(at += item.size() * sizeof(T)), &bytes);
  }
  for (const Ids& item : items) {
    for (const uint32_t id : item) AppendLittle(static_cast<T>(id), &bytes);
  }
  return bytes;
}

std::string ChunkJson(const std::string& name, uint64_t bytes, uint64_t items,
                      std::optional<uint64_t> tokens) {
  return "{\"chunk_bytes\": " + std::to_string(bytes) +
         ", \"chunk_size\": " + std::to_string(items) + ", \"dim\": " +
         (tokens ? std::to_string(*tokens) : std::string("null")) +
         ", \"filename\": \"" + name + "\"}";
}

struct Config {
  std::string format = "[\"no_header_tensor:20\"]";
  std::string loader = "\"TokensLoader\"";  // empty: no such key
  std::string compression = "null";
  std::string encryption = "null";
  std::string more = {};
};

std::string IndexJson(const std::vector<std::string>& chunks,
                      const Config& config = {}) {
  std::string json = "{\"chunks\": [";
  for (size_t i = 0; i < chunks.size(); ++i) {
    json += (i > 0 ? ", " : "") + chunks[i];
  }
  return json + "], \"config\": {\"chunk_bytes\": 64000000, \"chunk_size\": " +
         "null, \"compression\": " + config.compression +
         ", \"data_format\": " + config.format +
         ", \"data_spec\": \"[1]\", \"encryption\": " + config.encryption +
         (config.loader.empty() ? "" : ", \"item_loader\": " + config.loader) +
         config.more + "}, \"updated_at\": \"1\"}";
}

struct LitdataFolder {
  TempDir dir;
  Ids tokens;
  std::vector<uint64_t> lengths;
  std::vector<std::string> chunks;  // of the index
  Config config;

  template <class T = uint16_t>
  std::string AddChunk(const std::string& name, const std::vector<Ids>& items) {
    const std::string bytes = ChunkBytes<T>(items);
    uint64_t count = 0;
    for (const Ids& item : items) {
      tokens.insert(tokens.end(), item.begin(), item.end());
      lengths.push_back(item.size());
      count += item.size();
    }
    WriteFile(dir.path(name), bytes);
    const bool null_dim = items.empty() || items[0].empty();
    chunks.push_back(ChunkJson(name, bytes.size(), items.size(),
                               null_dim ? std::nullopt : std::optional(count)));
    return bytes;
  }
  absl::StatusOr<TokenLayout> Open(const TokenSourceOptions& options = {}) {
    WriteFile(dir.path("index.json"), IndexJson(chunks, config));
    const auto found = FindPath(dir.path());
    if (!found.ok()) return found.status();
    return kLitdataFormat.open(*found, options);
  }
  void Expect(const TokenLayout& layout) const {
    ASSERT_THAT(testing::CheckRuns(layout), IsOk());
    ASSERT_OK_AND_ASSIGN(const auto source, testing::SourceOf(layout));
    testing::ExpectSource(*source, tokens, lengths);
  }
};

Ids Item(uint32_t seed, size_t length) {
  Ids ids(length);
  for (size_t i = 0; i < length; ++i) {
    ids[i] = (seed * 7919 + static_cast<uint32_t>(i) * 31) % 128;
  }
  return ids;
}

// The order of the index, not of the names.
TEST(LitdataTest, ChunksFollowEachOtherAsTheIndexSays) {
  LitdataFolder data;
  data.AddChunk("chunk-1-0.bin", {Item(1, 5), Item(2, 300), Item(3, 0)});
  data.AddChunk("chunk-0-1.bin", {Item(4, 2)});
  data.AddChunk("chunk-0-0.bin", {Item(5, 7), Item(6, 1)});
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, data.Open());
  data.Expect(layout);
  EXPECT_EQ(layout.format, "litdata");
  EXPECT_EQ(layout.type, StoredType::kU16);
  EXPECT_EQ(layout.locator, nullptr);
  EXPECT_FALSE(layout.windows.across_shards);
  EXPECT_FALSE(layout.windows.keep_tail);
  EXPECT_THAT(layout.documents->Name(5),
              testing::IsOkAndHolds("chunk-0-0.bin item 1"));
  ASSERT_OK_AND_ASSIGN(const FoundPath found, FindPath(data.dir.path()));
  EXPECT_TRUE(kLitdataFormat.recognizes(found));
  EXPECT_FALSE(kMdsFormat.recognizes(found));
}

// Two folders of the same items, in other chunks.
TEST(LitdataTest, ASecondFolderIsALossMask) {
  LitdataFolder tokens;
  tokens.AddChunk("chunk-0-0.bin", {Item(1, 5), Item(2, 300), Item(3, 0)});
  tokens.AddChunk("chunk-0-1.bin", {Item(4, 2)});
  LitdataFolder mask;
  mask.config.format = "[\"no_header_tensor:11\"]";  // torch.uint8
  Ids flags(300);
  for (size_t i = 0; i < flags.size(); ++i) flags[i] = i % 3 == 0;
  mask.AddChunk<uint8_t>("chunk-0-0.bin", {{0, 1, 1, 0, 1}});
  mask.AddChunk<uint8_t>("chunk-0-1.bin", {flags, {}, {1, 0}});
  ASSERT_THAT(tokens.Open(), IsOk());
  ASSERT_THAT(mask.Open(), IsOk());
  TokenSourceOptions options;
  options.loss_mask.emplace().path = mask.dir.path();
  ASSERT_OK_AND_ASSIGN(const auto source,
                       OpenTokenSource(tokens.dir.path(), options));
  ASSERT_OK_AND_ASSIGN(const auto read, RunBlocking(source->ReadLossMask(
                                            0, tokens.tokens.size())));
  EXPECT_EQ(Ids(read.begin(), read.end()), mask.tokens);
}

TEST(LitdataTest, AMissingDimFollowsFromTheSize) {
  LitdataFolder data;
  data.AddChunk("a.bin", {{}, Item(1, 5), {}, Item(2, 3)});
  data.AddChunk("b.bin", {Item(3, 4)});
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, data.Open());
  data.Expect(layout);
}

template <class T>
void ExpectLitdataTypeIsRead(const std::string& format, StoredType type) {
  LitdataFolder data;
  data.config.format = "[\"" + format + "\"]";
  data.AddChunk<T>("a.bin", {Item(1, 5), Item(2, 3)});
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, data.Open());
  EXPECT_EQ(layout.type, type) << format;
  data.Expect(layout);
}

TEST(LitdataTest, EveryTypeOfIntegersIsRead) {
  ExpectLitdataTypeIsRead<uint8_t>("no_header_tensor:11", StoredType::kU8);
  ExpectLitdataTypeIsRead<int8_t>("no_header_tensor:12", StoredType::kI8);
  ExpectLitdataTypeIsRead<int16_t>("no_header_tensor:13", StoredType::kI16);
  ExpectLitdataTypeIsRead<int16_t>("no_header_tensor:14", StoredType::kI16);
  ExpectLitdataTypeIsRead<int32_t>("no_header_tensor:15", StoredType::kI32);
  ExpectLitdataTypeIsRead<int32_t>("no_header_tensor:16", StoredType::kI32);
  ExpectLitdataTypeIsRead<int64_t>("no_header_tensor:17", StoredType::kI64);
  ExpectLitdataTypeIsRead<int64_t>("no_header_tensor:18", StoredType::kI64);
  ExpectLitdataTypeIsRead<uint16_t>("no_header_tensor:20", StoredType::kU16);
  ExpectLitdataTypeIsRead<int8_t>("no_header_numpy:0", StoredType::kI8);
  ExpectLitdataTypeIsRead<int16_t>("no_header_numpy:1", StoredType::kI16);
  ExpectLitdataTypeIsRead<int32_t>("no_header_numpy:2", StoredType::kI32);
  ExpectLitdataTypeIsRead<int64_t>("no_header_numpy:3", StoredType::kI64);
  ExpectLitdataTypeIsRead<uint8_t>("no_header_numpy:4", StoredType::kU8);
  ExpectLitdataTypeIsRead<uint16_t>("no_header_numpy:5", StoredType::kU16);
  ExpectLitdataTypeIsRead<uint32_t>("no_header_numpy:6", StoredType::kU32);
  ExpectLitdataTypeIsRead<uint64_t>("no_header_numpy:7", StoredType::kU64);
}

TEST(LitdataTest, WhatHoldsNoTokensIsRefused) {
  const auto open = [](const Config& config) {
    LitdataFolder data;
    data.config = config;
    return data.Open();
  };
  const StatusCode invalid = StatusCode::kInvalidArgument;
  const StatusCode unimplemented = StatusCode::kUnimplemented;
  EXPECT_THAT(open({.loader = "\"PyTreeLoader\""}),
              StatusIs(invalid, HasSubstr("written for PyTreeLoader")));
  EXPECT_THAT(open({.loader = "null"}),
              StatusIs(invalid, HasSubstr("'item_loader' is null")));
  EXPECT_THAT(open({.encryption = "{\"algorithm\": \"fernet\"}"}),
              StatusIs(unimplemented, HasSubstr("encrypted")));
  EXPECT_THAT(open({.compression = "\"lz4\""}),
              StatusIs(unimplemented, HasSubstr("'lz4'")));
  EXPECT_THAT(open({.compression = "\"zstd\"",
                    .more = ", \"compression_level\": \"batch\""}),
              StatusIs(unimplemented, HasSubstr("compressed in parts")));
  EXPECT_THAT(open({.more = ", \"ipc_compression\": \"zstd\""}),
              StatusIs(unimplemented, HasSubstr("ipc_compression")));
  for (const char* format :
       {"null", "[]", "[\"int\"]", "[\"no_header_tensor:0\"]",
        "[\"no_header_tensor:19\"]", "[\"no_header_numpy:8\"]",
        "[\"no_header_numpy:\"]", "[\"no_header_numpy:1\", \"int\"]"}) {
    EXPECT_THAT(open({.format = format}),
                StatusIs(invalid, HasSubstr("'data_format' is")))
        << format;
  }
}

// litdata before 0.2.22 did not name the loader. A single tensor without a
// header is what items for TokensLoader were.
TEST(LitdataTest, WithoutALoaderItemsMustBeOneTensor) {
  LitdataFolder data;
  data.config.loader = "";
  data.AddChunk("a.bin", {Item(3, 5), Item(4, 9)});
  const auto layout = data.Open();
  ASSERT_THAT(layout, IsOk());
  EXPECT_EQ(layout->type, StoredType::kU16);
  EXPECT_EQ(layout->documents->ends().total(), 14u);
  for (const char* format :
       {"null", "[]", "[\"int\"]", "[\"no_header_numpy:5\"]",
        "[\"no_header_tensor:20\", \"no_header_tensor:20\"]"}) {
    data.config.format = format;
    EXPECT_THAT(data.Open(),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("'data_format' is"),
                               HasSubstr("as 'item_loader' is missing"))))
        << format;
  }
}

TEST(LitdataTest, AnotherDtypeThanTheFilesIsRefused) {
  LitdataFolder data;
  data.AddChunk("a.bin", {Item(1, 5)});
  TokenSourceOptions options;
  options.dtype = StoredType::kI32;
  EXPECT_THAT(data.Open(options),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("u16"), HasSubstr("stated was i32"))));
}

TEST(LitdataTest, ChunksThatDisagreeWithTheIndexAreDamage) {
  const std::string bytes = ChunkBytes<uint16_t>({Item(1, 5), Item(2, 3)});
  const auto open = [&](const std::string& chunk, const std::string& content) {
    LitdataFolder data;
    WriteFile(data.dir.path("a.bin"), content);
    data.chunks.push_back(chunk);
    return data.Open();
  };
  const uint64_t size = bytes.size();
  EXPECT_THAT(open(ChunkJson("a.bin", size, 2, 8), bytes), IsOk());
  // Of early versions: items without offsets.
  EXPECT_THAT(open(ChunkJson("a.bin", 16, 2, 8), bytes), IsOk());
  const StatusCode loss = StatusCode::kDataLoss;
  EXPECT_THAT(open(ChunkJson("a.bin", size, 3, 8), bytes),
              StatusIs(loss, AllOf(HasSubstr("says it has 2 items"),
                                   HasSubstr("says 3 (chunk_size)"))));
  EXPECT_THAT(open(ChunkJson("a.bin", size, 2, 9), bytes),
              StatusIs(loss, AllOf(HasSubstr("has 8 tokens"),
                                   HasSubstr("says 9 (dim)"))));
  EXPECT_THAT(open(ChunkJson("a.bin", size + 1, 2, 8), bytes),
              StatusIs(loss, HasSubstr("(chunk_bytes)")));
  EXPECT_THAT(open(ChunkJson("a.bin", size, 2, 8), bytes + "x"),
              StatusIs(loss, HasSubstr("whole number of u16")));
  std::string odd = bytes;
  odd[8] = static_cast<char>(odd[8] + 1);
  EXPECT_THAT(open(ChunkJson("a.bin", size, 2, 8), odd),
              StatusIs(loss, AllOf(HasSubstr("item 1, by byte 8"),
                                   HasSubstr("begins at byte"))));
  std::string early = bytes;
  early[12] = static_cast<char>(early[12] - 2);
  EXPECT_THAT(open(ChunkJson("a.bin", size, 2, 8), early),
              StatusIs(loss, HasSubstr("ends 2 bytes before")));
  for (size_t cut = 0; cut < size; ++cut) {
    ASSERT_THAT(
        open(ChunkJson("a.bin", size, 2, std::nullopt), bytes.substr(0, cut)),
        StatusIs(loss, HasSubstr("a.bin")));
  }
  for (size_t at = 0; at < 16; ++at) {
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string bad = bytes;
      bad[at] = static_cast<char>(bad[at] ^ change);
      const auto layout = open(ChunkJson("a.bin", size, 2, 8), bad);
      if (layout.ok()) {
        ASSERT_THAT(testing::CheckRuns(*layout), IsOk());
      }
    }
  }
}

TEST(LitdataTest, IndexesCutShortAreRefused) {
  const std::string good = IndexJson({ChunkJson("a.bin", 20, 1, 4)});
  EXPECT_THAT(ParseLitdataIndex("i", good), IsOk());
  for (size_t cut = 0; cut < good.size(); ++cut) {
    ASSERT_THAT(ParseLitdataIndex("i", good.substr(0, cut)),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("'i'")));
  }
  EXPECT_THAT(ParseLitdataIndex("i", "{\"chunks\": []}"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("'config'")));
}

TEST(LitdataTest, PathsThatLeaveTheFolderAreRefused) {
  LitdataFolder data;
  data.chunks.push_back(ChunkJson("../a.bin", 20, 1, 4));
  EXPECT_THAT(data.Open(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("leads out")));
}

// A file of zeros after its offsets, which are of 32 bits.
absl::StatusOr<TokenLayout> OpenWrapped(const std::vector<uint64_t>& lengths) {
  LitdataFolder data;
  std::string head;
  AppendLittle(static_cast<uint32_t>(lengths.size()), &head);
  uint64_t at = 4 * (lengths.size() + 2);
  uint64_t tokens = 0;
  AppendLittle(static_cast<uint32_t>(at), &head);
  for (const uint64_t length : lengths) {
    AppendLittle(static_cast<uint32_t>(at += 2 * length), &head);
    tokens += length;
  }
  WriteFile(data.dir.path("a.bin"), head);
  if (::truncate(data.dir.path("a.bin").c_str(), static_cast<off_t>(at)) != 0) {
    return absl::UnavailableError("no large files here");
  }
  data.chunks.push_back(ChunkJson("a.bin", at, lengths.size(), tokens));
  return data.Open();
}

TEST(LitdataTest, OffsetsThatWrapAreFollowed) {
  const uint64_t most = uint64_t{1} << 30;
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout,
                       OpenWrapped({most, 0, most, most + 5, 3}));
  EXPECT_EQ(layout.shards[0].tokens, 3 * most + 8);
  EXPECT_EQ(layout.documents->ends().Length(3), most + 5);
  EXPECT_EQ(layout.documents->ends().Begin(4), 3 * most + 5);
}

TEST(LitdataTest, AnItemAboveTheOffsetsLeavesDocumentsUnknown) {
  const uint64_t wraps = uint64_t{1} << 31;
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, OpenWrapped({7, wraps + 9}));
  EXPECT_EQ(layout.shards[0].tokens, wraps + 16);
  EXPECT_EQ(layout.documents, nullptr);
  EXPECT_THAT(layout.warnings, ElementsAre(HasSubstr("4 GiB")));
}

#if defined(PONIENTE_HAS_ZSTD)

std::string LitdataZstd(const std::string& bytes) {
  std::string zip(ZSTD_compressBound(bytes.size()), '\0');
  zip.resize(
      ZSTD_compress(zip.data(), zip.size(), bytes.data(), bytes.size(), 4));
  return zip;
}

TEST(LitdataZstdTest, CompressedChunksAreDecoded) {
  LitdataFolder data;
  data.config.compression = "\"zstd:4\"";
  for (uint32_t i = 0; i < 3; ++i) {
    const std::string name = "chunk-0-" + std::to_string(i) + ".zstd:4.bin";
    const std::string bytes =
        data.AddChunk(name, {i == 1 ? Ids() : Item(i, 400), Item(i + 9, 30)});
    WriteFile(data.dir.path(name), LitdataZstd(bytes));
  }
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, data.Open());
  ASSERT_NE(layout.decoder, nullptr);
  data.Expect(layout);
}

TEST(LitdataZstdTest, UnpackedChunksAreReadInPlace) {
  LitdataFolder data;
  data.config.compression = "\"zstd\"";
  const std::string bytes =
      data.AddChunk("chunk-0-0.zstd.bin", {Item(1, 400), Item(2, 30)});
  WriteFile(data.dir.path("chunk-0-0.bin"), bytes);
  WriteFile(data.dir.path("chunk-0-0.zstd.bin"), "not looked at");
  ASSERT_OK_AND_ASSIGN(const TokenLayout layout, data.Open());
  EXPECT_EQ(layout.decoder, nullptr);
  data.Expect(layout);
}

TEST(LitdataZstdTest, DamagedChunksAreNamed) {
  LitdataFolder data;
  data.config.compression = "\"zstd\"";
  const std::string zip =
      LitdataZstd(data.AddChunk("a.zstd.bin", {Item(1, 400), Item(2, 30)}));
  for (size_t cut = 0; cut < zip.size(); ++cut) {
    WriteFile(data.dir.path("a.zstd.bin"), zip.substr(0, cut));
    const auto layout = data.Open();
    ASSERT_THAT(layout.ok() ? ReadLayout(*layout).status() : layout.status(),
                StatusIs(StatusCode::kDataLoss, HasSubstr("a.zstd.bin")));
  }
}

TEST(LitdataZstdTest, ChunksThatNoCompressorMakesAreDataLoss) {
  LitdataFolder data;
  data.config.compression = "\"zstd\"";
  const std::string raw = data.AddChunk("a.zstd.bin", {Item(1, 400)});
  const uint64_t most = raw.size() + raw.size() / 128 + 65536;
  for (const uint64_t bytes : {most, most + 1}) {
    std::string zip = LitdataZstd(raw);
    zip.resize(bytes, '\0');
    WriteFile(data.dir.path("a.zstd.bin"), zip);
    const auto layout = data.Open();
    EXPECT_EQ(layout.ok(), bytes == most) << layout.status();
    if (bytes == most) continue;
    EXPECT_THAT(
        layout.status(),
        StatusIs(StatusCode::kDataLoss,
                 HasSubstr(absl::StrCat(
                     "a.zstd.bin' has ", bytes, " bytes, and ", raw.size(),
                     " unpacked, which take at most ", most))));
  }
}

#endif

}  // namespace
}  // namespace poniente::internal
