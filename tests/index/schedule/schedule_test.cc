// SPDX-License-Identifier: Apache-2.0
#include "poniente/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using ::poniente::testing::StatusIs;
using ::testing::HasSubstr;

ScheduleOptions Options() {
  return {.steps = 100,
          .batch_size = 12,
          .seq_len = 256,
          .stages = {{RunPoint::Step(0), "warm", 0.5},
                     {RunPoint::Step(40), "main", 1.0},
                     {RunPoint::Step(90), "", 0.25}}};
}

TEST(ScheduleTest, SaysWhatAStepCovers) {
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(Options()));
  const StepPlan plan = schedule.At(39);
  EXPECT_EQ(plan.step, 39u);
  EXPECT_EQ(plan.first_sample, 468u);
  EXPECT_EQ(plan.batch_size, 12u);
  EXPECT_EQ(plan.seq_len, 256u);
  EXPECT_EQ(plan.stage, 0u);
  EXPECT_EQ(plan.stage_name, "warm");
  EXPECT_EQ(plan.lr_scale, 0.5);
  EXPECT_EQ(schedule.steps(), 100u);
  EXPECT_EQ(schedule.FirstSample(100), 1200u);
  EXPECT_EQ(schedule.stages().size(), 3u);
}

TEST(ScheduleTest, StagesBeginAtTheirFirstStep) {
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(Options()));
  std::vector<uint64_t> boundaries;
  for (uint64_t step = 0; step < 100; ++step) {
    const StepPlan plan = schedule.At(step);
    EXPECT_EQ(plan.stage, (step >= 40) + (step >= 90)) << step;
    if (plan.is_boundary) boundaries.push_back(step);
  }
  EXPECT_THAT(boundaries, ::testing::ElementsAre(40, 90));
  EXPECT_EQ(schedule.At(90).lr_scale, 0.25);
  EXPECT_EQ(schedule.At(90).stage_name, "");
}

TEST(ScheduleTest, AFirstStageIsImplied) {
  ScheduleOptions options = Options();
  options.stages.erase(options.stages.begin());
  ASSERT_OK_AND_ASSIGN(const Schedule later, Schedule::Create(options));
  EXPECT_EQ(later.stages().size(), 3u);
  EXPECT_EQ(later.At(0).lr_scale, 1.0);
  EXPECT_EQ(later.At(40).stage, 1u);
  EXPECT_TRUE(later.At(40).is_boundary);
  options.stages.clear();
  ASSERT_OK_AND_ASSIGN(const Schedule none, Schedule::Create(options));
  EXPECT_EQ(none.stages().size(), 1u);
  EXPECT_FALSE(none.At(0).is_boundary);
}

TEST(ScheduleTest, ZeroStepsHaveNoEnd) {
  ScheduleOptions options = Options();
  options.steps = 0;
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
  EXPECT_EQ(schedule.steps(), 0u);
  EXPECT_EQ(schedule.At(1000000000000).first_sample, 12000000000000u);
  EXPECT_EQ(schedule.At(1000000000000).stage, 2u);
}

TEST(ScheduleTest, CopiesOutliveTheOriginal) {
  auto schedule = Schedule::Create(Options());
  ASSERT_TRUE(schedule.ok());
  const Schedule copy = *schedule;
  schedule = absl::InternalError("gone");
  EXPECT_EQ(copy.At(0).stage_name, "warm");
}

void ExpectRefused(ScheduleOptions options, const std::string& words) {
  EXPECT_THAT(Schedule::Create(std::move(options)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(words)));
}

