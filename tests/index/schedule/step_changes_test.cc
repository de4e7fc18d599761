// SPDX-License-Identifier: Apache-2.0
#include "index/schedule/step_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "poniente/schedule.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "40: stage 'main' begins".
std::vector<std::string> TextsOf(const Schedule& schedule) {
  std::vector<std::string> texts;
  for (const PlannedChange& planned : schedule.changes()) {
    texts.push_back(absl::StrCat(planned.step, ": ", ToString(planned.change)));
  }
  return texts;
}

ScheduleOptions WithMixture() {
  ScheduleOptions options = {.steps = 1000, .batch_size = 8, .seq_len = 16};
  options.components = {{"a", 1, {}}, {"b", 3, {}}};
  options.mixture.block_size = 16;
  return options;
}

TEST(StepChangesTest, StagesSizesWeightsAndRampsAreTold) {
  ScheduleOptions options = WithMixture();
  options.stages = {
      {.start = RunPoint::Step(0), .name = "first"},
      {.start = RunPoint::Step(100), .name = "longer", .seq_len = 32},
      {.start = RunPoint::Step(200),
       .name = "jump",
       .batch_size = 4,
       .weights = {{"a", 2}}},
      // 400 samples of ramp are 25 blocks, 100 steps of 4.
      {.start = RunPoint::Step(300),
       .weights = {{"a", 9}},
       .ramp = RunPoint::Sample(400),
       .ramp_blocks = 1},
      {.start = RunPoint::Step(500), .name = "rate", .lr_scale = 0.5}};
  options.batch_sizes = {{RunPoint::Step(600), 16}};
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
  EXPECT_THAT(
      TextsOf(schedule),
      ElementsAre("100: stage 'longer' begins", "100: seq_len changes",
                  "200: stage 'jump' begins", "200: batch_size changes",
                  "200: the weights of stage 'jump' apply",
                  "300: a stage begins", "300: the ramp of a stage begins",
                  "400: the ramp of a stage ends", "500: stage 'rate' begins",
                  "600: batch_size changes"));
  const StepPlan plan = schedule.At(400);
  EXPECT_TRUE(plan.is_boundary);
  EXPECT_THAT(plan.changes,
              ElementsAre(StepChange{StepChange::Kind::kRampEnd, "", ""}));
  EXPECT_EQ(plan.weights, schedule.At(999).weights);
  EXPECT_NE(schedule.At(399).weights, plan.weights);
  for (const uint64_t step : {0, 99, 101, 299, 301, 399, 401, 999}) {
    EXPECT_THAT(schedule.At(step).changes, IsEmpty()) << step;
    EXPECT_FALSE(schedule.At(step).is_boundary) << step;
  }
}

TEST(StepChangesTest, ARampThatTheNextStageCutsHasNoEnd) {
  ScheduleOptions options = WithMixture();
  options.stages = {{.start = RunPoint::Step(10),
                     .name = "cut",
                     .weights = {{"a", 2}},
                     .ramp = RunPoint::Step(500)},
                    // Changes no share: the ramp goes on.
                    {.start = RunPoint::Step(20), .name = "rate"},
                    {.start = RunPoint::Step(30),
                     .name = "late",
                     .weights = {{"a", 7}},
                     .ramp = RunPoint::Step(2000)}};
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
  EXPECT_THAT(TextsOf(schedule),
              ElementsAre("10: stage 'cut' begins",
                          "10: the ramp of stage 'cut' begins",
                          "20: stage 'rate' begins", "30: stage 'late' begins",
                          "30: the ramp of stage 'late' begins"));
}

TEST(StepChangesTest, ADecisionIsAChangeAndEndsARamp) {
  ScheduleOptions options = WithMixture();
  options.stages = {{.start = RunPoint::Step(10),
                     .name = "x",
                     .weights = {{"a", 2}},
                     .ramp = RunPoint::Step(100)}};
  ASSERT_OK_AND_ASSIGN(const Schedule plain, Schedule::Create(options));
  const std::vector<MixtureDecision> decisions = {
      {.start = 243, .weights = {{"a", 5}}, .label = "change 1"}};
  ASSERT_OK_AND_ASSIGN(const Schedule decided, plain.With(decisions));
  EXPECT_THAT(TextsOf(decided), ElementsAre("10: stage 'x' begins",
                                            "10: the ramp of stage 'x' begins",
                                            "31: a decision holds: change 1"));
  // After the ramp, it leaves its end.
  const std::vector<MixtureDecision> late = {
      {.start = 960, .weights = {{"a", 5}}}};
  ASSERT_OK_AND_ASSIGN(const Schedule after, plain.With(late));
  EXPECT_THAT(
      TextsOf(after),
      ElementsAre("10: stage 'x' begins", "10: the ramp of stage 'x' begins",
                  "110: the ramp of stage 'x' ends", "120: a decision holds"));
}

