// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "poniente/dataset_tree.h"
#include "poniente/flat_mixture.h"
#include "poniente/mixture_dataset.h"
#include "poniente/transforms.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/dataset_conformance.h"
#include "tests/support/slow_permutation.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using testing::Counting;
using testing::DatasetCase;
using testing::DatasetConformanceTest;
using ::testing::ElementsAre;
using testing::Epoch;
using ::testing::HasSubstr;
using testing::Indices;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::StatusIs;

using testing::kInvalid;

Selection Chosen(uint64_t size, std::vector<uint64_t> items) {
  return *Selection::FromIndices(size, items);
}

// Every third of `size` items.
Selection Thirds(uint64_t size) {
  std::vector<uint64_t> items;
  for (uint64_t i = 1; i < size; i += 3) items.push_back(i);
  return Chosen(size, items);
}

INSTANTIATE_TEST_SUITE_P(
    Filter, DatasetConformanceTest,
    ::testing::Values(
        DatasetCase{"Filter",
                    [] { return *Filter(Counting(100), Thirds(100)); }, 33},
        DatasetCase{"FilterToNothing",
                    [] { return *Filter(Counting(5), Chosen(5, {})); }, 0},
        DatasetCase{"FilterOfNothing",
                    [] { return *Filter(Counting(0), Selection()); }, 0},
        DatasetCase{"FilterOfFilter",
                    [] {
                      return *Filter(*Filter(Counting(100), Thirds(100)),
                                     Thirds(33));
                    },
                    11},
        DatasetCase{"HoldOutTrain",
                    [] { return HoldOutLast(Counting(50), 7)->train; }, 43},
        DatasetCase{"HoldOutValidation",
                    [] { return HoldOutLast(Counting(50), 7)->validation; },
                    7}),
    testing::CaseName);

TEST(FilterTest, ServesTheChosenItemsInTheirOrder) {
  const auto filtered = *Filter(Counting(100, 1000), Chosen(100, {99, 7, 64}));
  for (const uint64_t epoch : {0, 3}) {
    EXPECT_THAT(Epoch(filtered, epoch, 3), ElementsAre(1007, 1064, 1099));
  }
  EXPECT_FALSE(filtered->has_order());
}

TEST(FilterTest, HandsEpochAndPartOn) {
  const auto shuffled = *Shuffle(Counting(10), 7);
  const auto filtered = *Filter(shuffled, Chosen(10, {0, 9}));
  for (const uint64_t epoch : {0, 1, 2}) {
    const auto whole = Epoch(shuffled, epoch, 10);
    EXPECT_THAT(Epoch(filtered, epoch, 2), ElementsAre(whole[0], whole[9]));
  }
  EXPECT_TRUE(filtered->has_order());
  const auto windows = *Filter(testing::CountingWindows(4, 10), Chosen(4, {2}));
  const std::vector<Position> part = {{0, 5, 3, 2}};
  EXPECT_THAT(
      RunBlocking(windows->GetAt(part)),
      IsOkAndHolds(ElementsAre(TokenWindow(std::vector<uint32_t>{23, 24}))));
  EXPECT_EQ(windows->vocabulary()->tokenizer, "modulo");
}

TEST(FilterTest, FiltersOverOneDatasetAreThresholdsPerStage) {
  const auto shared = Counting(6);
  const std::vector<float> scores = {0.1f, 0.9f, 0.5f, 0.4f, 0.95f, 0.2f};
  const auto at_least = [&](float threshold) {
    return *Filter(shared, *Selection::AtLeast(std::span(scores), threshold));
  };
  EXPECT_THAT(Epoch(at_least(0.4f), 0, 4), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Epoch(at_least(0.9f), 0, 2), ElementsAre(1, 4));
  EXPECT_NE(at_least(0.4f)->fingerprint(), at_least(0.9f)->fingerprint());
  EXPECT_EQ(at_least(0.6f)->fingerprint(), at_least(0.9f)->fingerprint());
}

