// SPDX-License-Identifier: Apache-2.0
// What is on the GPU is what is on the disk, while slots are used again as soon
// as the rules of docs/staging.md allow: kernels read a batch long after it was
// destroyed, on several streams, and the loader is always ahead.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "poniente/loader.h"
#include "staging/slot_ring.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/random_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente::testing {
namespace {

constexpr uint32_t kSeqLen = 512;
constexpr uint64_t kMaxBatchSamples = 64;
constexpr uint32_t kPrefetched = 3;
constexpr uint32_t kMaxHeld = 3;
constexpr uint32_t kSlots = kPrefetched + kMaxHeld + 1;

// What was read of a batch on the GPU, on its way back.
class Readback {
 public:
  Readback() = default;
  // Where a comparison has failed, kernels still run.
  ~Readback() { (void)cudaDeviceSynchronize(); }

  void Expect(uint64_t step, std::vector<std::byte> expected) {
    step_ = step;
    expected_ = std::move(expected);
  }
  // A kernel takes its time, then reads bytes [begin, begin + size) of the
  // batch.
  void Read(const Kernel& kernel, const std::byte* batch, size_t begin,
            size_t size, uint64_t nanoseconds, cudaStream_t stream) {
    Kernel::Work work;
    work.from = batch + begin;
    work.to = on_device_.get() + begin;
    work.bytes = size;
    work.nanoseconds = nanoseconds;
    kernel.Launch(stream, work);
    CheckCuda(cudaMemcpyAsync(on_host_.bytes().data() + begin, work.to, size,
                              cudaMemcpyDeviceToHost, stream));
    done_.at(num_parts_++).Record(stream);
  }
  void Compare() {
    for (; num_parts_ > 0; --num_parts_) done_[num_parts_ - 1].Wait();
    const auto got = on_host_.bytes().first(expected_.size());
    const auto differs =
        std::mismatch(expected_.begin(), expected_.end(), got.begin()).first;
    ASSERT_TRUE(differs == expected_.end())
        << "step " << step_ << ", byte " << differs - expected_.begin()
        << " of " << expected_.size();
  }

 private:
  static constexpr size_t kMaxBytes = kMaxBatchSamples * kSeqLen * 8;

  uint64_t step_ = 0;
  std::vector<std::byte> expected_;
  DeviceMemory on_device_{kMaxBytes};
  PinnedMemory on_host_{kMaxBytes};
  std::array<Event, 2> done_;
  size_t num_parts_ = 0;
};

class LoaderOnGpuTest : public GpuTest {
 protected:
  void Open(TokenType type, ScheduleOptions schedule,
            bool widen_on_device = false) {
    stores_ = std::make_unique<RandomStores>(seed_);
    schedule.seq_len = kSeqLen;
    LoaderOptions options;
    options.token_type = type;
    options.device = kGpu;
    options.widen_on_device = widen_on_device;
    options.prefetch_batches = kPrefetched;
    options.max_held = kMaxHeld;
    ASSERT_OK_AND_ASSIGN(const Schedule made, Schedule::Create(schedule));
    ASSERT_OK_AND_ASSIGN(
        loader_, Loader::Create(stores_->Mixture(kSeqLen), made, options));
  }

  void Serve(uint64_t batches) {
    kernel_ = std::make_unique<Kernel>();
    streams_ = std::make_unique<std::array<Stream, 2>>();
    std::vector<Readback> readbacks(24);
    const std::vector<LoaderSource> sources = loader_->sources();
    std::vector<Batch> held;
    for (uint64_t step = 0; step < batches; ++step) {
      Readback& readback = readbacks[step % readbacks.size()];
      ASSERT_NO_FATAL_FAILURE(readback.Compare());
      ASSERT_OK_AND_ASSIGN(Batch batch, loader_->NextBlocking());
      ASSERT_EQ(batch.step(), step);
      ASSERT_EQ(batch.device(), kGpu);
      readback.Expect(step, stores_->OnDisk(batch, sources));
      ASSERT_NO_FATAL_FAILURE(Use(batch, &readback));
      ++uses_[batch.device_bytes()];
      held.push_back(std::move(batch));
      for (size_t keep = Below(kMaxHeld + 1); held.size() > keep;) {
        held.erase(held.begin() + static_cast<ptrdiff_t>(Below(held.size())));
      }
    }
    for (Readback& readback : readbacks) readback.Compare();
  }

  // Every slot has been used, each about as often as the others.
  void ExpectAllSlotsReused(uint64_t batches) const {
    EXPECT_EQ(uses_.size(), kSlots);
    for (const auto& [place, times] : uses_) {
      EXPECT_GE(times, std::max<uint64_t>(2, batches / (10 * kSlots)));
    }
  }

  const uint64_t seed_ = TestSeed(0);
  std::unique_ptr<RandomStores> stores_;
  std::unique_ptr<Loader> loader_;

 private:
  uint64_t Below(uint64_t bound) { return random_() % bound; }

