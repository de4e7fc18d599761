// SPDX-License-Identifier: Apache-2.0
// Event loops over many steps: no wake-up is lost, and none is in vain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "poniente/mapped_dataset.h"
#include "tests/loader/open_loader.h"
#include "tests/loader/ready_fd.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using testing::CountingWindows;
using testing::IsOk;
using testing::IsReadable;
using testing::kLost;
using testing::kSeqLen;
using testing::MakeSchedule;
using testing::Open;
using testing::ReadyFdOf;

constexpr uint64_t kSteps = 8'000;

void SpinFor(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

// The source and the consumer take up to so many microseconds per step.
struct Pace {
  uint32_t prefetch;
  uint32_t source;
  uint32_t consumer;
};

std::unique_ptr<Loader> OpenAt(const Pace& pace) {
  LoaderOptions options;
  options.prefetch_batches = pace.prefetch;
  DatasetPtr<TokenWindow> windows = CountingWindows(kSteps, kSeqLen);
  if (pace.source > 0) {
    windows = Map<TokenWindow>("slow", windows, [pace](TokenWindow window) {
      SpinFor(std::chrono::microseconds(window.tokens[0] % pace.source));
      return window;
    });
  }
  return Open(windows, MakeSchedule(kSteps, 1), options);
}

class ReadyFdPaceTest : public ::testing::TestWithParam<Pace> {};

TEST_P(ReadyFdPaceTest, EachWakeUpOfALevelTriggeredLoopHasABatch) {
  const auto loader = OpenAt(GetParam());
  const int fd = ReadyFdOf(*loader);
  std::mt19937_64 random(testing::TestSeed(1));
  for (uint64_t step = 0; step < kSteps; ++step) {
    ASSERT_TRUE(IsReadable(fd, kLost)) << step;
    const auto batch = loader->TryNext();
    ASSERT_TRUE(batch.has_value()) << step;
    ASSERT_THAT(*batch, IsOk());
    ASSERT_EQ((*batch)->step(), step);
    if (const uint32_t most = GetParam().consumer) {
      SpinFor(std::chrono::microseconds(random() % most));
    }
  }
}

TEST_P(ReadyFdPaceTest, AnEdgeTriggeredLoopThatTakesAllGetsAll) {
  const auto loader = OpenAt(GetParam());
  const int fd = ReadyFdOf(*loader);
  const int loop = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event event = {.events = EPOLLIN | EPOLLET, .data = {.fd = fd}};
  ASSERT_EQ(::epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event), 0);
  uint64_t step = 0;
  uint64_t wake_ups = 0;
  for (bool is_over = false; !is_over; ++wake_ups) {
    ASSERT_EQ(::epoll_wait(loop, &event, 1, kLost), 1) << step;
    while (const auto batch = loader->TryNext()) {
      is_over = absl::IsOutOfRange(batch->status());
      if (is_over) break;
      ASSERT_THAT(*batch, IsOk());
      ASSERT_EQ((*batch)->step(), step++);
    }
  }
  EXPECT_EQ(step, kSteps);
  // Each brings a batch or the end.
  EXPECT_LE(wake_ups, kSteps + 1);
  ::close(loop);
}

INSTANTIATE_TEST_SUITE_P(All, ReadyFdPaceTest,
                         ::testing::Values(Pace{1, 0, 0}, Pace{4, 0, 0},
                                           Pace{64, 0, 0}, Pace{4, 20, 0},
                                           Pace{4, 0, 20}, Pace{2, 10, 10}));

TEST(ReadyFdStressTest, TwoLoadersShareOneEpoll) {
  const auto one = OpenAt({4, 10, 0});
  const auto other = OpenAt({4, 0, 0});
  Loader* const loaders[] = {one.get(), other.get()};
  const int loop = ::epoll_create1(EPOLL_CLOEXEC);
  for (uint32_t i = 0; i < 2; ++i) {
    epoll_event event = {.events = EPOLLIN, .data = {.u32 = i}};
    const int fd = ReadyFdOf(*loaders[i]);
    ASSERT_EQ(::epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event), 0);
  }
  uint64_t taken[] = {0, 0};
  for (int open = 2; open > 0;) {
    epoll_event events[2];
    const int count = ::epoll_wait(loop, events, 2, kLost);
    ASSERT_GT(count, 0);
    for (int i = 0; i < count; ++i) {
      const uint32_t which = events[i].data.u32;
      const auto batch = loaders[which]->TryNext();
      ASSERT_TRUE(batch.has_value());
      if (absl::IsOutOfRange(batch->status())) {
        ASSERT_EQ(::epoll_ctl(loop, EPOLL_CTL_DEL, ReadyFdOf(*loaders[which]),
                              nullptr),
                  0);
        --open;
        continue;
      }
      ASSERT_THAT(*batch, IsOk());
      ASSERT_EQ((*batch)->step(), taken[which]++);
    }
  }
  EXPECT_EQ(taken[0], kSteps);
  EXPECT_EQ(taken[1], kSteps);
  ::close(loop);
}

