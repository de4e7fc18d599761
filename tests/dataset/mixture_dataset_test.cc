// SPDX-License-Identifier: Apache-2.0
#include "poniente/mixture_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "poniente/flat_mixture.h"
#include "poniente/transforms.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/dataset_conformance.h"
#include "tests/support/slow_permutation.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using testing::Counting;
using testing::CountingWindows;
using testing::DatasetCase;
using testing::DatasetConformanceTest;
using ::testing::ElementsAre;
using testing::Epoch;
using ::testing::HasSubstr;
using testing::Indices;
using testing::IsOk;
using testing::StatusIs;

using Component = MixtureComponent<uint64_t>;

std::vector<uint64_t> Items(const DatasetPtr<uint64_t>& dataset, uint64_t begin,
                            uint64_t end) {
  return *dataset->GetBatchBlocking(Indices(begin, end));
}

MixtureOptions Options(uint64_t block_size, uint64_t seed = 42) {
  MixtureOptions options;
  options.block_size = block_size;
  options.seed = seed;
  return options;
}

INSTANTIATE_TEST_SUITE_P(
    Mixture, DatasetConformanceTest,
    ::testing::Values(
        DatasetCase{"TwoComponents",
                    [] {
                      return *MixtureDataset<uint64_t>::Create(
                          {{"a", Counting(50), 1},
                           {"b", Counting(5000, 100), 3}});
                    },
                    std::nullopt},
        DatasetCase{"OneComponent",
                    [] {
                      return *MixtureDataset<uint64_t>::Create(
                          {{"a", Counting(7), 0.1}});
                    },
                    std::nullopt},
        DatasetCase{"ThreeLevels",
                    [] {
                      const auto inner = *MixtureDataset<uint64_t>::Create(
                          {{"x", Counting(9), 1}, {"y", Counting(40, 50), 1}});
                      const auto flat = *FlatMixture<uint64_t>::Create(
                          {{"mix", *Take(inner, 30)}, {"z", Counting(25)}});
                      return *MixtureDataset<uint64_t>::Create(
                          {{"flat", flat, 1}, {"inner", inner, 2}});
                    },
                    std::nullopt}),
    testing::CaseName);

// docs/index-math.md 2.6: seed 42, B = 8, two stages, the first ending inside a
// block. Letters with ordinals, as listed there.
TEST(MixtureDatasetTest, MatchesTheVectorOfTheSpecification) {
  constexpr uint64_t kWeb = 0, kCode = 1000, kBooks = 2000;
  MixtureOptions options = Options(8);
  options.stages = {{13, {{"web", 0.25}, {"code", 0}, {"books", 0.75}}}};
  const auto mixture = *MixtureDataset<uint64_t>::Create(
      {{"web", Counting(100, kWeb), 0.5, ShuffleOptions::None()},
       {"code", Counting(100, kCode), 0.3, ShuffleOptions::None()},
       {"books", Counting(100, kBooks), 0.2, ShuffleOptions::None()}},
      options);
  EXPECT_THAT(
      *mixture->GetBatchBlocking(Indices(0, 24)),
      ElementsAre(kBooks + 1, kWeb + 3, kWeb + 0, kBooks + 0, kCode + 1,
                  kCode + 0, kWeb + 2, kWeb + 1, kCode + 2, kWeb + 5, kWeb + 6,
                  kCode + 3, kWeb + 4, kBooks + 7, kBooks + 3, kBooks + 6,
                  kWeb + 7, kBooks + 4, kBooks + 5, kBooks + 8, kBooks + 2,
                  kBooks + 11, kBooks + 14, kBooks + 10));
}

// Same place: books of length 5, draws 0..9.
TEST(MixtureDatasetTest, EachEpochOfAComponentIsPermutedAnew) {
  const auto mixture = *MixtureDataset<uint64_t>::Create(
      {{"books", Counting(5), 1}}, Options(1));
  EXPECT_THAT(*mixture->GetBatchBlocking(Indices(0, 10)),
              ElementsAre(1, 3, 2, 0, 4, 2, 1, 3, 0, 4));
}

TEST(MixtureDatasetTest, AComponentWithAnOrderOfItsOwnIsNotPermutedAgain) {
  const auto flat = *FlatMixture<uint64_t>::Create(
      {{"a", Counting(60)}, {"b", Counting(40, 60)}});
  for (const auto& component :
       {flat, *Take(flat, 100), *Concat<uint64_t>({{"only", flat}})}) {
    EXPECT_TRUE(component->has_order());
  }
  const auto mixture =
      *MixtureDataset<uint64_t>::Create({{"flat", flat, 1}}, Options(1));
  for (const uint64_t epoch : {0, 1}) {
    EXPECT_EQ(
        *mixture->GetBatchBlocking(Indices(epoch * 100, epoch * 100 + 100)),
        testing::SlowPermutation(
            100, testing::SlowEpochKey(testing::SlowChildSeed(42, "flat"),
                                       "flat", epoch)));
  }
}