TEST(StepChangesTest, WeightsThatChangeInsideAStepAreThoseOfTheNext) {
  ScheduleOptions options = WithMixture();
  options.stages = {
      {.start = RunPoint::Sample(83), .name = "inside", .weights = {{"a", 2}}}};
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
  EXPECT_THAT(TextsOf(schedule),
              ElementsAre("11: stage 'inside' begins",
                          "11: the weights of stage 'inside' apply"));
}

TEST(StepChangesTest, FurtherChangesComeAfterThoseOfTheRun) {
  ScheduleOptions options = WithMixture();
  options.stages = {{.start = RunPoint::Step(10), .name = "x"}};
  ASSERT_OK_AND_ASSIGN(const Schedule plain, Schedule::Create(options));
  using Kind = StepChange::Kind;
  const std::vector<PlannedChange> further = {
      {40, {Kind::kRampEnd, "small", "deep"}},
      {10, {Kind::kStage, "small", "deep"}},
      {10, {Kind::kThresholds, "", "x"}},
      {0, {Kind::kStage, "small", "never"}},
      {1000, {Kind::kStage, "small", "never"}},
      {10, {Kind::kStage, "small", "deep"}}};
  const Schedule schedule = plain.WithChanges(further);
  EXPECT_THAT(TextsOf(schedule),
              ElementsAre("10: stage 'x' begins",
                          "10: the thresholds of stage 'x' apply",
                          "10: small: stage 'deep' begins",
                          "40: small: the ramp of stage 'deep' ends"));
  EXPECT_EQ(schedule.At(10).changes.size(), 3u);
  EXPECT_TRUE(schedule.At(40).is_boundary);
  EXPECT_FALSE(plain.At(40).is_boundary);
  EXPECT_TRUE(schedule.CheckContinues(plain, 900).ok());
}

TEST(StepChangesTest, EveryKindHasANameOfItsOwn) {
  std::vector<std::string> names;
  for (int kind = 0; kind <= static_cast<int>(StepChange::Kind::kDecision);
       ++kind) {
    names.emplace_back(StepChangeName(static_cast<StepChange::Kind>(kind)));
  }
  EXPECT_THAT(names, ElementsAre("stage", "batch_size", "seq_len", "weights",
                                 "ramp", "ramp_end", "thresholds", "decision"));
}

// A slow twin: what differs between a step and the one before it.
TEST(StepChangesTest, AStepWithoutAChangeIsAsTheOneBeforeIt) {
  std::mt19937_64 random(testing::TestSeed(25));
  for (int round = 0; round < 300; ++round) {
    ScheduleOptions options = WithMixture();
    options.steps = 60 + random() % 100;
    options.mixture.block_size = 1 + random() % 20;
    uint64_t step = random() % 3;
    for (uint64_t i = random() % 5; i > 0 && step < options.steps;
         --i, step += 1 + random() % 40) {
      ScheduleStage& stage = options.stages.emplace_back();
      stage.start = RunPoint::Step(static_cast<int64_t>(step));
      stage.name = absl::StrCat("s", i);
      if (random() % 3 == 0) stage.batch_size = 1 + random() % 9;
      if (random() % 3 == 0) stage.seq_len = 1 + random() % 16;
      if (step == 0) continue;
      if (random() % 2 == 0) {
        stage.weights = {{"a", 1 + static_cast<double>(random() % 9)}};
      }
      if (random() % 3 == 0) {
        stage.ramp = RunPoint::Step(static_cast<int64_t>(random() % 50));
      }
    }
    ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
    std::optional<std::string> ramping;  // the stage
    StepPlan before = schedule.At(0);
    EXPECT_THAT(before.changes, IsEmpty());
    for (uint64_t s = 1; s < schedule.steps(); ++s) {
      const StepPlan plan = schedule.At(s);
      const auto has = [&](StepChange::Kind kind) {
        return std::any_of(
            plan.changes.begin(), plan.changes.end(),
            [&](const StepChange& change) { return change.kind == kind; });
      };
      ASSERT_EQ(plan.is_boundary, !plan.changes.empty());
      ASSERT_EQ(has(StepChange::Kind::kStage), plan.stage != before.stage);
      ASSERT_EQ(has(StepChange::Kind::kBatchSize),
                plan.batch_size != before.batch_size);
      ASSERT_EQ(has(StepChange::Kind::kSeqLen), plan.seq_len != before.seq_len);
      // A ramp may end in the step in which the next one begins.
      for (const StepChange& change : plan.changes) {
        if (change.kind == StepChange::Kind::kRampStart) ramping = change.stage;
      }
      for (const StepChange& change : plan.changes) {
        const bool is_end = change.kind == StepChange::Kind::kRampEnd &&
                            change.stage == ramping;
        if (is_end || change.kind == StepChange::Kind::kWeights) {
          ramping.reset();
        }
      }
      // Shares move only during ramps, and where they are told to.
      if (!ramping && plan.changes.empty()) {
        ASSERT_EQ(plan.weights, before.weights) << "step " << s;
      }
      before = plan;
    }
  }
}

}  // namespace
}  // namespace poniente::internal
