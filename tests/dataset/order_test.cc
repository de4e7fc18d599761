// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "poniente/dataset_tree.h"
#include "poniente/mixture_dataset.h"
#include "poniente/transforms.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/dataset_conformance.h"
#include "tests/support/slow_permutation.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using testing::Counting;
using testing::DatasetCase;
using testing::DatasetConformanceTest;
using ::testing::ElementsAre;
using testing::Epoch;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

using testing::kInvalid;

// Scores that put item n - 1 first.
ScoreOrder Backwards(uint64_t n) {
  std::vector<float> scores(n);
  for (uint64_t i = 0; i < n; ++i) scores[i] = -static_cast<float>(i);
  return *ScoreOrder::FromScores(std::span(scores));
}

OrderOptions Buckets(uint64_t bucket_items,
                     std::optional<uint64_t> seed = std::nullopt) {
  OrderOptions options;
  options.bucket_items = bucket_items;
  options.seed = seed;
  return options;
}

INSTANTIATE_TEST_SUITE_P(
    Order, DatasetConformanceTest,
    ::testing::Values(
        DatasetCase{"Order",
                    [] { return *Order(Counting(100), Backwards(100)); }, 100},
        DatasetCase{"OrderOfNothing",
                    [] { return *Order(Counting(0), Backwards(0)); }, 0},
        DatasetCase{
            "OrderInBuckets",
            [] { return *Order(Counting(500), Backwards(500), Buckets(70)); },
            500}),
    testing::CaseName);

TEST(OrderTest, ServesTheLeastScoreFirst) {
  const std::vector<float> scores = {3, 1, 2, 1};
  const auto ordered =
      *Order(Counting(4), *ScoreOrder::FromScores(std::span(scores)));
  for (const uint64_t epoch : {0, 1}) {
    EXPECT_THAT(Epoch(ordered, epoch, 4), ElementsAre(1, 3, 2, 0));
  }
  EXPECT_TRUE(ordered->has_order());
}

TEST(OrderTest, BucketsAreShuffledAnewInEachEpoch) {
  const auto ordered = *Order(Counting(10), Backwards(10), Buckets(4, 42));
  for (const uint64_t epoch : {0, 1, 2}) {
    const uint64_t key = testing::SlowEpochKey(42, "shuf", epoch);
    std::vector<uint64_t> expected;
    for (const uint64_t begin : {0u, 4u, 8u}) {
      for (const uint64_t to : testing::SlowPermutation(
               std::min<uint64_t>(4, 10 - begin),
               testing::SlowEpochKey(key, "era", begin / 4))) {
        expected.push_back(9 - (begin + to));
      }
    }
    EXPECT_EQ(Epoch(ordered, epoch, 10), expected);
  }
}

TEST(OrderTest, ANumberOfBucketsIsTheirSize) {
  const auto order_of = [](uint64_t buckets, uint64_t bucket_items) {
    OrderOptions options = Buckets(bucket_items, 5);
    options.buckets = buckets;
    return *Order(Counting(100), Backwards(100), options);
  };
  EXPECT_EQ(order_of(3, 0)->fingerprint(), order_of(0, 34)->fingerprint());
  EXPECT_EQ(Epoch(order_of(3, 0), 1, 100), Epoch(order_of(0, 34), 1, 100));
  EXPECT_EQ(Epoch(order_of(1, 0), 1, 100), Epoch(order_of(0, 100), 1, 100));
  EXPECT_EQ(order_of(0, 1000)->fingerprint(), order_of(0, 100)->fingerprint());
  // One place each is no shuffling.
  EXPECT_EQ(Epoch(order_of(100, 0), 1, 100), Epoch(order_of(0, 0), 0, 100));
  EXPECT_EQ(order_of(1000, 0)->fingerprint(), order_of(0, 0)->fingerprint());
  OrderOptions both = Buckets(3);
  both.buckets = 2;
  EXPECT_THAT(Order(Counting(10), Backwards(10), both),
              StatusIs(kInvalid, HasSubstr("bucket_items is 3 and buckets is "
                                           "2")));
}

TEST(OrderTest, AStatedSeedStaysAnInheritedOneFollowsTheParent) {
  const auto stated = *Order(Counting(100), Backwards(100), Buckets(50, 42));
  EXPECT_EQ(Epoch<uint64_t>(stated->WithSeed(9), 0, 100),
            Epoch(stated, 0, 100));
  const auto inherits = *Order(Counting(100), Backwards(100), Buckets(50));
  EXPECT_EQ(Epoch<uint64_t>(inherits->WithSeed(42), 0, 100),
            Epoch(stated, 0, 100));
  EXPECT_NE(inherits->WithSeed(42)->fingerprint(), inherits->fingerprint());
}

