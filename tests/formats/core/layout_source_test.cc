// SPDX-License-Identifier: Apache-2.0
// A source made of a layout: arrays, pieces and blocks, against a plain list.

#include "formats/core/layout_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "io/range_source.h"
#include "poniente/extend/piecewise_items.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::TempDir;

// Ids in `shards` files after 5 bytes of something else, so unaligned.
class LayoutSourceTest : public ::testing::Test {
 protected:
  template <class Id>
  TokenLayout Write(StoredType type, const std::vector<uint64_t>& shards) {
    std::mt19937_64 random(testing::TestSeed(82));
    TokenLayout layout;
    layout.format = "test";
    layout.type = type;
    for (const uint64_t tokens : shards) {
      const auto file = static_cast<uint32_t>(layout.files.size());
      const std::string path = absl::StrCat(folder_.path(), "/", file);
      std::ofstream out(path, std::ios::binary);
      out << "head!";
      for (uint64_t t = 0; t < tokens; ++t) {
        const auto id = static_cast<Id>(random() % 120);
        ids_.push_back(static_cast<uint32_t>(id));
        out.write(reinterpret_cast<const char*>(&id), sizeof(id));
      }
      layout.files.push_back(path);
      layout.bytes += 5 + tokens * sizeof(Id);
      layout.shards.push_back({tokens, file, 5});
    }
    return layout;
  }

  std::shared_ptr<const LayoutSource> Open(
      TokenLayout layout, const TokenSourceOptions& options = {}) {
    auto source = LayoutSource::Open("somewhere", std::move(layout), options);
    EXPECT_THAT(source, IsOk());
    return source.ok() ? *source : nullptr;
  }

  std::vector<uint32_t> Slice(uint64_t begin, uint64_t end) const {
    return {ids_.begin() + static_cast<ptrdiff_t>(begin),
            ids_.begin() + static_cast<ptrdiff_t>(end)};
  }

  void ExpectWindows(const TokenSource& source, const WindowRule& rule,
                     uint64_t length, const std::vector<TokenRange>& expected) {
    ASSERT_OK_AND_ASSIGN(const auto windows, source.Windows(length, rule));
    ASSERT_EQ(windows->CurrentLength(), expected.size());
    for (uint64_t i = 0; i < expected.size(); ++i) {
      ASSERT_OK_AND_ASSIGN(const TokenWindow window, windows->GetBlocking(i));
      ASSERT_EQ(window.tokens, Slice(expected[i].begin, expected[i].end)) << i;
    }
  }

  const TempDir folder_;
  std::vector<uint32_t> ids_;
};

TEST_F(LayoutSourceTest, EveryTypeIsReadUnaligned) {
  const auto check = [&]<class Id>(StoredType type, Id) {
    ids_.clear();
    const auto source = Open(Write<Id>(type, {300, 0, 1, 77}));
    ASSERT_NE(source, nullptr);
    EXPECT_EQ(source->num_tokens(), 378u);
    EXPECT_THAT(source->shard_ends(), ElementsAre(300, 300, 301, 378));
    ASSERT_OK_AND_ASSIGN(const auto all,
                         RunBlocking(source->ReadTokens(0, 378)));
    EXPECT_EQ(all, ids_);
    ASSERT_OK_AND_ASSIGN(const auto some,
                         RunBlocking(source->ReadTokens(299, 3)));
    EXPECT_EQ(some, Slice(299, 302));
  };
  check(StoredType::kU8, uint8_t{});
  check(StoredType::kI8, int8_t{});
  check(StoredType::kU16, uint16_t{});
  check(StoredType::kI16, int16_t{});
  check(StoredType::kU32, uint32_t{});
  check(StoredType::kI32, int32_t{});
  check(StoredType::kU64, uint64_t{});
  check(StoredType::kI64, int64_t{});
}