TEST(MixtureDatasetTest, CountsAreEqualInEveryBlockWhereSharesAreWhole) {
  const auto mixture =
      *MixtureDataset<uint64_t>::Create({{"a", Counting(1000, 0), 0.5},
                                         {"b", Counting(1000, 1000), 0.375},
                                         {"c", Counting(1000, 2000), 0.125}},
                                        Options(64));
  for (uint64_t block = 0; block < 200; ++block) {
    std::map<uint64_t, int> counts;
    for (const uint64_t item : Items(mixture, block * 64, block * 64 + 64)) {
      ++counts[item / 1000];
    }
    EXPECT_THAT(counts,
                ElementsAre(::testing::Pair(0, 32), ::testing::Pair(1, 24),
                            ::testing::Pair(2, 8)))
        << "block " << block;
  }
}

// No component is dropped, none runs ahead: Levanter's and others' trouble.
TEST(MixtureDatasetTest, TinyWeightsAreServedAtTheirRate) {
  const auto mixture =
      *MixtureDataset<uint64_t>::Create({{"huge", Counting(1000, 0), 1.0},
                                         {"tiny", Counting(10, 1000), 1e-4},
                                         {"none", Counting(10, 2000), 0}},
                                        Options(256));
  uint64_t tiny = 0;
  constexpr uint64_t kBlocks = 4000;
  for (uint64_t block = 0; block < kBlocks; ++block) {
    for (const uint64_t item : Items(mixture, block * 256, block * 256 + 256)) {
      ASSERT_LT(item, 2000u) << "weight 0 was drawn";
      tiny += item >= 1000;
    }
    const double ideal = (block + 1) * 256 * (1e-4 / 1.0001);
    ASSERT_NEAR(static_cast<double>(tiny), ideal, 1.69) << "block " << block;
  }
}

TEST(MixtureDatasetTest, DeclarationOrderAndBatchingChangeNothing) {
  const std::vector<Component> declared = {{"web", Counting(300, 0), 5},
                                           {"code", Counting(70, 1000), 3},
                                           {"books", Counting(11, 2000), 1}};
  std::vector<Component> reversed = declared;
  std::reverse(reversed.begin(), reversed.end());
  const auto one = *MixtureDataset<uint64_t>::Create(declared, Options(32));
  const auto two = *MixtureDataset<uint64_t>::Create(reversed, Options(32));
  const auto whole = *one->GetBatchBlocking(Indices(0, 1000));
  EXPECT_EQ(one->fingerprint(), two->fingerprint());
  std::vector<uint64_t> pieces;
  for (uint64_t begin = 0; begin < 1000; begin += 13) {
    const auto piece = *two->GetBatchBlocking(
        Indices(begin, std::min<uint64_t>(1000, begin + 13)));
    pieces.insert(pieces.end(), piece.begin(), piece.end());
  }
  EXPECT_EQ(pieces, whole);
}

TEST(MixtureDatasetTest, AStageAddedLaterChangesNothingBeforeIt) {
  const std::vector<Component> components = {{"a", Counting(300, 0), 5},
                                             {"b", Counting(70, 1000), 3}};
  MixtureOptions staged = Options(32);
  staged.stages = {{320, {{"a", 0}}}};
  const auto plain = *MixtureDataset<uint64_t>::Create(components, Options(32));
  const auto with_stage = *MixtureDataset<uint64_t>::Create(components, staged);
  EXPECT_EQ(*plain->GetBatchBlocking(Indices(0, 320)),
            *with_stage->GetBatchBlocking(Indices(0, 320)));
  for (const uint64_t item : Items(with_stage, 320, 1000)) {
    ASSERT_GE(item, 1000u);
  }
  EXPECT_EQ(plain->fingerprint(), with_stage->fingerprint());
}

TEST(MixtureDatasetTest, EveryEpochOfANestedTreeCoversItsLeavesExactly) {
  const auto flat = *FlatMixture<uint64_t>::Create(
      {{"x", Counting(30, 0)}, {"y", Counting(70, 100)}});
  const auto root = *MixtureDataset<uint64_t>::Create(
      {{"flat", flat, 1}, {"z", Counting(64, 1000), 1}}, Options(16));
  std::map<uint64_t, int> seen;
  // Weights are equal: 600 samples are 3 epochs of flat, and then some of z.
  for (const uint64_t item : Items(root, 0, 608)) {
    ++seen[item];
  }
  for (const auto& [item, count] : seen) {
    if (item < 1000) {
      EXPECT_GE(count, 3) << item;
      EXPECT_LE(count, 4) << item;
    }
  }
  EXPECT_EQ(seen.size(), 164u);
}

