// SPDX-License-Identifier: Apache-2.0
// Windows of documents in the order of their scores, against a plain list that
// is sorted, joined and cut.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "poniente/dataset_tree.h"
#include "poniente/mixture_dataset.h"
#include "poniente/transforms.h"
#include "store/read/ordered_tokens.h"
#include "tests/store/read/ordered_store.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::OrderCase;
using testing::OrderedStore;

std::vector<ItemPiece> PiecesIn(const DatasetPtr<TokenWindow>& windows,
                                uint64_t item) {
  return *PiecesOf(*windows)->Pieces({.index = item});
}

// A golden order: documents 4, 1, 3, 5, 0, 2, of which 4 and 1 are empty.
TEST(OrderedWindowsTest, CutTheDocumentsInTheOrderOfTheirScores) {
  OrderCase six = {{3, 0, 5, 1, 0, 4}, {0.5f, 0.1f, 0.5f, 0.2f, -1, 0.3f}};
  const OrderedStore ascending(six);
  const auto windows = *ascending.Windows(4);
  ASSERT_EQ(windows->CurrentLength(), 3u);
  EXPECT_THAT(PiecesIn(windows, 0),
              ElementsAre(ItemPiece{3, 8, 9}, ItemPiece{5, 9, 12}));
  EXPECT_THAT(PiecesIn(windows, 1),
              ElementsAre(ItemPiece{5, 12, 13}, ItemPiece{0, 0, 3}));
  EXPECT_THAT(PiecesIn(windows, 2), ElementsAre(ItemPiece{2, 3, 7}));
  // Equal scores stay in stored order in both directions.
  six.direction = ScoreDirection::kDescending;
  const auto down = *OrderedStore(six).Windows(4);
  EXPECT_THAT(PiecesIn(down, 0),
              ElementsAre(ItemPiece{0, 0, 3}, ItemPiece{2, 3, 4}));
  EXPECT_THAT(PiecesIn(down, 1), ElementsAre(ItemPiece{2, 4, 8}));
  EXPECT_THAT(PiecesIn(down, 2), ElementsAre(ItemPiece{5, 9, 13}));
  six.chosen = {true, true, false, true, true, true};
  const auto some = *OrderedStore(six).Windows(4);
  ASSERT_EQ(some->CurrentLength(), 2u);
  EXPECT_THAT(PiecesIn(some, 0),
              ElementsAre(ItemPiece{0, 0, 3}, ItemPiece{5, 9, 10}));
  EXPECT_THAT(PiecesIn(some, 1),
              ElementsAre(ItemPiece{5, 10, 13}, ItemPiece{3, 8, 9}));
}

TEST(OrderedWindowsTest, EverySubsetAndManyOrdersOfAFewDocuments) {
  std::mt19937_64 random(testing::TestSeed(91));
  for (uint32_t subset = 0; subset <= 64; ++subset) {
    OrderCase one = {{3, 0, 5, 1, 0, 4}, {0, 1, 1, 2, 2, 3}};
    std::shuffle(one.scores.begin(), one.scores.end(), random);
    if (subset % 2 == 1) one.direction = ScoreDirection::kDescending;
    if (subset < 64) {
      one.chosen.emplace(6);
      for (int d = 0; d < 6; ++d) (*one.chosen)[d] = (subset >> d & 1) != 0;
    }
    const OrderedStore ordered(one);
    for (const uint64_t length : {1, 2, 3, 7, 13, 14}) {
      ordered.ExpectAll(length);
    }
  }
}

// Long documents, short ones, ties, infinities; few and many empty ones.
TEST(OrderedWindowsTest, ManyDocumentsOfAllDensities) {
  std::mt19937_64 random(testing::TestSeed(92));
  for (const uint64_t one_in : {0, 1, 2, 30, 700}) {
    OrderCase many;
    many.lengths.resize(3000);
    many.scores.resize(3000);
    many.in_file = one_in == 2;
    if (one_in > 0) many.chosen.emplace(3000);
    for (size_t d = 0; d < 3000; ++d) {
      many.lengths[d] = random() % 4 == 0     ? 0
                        : random() % 200 == 0 ? random() % 300
                                              : random() % 9;
      many.scores[d] = static_cast<float>(random() % 700) - 350;
      if (random() % 50 == 0) many.scores[d] = INFINITY;
      if (random() % 50 == 0) many.scores[d] = -INFINITY;
      if (one_in > 0) (*many.chosen)[d] = random() % one_in == 0;
    }
    const OrderedStore ordered(many);
    for (const uint64_t length : {5, 64, 1000}) ordered.ExpectAll(length);
  }
}

// Blocks of nothing but empty documents lie before, between and behind others.
TEST(OrderedWindowsTest, RunsOfEmptyDocuments) {
  OrderCase one;
  one.lengths.resize(1000);
  for (size_t d = 0; d < 1000; ++d) {
    one.lengths[d] = d / 100 % 2 == 0 ? 0 : d % 7;
    one.scores.push_back(static_cast<float>(d / 2));
  }
  for (const auto direction :
       {ScoreDirection::kAscending, ScoreDirection::kDescending}) {
    one.direction = direction;
    const OrderedStore ordered(one);
    for (const uint64_t length : {1, 6, 300}) ordered.ExpectAll(length);
  }
}

