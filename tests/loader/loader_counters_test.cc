// SPDX-License-Identifier: Apache-2.0
// Times are told, not waited for; all are sums of powers of two, so that
// doubles are exact.
#include "loader/metrics/loader_counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "tests/support/made_batch.h"

namespace poniente::internal {
namespace {

using ::poniente::testing::MadeBatch;
using Clock = LoaderCounters::Clock;

Clock::time_point AtSeconds(double seconds) {
  return Clock::time_point() + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(seconds));
}

std::chrono::nanoseconds Time(double seconds) {
  return AtSeconds(seconds).time_since_epoch();
}

class LoaderCountersTest : public ::testing::Test {
 protected:
  // Asks at `asked` for a batch that is ready at `ready`.
  void Step(double asked, double ready) {
    counters_.Asked(AtSeconds(asked));
    counters_.Delivered(MadeBatch({0, 1, 1}), AtSeconds(ready));
  }
  LoaderMetrics Read(double now = 1000) const {
    return counters_.Read(AtSeconds(now));
  }

  const std::vector<TreeLeaf> leaves_ = {{"web"}, {"small/code"}};
  LoaderCounters counters_{leaves_};
};

TEST_F(LoaderCountersTest, CountsSamplesAndTokensOfEachSource) {
  counters_.Asked(AtSeconds(0));
  counters_.Delivered(MadeBatch({1, 0, 1, 1}, 8), AtSeconds(0));
  counters_.Asked(AtSeconds(0));
  counters_.Delivered(MadeBatch({1}, 32), AtSeconds(0));
  counters_.Asked(AtSeconds(0));
  counters_.Delivered(MadeBatch({}, 32),
                      AtSeconds(0));  // more ranks than samples
  const LoaderMetrics metrics = Read();
  EXPECT_EQ(metrics.steps, 3u);
  EXPECT_EQ(metrics.samples, 5u);
  EXPECT_EQ(metrics.tokens, 64u);
  ASSERT_EQ(metrics.sources.size(), 2u);
  EXPECT_EQ(metrics.sources[0].path, "web");
  EXPECT_EQ(metrics.sources[0].samples, 1u);
  EXPECT_EQ(metrics.sources[0].tokens, 8u);
  EXPECT_EQ(metrics.sources[1].path, "small/code");
  EXPECT_EQ(metrics.sources[1].samples, 4u);
  EXPECT_EQ(metrics.sources[1].tokens, 56u);
}

TEST_F(LoaderCountersTest, TheFirstBatchIsAStartupAndTheOthersAreStalls) {
  Step(10, 14);
  Step(15, 15.5);
  Step(17, 16);  // ready before it was asked for
  const LoaderMetrics metrics = Read();
  EXPECT_EQ(metrics.startup_seconds, 4);
  EXPECT_EQ(metrics.startups, 1u);
  EXPECT_EQ(metrics.stall_seconds, 0.5);
  EXPECT_EQ(metrics.stalls, 1u);
  EXPECT_EQ(metrics.last_stall_seconds, 0);
  EXPECT_EQ(metrics.longest_stall_seconds, 0.5);
  EXPECT_EQ(metrics.consumer_seconds, 1 + 1.5);
}

TEST_F(LoaderCountersTest, EverySecondIsOneOfThreeKinds) {
  Step(0, 4);
  Step(5, 7);
  counters_.Restarted(0);
  Step(8, 11);
  Step(12, 12);
  counters_.Asked(AtSeconds(20));
  counters_.GaveUp(AtSeconds(23));
  const LoaderMetrics metrics = Read();
  EXPECT_EQ(metrics.startup_seconds, 4 + 3);
  EXPECT_EQ(metrics.stall_seconds, 2 + 3);
  EXPECT_EQ(metrics.consumer_seconds, 1 + 1 + 1 + 8);
  EXPECT_EQ(metrics.seconds(), 23);
}

TEST_F(LoaderCountersTest, ASeekMakesTheNextBatchAStartup) {
  Step(0, 1);
  Step(1, 1);
  counters_.Restarted(3);
  Step(2, 10);
  Step(10, 10.25);
  const LoaderMetrics metrics = Read();
  EXPECT_EQ(metrics.startups, 2u);
  EXPECT_EQ(metrics.startup_seconds, 1 + 8);
  EXPECT_EQ(metrics.longest_stall_seconds, 0.25);
  EXPECT_EQ(metrics.batches_dropped, 3u);
}

TEST_F(LoaderCountersTest, AWaitThatGoesOnIsSeenBeforeItEnds) {
  Step(0, 0);
  counters_.Asked(AtSeconds(2));
  EXPECT_EQ(Read(10).waiting_seconds, 8);
  EXPECT_EQ(Read(10).stall_seconds, 0) << "which only grows";
  EXPECT_EQ(Read(1).waiting_seconds, 0) << "of a clock read a little earlier";
  counters_.Delivered(MadeBatch({0}), AtSeconds(12));
  EXPECT_EQ(Read(20).waiting_seconds, 0);
  EXPECT_EQ(Read(20).stall_seconds, 10);
  EXPECT_EQ(Read(20).last_stall_seconds, 10);
}

TEST_F(LoaderCountersTest, GivingUpAfterABatchDoesNothing) {
  Step(0, 1);
  counters_.GaveUp(AtSeconds(5));
  Step(6, 6);
  EXPECT_EQ(Read().consumer_seconds, 5);
  EXPECT_EQ(Read().seconds(), 6);
}

TEST_F(LoaderCountersTest, SaysWhatBecameOfFetchesAndWhereTheirTimeWent) {
  const FetchTimes times = {Time(0.125), Time(0.25), Time(0.5), Time(2)};
  for (const FetchEnd end :
       {FetchEnd::kReady, FetchEnd::kReady, FetchEnd::kDropped,
        FetchEnd::kFailed, FetchEnd::kNothing}) {
    counters_.FetchBegan(AtSeconds(0));
    counters_.FetchEnded(AtSeconds(0), end, times);
  }
  const LoaderMetrics metrics = Read();
  EXPECT_EQ(metrics.batches_fetched, 3u);
  EXPECT_EQ(metrics.batches_dropped, 1u);
  EXPECT_EQ(metrics.fetch_errors, 1u);
  EXPECT_EQ(metrics.length_seconds, 3 * 0.125);
  EXPECT_EQ(metrics.resolve_seconds, 3 * 0.25);
  EXPECT_EQ(metrics.read_seconds, 3 * 0.5);
  EXPECT_EQ(metrics.decode_seconds, 3 * 2);
}

TEST_F(LoaderCountersTest, TimeWithSeveralFetchesUnderWayCountsOnce) {
  const auto end = [&](double now) {
    counters_.FetchEnded(AtSeconds(now), FetchEnd::kReady, {});
  };
  counters_.FetchBegan(AtSeconds(1));
  counters_.FetchBegan(AtSeconds(2));
  end(4);
  EXPECT_EQ(Read(4).fetching_seconds, 3);
  EXPECT_EQ(Read(6).fetching_seconds, 5) << "while one goes on";
  EXPECT_EQ(Read(1).fetching_seconds, 3) << "of a clock read a little earlier";
  end(8);
  counters_.FetchBegan(AtSeconds(100));
  end(101);
  EXPECT_EQ(Read().fetching_seconds, 7 + 1);
}

TEST_F(LoaderCountersTest, CountsAndReadsFromSeveralThreads) {
  std::thread fetches([this] {
    for (int i = 0; i < 1000; ++i) {
      counters_.FetchBegan(AtSeconds(i));
      counters_.FetchEnded(AtSeconds(i), FetchEnd::kReady, {});
    }
  });
  std::thread reads([this] {
    for (int i = 0; i < 100; ++i) EXPECT_LE(Read().steps, 1000u);
  });
  for (int i = 0; i < 1000; ++i) Step(i, i);
  fetches.join();
  reads.join();
  EXPECT_EQ(Read().steps, 1000u);
  EXPECT_EQ(Read().batches_fetched, 1000u);
}

}  // namespace
}  // namespace poniente::internal