TEST(MixtureDatasetTest, IsEndlessFromTheStartOverGrowingChildren) {
  const auto growing = InMemoryDataset<uint64_t>::Growing();
  const auto mixture =
      *MixtureDataset<uint64_t>::Create({{"a", growing, 1}}, Options(8));
  EXPECT_FALSE(mixture->IsFinite());
  EXPECT_EQ(mixture->CurrentLength(), std::nullopt);
  EXPECT_THAT(FlatMixture<uint64_t>::Create({{"m", mixture}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("'m'"), HasSubstr("endless"))));
  const auto some = *Take(mixture, 20);
  EXPECT_TRUE(some->IsFinite());
  EXPECT_EQ(some->CurrentLength(), 0u);
  EXPECT_TRUE(growing->Append({1, 2, 3}).ok());
  growing->Finish();
  EXPECT_EQ(some->CurrentLength(), 20u);
  EXPECT_EQ(Items(some, 0, 20).size(), 20u);
}

TEST(MixtureDatasetTest, RefusesBadWeightsByName) {
  const auto with = [](double weight) {
    return MixtureDataset<uint64_t>::Create(
        {{"code", Counting(5), weight}, {"web", Counting(5), 1}});
  };
  for (const double weight : {-0.2, std::numeric_limits<double>::quiet_NaN(),
                              std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(with(weight), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("'code'")));
  }
  EXPECT_THAT(MixtureDataset<uint64_t>::Create({{"code", Counting(5), 0}}),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
  EXPECT_THAT(MixtureDataset<uint64_t>::Create({}),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
  EXPECT_THAT(
      MixtureDataset<uint64_t>::Create({{"code", Counting(0), 1}}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'code'")));
}

TEST(MixtureDatasetTest, RefusesBadStagesAndBlocks) {
  const auto with = [](const MixtureOptions& options) {
    return MixtureDataset<uint64_t>::Create(
        {{"code", Counting(5), 1}, {"web", Counting(5), 1}}, options);
  };
  MixtureOptions unknown;
  unknown.stages = {{10, {{"cod", 1.0}}}};
  EXPECT_THAT(with(unknown), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("did you mean 'code'?")));
  MixtureOptions backwards;
  backwards.stages = {{10, {{"code", 2}}}, {10, {{"code", 3}}}};
  EXPECT_FALSE(with(backwards).ok());
  MixtureOptions zero;
  zero.stages = {{10, {{"code", 0}, {"web", 0}}}};
  EXPECT_THAT(with(zero), StatusIs(absl::StatusCode::kInvalidArgument,
                                   HasSubstr("stage at sample 10")));
  EXPECT_FALSE(with(Options(0)).ok());
  EXPECT_FALSE(with(Options(65537)).ok());
}

TEST(MixtureDatasetTest, RefusesARampWithinABlockAndNamesTheBlockThatWouldDo) {
  const auto with = [](uint64_t block_size, uint32_t ramp_blocks) {
    MixtureOptions options;
    options.block_size = block_size;
    options.stages = {{.start = 4800,
                       .weights = {{"a", 3}},
                       .ramp_samples = 320,
                       .ramp_blocks = ramp_blocks,
                       .name = "late"}};
    return MixtureDataset<uint64_t>::Create(
               {{"a", Counting(100), 1}, {"b", Counting(100), 1}}, options)
        .status();
  };
  EXPECT_THAT(
      with(2048, 0),
      StatusIs(
          absl::StatusCode::kInvalidArgument,
          AllOf(
              HasSubstr("stage 'late'"),
              HasSubstr("a ramp of 320 samples is shorter than "
                        "a block of 2048"),
              HasSubstr("state block_size = 20 or a ramp of several blocks"))));
  EXPECT_THAT(with(321, 0), StatusIs(absl::StatusCode::kInvalidArgument,
                                     HasSubstr("shorter")));
  EXPECT_THAT(with(320, 0), IsOk());
  EXPECT_THAT(with(20, 0), IsOk());
  EXPECT_THAT(with(2048, 1), IsOk());
}

TEST(MixtureDatasetTest, RefusesTwoTokenizersAndNamesBoth) {
  InMemoryOptions other;
  other.vocabulary = Vocabulary{"modulo", 252};
  const auto foreign =
      InMemoryDataset<TokenWindow>::Create({TokenWindow({1, 2, 3, 4})}, other);
  EXPECT_THAT(MixtureDataset<TokenWindow>::Create(
                  {{"web", CountingWindows(3, 4), 1}, {"code", foreign, 1}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("'web'"), HasSubstr("251 ids"),
                             HasSubstr("'code'"), HasSubstr("252"))));
}

}  // namespace
}  // namespace poniente
