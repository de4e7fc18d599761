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

constexpr uint64_t kSteps = 30'000;

// Of batches of two samples.
struct HotRun {
  uint64_t steps = kSteps;
  uint32_t prefetch_batches = 64;
};

template <class AnyLoader>
std::unique_ptr<AnyLoader> HotLoader(const HotRun& run = {});
template <>
std::unique_ptr<Loader> HotLoader<Loader>(const HotRun& run) {
  LoaderOptions options;
  options.prefetch_batches = run.prefetch_batches;
  return Open(CountingWindows(2 * run.steps, kSeqLen),
              MakeSchedule(run.steps, 2), options);
}
template <>
std::unique_ptr<NumberLoader> HotLoader<NumberLoader>(const HotRun& run) {
  return OpenItems(Counting(2 * run.steps),
                   {.batch_size = 2, .prefetch_batches = run.prefetch_batches});
}

// Takes the first batch, and waits until all others are ready.
template <class AnyLoader>
void MakeAllReady(AnyLoader& loader, uint64_t steps) {
  ASSERT_THAT(loader.NextBlocking(), IsOk());
  while (loader.metrics().batches_ready < steps - 1) std::this_thread::yield();
}

template <class AnyLoader>
class FairNextTest : public ::testing::Test {};
using AnyLoaders = ::testing::Types<Loader, NumberLoader>;
TYPED_TEST_SUITE(FairNextTest, AnyLoaders);

// Takes batches until the run ends, or Next() is cancelled.
template <class AnyLoader>
asio::awaitable<void> TakeAll(AnyLoader& loader, uint64_t* taken) {
  while (true) {
    const auto batch = co_await loader.Next();
    if (!batch.ok()) co_return;
    ++*taken;
  }
}

// Lets a timer and the loop share a context of one thread, and returns how
// often the timer fired while the loop took `kSteps` batches.
TYPED_TEST(FairNextTest, ATimerFiresWhileBatchesAreReady) {
  asio::io_context context{1};
  const auto loader = HotLoader<TypeParam>();
  uint64_t taken = 0;
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
  asio::co_spawn(context, TakeAll(*loader, &taken), [&](std::exception_ptr) {
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
  uint64_t taken = 0;
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

// No thread makes batches meanwhile, so what the system runs when does not
// matter.
TYPED_TEST(FairNextTest, TwoLoadersOnOneThreadTakeTurns) {
  const HotRun run = {.steps = 1000, .prefetch_batches = 1000};
  asio::io_context context{1};
  const auto one = HotLoader<TypeParam>(run);
  const auto other = HotLoader<TypeParam>(run);
  MakeAllReady(*one, run.steps);
  MakeAllReady(*other, run.steps);
  uint64_t taken[2] = {1, 1};
  asio::co_spawn(context, TakeAll(*one, &taken[0]), asio::detached);
  asio::co_spawn(context, TakeAll(*other, &taken[1]), asio::detached);
  uint64_t most_apart = 0;
  while (taken[0] < run.steps || taken[1] < run.steps) {
    ASSERT_EQ(context.run_one(), 1u);
    most_apart =
        std::max(most_apart, taken[0] > taken[1] ? taken[0] - taken[1]
                                                 : taken[1] - taken[0]);
  }
  EXPECT_EQ(most_apart, 1u);
  context.run();
  EXPECT_EQ(taken[0], run.steps);
  EXPECT_EQ(taken[1], run.steps);
}

}  // namespace
}  // namespace poniente