TEST(ScheduleTest, ErrorsNameTheStageAndTheValues) {
  ScheduleOptions options = Options();
  options.stages[1].start = RunPoint::Step(90);
  ExpectRefused(options,
                "stage 2 starts at step 90 (sample 1080), which is in no later "
                "step than stage 1 ('main') at step 90 (sample 1080)");
  options = Options();
  options.stages[2].start = RunPoint::Step(100);
  ExpectRefused(options,
                "stage 2 starts at step 100, but the run ends after 100 steps");
  for (const double lr_scale : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    options = Options();
    options.stages[1].lr_scale = lr_scale;
    ExpectRefused(options, "lr_scale of stage 1 ('main') must be finite");
  }
}

TEST(ScheduleTest, RefusesSizesOutOfRange) {
  ScheduleOptions options = Options();
  options.batch_size = 0;
  ExpectRefused(options, "batch_size must be at least 1");
  options = Options();
  options.seq_len = 0;
  ExpectRefused(options, "seq_len must be at least 1");
  options = Options();
  options.batch_size = uint64_t{1} << 60;
  ExpectRefused(options, "more than 2^62 samples");
}

TEST(ScheduleDeathTest, RefusesStepsPastTheEnd) {
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(Options()));
  EXPECT_DEATH(schedule.At(100), "100 of 100");
  EXPECT_DEATH(schedule.FirstSample(101), "101 of 100");
}

// The worked curriculum: 14.8 T tokens, five domains, four phases.
class CurriculumTest : public ::testing::Test {
 protected:
  static constexpr double kBillion = 1e9;
  // code, math and web go by name; billions of tokens.
  const std::map<std::string, double> sizes_ = {{"web", 12000},
                                                {"code", 600},
                                                {"math", 150},
                                                {"books", 300},
                                                {"wiki", 50}};

  static std::map<std::string, double> Weights(double web, double code,
                                               double math, double books,
                                               double wiki) {
    return {{"web", web},
            {"code", code},
            {"math", math},
            {"books", books},
            {"wiki", wiki}};
  }

  // Phases of .05, .65, .20 and .10 of the run.
  static ScheduleOptions Options(RunPoint (*share)(double)) {
    ScheduleOptions options;
    options.tokens = 14'800'000'000'000;
    options.batch_size = 1024;
    options.seq_len = 4096;
    options.stages = {{.start = share(0), .name = "warmup"},
                      {.start = share(.05),
                       .name = "main",
                       .weights = Weights(.62, .17, .06, .10, .05)},
                      {.start = share(.70),
                       .name = "reasoning",
                       .seq_len = 8192,
                       .weights = Weights(.40, .22, .18, .12, .08)},
                      {.start = share(.90),
                       .name = "anneal",
                       .seq_len = 32768,
                       .weights = Weights(.20, .20, .25, .20, .15)}};
    for (const auto& [name, weight] : Weights(.80, .05, .02, .10, .03)) {
      options.components.push_back({name, weight});
    }
    return options;
  }

  // Billions of tokens by domain.
  static std::map<std::string, double> Tokens(const Schedule& schedule) {
    std::map<std::string, double> tokens;
    const MixturePlan& mixture = *schedule.mixture();
    for (const PlannedStage& stage : schedule.stages()) {
      const uint64_t begin = schedule.FirstSample(stage.start_step);
      const uint64_t end = schedule.FirstSample(*stage.end_step);
      for (uint32_t c = 0; c < mixture.names().size(); ++c) {
        const uint64_t samples =
            mixture.Count(c, end) - mixture.Count(c, begin);
        tokens[mixture.names()[c]] += static_cast<double>(samples) *
                                      schedule.At(stage.start_step).seq_len /
                                      kBillion;
      }
    }
    return tokens;
  }

  static void ExpectTokens(const Schedule& schedule, double web, double code,
                           double math, double books, double wiki) {
    const std::map<std::string, double> tokens = Tokens(schedule);
    for (const auto& [name, expected] : Weights(web, code, math, books, wiki)) {
      EXPECT_NEAR(tokens.at(name), expected, 0.06) << name;
    }
  }
};

