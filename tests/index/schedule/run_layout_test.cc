// SPDX-License-Identifier: Apache-2.0
#include "index/schedule/run_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using ::poniente::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

StageMark SeqLen(RunPoint at, uint32_t seq_len) {
  return {.at = at, .seq_len = seq_len, .label = absl::StrCat("L", seq_len)};
}

TEST(RunLayoutTest, CountsBeginWithTheFirstStepAtOrAfterThem) {
  const std::vector<StageMark> marks = {
      {.at = RunPoint::Step(5), .batch_size = 3},
      {.at = RunPoint::Sample(21)},  // 20 + 3: the 1st sample of step 6 is 23
      {.at = RunPoint::Token(261)},  // token 260 ends sample 25
      {.at = RunPoint::Sample(26)}};
  ASSERT_OK_AND_ASSIGN(const RunLayout layout,
                       RunLayout::Make({.steps = 10}, 4, 10, marks));
  EXPECT_EQ(layout.starts()[0].step, 5u);
  EXPECT_EQ(layout.starts()[0].sample, 20u);
  EXPECT_EQ(layout.starts()[1].step, 6u);
  EXPECT_EQ(layout.starts()[1].sample, 21u);
  EXPECT_EQ(layout.starts()[2].step, 8u);
  EXPECT_EQ(layout.starts()[2].sample, 27u);
  EXPECT_EQ(layout.starts()[3].step, 7u);
  EXPECT_EQ(layout.starts()[3].sample, 26u);
  EXPECT_EQ(layout.samples(), 35u);
  EXPECT_EQ(static_cast<uint64_t>(layout.tokens()), 350u);
}

TEST(RunLayoutTest, SharesOfTokensAndOfStepsAreTwoSchedules) {
  // Half of the tokens: 8 t = 2 (N - t), so t = N / 5.
  ASSERT_OK_AND_ASSIGN(
      const RunLayout tokens,
      RunLayout::Make({.steps = 1000}, 1, 8,
                      {SeqLen(RunPoint::ShareOfTokens(0.5), 2)}));
  EXPECT_EQ(tokens.starts()[0].step, 200u);
  EXPECT_EQ(static_cast<uint64_t>(tokens.tokens()), 3200u);
  ASSERT_OK_AND_ASSIGN(
      const RunLayout steps,
      RunLayout::Make({.steps = 1000}, 1, 8,
                      {SeqLen(RunPoint::ShareOfSteps(0.5), 2)}));
  EXPECT_EQ(steps.starts()[0].step, 500u);
  EXPECT_EQ(static_cast<uint64_t>(steps.tokens()), 5000u);
}

TEST(RunLayoutTest, ARunOfTokensEndsWithTheStepThatReachesThem) {
  ASSERT_OK_AND_ASSIGN(
      const RunLayout layout,
      RunLayout::Make({.tokens = 3195}, 1, 8,
                      {SeqLen(RunPoint::ShareOfSteps(0.2), 2)}));
  EXPECT_EQ(layout.steps(), 998u);  // 200 * 8 + 798 * 2 = 3196
  EXPECT_EQ(layout.starts()[0].step, 200u);
}

TEST(RunLayoutTest, SharesAreRoundedBeforeTheyAreAppliedToSteps) {
  for (int percent = 0; percent < 100; ++percent) {
    ASSERT_OK_AND_ASSIGN(
        const RunLayout layout,
        RunLayout::Make({.steps = 100}, 7, 5,
                        {{.at = RunPoint::ShareOfSteps(percent * 0.01)}}));
    EXPECT_EQ(layout.starts()[0].step, static_cast<uint64_t>(percent));
  }
}

