// SPDX-License-Identifier: Apache-2.0
#include "loader/metrics/stall_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "loader/metrics/loader_reports.h"

namespace poniente::internal {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Optional;
using ::testing::StartsWith;

// The window of 100 steps that follows `before`.
LoaderMetrics After(LoaderMetrics before, double stall, double consumer,
                    double cpu_share = 0) {
  before.next_step += 100;
  before.steps += 100;
  before.stalls += 40;
  before.batches_fetched += 100;
  before.stall_seconds += stall;
  before.consumer_seconds += consumer;
  before.fetching_seconds += stall + consumer;
  before.cpu_seconds += cpu_share * (stall + consumer);
  before.cpu_wait_seconds += 0.01 * (stall + consumer);
  before.resolve_seconds += 0.1;
  before.read_seconds += 2 * (stall + consumer);
  before.decode_seconds += 0.3;
  return before;
}

std::optional<std::string> FirstLook(double stall, double consumer,
                                     double cpu_share = 0) {
  return StallWatch().Look(After({}, stall, consumer, cpu_share));
}

TEST(StallWatchTest, SaysWhatIsBehindWithTheFiguresAndARemedy) {
  EXPECT_THAT(
      FirstLook(12, 48, 0.04),
      Optional(AllOf(
          StartsWith("disk is behind: up to step 100 Next() waited 12.0 s of "
                     "60.0 s for 40 of 100 batches; of the time it had to "
                     "fetch, the loader computed 4 % (0 % in the "
                     "kernel) and waited for a core 1 %; a batch took 1.0 ms "
                     "of index maps, 1200.0 ms of reading, 3.0 ms of ids and "
                     "functions; "),
          HasSubstr("prefetch_batches"))));
  EXPECT_THAT(FirstLook(12, 48, 0.9),
              Optional(AllOf(StartsWith("decode is behind: "),
                             HasSubstr("computed 90 %"),
                             HasSubstr("as wide as token_type"))));
}

TEST(StallWatchTest, NamesTheKernelWhereItComputes) {
  LoaderMetrics metrics = After({}, 12, 48, 0.9);
  metrics.kernel_seconds = 30;
  EXPECT_THAT(StallWatch().Look(metrics),
              Optional(AllOf(StartsWith("kernel is behind: "),
                             HasSubstr("computed 90 % (50 % in the kernel)"),
                             HasSubstr("set io to \"direct\""))));
}

TEST(StallWatchTest, NamesTheDatasetThatIsWaitedForAndNotTheDisk) {
  LoaderMetrics metrics = After({}, 60, 0, 0.04);
  metrics.datasets = {{"big", "memory", 0.5}, {"small/mine", "mine", 57}};
  EXPECT_THAT(
      StallWatch().Look(metrics),
      Optional(AllOf(StartsWith("dataset is behind: up to step 100 Next() "),
                     HasSubstr("; dataset 'mine' at 'small/mine' took 57.0 s "
                               "of 60.0 s: make it faster, or raise "
                               "prefetch_batches"),
                     Not(HasSubstr("disk")))));
}

TEST(StallWatchTest, IsQuietBelowATenthOfTheTimeAndBelowASecond) {
  EXPECT_EQ(FirstLook(9.9, 90.1), std::nullopt);
  EXPECT_NE(FirstLook(10.1, 89.9), std::nullopt);
  EXPECT_EQ(FirstLook(1.0, 1.0), std::nullopt);
  EXPECT_NE(FirstLook(1.1, 1.0), std::nullopt);
}

TEST(StallWatchTest, StartupsAreNoStalls) {
  LoaderMetrics metrics = After({}, 0.5, 10);
  metrics.startup_seconds = 300;
  EXPECT_EQ(StallWatch().Look(metrics), std::nullopt);
}

TEST(StallWatchTest, AWindowStandsForItself) {
  StallWatch watch;
  LoaderMetrics metrics = After({}, 0, 1000);
  EXPECT_EQ(watch.Look(metrics), std::nullopt);
  metrics = After(metrics, 20, 20);
  EXPECT_NE(watch.Look(metrics), std::nullopt)
      << "a hundredth of the whole run, half of the window";
  StallWatch other;
  metrics = After({}, 20, 20);
  EXPECT_NE(other.Look(metrics), std::nullopt);
  for (int window = 0; window < 20; ++window) {
    metrics = After(metrics, 0, 100);
    EXPECT_EQ(other.Look(metrics), std::nullopt);
  }
}

TEST(StallWatchTest, TheSameIsSaidEveryTenMinutesAtMost) {
  StallWatch watch;
  LoaderMetrics metrics;
  std::vector<int> warned;
  for (int window = 0; window < 12; ++window) {
    metrics = After(metrics, 100, 100);  // 200 s
    if (watch.Look(metrics).has_value()) warned.push_back(window);
  }
  EXPECT_THAT(warned, ElementsAre(0, 3, 6, 9));
}

TEST(StallWatchTest, SomethingElseBehindIsSaidAtOnce) {
  StallWatch watch;
  LoaderMetrics metrics = After({}, 30, 30, 0.1);
  EXPECT_THAT(watch.Look(metrics), Optional(HasSubstr("disk is behind")));
  metrics = After(metrics, 30, 30, 0.8);
  EXPECT_THAT(watch.Look(metrics), Optional(HasSubstr("decode is behind")));
  metrics = After(metrics, 30, 30, 0.8);
  EXPECT_EQ(watch.Look(metrics), std::nullopt);
}

// What LoaderReports says of 1000 steps that each take a second, of which the
// consumer waits `stall`.
struct Said {
  std::vector<std::string> lines, warnings;
};
Said ThousandSteps(uint64_t every_steps, double stall) {
  Said said;
  LoaderMetrics metrics;
  LoaderReports reports(
      every_steps,
      [&](std::string_view line) { said.lines.emplace_back(line); },
      [&](std::string_view line) { said.warnings.emplace_back(line); });
  for (int step = 0; step < 1000; ++step) {
    ++metrics.steps;
    ++metrics.next_step;
    metrics.stall_seconds += stall;
    metrics.consumer_seconds += 1 - stall;
    metrics.fetching_seconds += 1;
    metrics.read_seconds += 1;
    reports.AfterStep([&] { return metrics; });
  }
  return said;
}

TEST(LoaderReportsTest, ALineEverySoManySteps) {
  const Said said = ThousandSteps(400, 0.0);
  ASSERT_EQ(said.lines.size(), 2u);
  EXPECT_THAT(said.lines[0], AllOf(StartsWith("step 400: 400 steps"),
                                   HasSubstr("consumer-bound")));
  EXPECT_THAT(said.lines[1], StartsWith("step 800: 400 steps"));
  EXPECT_THAT(said.warnings, IsEmpty());
}

TEST(LoaderReportsTest, NoLinesUnlessAskedForAndWarningsAllTheSame) {
  const Said said = ThousandSteps(0, 0.5);
  EXPECT_THAT(said.lines, IsEmpty());
  EXPECT_THAT(said.warnings, ElementsAre(HasSubstr("up to step 100 "),
                                         HasSubstr("up to step 700 ")));
}

TEST(LoaderReportsTest, WithoutSinksLinesGoToStandardError) {
  ::testing::internal::CaptureStderr();
  EmitLine(nullptr, "warning: ", "disk is behind");
  EmitLines(nullptr, "", std::vector<std::string>{"step 5"});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "poniente: warning: disk is behind\nponiente: step 5\n");
}

TEST(LoaderReportsTest, ASinkThatThrowsHarmsNobody) {
  int calls = 0;
  const auto sink = [&](std::string_view) {
    ++calls;
    throw std::runtime_error("no");
  };
  LoaderReports reports(1, sink, sink);
  for (int step = 0; step < 3; ++step) {
    reports.AfterStep([] { return LoaderMetrics(); });
  }
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace poniente::internal