TEST_F(LayoutSourceTest, WindowsFollowTheRule) {
  const auto source = Open(Write<uint16_t>(StoredType::kU16, {10, 3, 0, 9}));
  ASSERT_NE(source, nullptr);
  ExpectWindows(*source, {0, true, false}, 4,
                {{0, 4}, {4, 8}, {8, 12}, {12, 16}, {16, 20}});
  ExpectWindows(*source, {0, true, true}, 4,
                {{0, 4}, {4, 8}, {8, 12}, {12, 16}, {16, 20}, {20, 22}});
  ExpectWindows(*source, {0, false, false}, 4,
                {{0, 4}, {4, 8}, {13, 17}, {17, 21}});
  ExpectWindows(
      *source, {0, false, true}, 4,
      {{0, 4}, {4, 8}, {8, 10}, {10, 13}, {13, 17}, {17, 21}, {21, 22}});
  ExpectWindows(*source, {1, false, false}, 4,
                {{0, 4}, {3, 7}, {6, 10}, {13, 17}, {16, 20}});
  // The last token of a shard is no window of its own: it was the end of one.
  ExpectWindows(
      *source, {1, false, true}, 4,
      {{0, 4}, {3, 7}, {6, 10}, {10, 13}, {13, 17}, {16, 20}, {19, 22}});
  ExpectWindows(*source, {1, true, false}, 22, {{0, 22}});
  EXPECT_FALSE(source->Windows(0).ok());
  EXPECT_FALSE(source->Windows(1, {1, true, false}).ok());
  EXPECT_FALSE(source->Windows(5, {2, true, false}).ok());
}

TEST_F(LayoutSourceTest, WindowsWithinShardsHaveFileRanges) {
  const auto source = Open(Write<uint16_t>(StoredType::kU16, {10, 3, 0, 9}));
  ASSERT_NE(source, nullptr);
  ASSERT_OK_AND_ASSIGN(const auto within,
                       source->Windows(4, {1, false, false}));
  const RangeSource* const ranges = within->ranges();
  ASSERT_NE(ranges, nullptr);
  const FileRange range = ranges->Locate(3, 1, 2);
  EXPECT_EQ(range.file, 3u);
  EXPECT_EQ(range.offset, 5u + 2);
  EXPECT_EQ(range.bytes, 4u);
  ASSERT_OK_AND_ASSIGN(const auto across, source->Windows(4, {0, true, false}));
  // Window 2 reaches from file 0 into file 1.
  ASSERT_NE(across->ranges(), nullptr);
  EXPECT_TRUE(across->ranges()->items_are_split());
  std::vector<FileRange> located;
  across->ranges()->LocateAll(2, 1, 3, &located);
  ASSERT_EQ(located.size(), 2u);
  EXPECT_EQ(located[0].file, 0u);
  EXPECT_EQ(located[0].offset, 5u + 9 * 2);
  EXPECT_EQ(located[0].bytes, 2u);
  EXPECT_EQ(located[1].file, 1u);
  EXPECT_EQ(located[1].offset, 5u);
  EXPECT_EQ(located[1].bytes, 4u);
  // A tail that is shorter is no item of a loader.
  ASSERT_OK_AND_ASSIGN(const auto tail, source->Windows(4, {0, true, true}));
  EXPECT_EQ(tail->ranges(), nullptr);
  EXPECT_NE(within->fingerprint(), across->fingerprint());
}

TEST_F(LayoutSourceTest, ANegativeIdIsNamed) {
  TokenLayout layout = Write<int32_t>(StoredType::kI32, {5});
  const auto source = Open(layout);
  ASSERT_NE(source, nullptr);
  {
    std::fstream file(layout.files[0], std::ios::in | std::ios::out);
    file.seekp(5 + 3 * 4);
    file.write("\xff\xff\xff\xff", 4);
  }
  const auto read = RunBlocking(source->ReadTokens(1, 4));
  EXPECT_TRUE(absl::IsDataLoss(read.status())) << read.status();
  EXPECT_THAT(std::string(read.status().message()),
              HasSubstr("token 3 is stored as -1"));
}