// A wake-up may be in vain only because of a Seek() after it.
TEST(ReadyFdStressTest, SeeksFromAnotherThreadLoseNoWakeUp) {
  const auto loader = OpenAt({4, 5, 0});
  const int fd = ReadyFdOf(*loader);
  std::atomic<bool> is_over = false;
  std::atomic<uint64_t> seeks = 0;
  std::atomic<uint64_t> taken = 0;
  std::thread seeker([&] {
    std::mt19937_64 random(testing::TestSeed(2));
    while (!is_over) {
      EXPECT_THAT(loader->Seek(random() % kSteps), IsOk());
      ++seeks;
      SpinFor(std::chrono::microseconds(random() % 200));
      // Every other time, the consumer gets a batch in between.
      const bool waits = random() % 2 == 0;
      const uint64_t before = taken;
      while (waits && taken == before && !is_over) {
        std::this_thread::yield();
      }
    }
  });
  uint64_t in_vain = 0;
  while (taken < 2000) {
    const bool is_readable = IsReadable(fd, kLost);
    EXPECT_TRUE(is_readable);
    if (!is_readable) break;
    const auto batch = loader->TryNext();
    if (!batch.has_value()) {
      ++in_vain;
    } else if (!absl::IsOutOfRange(batch->status())) {
      EXPECT_THAT(*batch, IsOk());
      ++taken;
    }
  }
  is_over = true;
  seeker.join();
  EXPECT_LE(in_vain, seeks);
}

// The loop gives the batches to a worker, and waits until that releases them.
TEST(ReadyFdStressTest, ReleasesOnAnotherThreadLoseNoWakeUp) {
  LoaderOptions options;
  options.max_held = 1;
  options.waits_for_held = true;
  const auto loader =
      Open(CountingWindows(kSteps, kSeqLen), MakeSchedule(kSteps, 1), options);
  const int fd = ReadyFdOf(*loader);
  internal::Mutex mu;
  std::vector<Batch> given;
  std::atomic<bool> is_over = false;
  std::thread worker([&] {
    while (!is_over) {
      std::vector<Batch> taken;
      internal::MutexLock lock(&mu);
      taken.swap(given);
      lock.Unlock();
      if (taken.empty()) std::this_thread::yield();
    }
  });
  for (uint64_t step = 0; step < kSteps; ++step) {
    const bool is_readable = IsReadable(fd, kLost);
    EXPECT_TRUE(is_readable) << step;
    auto batch = is_readable ? loader->TryNext() : std::nullopt;
    EXPECT_TRUE(batch.has_value()) << step;
    if (!batch.has_value() || !batch->ok()) break;
    internal::MutexLock lock(&mu);
    given.push_back(**std::move(batch));
  }
  EXPECT_EQ(loader->next_step(), kSteps);
  is_over = true;
  worker.join();
}

// Consumers of all kinds, one after the other.
TEST(ReadyFdStressTest, OtherCallsInBetweenLoseNoWakeUp) {
  const auto loader = OpenAt({4, 5, 0});
  const int fd = ReadyFdOf(*loader);
  std::mt19937_64 random(testing::TestSeed(3));
  for (uint64_t step = 0; step < kSteps / 4; ++step) {
    std::optional<absl::StatusOr<Batch>> batch;
    switch (random() % 4) {
      case 0:
        batch = loader->NextBlocking();
        break;
      case 1:
        batch = RunBlocking(loader->Next());
        break;
      case 2:
        while (!batch.has_value()) batch = loader->TryNext();
        break;
      default:
        ASSERT_TRUE(IsReadable(fd, kLost)) << step;
        batch = loader->TryNext();
        ASSERT_TRUE(batch.has_value()) << step;
    }
    ASSERT_THAT(*batch, IsOk());
    ASSERT_EQ((*batch)->step(), step);
  }
}

}  // namespace
}  // namespace poniente