TEST(RunLayoutTest, NegativeCountsAreTakenFromTheEnd) {
  const std::vector<StageMark> marks = {{.at = RunPoint::Step(-10)},
                                        {.at = RunPoint::Sample(-7)},
                                        {.at = RunPoint::Token(-41)}};
  ASSERT_OK_AND_ASSIGN(const RunLayout layout,
                       RunLayout::Make({.steps = 50}, 4, 10, {marks[0]}));
  EXPECT_EQ(layout.starts()[0].step, 40u);
  ASSERT_OK_AND_ASSIGN(const RunLayout samples,
                       RunLayout::Make({.steps = 50}, 4, 10, {marks[1]}));
  EXPECT_EQ(samples.starts()[0].step, 49u);
  EXPECT_EQ(samples.starts()[0].sample, 196u);  // a step's
  ASSERT_OK_AND_ASSIGN(const RunLayout tokens,
                       RunLayout::Make({.steps = 50}, 4, 10, {marks[2]}));
  EXPECT_EQ(tokens.starts()[0].step, 49u);
}

TEST(RunLayoutTest, AnEndThatFollowsFromItsStagesIsFound) {
  // The last 6400 tokens in samples of 32.
  ASSERT_OK_AND_ASSIGN(const RunLayout layout,
                       RunLayout::Make({.steps = 1000}, 2, 4,
                                       {SeqLen(RunPoint::Token(-6400), 32)}));
  EXPECT_EQ(layout.starts()[0].step, 900u);
  EXPECT_EQ(static_cast<uint64_t>(layout.tokens()), 900u * 8 + 6400);
}

// Walks step by step and begins each mark as soon as its count is reached.
struct SlowLayoutRun {
  std::vector<uint64_t> starts;
  uint64_t steps = 0, samples = 0, tokens = 0;
};

SlowLayoutRun Walk(const RunEnd& end, uint64_t batch_size, uint32_t seq_len,
                   const std::vector<StageMark>& marks) {
  SlowLayoutRun run;
  run.starts.assign(marks.size(), UINT64_MAX);
  const auto ended = [&] {
    return end.steps > 0 ? run.steps == end.steps : run.tokens >= end.tokens;
  };
  for (; !ended(); ++run.steps) {
    for (size_t m = 0; m < marks.size(); ++m) {
      const uint64_t now[] = {run.steps, run.samples, run.tokens};
      const auto unit = static_cast<size_t>(marks[m].at.unit);
      if (run.starts[m] != UINT64_MAX ||
          now[unit] < static_cast<uint64_t>(marks[m].at.count)) {
        continue;
      }
      run.starts[m] = run.steps;
      batch_size = marks[m].batch_size.value_or(batch_size);
      seq_len = marks[m].seq_len.value_or(seq_len);
    }
    run.samples += batch_size;
    run.tokens += batch_size * seq_len;
  }
  return run;
}

TEST(RunLayoutTest, RandomRunsAreThoseOfAWalkStepByStep) {
  std::mt19937_64 random(testing::TestSeed(31));
  int reached = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    RunEnd end;
    (random() % 2 ? end.steps : end.tokens) = 1 + random() % 3000;
    const uint64_t batch_size = 1 + random() % 5;
    const auto seq_len = static_cast<uint32_t>(1 + random() % 9);
    std::vector<StageMark> marks(random() % 5);
    for (StageMark& mark : marks) {
      mark.at.unit = static_cast<RunPoint::Unit>(random() % 3);
      mark.at.count = static_cast<int64_t>(random() % 600);
      if (random() % 2) mark.batch_size = 1 + random() % 5;
      if (random() % 2) mark.seq_len = static_cast<uint32_t>(1 + random() % 9);
    }
    const SlowLayoutRun slow = Walk(end, batch_size, seq_len, marks);
    const auto layout = RunLayout::Make(end, batch_size, seq_len, marks);
    const bool all_begin = std::find(slow.starts.begin(), slow.starts.end(),
                                     UINT64_MAX) == slow.starts.end();
    ASSERT_EQ(layout.ok(), all_begin) << layout.status();
    if (!all_begin) continue;
    ++reached;
    for (size_t m = 0; m < marks.size(); ++m) {
      ASSERT_EQ(layout->starts()[m].step, slow.starts[m]);
    }
    ASSERT_EQ(layout->steps(), slow.steps);
    ASSERT_EQ(layout->samples(), slow.samples);
    ASSERT_EQ(static_cast<uint64_t>(layout->tokens()), slow.tokens);
  }
  EXPECT_GT(reached, 500);
}

