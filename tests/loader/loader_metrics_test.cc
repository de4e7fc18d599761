// SPDX-License-Identifier: Apache-2.0
// What a loader counts while it serves. Times are anything but for what must
// hold of them; nothing waits for a clock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "poniente/flat_mixture.h"
#include "poniente/loader.h"
#include "poniente/mapped_dataset.h"
#include "poniente/mixture_dataset.h"
#include "tests/loader/open_loader.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/file_windows.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente {
namespace {

namespace asio = boost::asio;
using ::testing::AllOf;
using testing::CountingWindows;
using testing::FileWindows;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kSeqLen;
using testing::MakeSchedule;
using testing::Open;
using ::testing::StartsWith;
using testing::TempDir;

DatasetPtr<TokenWindow> MeteredMixture() {
  const auto small =
      *FlatMixture<TokenWindow>::Create({{"a", CountingWindows(7, kSeqLen)},
                                         {"b", CountingWindows(40, kSeqLen)}});
  return *MixtureDataset<TokenWindow>::Create(
      {{"big", CountingWindows(500, kSeqLen), 0.7}, {"small", small, 0.3}});
}

// Until `is_so`; what it waits for is under way on the loader's thread.
template <class Condition>
void Await(Condition is_so) {
  while (!is_so()) std::this_thread::yield();
}

TEST(LoaderMetricsTest, CountsWhatIsHandedOut) {
  LoaderOptions options;
  options.rank = 1;
  options.ranks = 2;
  const auto loader = Open(MeteredMixture(), MakeSchedule(0, 7), options);
  EXPECT_EQ(loader->metrics().steps, 0u);
  std::map<uint32_t, uint64_t> samples;
  for (int step = 0; step < 30; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    for (size_t i = 0; i < batch.num_samples(); ++i) ++samples[batch.source(i)];
  }
  const LoaderMetrics metrics = loader->metrics();
  EXPECT_EQ(metrics.next_step, 30u);
  EXPECT_EQ(metrics.steps, 30u);
  EXPECT_EQ(metrics.samples, 30u * 4);
  EXPECT_EQ(metrics.tokens, 30u * 4 * kSeqLen);
  ASSERT_EQ(metrics.sources.size(), 3u);
  EXPECT_EQ(metrics.sources[2].path, "small/b");
  for (uint32_t source = 0; source < 3; ++source) {
    EXPECT_EQ(metrics.sources[source].samples, samples[source]);
    EXPECT_EQ(metrics.sources[source].tokens, samples[source] * kSeqLen);
  }
  EXPECT_EQ(metrics.startups, 1u);
  EXPECT_GT(metrics.startup_seconds, 0);
  EXPECT_GT(metrics.consumer_seconds, 0);
  EXPECT_GE(metrics.batches_fetched, 30u);
  EXPECT_GT(metrics.resolve_seconds, 0);
  EXPECT_GT(metrics.decode_seconds, 0);
  EXPECT_GT(metrics.fetching_seconds, 0);
  EXPECT_GT(metrics.cpu_seconds, 0);
  EXPECT_EQ(metrics.bytes_asked, 0u) << "of datasets in memory";
}

TEST(LoaderMetricsTest, TheQueueFillsUpToWhatWasAskedFor) {
  LoaderOptions options;
  options.prefetch_batches = 3;
  const auto loader = Open(MeteredMixture(), MakeSchedule(0, 4), options);
  ASSERT_THAT(loader->NextBlocking(), IsOk());
  Await([&] { return loader->metrics().batches_ready == 3; });
  EXPECT_EQ(loader->metrics().batches_under_way, 0u);
  EXPECT_EQ(loader->metrics().batches_fetched, 4u);
  ASSERT_THAT(loader->NextBlocking(), IsOk());
  EXPECT_EQ(loader->metrics().stalls, 0u) << "it was ready";
  EXPECT_EQ(loader->metrics().last_stall_seconds, 0);
}

TEST(LoaderMetricsTest, WhatASeekThrowsAwayIsCounted) {
  LoaderOptions options;
  options.prefetch_batches = 3;
  const auto loader = Open(MeteredMixture(), MakeSchedule(0, 4), options);
  ASSERT_THAT(loader->NextBlocking(), IsOk());
  Await([&] { return loader->metrics().batches_ready == 3; });
  EXPECT_THAT(loader->Seek(100), IsOk());
  EXPECT_EQ(loader->metrics().batches_dropped, 3u);
  EXPECT_EQ(loader->metrics().batches_ready, 0u);
  EXPECT_EQ(loader->metrics().next_step, 100u);
  ASSERT_THAT(loader->NextBlocking(), IsOk());
  EXPECT_EQ(loader->metrics().startups, 2u);
  EXPECT_EQ(loader->metrics().stalls, 0u);
}

TEST(LoaderMetricsTest, AStepThatNeverComesIsNoBatch) {
  const auto loader = Open(MeteredMixture(), MakeSchedule(3, 4));
  while (loader->NextBlocking().ok()) {
  }
  Await([&] { return loader->metrics().batches_under_way == 0; });
  EXPECT_EQ(loader->metrics().batches_fetched, 3u);
  EXPECT_EQ(loader->metrics().batches_ready, 0u);
  EXPECT_EQ(loader->metrics().fetch_errors, 0u);
  EXPECT_EQ(loader->metrics().batches_dropped, 0u);
}

TEST(LoaderMetricsTest, CountsFetchesThatFail) {
  LoaderOptions options;
  options.prefetch_batches = 1;
  const auto broken =
      Map<TokenWindow>("broken", CountingWindows(100, kSeqLen),
                       [](TokenWindow window) -> absl::StatusOr<TokenWindow> {
                         if (window.tokens[0] == 0)
                           return absl::UnavailableError("gone");
                         return window;
                       });
  const auto loader = Open(broken, MakeSchedule(0, 1), options);
  EXPECT_FALSE(loader->NextBlocking().ok());
  EXPECT_FALSE(loader->NextBlocking().ok());
  EXPECT_EQ(loader->metrics().fetch_errors, 2u);
  EXPECT_EQ(loader->metrics().steps, 0u);
  EXPECT_EQ(loader->metrics().batches_fetched, 0u);
}

TEST(LoaderMetricsTest, AWaitForAWriterIsSeenWhileItLastsAndNamed) {
  InMemoryOptions memory;
  memory.vocabulary = Vocabulary{"modulo", 251};
  const auto growing = InMemoryDataset<TokenWindow>::Growing(memory);
  const std::vector<TokenWindow> two(
      2, TokenWindow(std::vector<uint32_t>(kSeqLen, 5)));
  EXPECT_THAT(growing->Append(two), IsOk());
  const auto loader = Open(growing, MakeSchedule(0, 2));
  ASSERT_THAT(loader->NextBlocking(), IsOk());
  const LoaderMetrics before = loader->metrics();
  asio::io_context context{1};
  absl::Status second = absl::UnknownError("not yet");
  asio::co_spawn(context, loader->Next(),
                 [&](std::exception_ptr, absl::StatusOr<Batch> batch) {
                   second = batch.status();
                 });
  context.poll();
  EXPECT_GT(loader->metrics().waiting_seconds, 0);
  // Until waiting outweighs what the clock can tell of anything else. The
  // loader may begin to wait later than who waits for it.
  Await([&] { return loader->metrics().waiting_seconds > 0.1; });
  EXPECT_THAT(growing->Append(two), IsOk());
  context.run();
  EXPECT_THAT(second, IsOk());
  const LoaderMetrics metrics = loader->metrics();
  EXPECT_EQ(metrics.waiting_seconds, 0);
  EXPECT_EQ(metrics.stalls, 1u);
  EXPECT_GT(metrics.last_stall_seconds, 0.1);
  EXPECT_EQ(metrics.longest_stall_seconds, metrics.last_stall_seconds);
  EXPECT_EQ(metrics.stall_seconds, metrics.last_stall_seconds);
  EXPECT_GT(metrics.length_seconds, 0.02);
  EXPECT_EQ(FindBottleneck(MetricsSince(before, metrics)), Bottleneck::kWriter);
}

// Windows that take a while to come; the thread may do something else
// meanwhile unless `blocks`.
class SleepyWindows final : public AsyncDataset<TokenWindow> {
 public:
  explicit SleepyWindows(bool blocks, std::chrono::milliseconds nap = kNap)
      : blocks_(blocks), nap_(nap) {}

