// SPDX-License-Identifier: Apache-2.0
// Copies run beside computation. No clock decides: a kernel that fills the GPU
// ends when the test says so, and by itself only after long.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "poniente/loader.h"
#include "poniente/task.h"
#include "staging/slot_ring.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/random_stores.h"
#include "tests/support/status_matchers.h"

namespace poniente::testing {
namespace {

using internal::SlotPtr;
using internal::SlotRing;

constexpr uint64_t kLong = 20'000'000'000;  // nanoseconds

// Work on a stream of its own that keeps all of the GPU busy until End().
class Computation {
 public:
  explicit Computation(size_t bytes) : output_(bytes) {}
  ~Computation() {
    Release();
    (void)cudaStreamSynchronize(stream_.get());
  }

  // For batches to wait on.
  cudaStream_t stream() const { return stream_.get(); }
  // Returns once it runs. At its end it reads the batch.
  void Begin(const std::byte* batch) {
    begun_.Record(stream_.get());
    Kernel::Work work;
    work.from = batch;
    work.to = output_.get();
    work.bytes = output_.size();
    work.nanoseconds = kLong;
    work.ends = reinterpret_cast<const uint32_t*>(ends_.bytes().data());
    work.blocks = Kernel::WholeGpu();
    kernel_.Launch(stream_.get(), work);
    ended_.Record(stream_.get());
    begun_.Wait();
  }
  bool IsRunning() const { return !ended_.IsDone(); }
  void End() {
    Release();
    stream_.Wait();
  }
  const Event& begun() const { return begun_; }
  const Event& ended() const { return ended_; }
  std::vector<std::byte> Output() const {
    std::vector<std::byte> output(output_.size());
    CheckCuda(cudaMemcpy(output.data(), output_.get(), output.size(),
                         cudaMemcpyDeviceToHost));
    return output;
  }

 private:
  void Release() {
    auto* const ends = reinterpret_cast<uint32_t*>(ends_.bytes().data());
    std::atomic_ref<uint32_t>(*ends).store(1);
  }

  const Kernel kernel_;
  const Stream stream_;
  const PinnedMemory ends_{4096};
  const DeviceMemory output_;
  Event begun_;
  Event ended_;
};

class OverlapTest : public GpuTest {
 protected:
  static SlotPtr Uploaded(SlotRing& ring, size_t bytes, int value) {
    auto slot = RunBlocking(ring.Take(bytes));
    if (!slot.ok()) throw std::runtime_error(slot.status().ToString());
    std::memset((*slot)->host().data(), value, bytes);
    EXPECT_THAT((*slot)->Upload(bytes), IsOk());
    return *std::move(slot);
  }
};

TEST_F(OverlapTest, TheNextBatchIsCopiedWhileOneIsComputedOn) {
  constexpr size_t kBytes = size_t{64} << 20;
  std::vector<std::string> warnings;
  const auto ring = SlotRing::Create(
      kGpu, 2, [&](std::string_view line) { warnings.emplace_back(line); });
  Computation computation(kBytes);
  const Stream beside;
  Event copied;
  const SlotPtr current = Uploaded(*ring, kBytes, 'x');
  // What makes the slot may wait for the computation, as cudaMalloc may.
  Uploaded(*ring, kBytes, 'y').reset();
  ASSERT_THAT(current->WaitOn(computation.stream()), IsOk());
  computation.Begin(current->device_bytes());

  const SlotPtr next = Uploaded(*ring, kBytes, 'z');
  ASSERT_THAT(next->WaitOn(beside.get()), IsOk());
  copied.Record(beside.get());
  ASSERT_THAT(next->WaitUntilCopied(), IsOk());
  copied.Wait();
  EXPECT_TRUE(computation.IsRunning());

  computation.End();
  EXPECT_GT(copied.MillisecondsSince(computation.begun()), 0);
  EXPECT_GT(computation.ended().MillisecondsSince(copied), 0);
  EXPECT_TRUE(computation.Output() ==
              std::vector<std::byte>(kBytes, std::byte{'x'}));
  EXPECT_TRUE(warnings.empty()) << warnings[0];
}

TEST_F(OverlapTest, ALoaderGoesOnWhileABatchIsComputedOnThatIsGone) {
  constexpr uint32_t kHeld = 4;
  RandomStores stores(/*seed=*/1);
  ScheduleOptions schedule;
  schedule.batch_size = 256;
  schedule.seq_len = 1024;
  LoaderOptions options;
  options.token_type = TokenType::kU16;
  options.device = kGpu;
  options.max_held = kHeld;
  ASSERT_OK_AND_ASSIGN(const Schedule made, Schedule::Create(schedule));
  ASSERT_OK_AND_ASSIGN(
      const auto loader,
      Loader::Create(stores.Mixture(schedule.seq_len), made, options));
  {  // makes every slot
    std::vector<Batch> all;
    for (uint32_t i = 0; i <= kHeld; ++i) {
      ASSERT_OK_AND_ASSIGN(Batch one, loader->NextBlocking());
      all.push_back(std::move(one));
    }
    while (loader->metrics().batches_ready < options.prefetch_batches) {
      std::this_thread::yield();
    }
  }
  Computation computation(size_t{256} * 1024 * 2);
  auto first = loader->NextBlocking();
  ASSERT_THAT(first, IsOk());
  const std::vector<std::byte> expected =
      stores.OnDisk(*first, loader->sources());
  ASSERT_THAT(first->WaitOn(computation.stream()), IsOk());
  computation.Begin(first->device_bytes());
  first = absl::CancelledError();  // gone

  std::vector<Batch> held;
  for (uint32_t i = 0; i < kHeld; ++i) {
    ASSERT_OK_AND_ASSIGN(Batch batch, loader->NextBlocking());
    ASSERT_THAT(batch.WaitUntilCopied(), IsOk());
    held.push_back(std::move(batch));
  }
  EXPECT_TRUE(computation.IsRunning());
  computation.End();
  EXPECT_TRUE(computation.Output() == expected);
}

}  // namespace
}  // namespace poniente::testing
