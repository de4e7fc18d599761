// SPDX-License-Identifier: Apache-2.0
#include "async/notifier.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

#include "tests/support/status_matchers.h"

namespace poniente::internal {
namespace {

namespace asio = boost::asio;
using poniente::testing::IsOk;
using poniente::testing::StatusIs;

TEST(NotifierTest, WaitingForAPastVersionEndsAtOnce) {
  Notifier notifier;
  notifier.NotifyAll();
  EXPECT_THAT(RunBlocking(notifier.WaitPast(0)), IsOk());
}

TEST(NotifierTest, ResumesAllWhoWait) {
  Notifier notifier;
  asio::io_context context{1};
  int resumed = 0;
  for (int i = 0; i < 3; ++i) {
    asio::co_spawn(context, notifier.WaitPast(0),
                   [&](std::exception_ptr, absl::Status status) {
                     EXPECT_THAT(status, IsOk());
                     ++resumed;
                   });
  }
  context.poll();
  EXPECT_EQ(resumed, 0);
  notifier.NotifyAll();
  EXPECT_EQ(resumed, 0) << "resumed inside the call that notified";
  context.run();
  EXPECT_EQ(resumed, 3);
}

TEST(NotifierTest, CancellationEndsTheWaitAndForgetsTheWaiter) {
  Notifier notifier;
  asio::io_context context{1};
  asio::cancellation_signal cancel;
  absl::Status result;
  asio::co_spawn(context, notifier.WaitPast(0),
                 asio::bind_cancellation_slot(
                     cancel.slot(), [&](std::exception_ptr, absl::Status s) {
                       result = std::move(s);
                     }));
  context.poll();
  cancel.emit(asio::cancellation_type::terminal);
  context.run();
  EXPECT_THAT(result, StatusIs(absl::StatusCode::kCancelled, ::testing::_));
  notifier.NotifyAll();  // nobody is there any more
}

asio::awaitable<void> CountUp(Notifier* notifier, std::atomic<int>* count,
                              int until, std::atomic<int>* finished) {
  while (true) {
    const uint64_t seen = notifier->version();
    if (count->load() >= until) break;
    absl::Status waited = co_await notifier->WaitPast(seen);
    EXPECT_THAT(waited, IsOk());
  }
  ++*finished;
}

TEST(NotifierTest, LosesNoChangeBetweenThreads) {
  constexpr int kRounds = 3000;
  constexpr int kThreads = 3;
  Notifier notifier;
  std::atomic<int> count = 0;
  std::atomic<int> finished = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      asio::io_context context{1};
      asio::co_spawn(context, CountUp(&notifier, &count, kRounds, &finished),
                     [](std::exception_ptr thrown) { EXPECT_FALSE(thrown); });
      context.run();
    });
  }
  for (int i = 0; i < kRounds; ++i) {
    ++count;
    notifier.NotifyAll();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(finished, kThreads);
}

asio::awaitable<void> HoldWhileWaiting(Notifier* notifier,
                                       std::shared_ptr<int> held) {
  absl::Status waited = co_await notifier->WaitPast(0);
  ADD_FAILURE() << "resumed without its context: " << waited << *held;
}

template <class Context>
void DropsItsWaiters() {
  Notifier notifier;
  auto held = std::make_shared<int>(0);
  {
    Context context{1};
    asio::co_spawn(context, HoldWhileWaiting(&notifier, held),
                   [](std::exception_ptr) {
                     ADD_FAILURE() << "ended without its context";
                   });
    std::promise<void> parked;
    asio::post(context, [&] { parked.set_value(); });
    if constexpr (std::is_same_v<Context, asio::io_context>) context.poll();
    parked.get_future().wait();
    EXPECT_EQ(held.use_count(), 2);
  }
  EXPECT_EQ(held.use_count(), 1);
  notifier.NotifyAll();
  EXPECT_THAT(RunBlocking(notifier.WaitPast(0)), IsOk());
}

TEST(NotifierTest, AContextThatDiesDropsItsWaiters) {
  DropsItsWaiters<asio::io_context>();
  DropsItsWaiters<asio::thread_pool>();
}

TEST(NotifierTest, AContextMayDieWhileItsWaitersAreResumed) {
  for (int round = 0; round < 1000; ++round) {
    Notifier notifier;
    std::optional<asio::io_context> context(1);
    for (int i = 0; i < 3; ++i) {
      asio::co_spawn(asio::make_strand(*context), notifier.WaitPast(0),
                     [](std::exception_ptr, absl::Status) { ADD_FAILURE(); });
    }
    context->poll();
    std::atomic<bool> begun = false;
    std::thread other([&] {
      begun = true;
      notifier.NotifyAll();
    });
    while (!begun) std::this_thread::yield();
    context.reset();
    other.join();
  }
}

}  // namespace
}  // namespace poniente::internal
