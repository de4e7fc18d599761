// SPDX-License-Identifier: Apache-2.0
#include "index/mixture/stage_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "poniente/permutation.h"
#include "tests/index/slow_dealer.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using ::poniente::testing::DealRun;
using ::poniente::testing::SlowRun;
using ::poniente::testing::SlowStage;
using ::poniente::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kStageTotal = QuotaTree::kTotal;
using StagePlanPtr = std::shared_ptr<const StagePlan>;

StagePlanPtr MakePlan(uint64_t block_size, std::vector<PlanStage> stages) {
  auto plan = StagePlan::Create(block_size, std::move(stages));
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *std::move(plan);
}

// "w0 c0 ..." for books (b), code (c), web (w).
std::string Text(const std::vector<Draw>& draws) {
  std::string text;
  for (const Draw& draw : draws) {
    absl::StrAppend(&text, text.empty() ? "" : " ",
                    std::string(1, "bcw"[draw.component]), draw.ordinal);
  }
  return text;
}

// The worked example of order version 1: components books, code, web; weights
// 0.2 0.3 0.5, from sample 13 on 0.75 0 0.25; blocks of 8; seed 42.
// Changing its literals reorders every run ever resumed: bump kOrderVersion.
class StagePlanGoldenTest : public ::testing::Test {
 protected:
  const uint64_t seed_ = 42;
  const std::vector<std::string> names_ = {"books", "code", "web"};
  const std::vector<PlanStage> stages_ = {
      {0, {922337203685477632, 1383505805528216320, 2305843009213693952}},
      {13, {3458764513820540928, 0, 1152921504606846976}}};
  const StagePlanPtr plan_ = MakePlan(8, stages_);

  std::vector<Draw> Slots(uint64_t sample) const {
    std::vector<DrawRun> runs;
    plan_->Expand(plan_->BlockOf(sample), &runs);
    std::vector<Draw> slots;
    for (const DrawRun& run : runs) {
      for (uint64_t i = 0; i < run.count; ++i) {
        slots.push_back({run.component, run.first_ordinal + i});
      }
    }
    return slots;
  }

  std::vector<uint64_t> Sigma(uint64_t sample) const {
    const Block block = plan_->BlockOf(sample);
    std::vector<uint64_t> sigma;
    for (uint64_t i = 0; i < block.size; ++i) {
      sigma.push_back(plan_->OrderOf(block, seed_).sigma().Forward(i));
    }
    return sigma;
  }
};

TEST_F(StagePlanGoldenTest, DealsTheUnshuffledOrder) {
  std::vector<Draw> draws;
  for (uint64_t k = 0; k < 24; ++k) draws.push_back(plan_->Locate(k));
  EXPECT_EQ(Text(draws),
            "w0 c0 w1 b0 w2 c1 w3 b1 w4 c2 w5 c3 w6 "
            "b2 b3 b4 b5 w7 b6 b7 b8 w8 b9 b10");
}

TEST_F(StagePlanGoldenTest, ShufflesInsideBlocks) {
  std::vector<Draw> draws;
  for (uint64_t k = 0; k < 24; ++k) draws.push_back(plan_->At(k, seed_));
  EXPECT_EQ(Text(draws),
            "b1 w3 w0 b0 c1 c0 w2 w1 c2 w5 w6 c3 w4 "
            "b7 b3 b6 w7 b4 b5 b8 b2 b11 b14 b10");
}

TEST_F(StagePlanGoldenTest, CutsBlocksAtTheStage) {
  EXPECT_EQ(plan_->BlockOf(0), (Block{0, 0, 8}));
  EXPECT_EQ(plan_->BlockOf(12), (Block{0, 8, 5}));
  EXPECT_EQ(plan_->BlockOf(13), (Block{1, 13, 8}));
  EXPECT_EQ(plan_->BlockOf(28), (Block{1, 21, 8}));
}