TEST(FilterTest, TheSelectionMustBeOfThisDataset) {
  EXPECT_THAT(
      Filter(Counting(10), Thirds(11)),
      StatusIs(kInvalid, AllOf(HasSubstr("filter: the selection is of "
                                         "11 items, the dataset has 10"),
                               HasSubstr("anew"))));
  EXPECT_THAT(Filter(Counting(11), Thirds(10)),
              StatusIs(kInvalid, HasSubstr("of 10 items, the dataset has 11")));
}

TEST(FilterTest, RefusesAnEndlessDataset) {
  EXPECT_THAT(Filter(*Repeat(Counting(7)), Thirds(7)),
              StatusIs(kInvalid, HasSubstr("endless")));
}

TEST(FilterTest, WaitsForTheFinalLengthAndChecksItThen) {
  const auto growing = InMemoryDataset<uint64_t>::Growing();
  const auto filtered = *Filter<uint64_t>(growing, Chosen(3, {0, 2}));
  const auto too_long = *Filter<uint64_t>(growing, Chosen(4, {0}));
  EXPECT_THAT(growing->Append({5, 6, 7}), IsOk());
  EXPECT_EQ(filtered->CurrentLength(), 0u);
  EXPECT_EQ(filtered->map(), nullptr);
  EXPECT_THAT(Filter<uint64_t>(growing, Chosen(2, {})),
              StatusIs(kInvalid, HasSubstr("the dataset has 3")));
  growing->Finish();
  EXPECT_EQ(filtered->length_now(), LengthState::Final(2));
  EXPECT_THAT(Epoch<uint64_t>(filtered, 0, 2), ElementsAre(5, 7));
  EXPECT_THAT(too_long->GetBlocking(0),
              StatusIs(kInvalid, HasSubstr("of 4 items, the dataset has 3")));
}

TEST(FilterTest, BelowAMixtureEachSampleIsFoundAgain) {
  const auto prose =
      *Concat<uint64_t>({{"old", *Filter(Counting(100), Thirds(100))},
                         {"new", Counting(40, 10000)}});
  const auto root = *MixtureDataset<uint64_t>::Create(
      {{"prose", *Filter(prose, Thirds(73)), 2},
       {"code",
        *FlatMixture<uint64_t>::Create(
            {{"c", *Filter(Counting(50, 20000), Thirds(50))}}),
        1}});
  const DatasetTree tree(*root);
  std::vector<Position> positions(500);
  for (uint64_t i = 0; i < 500; ++i) positions[i].index = i;
  std::vector<LeafPosition> leaves(500);
  ASSERT_THAT(tree.Resolve(positions, leaves), IsOk());
  const auto items = *root->GetBatchBlocking(Indices(0, 500));
  for (uint64_t i = 0; i < 500; ++i) {
    ASSERT_EQ(leaves[i].leaf * 10000 + leaves[i].position.index, items[i]);
    ASSERT_THAT(tree.Find(leaves[i]),
                IsOkAndHolds(std::optional(Position{.index = i})));
  }
  EXPECT_THAT(tree.Find({0, {.index = 0}}), IsOkAndHolds(std::nullopt));
  EXPECT_THAT(tree.Find({0, {.index = 99}}), IsOkAndHolds(std::nullopt));
}

TEST(FilterTest, AMixturePermutesItsEpochs) {
  const auto filtered = *Filter(Counting(100), Thirds(100));
  MixtureOptions options;
  options.block_size = 1;
  const auto mixed =
      *MixtureDataset<uint64_t>::Create({{"a", filtered, 1}}, options);
  auto first = Epoch(mixed, 0, 33);
  EXPECT_NE(first, Epoch(filtered, 0, 33));
  std::sort(first.begin(), first.end());
  EXPECT_EQ(first, Epoch(filtered, 0, 33));
}