TEST_F(CurriculumTest, SharesOfTokens) {
  ASSERT_OK_AND_ASSIGN(const Schedule schedule,
                       Schedule::Create(Options(RunPoint::ShareOfTokens)));
  ExpectTokens(schedule, 8036.4, 2619.6, 1494.8, 1687.2, 962.0);
  EXPECT_NEAR(static_cast<double>(schedule.tokens()), 14.8e12, 4e7);
  const std::map<std::string, double> tokens = Tokens(schedule);
  const std::map<std::string, double> epochs =
      Weights(0.67, 4.37, 9.97, 5.62, 19.24);
  for (const auto& [name, expected] : epochs) {
    EXPECT_NEAR(tokens.at(name) / sizes_.at(name), expected, 0.005) << name;
  }
  // The same ends, whether the run is stated in tokens or in its steps.
  ScheduleOptions in_steps = Options(RunPoint::ShareOfTokens);
  in_steps.tokens = 0;
  in_steps.steps = schedule.steps();
  ASSERT_OK_AND_ASSIGN(const Schedule same, Schedule::Create(in_steps));
  for (size_t s = 0; s < 4; ++s) {
    EXPECT_NEAR(static_cast<double>(same.stages()[s].start_step),
                static_cast<double>(schedule.stages()[s].start_step), 2);
  }
}

TEST_F(CurriculumTest, SharesOfSteps) {
  ASSERT_OK_AND_ASSIGN(const Schedule schedule,
                       Schedule::Create(Options(RunPoint::ShareOfSteps)));
  ExpectTokens(schedule, 5943.4, 2812.0, 2430.3, 2165.5, 1448.8);
  // The mean length of a step's samples.
  EXPECT_NEAR(static_cast<double>(schedule.tokens()) /
                  static_cast<double>(schedule.samples()),
              7782.4, 0.05);
}

TEST(ScheduleTest, AnswersEverythingForAStep) {
  ScheduleOptions options;
  options.steps = 100;
  options.batch_size = 4;
  options.seq_len = 8;
  options.components = {{"web", 3}, {"code", 1}};
  options.mixture.block_size = 16;
  options.mixture.temperature = 2;
  options.stages = {{.start = RunPoint::Step(0),
                     .name = "warm",
                     .lr_scale = 1,
                     .numbers = {{"rope", 1e4}}},
                    {.start = RunPoint::Step(40),
                     .name = "decay",
                     .lr_scale = 1,
                     .lr_scale_end = 0.25,
                     .weights = {{"code", 3}},
                     .temperature = 1,
                     .ramp = RunPoint::Step(8),
                     .ramp_blocks = 1,
                     .numbers = {{"rope", 5e5}}}};
  options.batch_sizes = {{RunPoint::Step(10), 8}};
  options.seq_lens = {{RunPoint::Sample(400), 32}};
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
  EXPECT_EQ(schedule.At(9).batch_size, 4u);
  EXPECT_EQ(schedule.At(10).batch_size, 8u);
  EXPECT_TRUE(schedule.At(10).is_boundary);
  EXPECT_EQ(schedule.FirstSample(12), 56u);
  // Sample 400 is the first of step 10 + 360 / 8.
  EXPECT_EQ(schedule.At(54).seq_len, 8u);
  EXPECT_EQ(schedule.At(55).seq_len, 32u);
  EXPECT_EQ(schedule.max_seq_len(), 32u);
  EXPECT_TRUE(schedule.cuts_items());
  EXPECT_EQ(schedule.At(39).numbers.at("rope"), 1e4);
  EXPECT_EQ(schedule.At(40).numbers.at("rope"), 5e5);
  EXPECT_EQ(schedule.At(39).temperature, 2);
  EXPECT_EQ(schedule.At(40).temperature, 1);
  // A line from 1 at step 40 to 0.25 at step 100.
  EXPECT_DOUBLE_EQ(schedule.At(40).lr_scale, 1);
  EXPECT_DOUBLE_EQ(schedule.At(80).lr_scale, 0.5);
  // Names in order: code, web. Roots of 1 : 3 at first, then a ramp of four
  // steps of 16 samples to 3 : 3.
  EXPECT_NEAR(schedule.At(0).weights[0], 1 / (1 + std::sqrt(3)), 1e-9);
  const double first = schedule.At(0).weights[0];
  for (uint64_t i = 0; i < 4; ++i) {
    const double way = (static_cast<double>(i) + 0.5) / 4;
    EXPECT_NEAR(schedule.At(40 + 2 * i).weights[0], first + (0.5 - first) * way,
                1e-9);
  }
  EXPECT_DOUBLE_EQ(schedule.At(48).weights[0], 0.5);
}