TEST_F(StagePlanGoldenTest, KeysBlocksByTheirFirstSample) {
  EXPECT_EQ(Derive(seed_, kBlockTag, 0), 0xe9999b0371f7547a);
  EXPECT_EQ(Derive(seed_, kBlockTag, 8), 0x03d1ffc8089ac2b8);
  EXPECT_EQ(Derive(seed_, kBlockTag, 13), 0x4f87c72101c2e6cf);
  EXPECT_EQ(Derive(seed_, kBlockTag, 21), 0x591b0aa6220a1e99);
  EXPECT_THAT(Sigma(0), ElementsAre(5, 3, 0, 4, 7, 6, 2, 1));
  EXPECT_THAT(Sigma(8), ElementsAre(3, 1, 2, 4, 0));
  EXPECT_THAT(Sigma(13), ElementsAre(6, 2, 5, 0, 3, 4, 7, 1));
  EXPECT_THAT(Sigma(21), ElementsAre(4, 7, 3, 2, 0, 6, 1, 5));
}

TEST_F(StagePlanGoldenTest, LaysSlotsOutByLeaf) {
  EXPECT_EQ(Text(Slots(0)), "w0 w1 w2 w3 b0 b1 c0 c1");
  EXPECT_EQ(Text(Slots(8)), "w4 w5 w6 c2 c3");
  EXPECT_EQ(Text(Slots(13)), "w7 b2 b3 b4 b5 b6 b7 b8");
  EXPECT_EQ(Text(Slots(21)), "w8 w9 b9 b10 b11 b12 b13 b14");
}

TEST_F(StagePlanGoldenTest, CarriesCountsIntoTheNextStage) {
  EXPECT_THAT(plan_->base(0), ElementsAre(0, 0, 0));
  EXPECT_THAT(plan_->base(1), ElementsAre(2, 4, 7));
  EXPECT_THAT(plan_->tree(1).leaves(), ElementsAre(2, 0));
}

// The twin that the random runs below are compared with.
TEST_F(StagePlanGoldenTest, TheSlowDealerStartsTheStageAsDefined) {
  // 0.6, -0.1 and -0.5 samples, rounded down to units of 2^-48.
  const testing::SlowDealer dealer(
      stages_[1].quanta, {168884986026393, -28147497671066, -140737488355328});
  EXPECT_EQ(dealer.root().share, int64_t{1} << 61);
  EXPECT_EQ(dealer.root().accumulated >> 15, -7036874417766);
  EXPECT_EQ(dealer.root().left->component, 2u);
  EXPECT_EQ(dealer.root().right->component, 0u);
}

TEST_F(StagePlanGoldenTest, FindsDraws) {
  EXPECT_EQ(plan_->FindSample(0, 4, seed_), 17u);
  EXPECT_EQ(plan_->FindSample(1, 3, seed_), 11u);
  EXPECT_EQ(plan_->FindSample(2, 6, seed_), 10u);
  EXPECT_EQ(plan_->FindSample(1, 4, seed_), std::nullopt);
}

TEST_F(StagePlanGoldenTest, HashesPrefixes) {
  const auto hash = [&](uint64_t k) {
    return plan_->PrefixHash(seed_, names_, k);
  };
  EXPECT_EQ(hash(0), 0x429aafe9abaece80);
  EXPECT_EQ(hash(8), 0xdb5b7663f4b5b468);
  EXPECT_EQ(hash(9), 0x18b6a75611580c0a);
  EXPECT_EQ(hash(13), 0x18b6a75611580c0a);
  EXPECT_EQ(hash(14), 0x8e09cda97812abb4);
  EXPECT_EQ(hash(21), 0x8e09cda97812abb4);
}

