// SPDX-License-Identifier: Apache-2.0
#include "index/packing/chunk_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "index/keyed_hash.h"
#include "tests/index/doc_vectors.h"
#include "tests/index/packing/length_lists.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

// The order as docs/packing.md defines it, as lists.
std::vector<ChunkBin> SlowOrder(const std::vector<uint64_t>& windows,
                                uint64_t shuffle_chunks,
                                const PackingOrder& order) {
  std::vector<uint64_t> chunks(windows.size());
  std::iota(chunks.begin(), chunks.end(), 0);
  if (order.is_shuffled) {
    for (uint64_t place = 0; place < chunks.size(); ++place) {
      chunks[place] =
          Permutation(windows.size(), Derive(order.key, Tag("chun")))
              .Forward(place);
    }
  }
  std::vector<ChunkBin> all;
  for (uint64_t v = 0; v * shuffle_chunks < chunks.size(); ++v) {
    std::vector<ChunkBin> together;
    for (uint64_t i = v * shuffle_chunks;
         i < std::min<uint64_t>(chunks.size(), (v + 1) * shuffle_chunks); ++i) {
      for (uint64_t bin = 0; bin < windows[chunks[i]]; ++bin) {
        together.push_back({chunks[i], bin});
      }
    }
    for (uint64_t x = 0; x < together.size(); ++x) {
      const uint64_t from =
          order.is_shuffled
              ? Permutation(together.size(), Derive(order.key, Tag("wind"), v))
                    .Forward(x)
              : x;
      all.push_back(together[from]);
    }
  }
  return all;
}

TEST(ChunkOrderTest, EveryBinIsOneWindowAsInLists) {
  std::mt19937_64 random(poniente::testing::TestSeed(77));
  const int rounds = poniente::testing::TestRounds(2000);
  for (int i = 0; i < rounds; ++i) {
    std::vector<uint64_t> windows(random() % 12);
    for (uint64_t& each : windows) {
      each = random() % 3 == 0 ? 0 : random() % (random() % 4 == 0 ? 200 : 6);
    }
    const uint64_t shuffle_chunks = 1 + random() % 14;
    const PackingOrder seats = random() % 5 == 0
                                   ? PackingOrder()
                                   : PackingOrder(random(), random() % 3);
    const ChunkOrder order(windows, shuffle_chunks, seats);
    const std::vector<ChunkBin> expected =
        SlowOrder(windows, shuffle_chunks, seats);
    ASSERT_EQ(order.num_windows(), expected.size());
    for (uint64_t x = 0; x < expected.size(); ++x) {
      ASSERT_EQ(order.BinAt(x), expected[x])
          << absl::StrJoin(windows, " ") << " by " << shuffle_chunks;
      ASSERT_EQ(order.WindowOf(expected[x]), x);
    }
  }
}

TEST(ChunkOrderTest, AShuffleWindowHoldsItsChunksAlone) {
  const std::vector<uint64_t> windows(40, 25);
  const ChunkOrder order(windows, 4, PackingOrder(42, 3));
  std::set<uint64_t> all;
  for (uint64_t v = 0; v < 10; ++v) {
    std::set<uint64_t> chunks;
    bool is_sorted = true;
    for (uint64_t x = v * 100; x < (v + 1) * 100; ++x) {
      chunks.insert(order.BinAt(x).chunk);
      is_sorted &=
          x % 100 == 0 || order.BinAt(x).chunk == order.BinAt(x - x % 25).chunk;
    }
    EXPECT_EQ(chunks.size(), 4);
    EXPECT_FALSE(is_sorted);
    all.insert(chunks.begin(), chunks.end());
  }
  EXPECT_EQ(all.size(), 40);
}

// The vectors of docs/packing.md, which a program of piece-by-piece lists made.
TEST(ChunkOrderTest, WindowsOfTheDocumentation) {
  const auto vectors = poniente::testing::ReadVectors("packing.md");
  std::vector<uint64_t> lengths;
  for (const std::string& word : vectors.find("lengths")->second.expected) {
    lengths.push_back(std::stoull(word));
  }
  const auto [begin, end] = vectors.equal_range("chunks");
  ASSERT_EQ(std::distance(begin, end), 2);
  for (auto at = begin; at != end; ++at) {
    const auto number = [&](size_t i) {
      return std::stoull(at->second.arguments[i]);
    };
    const uint64_t size = number(2);
    const PackingOrder seats(42, number(4));
    std::vector<WindowPacking> packings;
    std::vector<std::vector<uint64_t>> by_length;
    std::vector<uint64_t> windows;
    for (uint64_t first = 0; first < lengths.size(); first += size) {
      const std::vector<uint64_t> chunk(
          lengths.begin() + static_cast<ptrdiff_t>(first),
          lengths.begin() + static_cast<ptrdiff_t>(std::min<uint64_t>(
                                lengths.size(), first + size)));
      by_length.push_back(poniente::testing::ByLength(chunk));
      for (uint64_t& document : by_length.back()) document += first;
      PackingOptions options;
      options.parts = static_cast<uint32_t>(number(1));
      packings.push_back(*WindowPacking::Create(
          poniente::testing::HistogramOf(chunk), number(0), options));
      windows.push_back(packings.back().num_windows());
    }
    const ChunkOrder order(windows, number(3), seats);
    std::vector<std::string> words;
    for (uint64_t x = 0; x < order.num_windows(); ++x) {
      const ChunkBin bin = order.BinAt(x);
      std::vector<PackedPiece> pieces;
      packings[bin.chunk].AppendBinPieces(bin.bin, seats.OfChunk(bin.chunk),
                                          &pieces);
      std::vector<std::string> each;
      for (const PackedPiece& piece : pieces) {
        each.push_back(
            absl::StrCat(by_length[bin.chunk][piece.ordinal], ":", piece.begin,
                         "-", piece.begin + piece.length, "@", piece.offset));
      }
      words.push_back(absl::StrCat(bin.chunk, "/", bin.bin, "(",
                                   absl::StrJoin(each, "+"), ")"));
    }
    EXPECT_EQ(words, at->second.expected) << at->second.line;
  }
}

// A change here changes runs.
TEST(ChunkOrderTest, GoldenOrder) {
  const std::vector<uint64_t> windows = {3, 0, 2, 4, 1};
  const auto text = [&](const PackingOrder& seats) {
    std::string all;
    const ChunkOrder order(windows, 2, seats);
    for (uint64_t x = 0; x < order.num_windows(); ++x) {
      absl::StrAppend(&all, order.BinAt(x).chunk, ":", order.BinAt(x).bin, " ");
    }
    return all;
  };
  EXPECT_EQ(text(PackingOrder()), "0:0 0:1 0:2 2:0 2:1 3:0 3:1 3:2 3:3 4:0 ");
  EXPECT_EQ(text(PackingOrder(42, 0)),
            "3:3 2:0 3:0 3:2 3:1 2:1 0:2 0:1 0:0 4:0 ");
  EXPECT_EQ(text(PackingOrder(42, 1)),
            "0:0 0:2 4:0 0:1 2:0 2:1 3:2 3:0 3:3 3:1 ");
  EXPECT_EQ(PackingOrder(42, 0).OfChunk(3).key, 0xbbaa3b70cc7cc336u);
  EXPECT_EQ(PackingOrder().OfChunk(3), PackingOrder());
}

}  // namespace
}  // namespace poniente::internal
