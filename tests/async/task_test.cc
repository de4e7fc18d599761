// SPDX-License-Identifier: Apache-2.0
#include "poniente/task.h"

#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "async/notifier.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

namespace asio = boost::asio;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::StatusIs;

Task<int> Give(int value) { co_return value; }
Task<int> Fail(absl::Status status) { co_return status; }

template <class Exception>
Task<int> Throw(Exception exception) {
  throw exception;
  co_return 0;
}

Task<int> Nested() {
  absl::StatusOr<int> inner = RunBlocking(Give(20));
  absl::StatusOr<int> awaited = co_await Give(22);
  co_return *inner + *awaited;
}

TEST(RunBlockingTest, GivesValueStatusAndMoveOnlyResults) {
  EXPECT_THAT(RunBlocking(Give(42)), IsOkAndHolds(42));
  EXPECT_THAT(RunBlocking(Fail(absl::NotFoundError("gone"))),
              StatusIs(absl::StatusCode::kNotFound, "gone"));
}

TEST(RunBlockingTest, TurnsExceptionsIntoStatuses) {
  EXPECT_THAT(RunBlocking(Throw(std::runtime_error("boom"))),
              StatusIs(absl::StatusCode::kInternal, "boom"));
  EXPECT_THAT(RunBlocking(Throw(std::bad_alloc())),
              StatusIs(absl::StatusCode::kResourceExhausted, ::testing::_));
  EXPECT_THAT(RunBlocking(Throw(17)),
              StatusIs(absl::StatusCode::kInternal, ::testing::_));
}

TEST(RunBlockingTest, MayBeCalledInsideACoroutine) {
  EXPECT_THAT(RunBlocking(Nested()), IsOkAndHolds(42));
}

Task<> Log(std::string text, std::vector<std::string>* log,
           absl::Status status) {
  auto executor = co_await asio::this_coro::executor;
  co_await asio::post(executor, asio::use_awaitable);
  log->push_back(std::move(text));
  co_return status;
}

TEST(WhenAllTest, RunsEveryTaskThoughOneFails) {
  std::vector<std::string> log;
  std::vector<Task<>> tasks;
  tasks.push_back(Log("a", &log, absl::OkStatus()));
  tasks.push_back(Log("b", &log, absl::DataLossError("b is bad")));
  tasks.push_back(Log("c", &log, absl::NotFoundError("c is gone")));
  EXPECT_THAT(RunBlocking(WhenAll(std::move(tasks))),
              StatusIs(absl::StatusCode::kDataLoss, "b is bad"));
  EXPECT_THAT(log, ::testing::UnorderedElementsAre("a", "b", "c"));
}

TEST(WhenAllTest, AcceptsNoneAndOne) {
  std::vector<std::string> log;
  EXPECT_THAT(RunBlocking(WhenAll({})), IsOk());
  std::vector<Task<>> one;
  one.push_back(Log("a", &log, absl::AbortedError("only")));
  EXPECT_THAT(RunBlocking(WhenAll(std::move(one))),
              StatusIs(absl::StatusCode::kAborted, "only"));
}

// The error is that of the first task in order, though it ends last.
TEST(WhenAllTest, TheFirstErrorIsByOrderNotByTime) {
  internal::Notifier gate;
  asio::io_context context{1};
  absl::Status result;
  struct Late {
    static Task<> Run(internal::Notifier* g) {
      absl::Status waited = co_await g->WaitPast(0);
      (void)waited;
      co_return absl::DataLossError("first by order");
    }
    static Task<> Early() { co_return absl::NotFoundError("first by time"); }
  };
  std::vector<Task<>> tasks;
  tasks.push_back(Late::Run(&gate));
  tasks.push_back(Late::Early());
  asio::co_spawn(context, WhenAll(std::move(tasks)),
                 [&](std::exception_ptr, absl::Status s) { result = s; });
  context.poll();
  gate.NotifyAll();
  context.run();
  EXPECT_THAT(result, StatusIs(absl::StatusCode::kDataLoss, "first by order"));
}

Task<> WaitForever(internal::Notifier* notifier, int* ended) {
  absl::Status waited = co_await notifier->WaitPast(0);
  ++*ended;
  co_return waited;
}

TEST(WhenAllTest, CancellationReachesAllTasksAndWaitsForThem) {
  internal::Notifier never;
  asio::io_context context{1};
  asio::cancellation_signal cancel;
  int ended = 0;
  absl::Status result;
  bool thrown_at_the_end = false;
  std::vector<Task<>> tasks;
  for (int i = 0; i < 3; ++i) tasks.push_back(WaitForever(&never, &ended));
  asio::co_spawn(context, WhenAll(std::move(tasks)),
                 asio::bind_cancellation_slot(
                     cancel.slot(), [&](std::exception_ptr e, absl::Status s) {
                       thrown_at_the_end = e != nullptr;
                       result = s;
                     }));
  context.poll();
  EXPECT_EQ(ended, 0);
  cancel.emit(asio::cancellation_type::terminal);
  context.run();
  EXPECT_EQ(ended, 3);
  EXPECT_FALSE(thrown_at_the_end);
  EXPECT_THAT(result, StatusIs(absl::StatusCode::kCancelled, ::testing::_));
}

Task<> HoldForever(internal::Notifier* notifier, std::shared_ptr<int> held) {
  absl::Status waited = co_await notifier->WaitPast(0);
  ++*held;
  co_return waited;
}

TEST(WhenAllTest, AContextThatDiesDropsTheTasksAndWhoWaitsForThem) {
  internal::Notifier never;
  auto held = std::make_shared<int>(0);
  {
    asio::io_context context{1};
    std::vector<Task<>> tasks;
    for (int i = 0; i < 3; ++i) tasks.push_back(HoldForever(&never, held));
    asio::co_spawn(context, WhenAll(std::move(tasks)),
                   [held](std::exception_ptr, absl::Status) { ++*held; });
    context.poll();
    EXPECT_EQ(held.use_count(), 5);
  }
  EXPECT_EQ(held.use_count(), 1);
  never.NotifyAll();
  EXPECT_EQ(*held, 0);
}

Task<> Many(std::atomic<int>* count) {
  std::vector<Task<>> tasks;
  struct Add {
    static Task<> Run(std::atomic<int>* c) {
      auto executor = co_await asio::this_coro::executor;
      co_await asio::post(executor, asio::use_awaitable);
      ++*c;
      co_return absl::OkStatus();
    }
  };
  for (int i = 0; i < 50; ++i) tasks.push_back(Add::Run(count));
  absl::Status all = co_await WhenAll(std::move(tasks));
  co_return all;
}

TEST(WhenAllTest, WorksOnAPoolOfThreads) {
  asio::thread_pool pool(3);
  std::atomic<int> count = 0;
  std::atomic<int> finished = 0;
  for (int i = 0; i < 40; ++i) {
    asio::co_spawn(pool, Many(&count),
                   [&](std::exception_ptr, absl::Status status) {
                     EXPECT_THAT(status, IsOk());
                     ++finished;
                   });
  }
  pool.join();
  EXPECT_EQ(count, 40 * 50);
  EXPECT_EQ(finished, 40);
}

}  // namespace
}  // namespace poniente