TEST_F(LayoutSourceTest, DelimitersMakeDocuments) {
  TokenLayout layout = Write<uint16_t>(StoredType::kU16, {500, 700});
  std::vector<uint64_t> after = {0};
  std::vector<uint64_t> before = {0};
  for (uint64_t t = 0; t < ids_.size(); ++t) {
    if (ids_[t] != 7) continue;
    after.push_back(t + 1);
    if (t > 0) before.push_back(t);
  }
  if (after.back() != ids_.size()) after.push_back(ids_.size());
  before.push_back(ids_.size());
  for (const bool begins : {false, true}) {
    TokenSourceOptions options;
    options.delimiter = DocumentDelimiter{7, begins};
    const auto source = Open(layout, options);
    ASSERT_NE(source, nullptr);
    const auto& bounds = begins ? before : after;
    ASSERT_EQ(source->num_documents(), bounds.size() - 1);
    EXPECT_EQ(*source->DocumentBounds(0, bounds.size() - 1), bounds);
    const auto windows = source->Windows(100, {0, true, false});
    ASSERT_THAT(windows, IsOk());
    // The way there and back.
    const PiecewiseItems* const pieces = PiecesOf(**windows);
    ASSERT_NE(pieces, nullptr);
    uint64_t found = 0;
    for (uint64_t d = 0; d + 1 < bounds.size(); ++d) {
      ASSERT_OK_AND_ASSIGN(const auto items, pieces->ItemsOf(d));
      for (const PieceOfItem& item : items) {
        EXPECT_EQ(item.begin, item.item * 100 + item.item_begin);
        found += item.end - item.begin;
      }
    }
    EXPECT_EQ(found, 1200u);
    ASSERT_OK_AND_ASSIGN(const auto first, pieces->Pieces({.index = 1}));
    for (const ItemPiece& piece : first) {
      PieceEnds ends;
      ASSERT_OK_AND_ASSIGN(const bool is_known,
                           pieces->FindEnds(piece, /*may_read=*/false, &ends));
      EXPECT_TRUE(is_known);
      const bool has_first = piece.begin == bounds[piece.document];
      const bool has_last = piece.end == bounds[piece.document + 1];
      EXPECT_EQ(ends, (PieceEnds{has_first && has_last, begins && has_first,
                                 !begins && has_last}));
    }
  }
}

// Rows of 3 ids, each after a byte of its own: what MDS-like formats are.
class RowLocator final : public TokenLocator {
 public:
  absl::Status Locate(TokenRange tokens,
                      std::vector<TokenRun>* runs) const override {
    for (uint64_t at = tokens.begin; at < tokens.end;) {
      const uint64_t end = std::min(tokens.end, (at / 3 + 1) * 3);
      runs->push_back({0, at / 3 * 7 + 1 + at % 3 * 2, end - at});
      at = end;
    }
    return absl::OkStatus();
  }
};

// Blocks of 10 ids, stored as their complement.
class InvertedBlocks final : public BlockDecoder {
 public:
  absl::StatusOr<Stored> Find(uint64_t block) const override {
    if (block == 2) return Stored{};
    return Stored{0, block * 20, 20};
  }
  uint64_t DecodedBytes(uint64_t) const override { return 20; }
  absl::Status Decode(uint64_t, std::span<const std::byte> stored,
                      std::span<std::byte> decoded) const override {
    for (size_t i = 0; i < stored.size(); ++i) decoded[i] = ~stored[i];
    return absl::OkStatus();
  }
};
class BlockLocator final : public TokenLocator {
 public:
  absl::Status Locate(TokenRange tokens,
                      std::vector<TokenRun>* runs) const override {
    for (uint64_t at = tokens.begin; at < tokens.end;) {
      const uint64_t end = std::min(tokens.end, (at / 10 + 1) * 10);
      runs->push_back({at / 10, at % 10 * 2, end - at});
      at = end;
    }
    return absl::OkStatus();
  }
};

