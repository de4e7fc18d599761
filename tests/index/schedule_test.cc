// SPDX-License-Identifier: Apache-2.0
#include "poniente/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
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
          .stages = {{0, "warm", 0.5}, {40, "main", 1.0}, {90, "", 0.25}}};
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
  options.stages[1].start_step = 90;
  ExpectRefused(options,
                "stage 2 starts at step 90, which is not after stage 1 "
                "('main') at step 90");
  options = Options();
  options.stages[2].start_step = 100;
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

TEST(RankShareTest, SharesFollowOneAnotherAndDifferByOneAtMost) {
  for (const uint64_t batch : {0, 1, 7, 12, 1000}) {
    for (const uint32_t ranks : {1, 2, 3, 8, 13}) {
      uint64_t end = 0;
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        const BatchShare share = RankShare(batch, rank, ranks);
        ASSERT_EQ(share.begin, end);
        end = share.end;
        ASSERT_GE(end - share.begin, batch / ranks);
        ASSERT_LE(end - share.begin, (batch + ranks - 1) / ranks);
      }
      ASSERT_EQ(end, batch);
    }
  }
}

TEST(RankShareTest, RoundsDown) {
  EXPECT_EQ(RankShare(10, 0, 3), (BatchShare{0, 3}));
  EXPECT_EQ(RankShare(10, 1, 3), (BatchShare{3, 6}));
  EXPECT_EQ(RankShare(10, 2, 3), (BatchShare{6, 10}));
  EXPECT_EQ(RankShare(UINT64_MAX, 1, 2), (BatchShare{INT64_MAX, UINT64_MAX}));
}

TEST(RankShareDeathTest, RefusesARankThatDoesNotExist) {
  EXPECT_DEATH(RankShare(10, 3, 3), "3 of 3");
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