TEST(ScheduleTest, FindsTheStepOfASample) {
  ScheduleOptions options = Options();
  options.batch_sizes = {{RunPoint::Step(3), 5}, {RunPoint::Step(50), 100}};
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
  uint64_t sample = 0;
  for (uint64_t step = 0; step < 100; ++step) {
    const StepPlan plan = schedule.At(step);
    ASSERT_EQ(plan.first_sample, sample);
    sample += plan.batch_size;
    ASSERT_EQ(schedule.StepOf(plan.first_sample), step);
    ASSERT_EQ(schedule.StepOf(sample - 1), step);
  }
  EXPECT_EQ(schedule.samples(), sample);
  EXPECT_EQ(schedule.tokens(), sample * 256);
}

TEST(ScheduleTest, HandsStagesAndLengthsToTheMixture) {
  ScheduleOptions options;
  options.steps = 100;
  options.batch_size = 10;
  options.seq_len = 64;
  options.stages = {{.start = RunPoint::Sample(105), .weights = {{"a", 2}}},
                    {.start = RunPoint::ShareOfSteps(0.5),
                     .seq_len = 128,
                     .temperature = 3,
                     .ramp = RunPoint::ShareOfSteps(0.1),
                     .is_ramp_centred = true}};
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
  MixtureOptions base;
  base.block_size = 7;
  const MixtureOptions made = schedule.MixtureOptionsFrom(base);
  EXPECT_EQ(made.block_size, 7u);
  ASSERT_EQ(made.stages.size(), 2u);
  EXPECT_EQ(made.stages[0].start, 105u);
  EXPECT_EQ(made.stages[0].weights.at("a"), 2);
  EXPECT_EQ(made.stages[1].start, 450u);
  EXPECT_EQ(made.stages[1].ramp_samples, 100u);
  EXPECT_EQ(made.stages[1].temperature, 3);
  EXPECT_EQ(made.max_seq_len, 128u);
  ASSERT_EQ(made.seq_lens.size(), 2u);
  EXPECT_EQ(made.seq_lens[0].seq_len, 64u);
  EXPECT_EQ(made.seq_lens[1].start, 450u);
  EXPECT_EQ(made.seq_lens[1].seq_len, 128u);
  // The stage, and all that belongs to it, begins with its ramp.
  EXPECT_EQ(schedule.At(45).stage, 2u);
  EXPECT_EQ(schedule.At(45).seq_len, 128u);
}

TEST(ScheduleTest, AStageThatSaysNothingOfSharesLeavesThem) {
  ScheduleOptions options;
  options.steps = 100;
  options.batch_size = 10;
  options.components = {{"a", 1}, {"b", 3}};
  options.stages = {{.start = RunPoint::Step(10), .weights = {{"a", 9}}},
                    {.start = RunPoint::Step(20), .lr_scale = 0.5}};
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
  EXPECT_DOUBLE_EQ(schedule.At(9).weights[0], 0.25);
  EXPECT_DOUBLE_EQ(schedule.At(10).weights[0], 0.75);
  EXPECT_DOUBLE_EQ(schedule.At(20).weights[0], 0.75);
  EXPECT_EQ(schedule.At(20).lr_scale, 0.5);
  EXPECT_EQ(schedule.mixture_options().stages.size(), 1u);
}