TEST_F(LayoutSourceTest, PiecesAndBlocksGiveTheSameAsAList) {
  std::mt19937_64 random(testing::TestSeed(83));
  std::string rows;
  std::string blocks;
  for (uint32_t t = 0; t < 90; ++t) {
    const auto id = static_cast<uint16_t>(random() % 60000);
    const bool is_zero_block = t / 10 == 2;
    ids_.push_back(is_zero_block ? 0 : id);
    const auto stored = static_cast<uint16_t>(ids_.back());
    const auto inverted = static_cast<uint16_t>(~stored);
    if (t % 3 == 0) rows += 'x';
    rows.append(reinterpret_cast<const char*>(&stored), 2);
    blocks.append(reinterpret_cast<const char*>(&inverted), 2);
  }
  std::ofstream(folder_.path() + "/rows") << rows;
  std::ofstream(folder_.path() + "/blocks") << blocks;
  TokenLayout of_rows;
  of_rows.files = {folder_.path() + "/rows"};
  of_rows.shards = {{90, 0, 0}};
  of_rows.locator = std::make_shared<RowLocator>();
  TokenLayout of_blocks;
  of_blocks.files = {folder_.path() + "/blocks"};
  of_blocks.shards = {{90, 0, 0}};
  of_blocks.locator = std::make_shared<BlockLocator>();
  of_blocks.decoder = std::make_shared<InvertedBlocks>();
  for (const TokenLayout& layout : {of_rows, of_blocks}) {
    const auto source = Open(layout);
    ASSERT_NE(source, nullptr);
    EXPECT_TRUE(source->arrays().empty());
    EXPECT_FALSE(source->has_file_ranges());
    std::vector<TokenRange> ranges;
    for (int i = 0; i < 200; ++i) {
      const uint64_t a = random() % 91;
      const uint64_t b = random() % 91;
      ranges.push_back({std::min(a, b), std::max(a, b)});
    }
    ASSERT_OK_AND_ASSIGN(const auto windows,
                         RunBlocking(source->ReadRanges(ranges)));
    for (size_t i = 0; i < ranges.size(); ++i) {
      ASSERT_EQ(windows[i].tokens, Slice(ranges[i].begin, ranges[i].end));
    }
  }
}

// Blocks of 20 bytes that are said to take all of the file.
class SwollenBlocks final : public BlockDecoder {
 public:
  explicit SwollenBlocks(uint64_t bytes) : bytes_(bytes) {}

  absl::StatusOr<Stored> Find(uint64_t) const override {
    return Stored{0, 0, bytes_};
  }
  uint64_t DecodedBytes(uint64_t) const override { return 20; }
  absl::Status Decode(uint64_t, std::span<const std::byte>,
                      std::span<std::byte>) const override {
    return absl::OkStatus();
  }

 private:
  const uint64_t bytes_;
};

TEST_F(LayoutSourceTest, BlocksThatNoCompressorMakesAreDataLoss) {
  TokenLayout layout;
  layout.files = {folder_.path() + "/blocks"};
  std::ofstream(layout.files[0]) << "x";
  std::filesystem::resize_file(layout.files[0], uint64_t{1} << 30);
  layout.shards = {{10, 0, 0}};
  layout.locator = std::make_shared<BlockLocator>();
  layout.decoder = std::make_shared<SwollenBlocks>(20 + 65536);
  ASSERT_OK_AND_ASSIGN(const auto good,
                       LayoutSource::Open("somewhere", layout, {}));
  EXPECT_THAT(RunBlocking(good->ReadTokens(0, 10)).status(), IsOk());
  layout.decoder = std::make_shared<SwollenBlocks>(uint64_t{1} << 30);
  const auto source = LayoutSource::Open("somewhere", layout, {});
  const absl::Status read =
      source.ok() ? RunBlocking((*source)->ReadTokens(0, 10)).status()
                  : source.status();
  EXPECT_THAT(read,
              testing::StatusIs(
                  absl::StatusCode::kDataLoss,
                  HasSubstr("block 0 has 1073741824 bytes, and 20 decoded, "
                            "which take at most 65556; it is damaged")));
}

TEST_F(LayoutSourceTest, ALayoutThatContradictsItselfIsDataLoss) {
  TokenLayout layout = Write<uint16_t>(StoredType::kU16, {10});
  CompactEnds ends;
  ends.Append(11);
  layout.documents = std::make_shared<DocumentTable>(std::move(ends));
  const auto source = LayoutSource::Open("somewhere", layout, {});
  EXPECT_TRUE(absl::IsDataLoss(source.status())) << source.status();
  layout.documents = nullptr;
  layout.shards = {{uint64_t{1} << 60, 0, 5}, {1, 0, 5}};
  EXPECT_TRUE(absl::IsDataLoss(LayoutSource::Open("x", layout, {}).status()));
}

TEST_F(LayoutSourceTest, AnEmptySourceHasNothing) {
  TokenLayout layout;
  layout.format = "test";
  const auto source = Open(layout);
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(source->num_tokens(), 0u);
  ASSERT_OK_AND_ASSIGN(const auto windows, source->Windows(8));
  EXPECT_EQ(windows->CurrentLength(), 0u);
}

}  // namespace
}  // namespace poniente::internal
