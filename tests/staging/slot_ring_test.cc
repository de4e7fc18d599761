// SPDX-License-Identifier: Apache-2.0
// With a device that does what it is told when the test says so: every rule of
// reuse is seen without a GPU.
#include "staging/slot_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "poniente/task.h"
#include "tests/support/fake_accelerator.h"
#include "tests/support/status_matchers.h"

namespace poniente::internal {
namespace {

namespace asio = boost::asio;
using ::poniente::testing::FakeAccelerator;
using ::poniente::testing::FakeDevice;
using ::poniente::testing::IsOk;
using ::poniente::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SlotRingTest : public ::testing::Test {
 protected:
  std::shared_ptr<SlotRing> OnDevice(uint32_t limit) {
    return std::make_shared<SlotRing>(
        Device{DeviceType::kCuda, 0},
        std::make_unique<FakeAccelerator>(&device_), limit,
        [this](std::string_view line) { warnings_.emplace_back(line); });
  }
  std::shared_ptr<SlotRing> OnHost(uint32_t limit) {
    return std::make_shared<SlotRing>(Device(), nullptr, limit,
                                      [](std::string_view) {});
  }
  static SlotPtr Take(SlotRing& ring, size_t bytes, size_t stored_bytes = 0) {
    auto slot = RunBlocking(ring.Take(bytes, stored_bytes));
    EXPECT_THAT(slot, IsOk());
    return *std::move(slot);
  }
  static void Fill(const SlotPtr& slot, char value) {
    std::memset(slot->host().data(), value, 10);
    EXPECT_THAT(slot->Upload(10), IsOk());
  }
  // A copy to the ring's only slot, which holds 'x', waits until the work may
  // run that a consumer has queued.
  void ExpectCopyWaitsFor(bool* may_run, SlotRing& ring) {
    const SlotPtr slot = Take(ring, 10);
    Fill(slot, 'y');
    device_.Run();
    EXPECT_EQ(OnDeviceOf(slot), 'x') << "held back";
    *may_run = true;
    device_.Run();
    EXPECT_EQ(OnDeviceOf(slot), 'y');
    EXPECT_TRUE(device_.is_idle());
  }
  static char OnDeviceOf(const SlotPtr& slot) {
    return static_cast<char>(slot->device_bytes()[9]);
  }

  FakeDevice device_;
  std::vector<std::string> warnings_;
};

TEST_F(SlotRingTest, MemoryIsPageAlignedAndUsedAgain) {
  const auto ring = OnHost(3);
  std::set<const std::byte*> first, second;
  for (auto* seen : {&first, &second}) {
    std::vector<SlotPtr> held;
    for (char i = 0; i < 3; ++i) {
      held.push_back(Take(*ring, 14'434));
      ASSERT_GE(held.back()->host().size(), 14'434u);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(held.back()->host().data()) % 4096,
                0u);
      std::memset(held.back()->host().data(), i, 14'434);
      seen->insert(held.back()->host().data());
    }
    EXPECT_EQ(seen->size(), 3u) << "while they live, each has its own";
    for (char i = 0; i < 3; ++i) {
      EXPECT_EQ(held[i]->host()[14'433], static_cast<std::byte>(i));
    }
  }
  EXPECT_EQ(first, second);
}

TEST_F(SlotRingTest, ASlotGrowsWithTheBatch) {
  const auto ring = OnHost(1);
  Take(*ring, 100);
  EXPECT_GE(Take(*ring, 10'000'000)->host().size(), 10'000'000u);
  EXPECT_GE(Take(*ring, 100)->host().size(), 10'000'000u) << "and stays so";
}

TEST_F(SlotRingTest, NoMoreThanTheLimitAreInUse) {
  const auto ring = OnHost(2);
  const SlotPtr one = Take(*ring, 10);
  SlotPtr two = Take(*ring, 10);
  EXPECT_THAT(
      RunBlocking(ring->Take(10)),
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("2 slots")));
  two.reset();
  EXPECT_THAT(RunBlocking(ring->Take(10)), IsOk());
}

TEST_F(SlotRingTest, ABatchThatFitsNoMemoryIsAnErrorAndLosesNoSlot) {
  const auto ring = OnHost(1);
  for (const size_t bytes : {size_t{1} << 60, SIZE_MAX, SIZE_MAX - 70'000}) {
    EXPECT_THAT(
        RunBlocking(ring->Take(bytes)),
        StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("memory")));
  }
  EXPECT_NE(Take(*ring, 10), nullptr);
}

TEST_F(SlotRingTest, ASlotOutlivesItsOwnersRing) {
  auto ring = OnDevice(1);
  SlotPtr slot = Take(*ring, 10);
  ring.reset();
  Fill(slot, 'a');
  EXPECT_THAT(slot->WaitUntilCopied(), IsOk());
  EXPECT_EQ(OnDeviceOf(slot), 'a');
  slot.reset();
  EXPECT_EQ(device_.allocated, 0u);
  EXPECT_TRUE(device_.locked.empty());
}

TEST_F(SlotRingTest, HeldSlotsAreCountedUntilTheyAreReturned) {
  const auto ring = OnHost(2);
  SlotPtr one = Take(*ring, 10);
  EXPECT_EQ(ring->num_held(), 0u);
  one->MarkHeld();
  EXPECT_EQ(ring->num_held(), 1u);
  const SlotPtr again = one;
  one.reset();
  EXPECT_EQ(ring->num_held(), 1u) << "somebody has it still";
}

TEST_F(SlotRingTest, TheConsumersWorkWaitsForTheCopyNotItsThread) {
  const auto ring = OnDevice(1);
  const SlotPtr slot = Take(*ring, 10);
  Fill(slot, 'x');
  ASSERT_THAT(slot->WaitOn(nullptr), IsOk());
  char seen = 0;
  device_.Queue(nullptr, [&] {
    seen = OnDeviceOf(slot);
    return true;
  });
  EXPECT_EQ(seen, 0) << "nothing has run yet";
  device_.Run();
  EXPECT_EQ(seen, 'x');
}

// The slot is taken while its copy is under way: the ring waits for that.
TEST_F(SlotRingTest, TheHostsSideIsNotFilledBeforeItIsCopied) {
  const auto ring = OnDevice(1);
  SlotPtr slot = Take(*ring, 10);
  Fill(slot, 'x');
  slot.reset();
  asio::io_context context;
  std::optional<absl::StatusOr<SlotPtr>> taken;
  asio::co_spawn(context, ring->Take(10),
                 [&](std::exception_ptr, absl::StatusOr<SlotPtr> got) {
                   taken = std::move(got);
                 });
  for (int i = 0; i < 10; ++i) context.run_one();
  EXPECT_FALSE(taken.has_value());
  device_.Run();
  context.run();
  ASSERT_TRUE(taken.has_value());
  EXPECT_THAT(*taken, IsOk());
}

TEST_F(SlotRingTest, AnotherSlotIsTakenBeforeOneThatIsBeingCopied) {
  const auto ring = OnDevice(2);
  SlotPtr one = Take(*ring, 10);
  const std::byte* const done = one->host().data();
  SlotPtr two = Take(*ring, 10);
  Fill(two, 'x');
  one.reset();
  two.reset();
  EXPECT_EQ(Take(*ring, 10)->host().data(), done);
}

// The next batch is copied to where the consumer's kernel still reads: the
// copy waits on the device.
TEST_F(SlotRingTest, TheDevicesSideIsNotWrittenBeforeTheConsumersWorkIsDone) {
  const auto ring = OnDevice(1);
  SlotPtr slot = Take(*ring, 10);
  Fill(slot, 'x');
  ASSERT_THAT(slot->WaitOn(nullptr), IsOk());
  bool may_run = false;
  std::string seen;
  const std::byte* const place = slot->device_bytes();
  device_.Queue(nullptr, [&] {
    if (may_run) seen += static_cast<char>(place[9]);
    return may_run;
  });
  device_.Run();
  slot.reset();
  slot = Take(*ring, 10);  // its copy is done
  ASSERT_EQ(slot->device_bytes(), place);
  Fill(slot, 'y');
  device_.Run();
  EXPECT_EQ(OnDeviceOf(slot), 'x') << "held back";
  may_run = true;
  device_.Run();
  EXPECT_EQ(seen, "x");
  EXPECT_EQ(OnDeviceOf(slot), 'y');
  EXPECT_TRUE(device_.is_idle());
}

TEST_F(SlotRingTest, EveryStreamThatWaitedIsWaitedFor) {
  const auto ring = OnDevice(1);
  int other_stream = 0;
  SlotPtr slot = Take(*ring, 10);
  Fill(slot, 'x');
  for (int i = 0; i < 2; ++i) {
    ASSERT_THAT(slot->WaitOn(nullptr), IsOk());
    ASSERT_THAT(slot->WaitOn(&other_stream), IsOk());
  }
  bool may_run = false;
  device_.Queue(&other_stream, [&] { return may_run; });
  device_.Run();
  slot.reset();
  ExpectCopyWaitsFor(&may_run, *ring);
}

TEST_F(SlotRingTest, MemoryThatCannotBeLockedIsWarnedOfOnceAndUsed) {
  device_.lock_result = absl::ResourceExhaustedError("no more locked memory");
  const auto ring = OnDevice(2);
  const SlotPtr one = Take(*ring, 10);
  const SlotPtr two = Take(*ring, 10);
  Fill(two, 'z');
  EXPECT_THAT(two->WaitUntilCopied(), IsOk());
  EXPECT_EQ(OnDeviceOf(two), 'z');
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("no more locked memory"), std::string::npos);
}

TEST_F(SlotRingTest, ADeviceWithoutMemoryIsAnErrorAndTheSlotIsTriedAgain) {
  const auto ring = OnDevice(1);
  device_.allocate_result = absl::ResourceExhaustedError("cudaMalloc: out");
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(RunBlocking(ring->Take(10)),
                StatusIs(absl::StatusCode::kResourceExhausted,
                         HasSubstr("cudaMalloc")));
  }
  device_.allocate_result = absl::OkStatus();
  EXPECT_NE(Take(*ring, 10)->device_bytes(), nullptr);
}

// A stream that was destroyed too early: what the device does with the slot is
// not known, so it is not used again.
TEST_F(SlotRingTest, ASlotThatCannotBeGuardedIsFreed) {
  const auto ring = OnDevice(1);
  SlotPtr slot = Take(*ring, 10);
  Fill(slot, 'x');
  ASSERT_THAT(slot->WaitOn(nullptr), IsOk());
  device_.record_result = absl::InternalError("invalid stream");
  slot.reset();
  EXPECT_EQ(device_.allocated, 0u);
  device_.record_result = absl::OkStatus();
  slot = Take(*ring, 10);
  Fill(slot, 'y');
  EXPECT_THAT(slot->WaitUntilCopied(), IsOk());
  EXPECT_EQ(OnDeviceOf(slot), 'y');
}

// As one of another GPU.
TEST_F(SlotRingTest, AStreamThatCannotBeGuardedIsFoundOutAtOnce) {
  const auto ring = OnDevice(1);
  SlotPtr slot = Take(*ring, 10);
  Fill(slot, 'x');
  device_.record_result = absl::InternalError("invalid stream");
  EXPECT_THAT(slot->WaitOn(nullptr), StatusIs(absl::StatusCode::kInternal,
                                              HasSubstr("invalid stream")));
  slot.reset();
  EXPECT_EQ(device_.allocated, 1u) << "nobody used it";
}

TEST_F(SlotRingTest, ASlotThatGrowsIsFreedAfterItsConsumersWork) {
  const auto ring = OnDevice(1);
  SlotPtr slot = Take(*ring, 10);
  Fill(slot, 'x');
  ASSERT_THAT(slot->WaitOn(nullptr), IsOk());
  device_.Run();
  bool is_done = false;
  device_.Queue(nullptr, [&is_done] { return is_done = true; });
  slot.reset();
  Take(*ring, 10'000'000);
  EXPECT_TRUE(is_done);
}

// A fetch that is cancelled, or fails, returns its slot without a copy.
TEST_F(SlotRingTest, AStreamIsNotTouchedOnceItsBatchIsGone) {
  const auto ring = OnDevice(1);
  SlotPtr slot = Take(*ring, 10);
  Fill(slot, 'x');
  ASSERT_THAT(slot->WaitOn(nullptr), IsOk());
  slot.reset();
  device_.Run();
  device_.record_result = absl::InternalError("the stream was destroyed");
  Take(*ring, 10).reset();
  EXPECT_TRUE(device_.is_idle());
  EXPECT_EQ(device_.allocated, 1u) << "a good slot is kept";
}

TEST_F(SlotRingTest, ConsumersOfBeforeAFailedFetchAreWaitedForStill) {
  const auto ring = OnDevice(1);
  SlotPtr slot = Take(*ring, 10);
  Fill(slot, 'x');
  ASSERT_THAT(slot->WaitOn(nullptr), IsOk());
  bool may_run = false;
  device_.Queue(nullptr, [&] { return may_run; });
  device_.Run();
  slot.reset();
  Take(*ring, 10).reset();  // never copied
  ExpectCopyWaitsFor(&may_run, *ring);
}

// A rank with fewer samples than ranks.
TEST_F(SlotRingTest, OfABatchWithoutIdsThereIsNothingToWaitFor) {
  const auto ring = OnDevice(1);
  const SlotPtr slot = Take(*ring, 0);
  EXPECT_THAT(slot->Upload(0), IsOk());
  EXPECT_THAT(slot->WaitOn(nullptr), IsOk());
  EXPECT_THAT(slot->WaitUntilCopied(), IsOk());
}

TEST_F(SlotRingTest, AnExceptionLosesNoSlot) {
  const auto ring = OnDevice(1);
  device_.throws_once = true;
  EXPECT_FALSE(RunBlocking(ring->Take(10)).ok());
  EXPECT_THAT(RunBlocking(ring->Take(10)), IsOk());
}

TEST_F(SlotRingTest, ASlotWhoseCopyIsNotKnownOfIsFreedNotFilledAgain) {
  const auto ring = OnDevice(1);
  SlotPtr slot = Take(*ring, 10);
  device_.record_result = absl::InternalError("record");
  EXPECT_FALSE(slot->Upload(10).ok()) << "the copy is queued all the same";
  EXPECT_FALSE(device_.is_idle());
  device_.record_result = absl::OkStatus();
  slot.reset();
  EXPECT_TRUE(device_.is_idle()) << "freeing waits";
  EXPECT_EQ(device_.allocated, 0u);
}

TEST_F(SlotRingTest, ScratchGrowsAndKeepsNothing) {
  const auto ring = OnDevice(1);
  const SlotPtr slot = Take(*ring, 10);
  ASSERT_OK_AND_ASSIGN(const auto some, slot->Scratch(100));
  EXPECT_EQ(some.size(), 100u);
  ASSERT_OK_AND_ASSIGN(const auto more, slot->Scratch(1'000'000));
  EXPECT_EQ(more.size(), 1'000'000u);
  ASSERT_OK_AND_ASSIGN(const auto none, slot->Scratch(0));
  EXPECT_TRUE(none.empty());
}

// ---- Ids that the device widens

constexpr Widening kThreeIds = {.count = 3, .from_bytes = 2, .to_bytes = 8};

// Three ids of u16, of which each is `id` and has no byte that is 0, and 10
// bytes of something else behind where they are as i64.
void FillNarrow(const SlotPtr& slot, char id, char rest) {
  std::memset(slot->host().data(), '?', slot->host().size());
  std::memset(slot->host().data(), id, kThreeIds.bytes_before());
  std::memset(slot->host().data() + kThreeIds.bytes_after(), rest, 10);
}
uint64_t WideId(const SlotPtr& slot, size_t i) {
  uint64_t id;
  std::memcpy(&id, slot->device_bytes() + 8 * i, 8);
  return id;
}

TEST_F(SlotRingTest, IdsAreWidenedOnTheDeviceAndTheRestIsCopied) {
  const auto ring = OnDevice(1);
  EXPECT_TRUE(ring->can_widen());
  const size_t bytes = kThreeIds.bytes_after() + 10;
  SlotPtr slot = Take(*ring, bytes, kThreeIds.bytes_before());
  FillNarrow(slot, 0x21, 'r');
  ASSERT_THAT(slot->Upload(bytes, kThreeIds), IsOk());
  ASSERT_THAT(slot->WaitOn(nullptr), IsOk());
  std::vector<uint64_t> seen;
  device_.Queue(nullptr, [&] {
    for (size_t i = 0; i < 3; ++i) seen.push_back(WideId(slot, i));
    seen.push_back(static_cast<uint64_t>(slot->device_bytes()[bytes - 1]));
    return true;
  });
  device_.Run();
  EXPECT_THAT(seen, ElementsAre(0x2121, 0x2121, 0x2121, 'r'));
  EXPECT_EQ(device_.copied, kThreeIds.bytes_before() + 10) << "and no more";
}

TEST_F(SlotRingTest, WidenedIdsAreNotWrittenBeforeTheConsumersWorkIsDone) {
  const auto ring = OnDevice(1);
  SlotPtr slot = Take(*ring, 24, 6);
  FillNarrow(slot, 1, 0);
  ASSERT_THAT(slot->Upload(24, kThreeIds), IsOk());
  ASSERT_THAT(slot->WaitOn(nullptr), IsOk());
  bool may_run = false;
  device_.Queue(nullptr, [&] { return may_run; });
  device_.Run();
  slot.reset();
  slot = Take(*ring, 24, 6);
  FillNarrow(slot, 2, 0);
  ASSERT_THAT(slot->Upload(24, kThreeIds), IsOk());
  device_.Run();
  EXPECT_EQ(WideId(slot, 2), 0x0101u) << "held back";
  may_run = true;
  device_.Run();
  EXPECT_EQ(WideId(slot, 2), 0x0202u);
}

// The host's side is what the copy reads; the event is behind the widening.
TEST_F(SlotRingTest, ASlotIsTakenAgainOnceItsIdsAreWidened) {
  const auto ring = OnDevice(1);
  SlotPtr slot = Take(*ring, 24, 6);
  FillNarrow(slot, 3, 0);
  ASSERT_THAT(slot->Upload(24, kThreeIds), IsOk());
  ASSERT_THAT(slot->WaitUntilCopied(), IsOk());
  EXPECT_EQ(WideId(slot, 0), 0x0303u);
  EXPECT_TRUE(device_.is_idle());
}

TEST_F(SlotRingTest, RoomForStoredIdsGrowsByItself) {
  const auto ring = OnDevice(1);
  Fill(Take(*ring, 24), 'x');
  device_.Run();
  SlotPtr slot = Take(*ring, 1'000'000, 250'000);
  const Widening ids = {.count = 125'000, .from_bytes = 2, .to_bytes = 8};
  std::memset(slot->host().data(), 7, ids.bytes_before());
  ASSERT_THAT(slot->Upload(1'000'000, ids), IsOk());
  device_.Run();
  EXPECT_EQ(WideId(slot, 124'999), 0x0707u);
  slot.reset();
  // As large for the host, more on the device.
  slot = Take(*ring, 1'000'000, 500'000);
  const Widening wider = {.count = 125'000, .from_bytes = 4, .to_bytes = 8};
  std::memset(slot->host().data(), 7, wider.bytes_before());
  ASSERT_THAT(slot->Upload(1'000'000, wider), IsOk());
  device_.Run();
  EXPECT_EQ(WideId(slot, 124'999), 0x07070707u);
  EXPECT_EQ(device_.allocated, 1u);
}

TEST_F(SlotRingTest, ASlotWhoseWideningIsRefusedIsFreed) {
  const auto ring = OnDevice(1);
  SlotPtr slot = Take(*ring, 24, 6);
  device_.widen_result = absl::InternalError("cudaLaunchKernel: no");
  EXPECT_THAT(
      slot->Upload(24, kThreeIds),
      StatusIs(absl::StatusCode::kInternal, HasSubstr("cudaLaunchKernel")));
  EXPECT_FALSE(device_.is_idle()) << "its copy is queued all the same";
  slot.reset();
  EXPECT_TRUE(device_.is_idle()) << "freeing waits";
  EXPECT_EQ(device_.allocated, 0u);
}

TEST_F(SlotRingTest, NotEveryRingWidens) {
  EXPECT_FALSE(OnHost(1)->can_widen());
  device_.can_widen = false;
  EXPECT_FALSE(OnDevice(1)->can_widen());
}

}  // namespace
}  // namespace poniente::internal