// Whatever total a share refers to, it is that of the run that comes out.
TEST(RunLayoutTest, SharesFitTheRunTheyMake) {
  std::mt19937_64 random(testing::TestSeed(32));
  for (int trial = 0; trial < 500; ++trial) {
    const double first = 0.1 + 0.3 * static_cast<double>(random() % 100) / 100;
    const double second = first + 0.4;
    const auto length = [&] {
      return static_cast<uint32_t>(1 + random() % 64);
    };
    const std::vector<StageMark> marks = {
        SeqLen(RunPoint::ShareOfTokens(first), length()),
        SeqLen(RunPoint::ShareOfTokens(second), length())};
    ASSERT_OK_AND_ASSIGN(
        const RunLayout layout,
        RunLayout::Make({.steps = 100000}, 1 + random() % 8, length(), marks));
    for (size_t m = 0; m < 2; ++m) {
      const RunLayout::Start& start = layout.starts()[m];
      uint64_t tokens = 0;
      for (size_t s = 0; s < layout.stretches().size(); ++s) {
        const Stretch& stretch = layout.stretches()[s];
        if (stretch.first_step >= start.step) break;
        const uint64_t end = s + 1 < layout.stretches().size()
                                 ? layout.stretches()[s + 1].first_step
                                 : layout.steps();
        tokens += (std::min(end, start.step) - stretch.first_step) *
                  stretch.batch_size * stretch.seq_len;
      }
      const double share =
          static_cast<double>(tokens) / static_cast<double>(layout.tokens());
      EXPECT_NEAR(share, m == 0 ? first : second, 2e-3);
    }
  }
}

TEST(RunLayoutTest, CentredRampsBeginBeforeTheirBoundary) {
  StageMark mark = {.at = RunPoint::ShareOfSteps(0.5),
                    .centred_ramp = RunPoint::ShareOfSteps(0.01)};
  ASSERT_OK_AND_ASSIGN(RunLayout layout,
                       RunLayout::Make({.steps = 1000}, 4, 10, {mark}));
  EXPECT_EQ(layout.starts()[0].step, 495u);
  mark = {.at = RunPoint::Sample(100), .centred_ramp = RunPoint::Sample(30)};
  ASSERT_OK_AND_ASSIGN(layout, RunLayout::Make({}, 4, 10, {mark}));
  EXPECT_EQ(layout.starts()[0].sample, 85u);
  EXPECT_EQ(layout.starts()[0].step, 22u);
}

TEST(RunLayoutTest, AmountsBecomeSamplesAcrossChanges) {
  ASSERT_OK_AND_ASSIGN(
      const RunLayout layout,
      RunLayout::Make({.steps = 100}, 4, 10,
                      {{.at = RunPoint::Step(10), .batch_size = 8},
                       SeqLen(RunPoint::Step(20), 5)}));
  const RunLayout::Start start = {5, 20};
  const auto samples = [&](const RunPoint& amount) {
    return *layout.SamplesFrom(start, amount);
  };
  EXPECT_EQ(samples(RunPoint::Step(7)), 5 * 4 + 2 * 8u);
  EXPECT_EQ(samples(RunPoint::Sample(123)), 123u);
  EXPECT_EQ(samples(RunPoint::Token(1000)), 100u);
  EXPECT_EQ(samples(RunPoint::Token(1006)), 100u + 2);
  EXPECT_EQ(samples(RunPoint::ShareOfSteps(0.02)), 8u);
  EXPECT_EQ(samples(RunPoint::Step(0)), 0u);
  // From inside a step, too.
  EXPECT_EQ(*layout.SamplesFrom({5, 18}, RunPoint::Step(0)), 0u);
  EXPECT_EQ(*layout.SamplesFrom({5, 18}, RunPoint::ShareOfSteps(0)), 0u);
  EXPECT_THAT(layout.SamplesFrom(start, RunPoint::Step(-1)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("must be at least 0, got -1 steps")));
}