TEST(ScheduleTest, RefusesWhatContradictsItself) {
  ScheduleOptions options = Options();
  options.tokens = 5;
  ExpectRefused(options, "100, or of tokens, 5: state one");
  options = Options();
  options.stages[0].weights = {{"a", 1}};
  ExpectRefused(options, "stage 0 ('warm') starts the run: its weights");
  options = Options();
  options.stages[1].is_ramp_centred = true;
  ExpectRefused(options, "stage 1 ('main') has no ramp");
  options = Options();
  options.max_seq_len = 255;
  ExpectRefused(options,
                "seq_len 256 from step 0 (sample 0) on is above max_seq_len "
                "255");
  options.seq_lens = {{RunPoint::Token(9000), 512}};
  ExpectRefused(options,
                "seq_len 512 from token 9000 (step 3, sample 36) on is above "
                "max_seq_len 255");
  options = Options();
  options.stages[1].numbers = {{"rope", std::nan("")}};
  ExpectRefused(options, "number 'rope' of stage 1 ('main') must be finite");
  options = Options();
  options.steps = 0;
  options.stages[2].lr_scale_end = 0.1;
  ExpectRefused(options, "lr_scale_end of stage 2: a stage without end");
  options.stages.erase(options.stages.begin());
  ExpectRefused(options, "lr_scale_end of stage 1: a stage without end");
  options = Options();
  options.stages[1].lr_scale_end = -1;
  ExpectRefused(options, "lr_scale_end of stage 1 ('main') must be finite");
  options = Options();
  options.stages[1].ramp = RunPoint::Step(-4);
  ExpectRefused(options, "stage 1 ('main'): the length of a ramp");
  options = Options();
  options.mixture.stages = {{5, {}}};
  ExpectRefused(options, "leave them out");
  options = Options();
  options.components = {{"a", 1}};
  options.stages[1].weights = {{"b", 1}};
  ExpectRefused(options, "unknown component 'b'");
}

TEST(ScheduleTest, TheLearningRateMayEndAtZero) {
  ScheduleOptions options = Options();
  options.stages[2].lr_scale_end = 0;
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
  EXPECT_DOUBLE_EQ(schedule.At(90).lr_scale, 0.25);
  EXPECT_DOUBLE_EQ(schedule.At(99).lr_scale, 0.025);
  options.stages[2].lr_scale_end = HUGE_VAL;
  ExpectRefused(options, "lr_scale_end of stage 2 must be finite");
}

TEST(ScheduleTest, ARampOfNothingTakesNothing) {
  for (const RunPoint& nothing :
       {RunPoint::Step(0), RunPoint::Sample(0), RunPoint::Token(0),
        RunPoint::ShareOfSteps(0), RunPoint::ShareOfTokens(0)}) {
    ScheduleOptions options;
    options.steps = 100;
    options.batch_size = 10;
    options.stages = {{.start = RunPoint::Sample(105), .ramp = nothing}};
    ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
    EXPECT_EQ(schedule.stages()[1].start_sample, 105u);
    EXPECT_EQ(schedule.stages()[1].ramp_samples, 0u);
  }
}

TEST(ScheduleTest, ErrorsOfTheMixtureNameTheStage) {
  ScheduleOptions options = Options();
  options.components = {{"a", 1}};
  options.stages[1].weights = {{"b", 1}};
  ExpectRefused(options,
                "stage 1 ('main') at step 40 (sample 480): unknown component "
                "'b'");
  options.stages[1].weights.clear();
  options.stages[2].weights = {{"b", 1}};
  ExpectRefused(options,
                "stage 2 at step 90 (sample 1080): unknown component 'b'");
}