// Together complete, disjoint, in order.
void ExpectPartition(const HeldOut<uint64_t>& parts, uint64_t n) {
  std::vector<uint64_t> all;
  for (const auto& part : {parts.train, parts.validation}) {
    for (const uint64_t epoch : {0, 1}) {
      const auto items = Epoch(part, epoch, part->length_now().readable);
      ASSERT_TRUE(std::is_sorted(items.begin(), items.end()));
      if (epoch == 0) all.insert(all.end(), items.begin(), items.end());
    }
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, Indices(0, n));
}

TEST(HoldOutTest, TheTwoViewsAreDisjointAndTogetherComplete) {
  for (const uint64_t n : {2u, 3u, 64u, 65u, 1000u, 4097u}) {
    for (const uint64_t held : {uint64_t{1}, n / 2, n - 1}) {
      ASSERT_OK_AND_ASSIGN(const auto parts, HoldOutLast(Counting(n), held));
      ExpectPartition(parts, n);
      EXPECT_EQ(parts.validation->CurrentLength(), held);
      EXPECT_THAT(parts.validation->GetBlocking(0), IsOkAndHolds(n - held));
    }
  }
  for (const uint64_t n : {64u, 65u, 1000u, 4097u}) {
    for (const double fraction : {0.1, 0.5, 0.9}) {
      for (const uint64_t seed : {0u, 5u}) {
        ASSERT_OK_AND_ASSIGN(const auto parts,
                             HoldOutFraction(Counting(n), fraction, seed));
        ExpectPartition(parts, n);
      }
    }
  }
}

TEST(HoldOutTest, AFractionHoldsOutByTheHashOfTheIndex) {
  const auto parts = *HoldOutFraction(Counting(500), 0.25, 7);
  std::vector<uint64_t> expected;
  for (uint64_t x = 0; x < 500; ++x) {
    if (testing::SlowEpochKey(7, "hold", x) < uint64_t{1} << 62) {
      expected.push_back(x);
    }
  }
  EXPECT_EQ(Epoch(parts.validation, 0, expected.size()), expected);
  EXPECT_EQ(parts.validation->CurrentLength(), expected.size());
}

TEST(HoldOutTest, TheSeedIsNeverInherited) {
  const auto parts = *HoldOutFraction(Counting(500), 0.25);
  for (const auto& part : {parts.train, parts.validation}) {
    const uint64_t n = part->length_now().readable;
    EXPECT_EQ(Epoch<uint64_t>(part->WithSeed(99), 0, n), Epoch(part, 0, n));
    EXPECT_EQ(part->WithSeed(99)->fingerprint(), part->fingerprint());
  }
  const auto other = *HoldOutFraction(Counting(500), 0.25, 1);
  EXPECT_NE(other.validation->fingerprint(), parts.validation->fingerprint());
}

TEST(HoldOutTest, RefusesWhatWouldHoldOutNothingOrAll) {
  for (const uint64_t held : {0u, 10u, 11u}) {
    EXPECT_THAT(
        HoldOutLast(Counting(10), held),
        StatusIs(kInvalid, HasSubstr("hold-out of " + std::to_string(held) +
                                     " items of a dataset of 10")));
  }
  for (const double fraction : {0.0, 1.0, -1.0, 1.5}) {
    EXPECT_THAT(HoldOutFraction(Counting(10), fraction),
                StatusIs(kInvalid, HasSubstr("between 0 and 1")));
  }
  EXPECT_THAT(HoldOutFraction(Counting(10), 1e-9),
              StatusIs(kInvalid, HasSubstr("the fraction 1e-09 selects 0 of "
                                           "10 items")));
  EXPECT_THAT(HoldOutFraction(Counting(10), 1 - 1e-9),
              StatusIs(kInvalid, HasSubstr("selects 10 of 10 items")));
  EXPECT_THAT(HoldOutFraction(Counting(0), 0.5),
              StatusIs(kInvalid, HasSubstr("selects 0 of 0 items")));
}