TEST(OrderTest, AMixtureDoesNotPermuteIt) {
  MixtureOptions options;
  options.block_size = 1;
  const auto mixed = *MixtureDataset<uint64_t>::Create(
      {{"a", *Order(Counting(64), Backwards(64)), 1}}, options);
  const auto first = Epoch(mixed, 0, 128);
  for (uint64_t i = 0; i < 128; ++i) ASSERT_EQ(first[i], 63 - i % 64);
}

TEST(OrderTest, FindsBackThroughBuckets) {
  const auto ordered = *Order(Counting(300), Backwards(300), Buckets(64, 1));
  const DatasetTree tree(*ordered);
  for (const uint64_t epoch : {0, 3}) {
    const auto items = Epoch(ordered, epoch, 300);
    for (uint64_t i = 0; i < 300; ++i) {
      ASSERT_OK_AND_ASSIGN(const auto found, tree.Find({0, {items[i], epoch}}));
      ASSERT_EQ(found, (Position{i, epoch}));
    }
  }
}

TEST(OrderTest, TheOrderMustBeOfThisDataset) {
  EXPECT_THAT(Order(Counting(10), Backwards(11)),
              StatusIs(kInvalid, HasSubstr("order: the order is of 11 items, "
                                           "the dataset has 10")));
  EXPECT_THAT(Order(*Repeat(Counting(10)), Backwards(10)),
              StatusIs(kInvalid, HasSubstr("endless")));
  const auto growing = InMemoryDataset<uint64_t>::Growing();
  const auto ordered = *Order<uint64_t>(growing, Backwards(2));
  EXPECT_THAT(growing->Append({5, 6}), IsOk());
  EXPECT_EQ(ordered->map(), nullptr);
  growing->Finish();
  EXPECT_THAT(Epoch<uint64_t>(ordered, 0, 2), ElementsAre(6, 5));
}

TEST(OrderTest, TheFingerprintFollowsOrderAndBuckets) {
  const uint64_t print = (*Order(Counting(9), Backwards(9)))->fingerprint();
  const std::vector<float> rising = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_NE((*Order(Counting(9), *ScoreOrder::FromScores(std::span(rising))))
                ->fingerprint(),
            print);
  EXPECT_NE((*Order(Counting(9), Backwards(9), Buckets(3)))->fingerprint(),
            print);
}

// Tables that can be broken.
class BreakableTables final : public OrderTables {
 public:
  uint64_t size() const override { return 8; }
  void ItemsAt(std::span<const uint64_t> in,
               std::span<uint64_t> out) const override {
    std::copy(in.begin(), in.end(), out.begin());
  }
  void PlacesOf(std::span<const uint64_t> in,
                std::span<uint64_t> out) const override {
    std::copy(in.begin(), in.end(), out.begin());
  }
  absl::Status status() const override {
    return broken ? absl::DataLossError("'order.bin' was cut short")
                  : absl::OkStatus();
  }
  uint64_t fingerprint() const override { return 1; }

  std::atomic<bool> broken = false;
};

TEST(OrderTest, TablesThatBreakAreDataLossWhereverAnIndexIsResolved) {
  const auto tables = std::make_shared<BreakableTables>();
  const auto ordered = *Order(Counting(8), ScoreOrder(tables));
  const auto root = *Take(ordered, 5);
  const DatasetTree tree(*root);
  const std::vector<Position> positions(1);
  std::vector<LeafPosition> leaves(1);
  EXPECT_THAT(root->GetBlocking(0), IsOk());
  EXPECT_THAT(tree.Resolve(positions, leaves), IsOk());
  EXPECT_THAT(tree.Find(leaves[0]), IsOk());
  tables->broken = true;
  const auto lost = StatusIs(absl::StatusCode::kDataLoss,
                             HasSubstr("order: 'order.bin' was cut short"));
  EXPECT_THAT(root->GetBlocking(0), lost);
  EXPECT_THAT(tree.Resolve(positions, leaves), lost);
  EXPECT_THAT(tree.Find(leaves[0]), lost);
}

}  // namespace
}  // namespace poniente