  // One of two streams or the default one reads all of the batch, or two of
  // them half each.
  void Use(const Batch& batch, Readback* readback) {
    cudaStream_t const streams[] = {(*streams_)[0].get(), (*streams_)[1].get(),
                                    nullptr};
    const size_t size = batch.tensor(BatchTensor::kTokens)->num_bytes();
    const size_t first = Below(3);
    const size_t parts = 1 + Below(2);
    for (size_t part = 0; part < parts; ++part) {
      cudaStream_t const stream = streams[(first + part) % 3];
      ASSERT_THAT(batch.WaitOn(stream), IsOk());
      const uint64_t microseconds = Below(50) == 0 ? 2000 : Below(250);
      readback->Read(*kernel_, batch.device_bytes(), part * size / parts,
                     size / parts, 1000 * microseconds, stream);
    }
  }

  std::mt19937_64 random_{seed_};
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<std::array<Stream, 2>> streams_;
  std::map<const std::byte*, uint64_t> uses_;
};

ScheduleOptions BatchesOf(uint64_t samples) {
  ScheduleOptions options;
  options.batch_size = samples;
  return options;
}

ScheduleOptions GrowingBatches(uint64_t batches) {
  constexpr uint64_t kSizes = 16;
  constexpr uint64_t kMore = kMaxBatchSamples / kSizes;
  ScheduleOptions schedule = BatchesOf(kMore);
  for (uint64_t size = 1; size < kSizes; ++size) {
    const auto step = static_cast<int64_t>(batches * size / kSizes);
    schedule.batch_sizes.push_back({RunPoint::Step(step), kMore * (size + 1)});
  }
  return schedule;
}

TEST_F(LoaderOnGpuTest, BytesOnTheDeviceAreThoseOnDiskWhileSlotsAreReused) {
  ASSERT_NO_FATAL_FAILURE(Open(TokenType::kU16, BatchesOf(kMaxBatchSamples)));
  ASSERT_NO_FATAL_FAILURE(Serve(NumBatches()));
  ExpectAllSlotsReused(NumBatches());
}

TEST_F(LoaderOnGpuTest, SoAreWidenedOnes) {
  ASSERT_NO_FATAL_FAILURE(Open(TokenType::kI64, BatchesOf(kMaxBatchSamples)));
  ASSERT_NO_FATAL_FAILURE(Serve(NumBatches() / 5));
  ExpectAllSlotsReused(NumBatches() / 5);
}

class DeviceWideningOnGpuTest
    : public LoaderOnGpuTest,
      public ::testing::WithParamInterface<TokenType> {
 protected:
  void SetUp() override {
    LoaderOnGpuTest::SetUp();
    if (IsSkipped()) return;
    const auto ring = internal::SlotRing::Create(kGpu, 1, [](auto) {});
    if (!ring->can_widen()) {
      GTEST_SKIP() << "the library was built without nvcc, or its kernel does "
                      "not run on this GPU";
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Types, DeviceWideningOnGpuTest,
                         ::testing::Values(TokenType::kI32, TokenType::kI64));

TEST_P(DeviceWideningOnGpuTest, SoAreThoseThatTheGpuWidens) {
  const uint64_t batches = NumBatches() / 5;
  ASSERT_NO_FATAL_FAILURE(
      Open(GetParam(), BatchesOf(kMaxBatchSamples), /*widen_on_device=*/true));
  ASSERT_NO_FATAL_FAILURE(Serve(batches));
  ExpectAllSlotsReused(batches);
  EXPECT_FALSE(loader_->NextBlocking()->has_host_tokens());
}

// Ids as stored need other room than the slot's bytes, which grows as well.
TEST_P(DeviceWideningOnGpuTest, AlsoInBatchesThatGrow) {
  const uint64_t batches = NumBatches() / 5;
  ASSERT_NO_FATAL_FAILURE(
      Open(GetParam(), GrowingBatches(batches), /*widen_on_device=*/true));
  ASSERT_NO_FATAL_FAILURE(Serve(batches));
}

// A slot that grows gives back its memory, on the host and on the GPU, while
// others are in use.
TEST_F(LoaderOnGpuTest, SoAreThoseOfBatchesThatGrow) {
  const uint64_t batches = NumBatches() / 5;
  ASSERT_NO_FATAL_FAILURE(Open(TokenType::kU32, GrowingBatches(batches)));
  ASSERT_NO_FATAL_FAILURE(Serve(batches));
}

// The loader's end and the batches' come in any order.
TEST_F(LoaderOnGpuTest, ABatchOutlivesItsLoader) {
  ASSERT_NO_FATAL_FAILURE(Open(TokenType::kU16, BatchesOf(kMaxBatchSamples)));
  const std::vector<LoaderSource> sources = loader_->sources();
  ASSERT_OK_AND_ASSIGN(const Batch batch, loader_->NextBlocking());
  loader_.reset();
  ASSERT_THAT(batch.WaitUntilCopied(), IsOk());
  std::vector<std::byte> got(batch.bytes().size());
  CheckCuda(cudaMemcpy(got.data(), batch.device_bytes(), got.size(),
                       cudaMemcpyDeviceToHost));
  EXPECT_TRUE(got == stores_->OnDisk(batch, sources));
}

}  // namespace
}  // namespace poniente::testing