  std::string name() const override { return "sleepy"; }
  uint64_t fingerprint() const override { return 1; }
  LengthState length_now() const override { return LengthState::Final(1000); }
  Task<std::vector<TokenWindow>> GetBatch(
      std::span<const Index> indices) const override {
    if (blocks_) {
      std::this_thread::sleep_for(nap_);
    } else {
      asio::steady_timer timer(co_await asio::this_coro::executor, nap_);
      co_await timer.async_wait(asio::use_awaitable);
    }
    co_return std::vector<TokenWindow>(
        indices.size(), TokenWindow(std::vector<uint32_t>(kSeqLen, 5)));
  }

  static constexpr std::chrono::milliseconds kNap{10};

 private:
  const bool blocks_;
  const std::chrono::milliseconds nap_;
};

// The metrics of ten steps, without the first, of a dataset that takes `nap`
// for a batch and so is slower than all else. On a busy machine, all else may
// take longer than a short nap: then tries again with a longer one.
LoaderMetrics TenSteps(
    const std::function<DatasetPtr<TokenWindow>(std::chrono::milliseconds nap)>&
        dataset) {
  LoaderMetrics ten;
  for (int tries = 0; tries < 6; ++tries) {
    const auto loader =
        Open(dataset(SleepyWindows::kNap * (1 << tries)), MakeSchedule(0, 8));
    EXPECT_THAT(loader->NextBlocking(), IsOk());
    const LoaderMetrics before = loader->metrics();
    for (int step = 0; step < 10; ++step) {
      EXPECT_THAT(loader->NextBlocking(), IsOk());
    }
    ten = MetricsSince(before, loader->metrics());
    if (FindBottleneck(ten) == Bottleneck::kDataset) break;
  }
  return ten;
}

DatasetPtr<TokenWindow> BesideWindowsInMemory(DatasetPtr<TokenWindow> mine) {
  const auto small =
      *FlatMixture<TokenWindow>::Create({{"mine", std::move(mine)}});
  return *MixtureDataset<TokenWindow>::Create(
      {{"big", CountingWindows(500, kSeqLen), 0.5}, {"small", small, 0.5}});
}

class SleepyDatasetTest : public ::testing::TestWithParam<bool> {};

TEST_P(SleepyDatasetTest, IsNamedAndNotTheDisk) {
  const LoaderMetrics ten = TenSteps([](auto nap) {
    return BesideWindowsInMemory(
        std::make_shared<SleepyWindows>(GetParam(), nap));
  });
  ASSERT_EQ(ten.datasets.size(), 2u);
  EXPECT_EQ(ten.datasets[0].path, "big");
  EXPECT_EQ(ten.datasets[1].path, "small/mine");
  EXPECT_EQ(ten.datasets[1].name, "sleepy");
  EXPECT_GT(ten.datasets[1].seconds, 2 * ten.datasets[0].seconds);
  EXPECT_LT(ten.datasets[1].seconds, ten.fetching_seconds + 0.001)
      << "calls that overlap count once";
  EXPECT_EQ(FindBottleneck(ten), Bottleneck::kDataset);
  EXPECT_THAT(MetricsLine(ten),
              HasSubstr("dataset-bound (dataset 'sleepy' at 'small/mine' "));
}

TEST_P(SleepyDatasetTest, IsNamedAsTheRoot) {
  const LoaderMetrics ten = TenSteps([](auto nap) {
    return std::make_shared<SleepyWindows>(GetParam(), nap);
  });
  ASSERT_EQ(ten.datasets.size(), 1u);
  EXPECT_EQ(ten.datasets[0].path, "sleepy");
  EXPECT_EQ(FindBottleneck(ten), Bottleneck::kDataset);
}

INSTANTIATE_TEST_SUITE_P(LoaderMetricsTest, SleepyDatasetTest,
                         ::testing::Bool(), [](const auto& tested) {
                           return tested.param ? "Blocks" : "Awaits";
                         });

TEST(LoaderMetricsTest, AFunctionThatSleepsIsNamedAndNotWhatItIsAppliedTo) {
  const LoaderMetrics ten = TenSteps([](auto nap) {
    return BesideWindowsInMemory(
        Map<TokenWindow>("slow", CountingWindows(100, kSeqLen),
                         [item_nap = nap / 4](TokenWindow window) {
                           std::this_thread::sleep_for(item_nap);
                           return window;
                         }));
  });
  ASSERT_EQ(ten.datasets.size(), 3u);
  EXPECT_EQ(ten.datasets[1].path, "small/mine");
  EXPECT_EQ(ten.datasets[1].name, "slow");
  EXPECT_EQ(ten.datasets[2].name, "windows");
  EXPECT_GT(ten.datasets[1].seconds, 10 * ten.datasets[2].seconds);
  EXPECT_EQ(FindBottleneck(ten), Bottleneck::kDataset);
}

TEST(LoaderMetricsTest, ADatasetOfTwoLoadersCountsFromTheCreationOfEach) {
  const auto sleepy = std::make_shared<SleepyWindows>(true);
  const auto first = Open(sleepy, MakeSchedule(3, 8));
  while (first->NextBlocking().ok()) {
  }
  const auto second = Open(sleepy, MakeSchedule(1, 8));
  ASSERT_THAT(second->NextBlocking(), IsOk());
  const LoaderMetrics metrics = second->metrics();
  ASSERT_EQ(metrics.datasets.size(), 1u);
  EXPECT_GE(metrics.datasets[0].seconds, 0.01);
  EXPECT_LT(metrics.datasets[0].seconds,
            first->metrics().datasets[0].seconds - 0.02);
}

// Leaves 0 and 1 lie in one file, leaf 2 in another.
class FileLoaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"one", "other"}) {
      testing::WriteFile(folder_.path(name), std::string(64 * kSeqLen, 'x'));
    }
  }
  std::shared_ptr<const ByteReader> Reader(const char* name) const {
    const auto reader =
        ByteReader::Open(std::vector<std::string>{folder_.path(name)});
    EXPECT_THAT(reader, IsOk());
    return *reader;
  }
  static DatasetPtr<TokenWindow> Windows(
      std::shared_ptr<const ByteReader> reader) {
    return std::make_shared<FileWindows>(std::move(reader), kSeqLen);
  }

  const TempDir folder_;
};

