// SPDX-License-Identifier: Apache-2.0
// What an ItemLoader counts. As in loader_metrics_test.cc, nothing waits for a
// clock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "poniente/item_loader.h"
#include "poniente/mapped_dataset.h"
#include "poniente/metrics.h"
#include "poniente/transforms.h"
#include "tests/loader/open_items.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using testing::Counting;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::Items;
using testing::NumberLoader;
using testing::OpenItems;
using ::testing::StartsWith;
using testing::StatusIs;

void SleepOf(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

// Until `is_so` of the loader's metrics.
template <class Condition>
void AwaitMetrics(const NumberLoader& loader, Condition is_so) {
  while (!is_so(loader.metrics())) std::this_thread::yield();
}

TEST(ItemLoaderMetricsTest, CountsWhatIsHandedOut) {
  const auto loader = OpenItems(
      Counting(1000),
      {.batch_size = 7, .rank = 1, .ranks = 2, .prefetch_batches = 3});
  EXPECT_EQ(loader->metrics().steps, 0u);
  EXPECT_EQ(loader->metrics().seconds(), 0);
  for (int step = 0; step < 30; ++step) {
    ASSERT_THAT(loader->NextBlocking(), IsOk());
  }
  AwaitMetrics(*loader, [](const LoaderMetrics& metrics) {
    return metrics.batches_ready == 3;
  });
  const LoaderMetrics metrics = loader->metrics();
  EXPECT_EQ(metrics.next_step, 30u);
  EXPECT_EQ(metrics.steps, 30u);
  EXPECT_EQ(metrics.samples, 30u * 4);  // samples 3 to 6 of each 7
  EXPECT_EQ(metrics.tokens, metrics.samples);
  EXPECT_EQ(metrics.startups, 1u);
  EXPECT_EQ(metrics.batches_fetched, 33u);
  EXPECT_EQ(metrics.batches_dropped, 0u);
  EXPECT_EQ(metrics.batches_under_way, 0u);
  EXPECT_EQ(metrics.fetch_errors, 0u);
  EXPECT_GT(metrics.fetching_seconds, 0);
  EXPECT_GE(metrics.longest_stall_seconds, metrics.last_stall_seconds);
  EXPECT_THAT(metrics.sources, IsEmpty());
  EXPECT_THAT(MetricsLine(metrics),
              StartsWith("step 30: 30 steps, 120 samples, 120 tokens in "));
  EXPECT_THAT(PrometheusText(metrics), HasSubstr("steps"));
}

// The short last batch, and the end of the run, which is none.
TEST(ItemLoaderMetricsTest, TheEndOfTheRunIsNoBatch) {
  const auto loader = OpenItems(Counting(10), {.batch_size = 4});
  while (loader->NextBlocking().ok()) {
  }
  EXPECT_EQ(loader->metrics().steps, 3u);
  EXPECT_EQ(loader->metrics().samples, 10u);
  EXPECT_EQ(loader->metrics().batches_fetched, 3u);
  EXPECT_EQ(loader->metrics().fetch_errors, 0u);
}

TEST(ItemLoaderMetricsTest, WhatIsReadyIsTheConsumersTimeAndTheRestAStall) {
  std::atomic<bool> is_open = true;
  std::atomic<bool> is_held = false;
  const auto gate =
      Map<uint64_t>("gate", *Repeat(Counting(100)), [&](uint64_t item) {
        while (!is_open) {
          is_held = true;
          SleepOf(1);
        }
        return item;
      });
  const auto loader = OpenItems(gate, {.batch_size = 1, .prefetch_batches = 4});
  ASSERT_THAT(loader->NextBlocking(), IsOk());
  const auto all_ready = [](const LoaderMetrics& metrics) {
    return metrics.batches_ready == 4;
  };
  AwaitMetrics(*loader, all_ready);
  const LoaderMetrics before = loader->metrics();
  EXPECT_EQ(before.stalls, 0u);
  // Batches that are ready: the time between them is the consumer's.
  for (int i = 0; i < 3; ++i) {
    SleepOf(10);
    ASSERT_THAT(loader->NextBlocking(), IsOk());
    AwaitMetrics(*loader, all_ready);
  }
  const LoaderMetrics served = MetricsSince(before, loader->metrics());
  EXPECT_EQ(served.steps, 3u);
  EXPECT_GE(served.consumer_seconds, 0.03);
  EXPECT_EQ(served.stall_seconds, 0);
  EXPECT_EQ(FindBottleneck(served), Bottleneck::kConsumer);
  // Then one that is not.
  is_open = false;
  for (int i = 0; i < 4; ++i) ASSERT_THAT(loader->NextBlocking(), IsOk());
  std::thread opener([&] {
    AwaitMetrics(*loader, [](const LoaderMetrics& metrics) {
      return metrics.waiting_seconds > 0.02;
    });
    // The loader's thread may have come to the gate later than that began.
    while (!is_held) SleepOf(1);
    SleepOf(20);
    is_open = true;
  });
  ASSERT_THAT(loader->NextBlocking(), IsOk());
  opener.join();
  const LoaderMetrics after = loader->metrics();
  EXPECT_EQ(after.stalls, 1u);
  EXPECT_GE(after.stall_seconds, 0.02);
  EXPECT_EQ(after.last_stall_seconds, after.longest_stall_seconds);
  EXPECT_EQ(after.waiting_seconds, 0);
  EXPECT_EQ(after.steps, 9u);
  ASSERT_EQ(after.datasets.size(), 2u);
  EXPECT_EQ(after.datasets[0].name, "gate");
  EXPECT_GE(after.datasets[0].seconds, 0.02);
  AwaitMetrics(*loader, all_ready);
  ASSERT_THAT(loader->NextBlocking(), IsOk());
  EXPECT_EQ(loader->metrics().last_stall_seconds, 0);
}

TEST(ItemLoaderMetricsTest, ASeekDropsWhatIsReadyAndStartsAgain) {
  const auto loader = OpenItems(*Repeat(Counting(100)),
                                {.batch_size = 5, .prefetch_batches = 4});
  ASSERT_THAT(loader->NextBlocking(), IsOk());
  AwaitMetrics(*loader, [](const LoaderMetrics& metrics) {
    return metrics.batches_ready == 4;
  });
  ASSERT_THAT(loader->Seek(50), IsOk());
  EXPECT_EQ(loader->metrics().batches_dropped, 4u);
  EXPECT_EQ(loader->metrics().next_step, 50u);
  ASSERT_THAT(loader->NextBlocking(), IsOk());
  EXPECT_EQ(loader->metrics().startups, 2u);
  EXPECT_EQ(loader->metrics().stalls, 0u);
  EXPECT_EQ(loader->metrics().steps, 2u);
}

TEST(ItemLoaderMetricsTest, ErrorsAreCountedOnceForEachStep) {
  const auto root = Map<uint64_t>(
      "odd", Counting(100), [](uint64_t item) -> absl::StatusOr<uint64_t> {
        if (item == 7) return absl::DataLossError("seven");
        return item;
      });
  const auto loader = OpenItems(
      root, {.batch_size = 1, .start_step = 7, .prefetch_batches = 1});
  EXPECT_THAT(loader->NextBlocking(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("seven")));
  EXPECT_EQ(loader->metrics().fetch_errors, 1u);
  EXPECT_EQ(loader->metrics().steps, 0u);
  ASSERT_THAT(loader->Seek(8), IsOk());
  ASSERT_THAT(loader->NextBlocking(), IsOk());
  EXPECT_EQ(loader->metrics().fetch_errors, 1u);
  EXPECT_EQ(loader->metrics().steps, 1u);
}

TEST(ItemLoaderMetricsTest, CollateIsTimedApartFromTheItems) {
  const auto slow = Map<uint64_t>("slow", Counting(40), [](uint64_t item) {
    SleepOf(2);
    return item;
  });
  const auto loader =
      OpenItems(slow, {.batch_size = 2, .collate = [](Items items) {
                         SleepOf(1);
                         return items;
                       }});
  int steps = 0;
  while (loader->NextBlocking().ok()) ++steps;
  EXPECT_EQ(steps, 20);
  const LoaderMetrics metrics = loader->metrics();
  EXPECT_GE(metrics.read_seconds, 0.08);
  EXPECT_GE(metrics.decode_seconds, 0.02);
  EXPECT_LT(metrics.decode_seconds, metrics.read_seconds);
  EXPECT_GE(metrics.fetching_seconds, 0.05);  // on two threads
  // Sleeping is no work, also where the consumer has made batches itself.
  EXPECT_LT(metrics.cpu_seconds, metrics.fetching_seconds / 2);
  EXPECT_EQ(FindBottleneck(metrics), Bottleneck::kDataset)
      << MetricsLine(metrics);
}

TEST(ItemLoaderMetricsTest, LinesAndWarningsGoToTheSinks) {
  std::vector<std::string> lines;
  const auto loader = OpenItems(
      *Repeat(Counting(100)),
      {.batch_size = 3,
       .report_every_steps = 10,
       .log_sink = [&](std::string_view line) { lines.emplace_back(line); }});
  for (int i = 0; i < 25; ++i) ASSERT_THAT(loader->NextBlocking(), IsOk());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[1], AllOf(StartsWith("step 20: 10 steps, 30 samples"),
                              HasSubstr("stalls")));
}

}  // namespace
}  // namespace poniente
