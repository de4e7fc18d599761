// SPDX-License-Identifier: Apache-2.0
// A loop over Next() leaves its executor to others, even if every batch is
// ready before it is asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include "tests/loader/open_items.h"
#include "tests/loader/open_loader.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

namespace asio = boost::asio;
using testing::Counting;
using testing::CountingWindows;
using testing::IsOk;
using testing::kSeqLen;
using testing::MakeSchedule;
using testing::NumberLoader;
using testing::Open;
using testing::OpenItems;

constexpr uint64_t kSteps = 1000;

// Returns a loader of batches of two samples, which can prefetch all.
template <class AnyLoader>
std::unique_ptr<AnyLoader> OpenHot();
template <>
std::unique_ptr<Loader> OpenHot() {
  LoaderOptions options;
  options.prefetch_batches = kSteps;
  return Open(CountingWindows(2 * kSteps, kSeqLen), MakeSchedule(kSteps, 2),
              options);
}
template <>
std::unique_ptr<NumberLoader> OpenHot() {
  return OpenItems(Counting(2 * kSteps),
                   {.batch_size = 2, .prefetch_batches = kSteps});
}

// Returns a loader of which the first batch has been taken, and all others are
// ready, so that no Next() need wait, whatever the system runs when.
template <class AnyLoader>
std::unique_ptr<AnyLoader> HotLoader() {
  auto loader = OpenHot<AnyLoader>();
  EXPECT_THAT(loader->NextBlocking(), IsOk());
  while (loader->metrics().batches_ready < kSteps - 1) {
    std::this_thread::yield();
  }
  return loader;
}

template <class AnyLoader>
class FairNextTest : public ::testing::Test {};
using AnyLoaders = ::testing::Types<Loader, NumberLoader>;
TYPED_TEST_SUITE(FairNextTest, AnyLoaders);

// Takes batches until the run ends, or Next() is cancelled, and works with each
// for so long.
template <class AnyLoader>
asio::awaitable<void> TakeAll(AnyLoader& loader, uint64_t* taken,
                              std::chrono::microseconds work = {}) {
  while (true) {
    const auto batch = co_await loader.Next();
    if (!batch.ok()) co_return;
    ++*taken;
    const auto end = std::chrono::steady_clock::now() + work;
    while (std::chrono::steady_clock::now() < end) {
    }
  }
}

TYPED_TEST(FairNextTest, ATimerFiresWhileBatchesAreReady) {
  asio::io_context context{1};
  const auto loader = HotLoader<TypeParam>();
  uint64_t taken = 1;
  uint64_t ticks = 0;
  uint64_t taken_at_last_tick = 0;
  bool is_over = false;
  const auto tick = [&]() -> asio::awaitable<void> {
    asio::steady_timer timer(context);
    while (!is_over) {
      timer.expires_after(std::chrono::milliseconds(1));
      co_await timer.async_wait(asio::use_awaitable);
      ++ticks;
      taken_at_last_tick = is_over ? taken_at_last_tick : taken;
    }
  };
  const auto begin = std::chrono::steady_clock::now();
  asio::co_spawn(context, tick(), asio::detached);
  std::chrono::steady_clock::duration took{};
  asio::co_spawn(context,
                 TakeAll(*loader, &taken, std::chrono::microseconds(50)),
                 [&](std::exception_ptr) {
                   is_over = true;
                   took = std::chrono::steady_clock::now() - begin;
                 });
  context.run();
  EXPECT_EQ(taken, kSteps);
  // At least one in ten of those that the time would allow.
  EXPECT_GE(ticks, static_cast<uint64_t>(took / std::chrono::milliseconds(10)));
  EXPECT_GT(taken_at_last_tick, kSteps / 2);
}

TYPED_TEST(FairNextTest,
           ACancellationThatIsPostedReachesALoopOverReadyBatches) {
  asio::io_context context{1};
  const auto loader = HotLoader<TypeParam>();
  uint64_t taken = 1;
  asio::cancellation_signal cancel;
  asio::co_spawn(context, TakeAll(*loader, &taken),
                 asio::bind_cancellation_slot(cancel.slot(), asio::detached));
  while (taken < 100) context.run_one();
  asio::post(context,
             [&cancel] { cancel.emit(asio::cancellation_type::terminal); });
  context.run();
  EXPECT_LT(taken, 200u);
  EXPECT_EQ(loader->next_step(), taken);
}

TYPED_TEST(FairNextTest, TwoLoadersOnOneThreadTakeTurns) {
  asio::io_context context{1};
  const auto one = HotLoader<TypeParam>();
  const auto other = HotLoader<TypeParam>();
  uint64_t taken[2] = {1, 1};
  asio::co_spawn(context, TakeAll(*one, &taken[0]), asio::detached);
  asio::co_spawn(context, TakeAll(*other, &taken[1]), asio::detached);
  uint64_t most_apart = 0;
  while (taken[0] < kSteps || taken[1] < kSteps) {
    ASSERT_EQ(context.run_one(), 1u);
    most_apart =
        std::max(most_apart, taken[0] > taken[1] ? taken[0] - taken[1]
                                                 : taken[1] - taken[0]);
  }
  EXPECT_EQ(most_apart, 1u);
  context.run();
  EXPECT_EQ(taken[0], kSteps);
  EXPECT_EQ(taken[1], kSteps);
}

}  // namespace
}  // namespace poniente