TEST(OrderedWindowsTest, NothingToReadHasNoWindows) {
  const OrderedStore none(
      {{3, 4}, {1, 2}, {}, std::vector<bool>{false, false}});
  const auto windows = *none.Windows(1);
  EXPECT_EQ(windows->CurrentLength(), 0u);
  EXPECT_THAT(PiecesOf(*windows)->ItemsOf(1), IsOkAndHolds(IsEmpty()));
  const OrderedStore empty({{0, 0, 0}, {1, 2, 3}});
  EXPECT_EQ((*empty.Windows(1))->CurrentLength(), 0u);
  EXPECT_THAT(PiecesOf(**empty.Windows(1))->ItemsOf(1),
              IsOkAndHolds(IsEmpty()));
}

TEST(OrderedWindowsTest, AnOrderThatIsTheStoredOneGivesTheWindowsOfTheStore) {
  const OrderedStore all({{100, 0, 57, 1000}, {1, 1, 1, 2}});
  const auto windows = *all.store().Windows(31);
  const auto ordered = *all.Windows(31);
  std::vector<Index> indices(*windows->CurrentLength());
  std::iota(indices.begin(), indices.end(), 0u);
  EXPECT_EQ(*windows->GetBatchBlocking(indices),
            *ordered->GetBatchBlocking(indices));
  EXPECT_EQ(ordered->vocabulary()->tokenizer, "bytes");
  EXPECT_EQ(ordered->name(), all.folder().path());
  EXPECT_EQ(ordered->ranges(), nullptr);
  EXPECT_TRUE(ordered->reads_files());
}

LeafPosition ResolvedIn(const DatasetTree& tree, uint64_t index) {
  const Position position = {.index = index};
  LeafPosition at;
  EXPECT_THAT(tree.Resolve(std::span(&position, 1), std::span(&at, 1)), IsOk());
  return at;
}

TEST(OrderedWindowsTest, AMixtureKeepsTheirOrderAndAnEraShuffleItsEras) {
  OrderCase one = {std::vector<uint64_t>(100, 7), {}};
  for (int d = 0; d < 100; ++d) one.scores.push_back(d * 37 % 100);
  const OrderedStore ordered(one);
  const auto windows = *ordered.Windows(10);
  EXPECT_TRUE(windows->has_order());
  MixtureOptions options;
  options.block_size = 1;
  const auto mixture =
      *MixtureDataset<TokenWindow>::Create({{"a", windows, 1}}, options);
  const DatasetTree tree(*mixture);
  for (uint64_t i = 0; i < 140; ++i) {
    const LeafPosition at = ResolvedIn(tree, i);
    EXPECT_EQ(at.position.index, i % 70);
    ASSERT_OK_AND_ASSIGN(const auto found, tree.Find(at));
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->index, i);
  }
  const auto eras = *EraShuffle(windows, 20);
  const DatasetTree shuffled(*eras);
  std::vector<uint64_t> items;
  for (uint64_t i = 0; i < 70; ++i) {
    items.push_back(ResolvedIn(shuffled, i).position.index);
    EXPECT_EQ(items.back() / 20, i / 20);
  }
  EXPECT_FALSE(std::is_sorted(items.begin(), items.end()));
}

TEST(OrderedWindowsTest, MemoryIsHalfAByteForEachDocument) {
  OrderCase one;
  one.lengths.assign(20'000, 1);
  for (size_t d = 0; d < 20'000; ++d) {
    one.scores.push_back(static_cast<float>(d * 7919 % 20'000));
  }
  const OrderedStore all(one);
  const auto whole =
      internal::OrderedTokens::Create(all.store(), all.order(), nullptr);
  ASSERT_THAT(whole, IsOk());
  EXPECT_EQ(whole->total(), 20'000u);
  EXPECT_LE(whole->memory_bytes(), 20'000u / 2);
  one.chosen.emplace(20'000);
  for (size_t d = 0; d < 20'000; d += 2) (*one.chosen)[d] = true;
  const OrderedStore half(one);
  const auto some = internal::OrderedTokens::Create(half.store(), half.order(),
                                                    half.selection());
  ASSERT_THAT(some, IsOk());
  EXPECT_EQ(some->total(), 10'000u);
  EXPECT_LE(some->memory_bytes(),
            10'000u / 2 + half.selection()->memory_bytes());
}

TEST(OrderedWindowsTest, TheFingerprintFollowsStoreOrderSelectionAndLength) {
  const OrderCase plain = {{5, 5, 5}, {1, 2, 3}};
  const auto print = [](const OrderCase& of, uint64_t length) {
    return (*OrderedStore(of).Windows(length))->fingerprint();
  };
  EXPECT_EQ(print(plain, 4), print(plain, 4));
  EXPECT_NE(print(plain, 4), print(plain, 3));
  OrderCase other = plain;
  other.lengths[2] = 4;
  EXPECT_NE(print(plain, 4), print(other, 4));
  other = plain;
  other.scores = {1, 3, 2};
  EXPECT_NE(print(plain, 4), print(other, 4));
  other.scores = {10, 20, 30};  // the same order
  EXPECT_EQ(print(plain, 4), print(other, 4));
  other.in_file = true;
  EXPECT_EQ(print(plain, 4), print(other, 4));
  other.chosen = {true, true, true};
  const uint64_t chosen = print(other, 4);
  EXPECT_NE(print(plain, 4), chosen);
  other.chosen = {true, false, true};
  EXPECT_NE(print(other, 4), chosen);
  EXPECT_NE(print(plain, 4),
            (*OrderedStore(plain).store().Windows(4))->fingerprint());
}

}  // namespace
}  // namespace poniente