// The number is that of the options, also after a stage that is implied.
TEST(ScheduleTest, ErrorsOfTheMixtureSayWhatWasStated) {
  const auto refused = [](const ScheduleStage& stage, const std::string& why) {
    ScheduleOptions options;
    options.steps = 100;
    options.batch_size = 10;
    options.seq_len = 4;
    options.components = {{"a", 1}};
    options.stages = {stage};
    options.stages[0].weights = {{"b", 1}};
    ExpectRefused(options, why);
  };
  refused({.start = RunPoint::Step(20)}, "stage 0 at step 20 (sample 200): ");
  refused({.start = RunPoint::Step(-20)},
          "stage 0 at step -20 (step 80, sample 800): ");
  refused({.start = RunPoint::Sample(205)},
          "stage 0 at sample 205 (step 21): ");
  refused({.start = RunPoint::Token(822)},
          "stage 0 at token 822 (step 21, sample 206): ");
  refused({.start = RunPoint::ShareOfSteps(0.25)},
          "stage 0 at share 0.25 of the steps (step 25, sample 250): ");
  refused({.start = RunPoint::ShareOfTokens(0.5), .name = "late"},
          "stage 0 ('late') at share 0.5 of the tokens (step 50, sample 500)");
  refused({.start = RunPoint::Step(20),
           .ramp = RunPoint::Step(10),
           .is_ramp_centred = true},
          "stage 0 at step 20 less half its ramp of 10 steps (step 15, sample "
          "150): ");
}

