// SPDX-License-Identifier: Apache-2.0
#include "async/blocking_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/support/status_matchers.h"

namespace poniente::internal {
namespace {

namespace asio = boost::asio;
using poniente::testing::IsOk;
using poniente::testing::StatusIs;
using ::testing::HasSubstr;

TEST(BlockingThreadsTest, RunsElsewhereAndResumesHere) {
  BlockingThreads threads(2);
  asio::io_context context{1};
  std::thread::id ran_on, resumed_on;
  auto task = [&]() -> Task<> {
    std::function<absl::Status()> call = [&] {
      ran_on = std::this_thread::get_id();
      return absl::OkStatus();
    };
    absl::Status status = co_await threads.Run(std::move(call));
    resumed_on = std::this_thread::get_id();
    co_return status;
  };
  absl::Status result = absl::UnknownError("not run");
  asio::co_spawn(context, task(), [&](std::exception_ptr, absl::Status status) {
    result = status;
  });
  context.run();
  EXPECT_THAT(result, IsOk());
  EXPECT_NE(ran_on, std::this_thread::get_id());
  EXPECT_EQ(resumed_on, std::this_thread::get_id());
}

TEST(BlockingThreadsTest, RunsToTheEndThoughItIsCancelled) {
  BlockingThreads threads(1);
  asio::io_context context{1};
  asio::cancellation_signal cancel;
  std::promise<void> begun, go_on;
  bool has_run = false;
  std::function<absl::Status()> call = [&] {
    begun.set_value();
    go_on.get_future().wait();
    has_run = true;
    return absl::OkStatus();
  };
  absl::Status result = absl::UnknownError("not run");
  asio::co_spawn(
      context, threads.RunToEnd(std::move(call)),
      asio::bind_cancellation_slot(
          cancel.slot(), [&](std::exception_ptr thrown, absl::Status status) {
            EXPECT_EQ(thrown, nullptr);
            EXPECT_TRUE(has_run);
            result = status;
          }));
  context.run_one();  // up to the wait
  begun.get_future().wait();
  cancel.emit(asio::cancellation_type::terminal);
  context.poll();
  EXPECT_EQ(result.code(), absl::StatusCode::kUnknown);
  go_on.set_value();
  context.run();
  EXPECT_THAT(result, IsOk());
}

TEST(BlockingThreadsTest, EndsBeforeACallerThatIsDropped) {
  BlockingThreads threads(1);
  std::promise<void> begun;
  std::atomic<bool> has_run = false;
  std::function<absl::Status()> call = [&] {
    begun.set_value();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    has_run = true;
    return absl::OkStatus();
  };
  {
    asio::io_context context{1};
    asio::co_spawn(context, threads.RunToEnd(std::move(call)),
                   [](std::exception_ptr, absl::Status) {});
    context.run_one();  // up to the wait
    begun.get_future().wait();
  }
  EXPECT_TRUE(has_run);
}

TEST(BlockingThreadsTest, ReturnsTheCallsStatusAndItsException) {
  BlockingThreads threads(1);
  std::function<absl::Status()> fails = [] {
    return absl::DataLossError("a broken file");
  };
  EXPECT_THAT(RunBlocking(threads.Run(fails)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("broken")));
  std::function<absl::Status()> throws = []() -> absl::Status {
    throw std::runtime_error("thrown by the call");
  };
  EXPECT_THAT(RunBlocking(threads.Run(throws)),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("thrown")));
}

TEST(BlockingThreadsTest, ManyCallersEachGetTheirOwn) {
  BlockingThreads threads(3);
  asio::io_context context{1};
  int ended = 0;
  std::vector<int> values(100);
  for (int i = 0; i < 100; ++i) {
    std::function<absl::Status()> call = [&values, i] {
      values[i] = i;
      return absl::OkStatus();
    };
    asio::co_spawn(context, threads.Run(call),
                   [&](std::exception_ptr, absl::Status status) {
                     EXPECT_THAT(status, IsOk());
                     ++ended;
                   });
  }
  context.run();
  EXPECT_EQ(ended, 100);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(values[i], i);
}

TEST(BlockingThreadsTest, ACancelledCallerDoesNotWaitForItsCall) {
  std::promise<void> may_end;
  std::atomic<bool> has_ended = false;
  {
    BlockingThreads threads(1);
    asio::io_context context{1};
    asio::cancellation_signal cancel;
    std::shared_future<void> allowed = may_end.get_future().share();
    std::promise<void> begun;
    std::function<absl::Status()> call = [&has_ended, &begun, allowed] {
      begun.set_value();
      allowed.wait();
      has_ended = true;
      return absl::OkStatus();
    };
    std::optional<absl::Status> result;
    std::exception_ptr thrown;
    asio::co_spawn(
        context, threads.Run(call),
        asio::bind_cancellation_slot(cancel.slot(),
                                     [&](std::exception_ptr e, absl::Status s) {
                                       thrown = e;
                                       result = std::move(s);
                                     }));
    context.poll();
    begun.get_future().wait();
    cancel.emit(asio::cancellation_type::terminal);
    context.run();
    ASSERT_TRUE(result.has_value());
    EXPECT_TRUE(thrown != nullptr || absl::IsCancelled(*result));
    EXPECT_FALSE(has_ended);
    may_end.set_value();
  }
  EXPECT_TRUE(has_ended) << "destroyed before its call had ended";
}

}  // namespace
}  // namespace poniente::internal