TEST_F(StagePlanGoldenTest, PrefixHashesDifferInWhatIsServedOnly) {
  auto stages = stages_;
  stages[1].start = 14;
  const StagePlanPtr moved = MakePlan(8, stages);
  // A start inside the block being served cuts it elsewhere.
  EXPECT_NE(moved->PrefixHash(seed_, names_, 9), 0x18b6a75611580c0a);
  EXPECT_EQ(moved->PrefixHash(seed_, names_, 8), 0xdb5b7663f4b5b468);
  EXPECT_NE(plan_->PrefixHash(43, names_, 8), 0xdb5b7663f4b5b468);
  EXPECT_NE(plan_->PrefixHash(seed_, {{"books", "code", "wob"}}, 8),
            0xdb5b7663f4b5b468);
  EXPECT_NE(MakePlan(4, stages_)->PrefixHash(seed_, names_, 8),
            0xdb5b7663f4b5b468);
}

// Weights 700 200 100, from sample 10 on 100 0 900.
TEST(StagePlanTest, CarriesDebtsOfOrderVersion1) {
  const StagePlanPtr plan = MakePlan(
      16, {{0, {3228180212899171533, 922337203685477581, 461168601842738790}},
           {10, {461168601842738790, 0, 4150517416584649114}}});
  std::vector<uint32_t> dealt;
  for (uint64_t k = 0; k < 30; ++k) dealt.push_back(plan->Locate(k).component);
  EXPECT_THAT(dealt, ElementsAre(0, 1, 0, 0, 0, 2, 0, 0, 1, 0,  //
                                 2, 2, 2, 2, 0, 2, 2, 2, 2, 2,  //
                                 2, 2, 2, 2, 0, 2, 2, 2, 2, 2));
}

// Random runs of several stages against the slow twin.
struct Run {
  size_t components;
  size_t stages;
  uint64_t block_size;
};

void PrintTo(const Run& run, std::ostream* out) {
  *out << run.components << " components, " << run.stages
       << " stages, blocks of " << run.block_size;
}

class StagePlanRunTest : public ::testing::TestWithParam<Run> {
 protected:
  static constexpr uint64_t kSamples = 3000;

  StagePlanRunTest() {
    uint64_t start = 0;
    for (size_t s = 0; s < GetParam().stages; ++s) {
      slow_.push_back({start, Quanta(s)});
      stages_.push_back({start, slow_.back().quanta});
      start += s == 1 ? 1 : 1 + random_() % 700;
    }
    plan_ = MakePlan(GetParam().block_size, stages_);
  }

  // Positive for component 0 always, for others four times in five.
  std::vector<uint64_t> Quanta(size_t stage) {
    std::vector<uint64_t> quanta(GetParam().components);
    uint64_t given = 0;
    for (size_t i = 1; i < quanta.size(); ++i) {
      if ((i + stage) % 5 == 0) continue;
      quanta[i] = (random_() >> (2 + random_() % 12)) / quanta.size();
      given += quanta[i];
    }
    quanta[0] = kStageTotal - given;
    return quanta;
  }

  std::mt19937_64 random_{testing::TestSeed(21)};
  const uint64_t seed_ = random_();
  std::vector<SlowStage> slow_;
  std::vector<PlanStage> stages_;
  StagePlanPtr plan_;
};

INSTANTIATE_TEST_SUITE_P(Runs, StagePlanRunTest,
                         ::testing::Values(Run{1, 1, 7}, Run{1, 3, 64},
                                           Run{2, 2, 1}, Run{3, 4, 8},
                                           Run{7, 5, 100}, Run{64, 3, 256},
                                           Run{200, 5, 64}, Run{5, 20, 4096}));

TEST_P(StagePlanRunTest, DealsLikeTheSlowDealer) {
  const SlowRun run = DealRun(slow_, kSamples);
  std::vector<uint64_t> counts(plan_->components());
  for (uint64_t k = 0; k < kSamples; ++k) {
    const Draw draw = run.draws[k];
    ASSERT_EQ(plan_->Locate(k), draw) << "k=" << k;
    ASSERT_EQ(plan_->Count(draw.component, k), counts[draw.component]++);
    ASSERT_EQ(plan_->PositionOf(draw.component, draw.ordinal), k);
  }
}