void ExpectLayoutRefused(const RunEnd& end, const std::vector<StageMark>& marks,
                         const ::testing::Matcher<std::string>& words) {
  EXPECT_THAT(RunLayout::Make(end, 4, 10, marks),
              StatusIs(absl::StatusCode::kInvalidArgument, words));
}

TEST(RunLayoutTest, RefusesPlacesThatDoNotExist) {
  ExpectLayoutRefused({}, {{.at = RunPoint::Step(-1), .label = "last"}},
                      HasSubstr("last starts at step -1, but the run has no "
                                "end; state its steps or tokens"));
  ExpectLayoutRefused({.steps = 9}, {{.at = RunPoint::ShareOfSteps(1.5)}},
                      HasSubstr("must be 0 to 1, got 1.5"));
  ExpectLayoutRefused({.steps = 9},
                      {{.at = RunPoint::ShareOfSteps(
                            std::numeric_limits<double>::quiet_NaN())}},
                      HasSubstr("must be 0 to 1"));
  ExpectLayoutRefused(
      {.steps = 9}, {{.at = RunPoint::Step(-10), .label = "x"}},
      HasSubstr("x starts at step -10, 1 steps before the run"));
  ExpectLayoutRefused({.steps = 9},
                      {{.at = RunPoint::Step(2),
                        .centred_ramp = RunPoint::Step(6),
                        .label = "x"}},
                      HasSubstr("x starts at step 2 less half its ramp of 6 "
                                "steps, 1 steps before the run"));
  ExpectLayoutRefused(
      {.steps = 9}, {{.at = RunPoint::Token(321), .label = "x"}},
      HasSubstr("x starts at token 321, but the run ends after 9 "
                "steps, 36 samples, 360 tokens"));
  ExpectLayoutRefused(
      {.steps = 9},
      {{.at = RunPoint::ShareOfTokens(0.5), .seq_len = 3},
       {.at = RunPoint::Sample(-3), .batch_size = 2, .label = "x"}},
      AllOf(HasSubstr("x starts at sample -3, but the run's tokens and "
                      "samples follow"),
            HasSubstr("in one of them only")));
  ExpectLayoutRefused(
      {.steps = 9},
      {{.at = RunPoint::ShareOfTokens(0.5), .centred_ramp = RunPoint::Step(2)}},
      HasSubstr("a ramp of 2 steps that is centred on share 0.5 of the tokens "
                "must be stated in tokens, not in steps"));
  ExpectLayoutRefused({.steps = 9},
                      {{.at = RunPoint::Step(1), .batch_size = 0}},
                      HasSubstr("batch_size must be at least 1"));
  ExpectLayoutRefused({.steps = 9}, {{.at = RunPoint::Step(1), .seq_len = 0}},
                      HasSubstr("seq_len must be at least 1"));
  ExpectLayoutRefused({.steps = UINT64_MAX}, {},
                      HasSubstr("more than 2^62 samples"));
}

TEST(RunLayoutTest, ALongEndlessRunKeepsCounting) {
  ASSERT_OK_AND_ASSIGN(
      const RunLayout layout,
      RunLayout::Make({}, 1000, 32768,
                      {{.at = RunPoint::Token(INT64_MAX), .batch_size = 7}}));
  EXPECT_EQ(layout.stretches()[1].first_step,
            static_cast<uint64_t>(INT64_MAX) / 32768000 + 1);
}

}  // namespace
}  // namespace poniente::internal