TEST(ScheduleTest, ErrorsOfTheMixtureSayWhichRampWasStated) {
  const auto refused = [](const RunPoint& ramp, const std::string& why) {
    ScheduleOptions options;
    options.steps = 200'000;
    options.batch_size = 10;
    options.components = {{"a", 1}};
    options.mixture.block_size = 1;
    options.stages = {
        {.start = RunPoint::Step(20), .ramp = ramp, .ramp_blocks = 1}};
    ExpectRefused(options, "stage 0 at step 20 (sample 200): a ramp of " + why);
  };
  refused(RunPoint::Step(8000),
          "8000 steps (80000 samples) in steps of 1 blocks has 80000 steps");
  refused(RunPoint::Sample(70'000), "70000 samples in steps of 1 blocks");
  refused(RunPoint::ShareOfSteps(0.5),
          "0.5 of the steps (1000000 samples) in steps of 1 blocks");
}

TEST(ScheduleTest, ErrorsOfSizesSayWhatWasStated) {
  ScheduleOptions options = Options();
  options.seq_lens = {{RunPoint::Token(30'000), 64},
                      {RunPoint::Sample(120), 32}};
  ExpectRefused(options,
                "seq_lens[1] (seq_len 32) starts at sample 120 (step 10), "
                "which is in no later step than seq_lens[0] (seq_len 64) at "
                "token 30000 (step 10, sample 118)");
  options = Options();
  options.batch_sizes = {{RunPoint::Token(307'200), 6}};
  ExpectRefused(options,
                "batch_sizes[0] (batch_size 6) starts at token 307200, but the "
                "run ends after "
                "100 steps, 1200 samples, 307200 tokens");
}

TEST(ScheduleTest, RefusesMoreChangesThanItLaysOut) {
  ScheduleOptions options;
  for (int64_t i = 1; i <= 2048; ++i) {
    options.batch_sizes.push_back({RunPoint::Step(i), 2});
    options.seq_lens.push_back({RunPoint::Step(i), 1});
  }
  options.stages = {{.start = RunPoint::Step(5)}};
  ExpectRefused(options,
                "1 stages, 2048 batch_sizes and 2048 seq_lens are 4097 "
                "changes, more than 4096");
}

TEST(ScheduleTest, RefusesLengthsThatBelongIntoTheScheduleItself) {
  ScheduleOptions options = Options();
  options.mixture.max_seq_len = 512;
  ExpectRefused(options, "max_seq_len 512 of a schedule's mixture");
  options = Options();
  options.mixture.trim = true;
  ExpectRefused(options, "state it as trim of the schedule");
}

TEST(ScheduleTest, RefusesStartsThatAnEndlessRunNeverReaches) {
  ScheduleOptions options = Options();
  options.steps = 0;
  options.stages[2].start = RunPoint::Step(INT64_MAX);
  const std::string words =
      "stage 2 starts at step 9223372036854775807, in a step whose samples do "
      "not lie below 2^62";
  ExpectRefused(options, words);
  options.components = {{"a", 1}};
  options.stages[2].batch_size = 2;
  options.stages[2].weights = {{"a", 2}};
  ExpectRefused(options, words);
  // The last sample that there is, in a step that there is not.
  options.stages[2].start = RunPoint::Sample((int64_t{1} << 62) - 1);
  ExpectRefused(options, "whose samples do not lie below 2^62");
  options.stages[2].start = RunPoint::Sample((int64_t{1} << 62) - 100);
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
  EXPECT_TRUE(schedule.Has(schedule.stages()[2].start_step));
}

class ContinuedRunTest : public ::testing::Test {
 protected:
  ContinuedRunTest() {
    options_.steps = 1000;
    options_.batch_size = 10;
    options_.seq_len = 16;
    options_.components = {{"a", 1}, {"b", 3}};
    options_.mixture.block_size = 64;
    options_.stages = {{.start = RunPoint::ShareOfSteps(0.5),
                        .name = "late",
                        .weights = {{"a", 4}}}};
  }

  absl::Status Continue(const ScheduleOptions& changed, uint64_t next_step) {
    const auto planned = Schedule::Create(options_);
    const auto now = Schedule::Create(changed);
    EXPECT_TRUE(planned.ok() && now.ok()) << now.status();
    return now->CheckContinues(*planned, next_step);
  }

  ScheduleOptions options_;
};

TEST_F(ContinuedRunTest, TheFutureMayBeEdited) {
  ScheduleOptions changed = options_;
  changed.steps = 1200;  // moves the stage from 500 to 600
  changed.batch_sizes = {{RunPoint::Step(460), 20}};
  changed.seq_lens = {{RunPoint::Step(460), 8}};
  EXPECT_THAT(Continue(changed, 0), testing::IsOk());
  EXPECT_THAT(Continue(changed, 450), testing::IsOk());
  EXPECT_THAT(Continue(options_, 1000), testing::IsOk());
}

TEST_F(ContinuedRunTest, AShareThatMovesAPassedBoundaryIsRefused) {
  ScheduleOptions changed = options_;
  changed.steps = 1200;
  EXPECT_THAT(Continue(changed, 490), testing::IsOk());
  EXPECT_THAT(Continue(changed, 501),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("steps before 501 have served")));
}

TEST_F(ContinuedRunTest, AStageInsideABegunBlockIsRefused) {
  // Step 9 serves samples 90 to 99, of the block [64, 128).
  for (const uint64_t start : {10, 12}) {
    ScheduleOptions changed = options_;
    changed.stages.insert(changed.stages.begin(),
                          {.start = RunPoint::Step(static_cast<int64_t>(start)),
                           .weights = {{"b", 1}}});
    EXPECT_THAT(Continue(changed, 10),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("may begin at step 13 at the earliest")));
  }
  ScheduleOptions changed = options_;
  changed.stages.insert(changed.stages.begin(),
                        {.start = RunPoint::Step(13), .weights = {{"b", 1}}});
  EXPECT_THAT(Continue(changed, 10), testing::IsOk());
}

TEST_F(ContinuedRunTest, NothingCanChangeOnceAllIsServed) {
  ScheduleOptions changed = options_;
  changed.stages[0].weights = {{"a", 5}};
  EXPECT_THAT(Continue(changed, 1000),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("no step is left")));
}

TEST_F(ContinuedRunTest, TheSeedStays) {
  ScheduleOptions changed = options_;
  changed.mixture.seed = 0;
  EXPECT_THAT(Continue(changed, 10), testing::IsOk());
  changed.mixture.seed = 7;
  EXPECT_THAT(Continue(changed, 0), testing::IsOk());
  EXPECT_THAT(Continue(changed, 10),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("seed 7 of the mixture differs from 0")));
}

TEST_F(ContinuedRunTest, GroupsStayWhereItemsAreCut) {
  ScheduleOptions changed = options_;
  changed.mixture.group_items = 64;
  EXPECT_THAT(Continue(changed, 10), testing::IsOk());
  options_.seq_lens = {{RunPoint::Step(20), 8}};
  changed.seq_lens = options_.seq_lens;
  EXPECT_THAT(Continue(changed, 10), testing::IsOk());
  EXPECT_THAT(Continue(changed, 30),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("group_items")));
}

TEST_F(ContinuedRunTest, ComponentsAreComparedOrStatedInNeither) {
  ScheduleOptions changed = options_;
  changed.components.clear();
  EXPECT_THAT(Continue(changed, 10),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("this schedule was not told of components")));
  std::swap(changed, options_);
  EXPECT_THAT(Continue(changed, 10),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("planned schedule was not told")));
  changed = options_;
  EXPECT_THAT(Continue(changed, 10), testing::IsOk());
}