// The whole order: blocks cut, slots laid out by leaf, shuffled by hand.
TEST_P(StagePlanRunTest, ShufflesLikeAListPerBlock) {
  const SlowRun run = DealRun(slow_, kSamples + 8192);
  for (size_t s = 0; s < slow_.size(); ++s) {
    const uint64_t stage_end =
        s + 1 < slow_.size() ? slow_[s + 1].start : UINT64_MAX;
    for (uint64_t f = slow_[s].start; f < std::min(stage_end, kSamples);
         f += GetParam().block_size) {
      const uint64_t size = std::min(GetParam().block_size, stage_end - f);
      std::vector<Draw> slots;
      for (const uint32_t leaf : run.leaves[s]) {
        for (uint64_t k = f; k < f + size; ++k) {
          if (run.draws[k].component == leaf) slots.push_back(run.draws[k]);
        }
      }
      const Permutation sigma(size, Derive(seed_, kBlockTag, f));
      for (uint64_t i = 0; i < size; ++i) {
        const Draw draw = slots[sigma.Forward(i)];
        ASSERT_EQ(plan_->At(f + i, seed_), draw) << "sample " << f + i;
        ASSERT_EQ(plan_->FindSample(draw.component, draw.ordinal, seed_),
                  f + i);
      }
    }
  }
}

TEST_P(StagePlanRunTest, ExpansionHoldsEverySlot) {
  std::vector<DrawRun> runs;
  for (uint64_t k = 0; k < kSamples;) {
    const Block block = plan_->BlockOf(k);
    const BlockOrder order = plan_->OrderOf(block, seed_);
    plan_->Expand(block, &runs);
    for (const DrawRun& run : runs) {
      for (uint64_t i = 0; i < run.count; ++i) {
        const Draw draw = {run.component, run.first_ordinal + i};
        const uint64_t at =
            block.first + order.sigma().Inverse(run.first_slot + i);
        ASSERT_EQ(order.At(at), draw);
      }
    }
    k = block.first + block.size;
  }
}

TEST_P(StagePlanRunTest, FindsSamplesUpToTwoToTheSixty) {
  for (int i = 0; i < 1000; ++i) {
    const uint64_t k = random_() >> (4 + random_() % 40);
    const Draw draw = plan_->At(k, seed_);
    ASSERT_EQ(plan_->FindSample(draw.component, draw.ordinal, seed_), k);
  }
}

TEST_P(StagePlanRunTest, AppendingAStageChangesNoBlockItDoesNotCut) {
  const uint64_t added = stages_.back().start + 333;
  auto stages = stages_;
  stages.push_back({added, Quanta(3)});
  const StagePlanPtr longer = MakePlan(GetParam().block_size, stages);
  const uint64_t cut = plan_->BlockOf(added).first;
  const std::vector<std::string> names(plan_->components(), "n");
  for (uint64_t k = 0; k < added; ++k) {
    ASSERT_EQ(longer->Locate(k), plan_->Locate(k)) << "k=" << k;
    if (k < cut) {
      ASSERT_EQ(longer->At(k, seed_), plan_->At(k, seed_)) << "k=" << k;
    }
  }
  EXPECT_EQ(longer->PrefixHash(seed_, names, cut),
            plan_->PrefixHash(seed_, names, cut));
}

TEST_P(StagePlanRunTest, StaysNearTheIdealThroughAllStages) {
  std::vector<double> ideal(plan_->components());
  for (size_t s = 0; s + 1 < stages_.size(); ++s) {
    const uint64_t end = stages_[s + 1].start;
    for (uint32_t i = 0; i < ideal.size(); ++i) {
      ideal[i] += static_cast<double>(stages_[s].quanta[i]) * 0x1p-62 *
                  static_cast<double>(end - stages_[s].start);
      // Twice what was measured for random re-deals of 200 components.
      EXPECT_NEAR(static_cast<double>(plan_->Count(i, end)), ideal[i], 4.0);
    }
  }
}