TEST_F(FileLoaderTest, AReaderThatLeavesShareCountsOnce) {
  const auto one = Reader("one"), other = Reader("other");
  // What was read before is not the loader's.
  EXPECT_THAT(Windows(one)->GetBlocking(0), IsOk());
  const auto tree = *FlatMixture<TokenWindow>::Create(
      {{"a", Windows(one)}, {"b", Windows(one)}, {"c", Windows(other)}});
  const auto loader = Open(tree, MakeSchedule(12, 16));
  EXPECT_EQ(loader->metrics().bytes_asked, 0u);
  while (loader->NextBlocking().ok()) {
  }
  const LoaderMetrics metrics = loader->metrics();
  EXPECT_EQ(metrics.samples, 3u * 64);
  EXPECT_EQ(metrics.bytes_asked, 3u * 64 * kSeqLen);
  EXPECT_GT(metrics.bytes_read, 0u);
  EXPECT_GT(metrics.read_seconds, 0);
  EXPECT_GT(metrics.decode_seconds, 0);
  EXPECT_TRUE(metrics.datasets.empty());
}

TEST_F(FileLoaderTest, BesideADatasetInMemoryFilesAreStillTheDisks) {
  const LoaderMetrics ten = TenSteps([this](auto nap) {
    return *FlatMixture<TokenWindow>::Create(
        {{"file", Windows(Reader("one"))},
         {"mine", std::make_shared<SleepyWindows>(false, nap)}});
  });
  ASSERT_EQ(ten.datasets.size(), 1u);
  EXPECT_EQ(ten.datasets[0].path, "mine");
}