TEST(HoldOutTest, RefusesADatasetThatHasALeafTwice) {
  const auto leaf = Counting(10);
  const auto twice = *Concat<uint64_t>({{"a", leaf}, {"b", leaf}});
  const auto below =
      *Concat<uint64_t>({{"a", Counting(3)},
                         {"b", *Take(leaf, 5)},
                         {"c", *Concat<uint64_t>({{"d", leaf}})}});
  for (const auto& dataset : {twice, below}) {
    const auto refused = StatusIs(
        kInvalid, AllOf(HasSubstr("lies below it twice"),
                        HasSubstr("trained on"), HasSubstr("hold out of")));
    EXPECT_THAT(HoldOutLast(dataset, 3), refused);
    EXPECT_THAT(HoldOutFraction(dataset, 0.5), refused);
  }
  EXPECT_THAT(
      HoldOutLast(*Concat<uint64_t>({{"a", leaf}, {"b", Counting(10)}}), 3),
      IsOk());
}

TEST(HoldOutTest, RefusesNoDataset) {
  EXPECT_THAT(HoldOutLast<uint64_t>(nullptr, 1),
              StatusIs(kInvalid, HasSubstr("no dataset")));
  EXPECT_THAT(Filter<uint64_t>(nullptr, Selection()),
              StatusIs(kInvalid, HasSubstr("no dataset")));
}

TEST(HoldOutTest, RefusesWhatWouldTrainOnHeldItemsInALaterEpoch) {
  const auto refused = StatusIs(kInvalid, HasSubstr("trained on"));
  for (const auto& dataset :
       {*Shuffle(Counting(10)), *Repeat(Counting(10), 2),
        *Take(*Repeat(Counting(10)), 15), *Take(*Shuffle(Counting(10)), 5),
        *Concat<uint64_t>({{"a", *Repeat(Counting(10), 2)}})}) {
    EXPECT_THAT(HoldOutLast(dataset, 3), refused);
    EXPECT_THAT(HoldOutFraction(dataset, 0.5), refused);
  }
  EXPECT_THAT(HoldOutLast(*Repeat(Counting(10)), 3), refused);
  EXPECT_THAT(HoldOutLast(Counting(10, 0, "repeat"), 3), IsOk());
}

// Item i is i, without end.
class EndlessLeaf final : public AsyncDataset<uint64_t> {
 public:
  std::string name() const override { return "endless"; }
  uint64_t fingerprint() const override { return 1; }
  LengthState length_now() const override { return LengthState::Endless(); }
  Task<std::vector<uint64_t>> GetBatch(
      std::span<const Index> indices) const override {
    co_return std::vector<uint64_t>(indices.begin(), indices.end());
  }
};

TEST(HoldOutTest, RefusesPartsOfAnEndlessDataset) {
  // Each of their epochs goes on in the draws of the one before.
  const DatasetPtr<uint64_t> endless = std::make_shared<EndlessLeaf>();
  EXPECT_THAT(HoldOutLast(*Take(endless, 10), 3),
              StatusIs(kInvalid, HasSubstr("'endless' serves")));
  EXPECT_THAT(HoldOutFraction(*Slice(endless, 5, 9), 0.5),
              StatusIs(kInvalid, HasSubstr("'endless' serves")));
}

TEST(HoldOutTest, AGrowingDatasetComesTooEarly) {
  const auto growing = InMemoryDataset<uint64_t>::Growing();
  const auto early =
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("FinalLength"));
  EXPECT_THAT(growing->Append({1, 2, 3}), IsOk());
  EXPECT_THAT(HoldOutLast<uint64_t>(growing, 1), early);
  EXPECT_THAT(HoldOutFraction<uint64_t>(growing, 0.5), early);
  growing->Finish();
  EXPECT_THAT(HoldOutLast<uint64_t>(growing, 1), IsOk());
}

}  // namespace
}  // namespace poniente
