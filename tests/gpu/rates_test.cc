// SPDX-License-Identifier: Apache-2.0
// Figures of staging, and the bars they are held to. Timed, so ctest leaves
// these out: they are part of a run of the whole binary.
//
// Each case is measured once in each of several rounds, next to what it is
// compared with, in alternating order; a ratio is one of a round, and what
// counts is the median.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "bench/measure/statistics.h"
#include "poniente/loader.h"
#include "poniente/task.h"
#include "staging/slot_ring.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/random_stores.h"
#include "tests/support/status_matchers.h"

namespace poniente::testing {
namespace {

using bench::Median;
using bench::Noise;
using bench::Spread;
using internal::SlotPtr;
using internal::SlotRing;

constexpr int kRounds = 15;
// Of a loader with its defaults and batches of 128 and more.
const uint32_t kRateSlots = 4 + LoaderOptions().max_held + 1;
constexpr size_t kBytesPerRound = size_t{2} << 30;

double Seconds(const std::function<void()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begin;
  return took.count();
}

// cudaMemcpyAsync alone, one after another on one stream, between as many
// buffers as there are slots.
class PlainCopies {
 public:
  explicit PlainCopies(size_t bytes) : bytes_(bytes) {
    for (uint32_t i = 0; i < kRateSlots; ++i) {
      from_.push_back(std::make_unique<PinnedMemory>(bytes));
      to_.push_back(std::make_unique<DeviceMemory>(bytes));
    }
  }
  void Run(size_t copies) {
    for (size_t i = 0; i < copies; ++i, next_ = (next_ + 1) % kRateSlots) {
      CheckCuda(cudaMemcpyAsync(to_[next_]->get(), from_[next_]->bytes().data(),
                                bytes_, cudaMemcpyHostToDevice, stream_.get()));
    }
    stream_.Wait();
  }

 private:
  const size_t bytes_;
  const Stream stream_;
  std::vector<std::unique_ptr<PinnedMemory>> from_;
  std::vector<std::unique_ptr<DeviceMemory>> to_;
  size_t next_ = 0;
};

// The life of a batch without its reading: a slot is taken, copied, waited for
// by the consumer's stream, and given back.
class StagedCopies {
 public:
  explicit StagedCopies(size_t bytes)
      : bytes_(bytes),
        ring_(SlotRing::Create(kGpu, kRateSlots, [](std::string_view line) {
          ADD_FAILURE() << line;
        })) {
    std::vector<SlotPtr> all;
    for (uint32_t i = 0; i < kRateSlots; ++i) {
      auto slot = RunBlocking(ring_->Take(bytes));
      if (!slot.ok()) throw std::runtime_error(slot.status().ToString());
      std::memset((*slot)->host().data(), 0, bytes);
      all.push_back(*std::move(slot));
    }
  }
  void Run(size_t copies) {
    const absl::Status status =
        RunBlocking(CopyAll(ring_.get(), bytes_, copies, consumer_.get()));
    EXPECT_THAT(status, IsOk());
    consumer_.Wait();
  }

 private:
  static Task<> CopyAll(SlotRing* ring, size_t bytes, size_t copies,
                        cudaStream_t consumer) {
    for (size_t i = 0; i < copies; ++i) {
      absl::StatusOr<SlotPtr> slot = co_await ring->Take(bytes);
      if (!slot.ok()) co_return slot.status();
      absl::Status status = (*slot)->Upload(bytes);
      if (!status.ok()) co_return status;
      status = (*slot)->WaitOn(consumer);
      if (!status.ok()) co_return status;
    }
    co_return absl::OkStatus();
  }