TEST(LoaderMetricsTest, ALineEverySoManyStepsOfTheLoader) {
  std::vector<std::string> lines;
  LoaderOptions options;
  options.start_step = 90;
  options.report_every_steps = 10;
  Loader* asked = nullptr;
  options.log_sink = [&](std::string_view line) {
    if (line.find("epoch") != std::string_view::npos) return;
    lines.emplace_back(line);
    EXPECT_EQ(asked->metrics().steps, 10 * lines.size()) << "from the sink";
  };
  const auto loader = Open(MeteredMixture(), MakeSchedule(0, 4), options);
  asked = loader.get();
  for (int step = 0; step < 25; ++step) {
    ASSERT_THAT(loader->NextBlocking(), IsOk());
  }
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], AllOf(StartsWith("step 100: 10 steps, 40 samples, "),
                              HasSubstr(", startups ")));
  EXPECT_THAT(lines[1], AllOf(StartsWith("step 110: 10 steps, 40 samples, "),
                              HasSubstr("-bound; tokens from big ")));
}

TEST(LoaderMetricsTest, MetricsMayBeReadWhileTheLoaderServes) {
  const auto loader = Open(MeteredMixture(), MakeSchedule(0, 4));
  std::atomic<bool> is_done = false;
  std::thread reader([&] {
    uint64_t steps = 0;
    while (!is_done) {
      const LoaderMetrics metrics = loader->metrics();
      EXPECT_GE(metrics.steps, steps);
      EXPECT_EQ(metrics.samples, 4 * metrics.steps);
      steps = metrics.steps;
    }
  });
  for (uint64_t step = 0; step < 300; ++step) {
    EXPECT_THAT(loader->NextBlocking(), IsOk());
    if (step % 50 == 0) {
      EXPECT_THAT(loader->Seek(step), IsOk());
    }
  }
  is_done = true;
  reader.join();
  EXPECT_THAT(loader->CloseBlocking(), IsOk());
  EXPECT_EQ(loader->metrics().steps, 300u);
}

}  // namespace
}  // namespace poniente