// 1000 stages of 5 samples: restarting each would never draw the third.
TEST(StagePlanTest, SharesBelowOneSamplePerStageAreServed) {
  std::vector<PlanStage> stages;
  for (uint64_t s = 0; s < 1000; ++s) {
    stages.push_back({5 * s,
                      {kStageTotal / 2, kStageTotal / 2 - kStageTotal / 50,
                       kStageTotal / 50}});
  }
  const StagePlanPtr plan = MakePlan(64, stages);
  EXPECT_NEAR(static_cast<double>(plan->Count(2, 4999)), 100, 2);
  EXPECT_NEAR(static_cast<double>(plan->Count(0, 4999)), 2500, 2);
}

TEST(StagePlanTest, WholeSharesGiveEveryBlockTheSameCounts) {
  const StagePlanPtr plan =
      MakePlan(16, {{0, {kStageTotal / 2, kStageTotal / 4, kStageTotal / 4}}});
  for (uint64_t f = 0; f < 1600; f += 16) {
    std::vector<int> counts(3);
    for (uint64_t k = f; k < f + 16; ++k) ++counts[plan->At(k, 5).component];
    ASSERT_THAT(counts, ElementsAre(8, 4, 4)) << "block at " << f;
  }
}

TEST(StagePlanTest, FindsNoSampleAtOrBeyondTwoToTheSixtyTwo) {
  const uint64_t end = uint64_t{1} << 62;
  const StagePlanPtr plan =
      MakePlan(7, {{0, {kStageTotal / 2, kStageTotal / 2}}});
  const uint64_t first = plan->BlockOf(end - 1).first;
  ASSERT_GT(first + 7, end);
  for (uint64_t k = first - 7; k < end; ++k) {
    const Draw draw = plan->At(k, 1);
    EXPECT_THAT(plan->FindSample(draw.component, draw.ordinal, 1),
                ::testing::AnyOf(k, std::nullopt));
    const Draw unshuffled = plan->Locate(k);
    EXPECT_LT(plan->FindSample(unshuffled.component, unshuffled.ordinal, 1)
                  .value_or(0),
              end);
  }
}

TEST(StagePlanTest, ADrawThatNoStageServesIsNotFound) {
  const StagePlanPtr plan = MakePlan(
      8, {{0, {kStageTotal / 2, kStageTotal / 2}}, {10, {kStageTotal, 0}}});
  EXPECT_TRUE(plan->FindSample(1, 4, 1).has_value());
  EXPECT_EQ(plan->FindSample(1, 5, 1), std::nullopt);
  EXPECT_EQ(plan->FindSample(0, uint64_t{1} << 62, 1), std::nullopt);
  EXPECT_EQ(plan->FindSample(0, UINT64_MAX, 1), std::nullopt);
}

TEST(StagePlanTest, RefusesStagesThatMakeNoSense) {
  const auto error = [](uint64_t block_size, std::vector<PlanStage> stages,
                        const std::string& words) {
    EXPECT_THAT(StagePlan::Create(block_size, std::move(stages)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(words)));
  };
  error(0, {{0, {kStageTotal}}}, "block size must be 1 to 65536, got 0");
  error(65537, {{0, {kStageTotal}}}, "got 65537");
  error(8, {}, "at least one stage");
  error(8, {{1, {kStageTotal}}}, "must start at sample 0, got 1");
  error(8, {{0, {kStageTotal}}, {9, {kStageTotal}}, {9, {kStageTotal}}},
        "stage 2 starts at sample 9, which is not after");
  error(8, {{0, {kStageTotal}}, {kStageTotal, {kStageTotal}}},
        "not below 2^62");
  error(8, {{0, {kStageTotal}}, {9, {kStageTotal, 0}}},
        "quanta for 2 components");
  error(8, {{0, {kStageTotal - 1}}}, "stage 0 do not sum to 2^62");
  error(8, {{0, {}}}, "do not sum");
}

}  // namespace
}  // namespace poniente::internal
