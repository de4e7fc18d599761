// SPDX-License-Identifier: Apache-2.0
#include "index/packing/bin_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/index/packing/slow_packer.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using ::poniente::testing::SlowBin;
using ::poniente::testing::SlowPack;
using ::poniente::testing::SlowPiece;

std::string Describe(const std::vector<SizeClass>& classes,
                     const BinRule& rule) {
  std::string text =
      absl::StrCat("bins of ", rule.bin_units, ", parts ", rule.parts,
                   ", at most ", rule.max_pieces, ":");
  for (const SizeClass& each : classes) {
    absl::StrAppend(&text, " ", each.units, "x", each.count);
  }
  return text;
}

// The pieces of a bin, in the order in which they were laid.
std::vector<SlowPiece> PiecesOf(const BinPlan& plan, uint64_t bin) {
  const BinGroup& group = plan.GroupOf(bin);
  std::vector<SlowPiece> pieces(group.pieces);
  for (int32_t n = group.last_node; n >= 0;) {
    const BinNode& node = plan.nodes()[n];
    for (uint32_t j = 0; j < node.per_bin; ++j) {
      pieces[node.before + j] = {
          node.units,
          node.first_slot + (bin - node.first_bin) * node.per_bin + j};
    }
    n = node.parent;
  }
  return pieces;
}

void ExpectAsByLists(const std::vector<SizeClass>& classes,
                     const BinRule& rule) {
  SCOPED_TRACE(Describe(classes, rule));
  const std::vector<SlowBin> expected = SlowPack(classes, rule);
  const BinPlan plan(classes, rule);
  ASSERT_EQ(plan.num_bins(), expected.size());
  for (uint64_t b = 0; b < expected.size(); ++b) {
    ASSERT_EQ(plan.GroupOf(b).left, expected[b].left) << b;
    ASSERT_EQ(PiecesOf(plan, b), expected[b].pieces) << b;
    for (uint32_t i = 0; i < expected[b].pieces.size(); ++i) {
      const SlowPiece& piece = expected[b].pieces[i];
      size_t index = 0;
      while (classes[index].units != piece.units) ++index;
      ASSERT_EQ(plan.PlaceOf(index, piece.slot), (BinPlace{b, i}));
    }
  }
}

std::vector<SizeClass> RandomClasses(uint32_t bin_units, uint64_t most,
                                     std::mt19937_64& random) {
  std::map<uint32_t, uint64_t, std::greater<>> counts;
  const uint64_t sizes = 1 + random() % std::min<uint64_t>(bin_units, 12);
  for (uint64_t i = 0; i < sizes; ++i) {
    counts[1 + random() % bin_units] += random() % (most + 1);
  }
  std::vector<SizeClass> classes;
  for (const auto& [units, count] : counts) classes.push_back({units, count});
  return classes;
}

void ExpectRandomAsByLists(int rounds, std::mt19937_64& random) {
  constexpr uint32_t kParts[] = {1, 2, 3, 4, 8, 64, 256};
  for (int i = 0; i < rounds && !::testing::Test::HasFailure(); ++i) {
    BinRule rule;
    rule.bin_units = 1 + random() % (random() % 4 == 0 ? 100 : 24);
    rule.parts = kParts[random() % std::size(kParts)];
    rule.max_pieces = random() % 2 == 0 ? 0 : 1 + random() % 6;
    ExpectAsByLists(RandomClasses(rule.bin_units, 1 + random() % 12, random),
                    rule);
  }
}

TEST(BinPlanTest, NothingToPack) {
  const BinPlan plan({}, {.bin_units = 16});
  EXPECT_EQ(plan.num_bins(), 0);
  EXPECT_EQ(plan.max_pieces(), 0);
  ExpectAsByLists({{5, 0}, {2, 0}}, {.bin_units = 16});
}

TEST(BinPlanTest, RandomHistogramsAsPieceByPiece) {
  std::mt19937_64 random(poniente::testing::TestSeed(24));
  ExpectRandomAsByLists(20'000, random);
}

// Labelled slow: every case that packing.md says has been tried, and more.
TEST(BinPlanStatisticsTest, AMillionRandomHistogramsAsPieceByPiece) {
  std::mt19937_64 random(poniente::testing::TestSeed(24));
  ExpectRandomAsByLists(1'000'000, random);
}

TEST(BinPlanTest, BestFitDecreasingIsParts1) {
  // Textbook: 7 pieces into bins of 10.
  const BinPlan plan({{6, 2}, {5, 1}, {4, 2}, {3, 1}, {1, 2}},
                     {.bin_units = 10, .parts = 1});
  ASSERT_EQ(plan.num_bins(), 3);
  EXPECT_EQ(PiecesOf(plan, 0), (std::vector<SlowPiece>{{6, 0}, {4, 0}}));
  EXPECT_EQ(PiecesOf(plan, 1), (std::vector<SlowPiece>{{6, 1}, {4, 1}}));
  EXPECT_EQ(PiecesOf(plan, 2),
            (std::vector<SlowPiece>{{5, 0}, {3, 0}, {1, 0}, {1, 1}}));
}

// Counts far beyond what lists can hold: units of all bins and places add up.
TEST(BinPlanTest, BillionsOfPieces) {
  std::mt19937_64 random(poniente::testing::TestSeed(24));
  for (int round = 0; round < 200; ++round) {
    const uint32_t bin_units = 64 + random() % 2000;
    std::vector<SizeClass> classes =
        RandomClasses(bin_units, 40'000'000'000, random);
    const uint32_t parts = round % 2 == 0 ? 1 : 64;
    const BinPlan plan(classes, {.bin_units = bin_units, .parts = parts});
    uint64_t units = 0;
    for (size_t c = 0; c < classes.size(); ++c) {
      units += classes[c].units * classes[c].count;
      for (int i = 0; i < 20 && classes[c].count > 0; ++i) {
        const uint64_t slot = random() % classes[c].count;
        const BinPlace place = plan.PlaceOf(c, slot);
        ASSERT_EQ(PiecesOf(plan, place.bin)[place.piece],
                  (SlowPiece{classes[c].units, slot}));
      }
    }
    uint64_t in_bins = 0;
    for (size_t g = 0; g < plan.groups().size(); ++g) {
      in_bins += plan.BinsOf(g) * (bin_units - plan.groups()[g].left);
    }
    EXPECT_EQ(in_bins, units);
  }
}

TEST(BinPlanTest, TheLongestBin) {
  const BinPlan plan({{kMaxBinUnits, 3}, {kMaxBinUnits / 2, 3}, {1, 5}},
                     {.bin_units = kMaxBinUnits});
  EXPECT_EQ(plan.num_bins(), 5);
  EXPECT_EQ(plan.max_pieces(), 6);
}

TEST(BinPlanDeathTest, RefusesBinsThatAreTooLong) {
  EXPECT_DEATH(BinPlan({}, {.bin_units = kMaxBinUnits + 1}), "");
}

}  // namespace
}  // namespace poniente::internal