TEST_F(ContinuedRunTest, MoreStepsThanWerePlannedCannotBeServed) {
  EXPECT_THAT(Continue(options_, 1001),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("has no step 1000, it ends after 1000")));
  options_.steps = 0;
  options_.stages.clear();
  EXPECT_THAT(Continue(options_, UINT64_MAX),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("do not lie below 2^62")));
}

TEST_F(ContinuedRunTest, WhatDoesNotDecideTheDataMayChange) {
  ScheduleOptions changed = options_;
  changed.stages[0].name = "end";
  changed.stages[0].lr_scale = 0.5;
  changed.stages[0].numbers = {{"rope", 2}};
  EXPECT_THAT(Continue(changed, 1000), testing::IsOk());
}

TEST_F(ContinuedRunTest, ServedSizesStay) {
  ScheduleOptions changed = options_;
  changed.batch_sizes = {{RunPoint::Step(20), 20}};
  EXPECT_THAT(Continue(changed, 20), testing::IsOk());
  EXPECT_THAT(Continue(changed, 21),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("batch_size 20 and seq_len 16 from step 20 "
                                 "(sample 200) on")));
  changed.batch_sizes = {{RunPoint::Token(3200), 20}};
  EXPECT_THAT(Continue(changed, 21),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("batch_size 20 and seq_len 16 from token 3200 "
                                 "(step 20, sample 200) on")));
  changed = options_;
  changed.seq_lens = {{RunPoint::Step(30), 32}};
  EXPECT_THAT(Continue(changed, 10),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("state max_seq_len = 16")));
  changed = options_;
  changed.steps = 400;
  EXPECT_THAT(Continue(changed, 401),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("would end after 400 steps")));
}

TEST(ScheduleTest, HasTheStepsWhoseSamplesCanBeCounted) {
  ScheduleOptions options;
  options.batch_size = 6;
  const Schedule endless = *Schedule::Create(options);
  constexpr uint64_t kSteps = (uint64_t{1} << 62) / 6;
  EXPECT_TRUE(endless.Has(kSteps - 1));
  EXPECT_FALSE(endless.Has(kSteps));
  EXPECT_FALSE(endless.Has(UINT64_MAX));
  EXPECT_EQ(endless.At(kSteps - 1).first_sample, (kSteps - 1) * 6);
  options.steps = 10;
  EXPECT_TRUE(Schedule::Create(options)->Has(9));
  EXPECT_FALSE(Schedule::Create(options)->Has(10));
}

}  // namespace
}  // namespace poniente