  const size_t bytes_;
  const Stream consumer_;
  const std::shared_ptr<SlotRing> ring_;
};

class RatesTest : public GpuTest {};
class CopyRateTest : public RatesTest,
                     public ::testing::WithParamInterface<size_t> {};

TEST_P(CopyRateTest, IsThatOfPlainCopiesFromPinnedMemory) {
  const size_t bytes = GetParam() << 20;
  const size_t copies = kBytesPerRound / bytes;
  PlainCopies plain(bytes);
  StagedCopies staged(bytes);
  const double gigabytes = static_cast<double>(kBytesPerRound) * 1e-9;
  std::vector<double> plain_rates, staged_rates, ratios;
  for (int round = -1; round < kRounds; ++round) {  // the first one warms up
    double plain_seconds = 0, staged_seconds = 0;
    for (const bool is_plain : {round % 2 == 0, round % 2 != 0}) {
      if (is_plain) {
        plain_seconds = Seconds([&] { plain.Run(copies); });
      } else {
        staged_seconds = Seconds([&] { staged.Run(copies); });
      }
    }
    if (round < 0) continue;
    plain_rates.push_back(gigabytes / plain_seconds);
    staged_rates.push_back(gigabytes / staged_seconds);
    ratios.push_back(plain_seconds / staged_seconds);
  }
  std::printf(
      "batches of %zu MiB: staged %.2f GB/s (spread %.0f%%), plain %.2f GB/s "
      "(spread %.0f%%), ratio %.3f (noise %.3f), bar at least 0.95\n",
      GetParam(), Median(staged_rates), 100 * Spread(staged_rates),
      Median(plain_rates), 100 * Spread(plain_rates), Median(ratios),
      Noise(ratios));
  EXPECT_GE(Median(ratios), 0.95);
}
INSTANTIATE_TEST_SUITE_P(MiB, CopyRateTest, ::testing::Values(1, 4, 16, 64),
                         ::testing::PrintToStringParamName());

// Batches of 2 MiB from the disk, widened, and as much computation for each as
// loading it takes.
class LoadingTest : public RatesTest {
 protected:
  static constexpr uint64_t kBatches = 300;

  std::unique_ptr<Loader> Open() {
    ScheduleOptions schedule;
    schedule.steps = kBatches;
    schedule.batch_size = 64;
    schedule.seq_len = 4096;
    LoaderOptions options;
    options.token_type = TokenType::kI64;
    options.device = kGpu;
    auto loader = Loader::Create(stores_->Mixture(schedule.seq_len),
                                 *Schedule::Create(schedule), options);
    if (!loader.ok()) throw std::runtime_error(loader.status().ToString());
    return *std::move(loader);
  }
  // The seconds that `use` of every batch takes.
  double LoadAll(const std::function<void(const Batch&)>& use) {
    const auto loader = Open();
    return Seconds([&] {
      for (uint64_t i = 0; i < kBatches; ++i) {
        const auto batch = loader->NextBlocking();
        ASSERT_THAT(batch, IsOk());
        use(*batch);
      }
      stream_->Wait();
    });
  }
  void Compute(Kernel::Work work, double seconds) {
    work.nanoseconds = static_cast<uint64_t>(1e9 * seconds);
    work.blocks = Kernel::WholeGpu();
    kernel_->Launch(stream_->get(), work);
  }
  double MeasureRatio() {
    const double loading = LoadAll([](const Batch& batch) {
      ASSERT_THAT(batch.WaitUntilCopied(), IsOk());
    });
    const double each = loading / kBatches;
    const double computing = Seconds([&] {
      for (uint64_t i = 0; i < kBatches; ++i) Compute({}, each);
      stream_->Wait();
    });
    const double both = LoadAll([&](const Batch& batch) {
      ASSERT_THAT(batch.WaitOn(stream_->get()), IsOk());
      Kernel::Work work;
      work.from = batch.device_bytes();
      work.to = output_->get();
      work.bytes = batch.bytes().size();
      Compute(work, each);
    });
    std::printf("loading %.1f ms, computing %.1f ms, both at once %.1f ms\n",
                1e3 * loading, 1e3 * computing, 1e3 * both);
    return both / (loading + computing);
  }

  std::unique_ptr<RandomStores> stores_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<DeviceMemory> output_;
};

TEST_F(LoadingTest, TakesPlaceBesideComputation) {
  stores_ = std::make_unique<RandomStores>(/*seed=*/2);
  stream_ = std::make_unique<Stream>();
  kernel_ = std::make_unique<Kernel>();
  output_ = std::make_unique<DeviceMemory>(size_t{64} * 4096 * 8);
  std::vector<double> ratios;
  for (int round = 0; round < 5; ++round) ratios.push_back(MeasureRatio());
  std::printf(
      "both at once / one after the other: %.3f (noise %.3f), bar at most "
      "0.75\n",
      Median(ratios), Noise(ratios));
  EXPECT_LE(Median(ratios), 0.75);
}

}  // namespace
}  // namespace poniente::testing
