// SPDX-License-Identifier: Apache-2.0
#include "poniente/async_next.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "tests/loader/open_loader.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

namespace asio = boost::asio;
using testing::CountingWindows;
using testing::FlakyWindows;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::kSeqLen;
using testing::MakeSchedule;
using testing::Open;
using testing::StatusIs;
using Result = absl::StatusOr<Batch>;
using Step = absl::StatusOr<uint64_t>;

Step StepOf(const Result& batch) {
  return batch.ok() ? Step(batch->step()) : batch.status();
}

std::unique_ptr<Loader> ThreeSteps() {
  return Open(CountingWindows(100, kSeqLen), MakeSchedule(3, 2));
}

// A loader whose Next() waits until something is appended.
struct Waiting {
  std::shared_ptr<InMemoryDataset<TokenWindow>> data =
      InMemoryDataset<TokenWindow>::Growing();
  std::unique_ptr<Loader> loader = Open(data, MakeSchedule(0, 1));

  void Append() {
    EXPECT_THAT(data->Append({TokenWindow(std::vector<uint32_t>(kSeqLen, 5))}),
                IsOk());
  }
};

auto MatchesClosed() {
  return StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("closed"));
}
auto MatchesSecond() {
  return StatusIs(absl::StatusCode::kFailedPrecondition,
                  HasSubstr("another Next()"));
}
auto MatchesCancelled() {
  return StatusIs(absl::StatusCode::kCancelled, ::testing::_);
}

TEST(AsyncNextTest, ACallbackRunsOnItsExecutorAndNeverInsideTheCall) {
  const auto loader = ThreeSteps();
  asio::io_context context{1};
  Step got = absl::UnknownError("not yet");
  const auto begin = [&] {
    async_next(*loader, asio::bind_executor(context, [&](Result batch) {
      EXPECT_TRUE(context.get_executor().running_in_this_thread());
      got = StepOf(batch);
    }));
  };
  begin();
  EXPECT_FALSE(got.ok());
  context.run();
  EXPECT_THAT(got, IsOkAndHolds(0));
  // From a thread of the executor, and with a batch that is there already.
  while (loader->metrics().batches_ready < 2) std::this_thread::yield();
  asio::post(context, [&] {
    begin();
    EXPECT_THAT(got, IsOkAndHolds(0)) << "called inside the initiating call";
  });
  context.restart();
  context.run();
  EXPECT_THAT(got, IsOkAndHolds(1));
}

TEST(AsyncNextTest, ARunWaitsForTheOperation) {
  Waiting waiting;
  asio::io_context context{1};
  Step got = absl::UnknownError("not yet");
  async_next(*waiting.loader, asio::bind_executor(context, [&](Result batch) {
    got = StepOf(batch);
  }));
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    waiting.Append();
  });
  context.run();
  EXPECT_THAT(got, IsOkAndHolds(0));
  writer.join();
}

TEST(AsyncNextTest, AHandlerWithoutAnExecutorRunsOnAThreadOfTheSystem) {
  const auto loader = ThreeSteps();
  std::promise<std::thread::id> thread;
  async_next(*loader, [&](Result batch) {
    EXPECT_THAT(StepOf(batch), IsOkAndHolds(0));
    thread.set_value(std::this_thread::get_id());
  });
  EXPECT_NE(thread.get_future().get(), std::this_thread::get_id());
}

TEST(AsyncNextTest, AHandlerMayBeginTheNextOneOfAWholeRun) {
  const auto loader = Open(CountingWindows(100, kSeqLen), MakeSchedule(40, 2));
  asio::io_context context{1};
  struct Session {
    void Go() {
      async_next(*from, asio::bind_executor(*on, [this](Result batch) {
        steps.push_back(StepOf(batch));
        if (batch.ok()) Go();
      }));
    }
    Loader* from;
    asio::io_context* on;
    std::vector<Step> steps;
  } session{loader.get(), &context, {}};
  session.Go();
  context.run();
  ASSERT_EQ(session.steps.size(), 41u);
  for (uint64_t step = 0; step < 40; ++step) {
    EXPECT_THAT(session.steps[step], IsOkAndHolds(step));
  }
  EXPECT_THAT(session.steps.back(),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("no step 40")));
}

TEST(AsyncNextTest, AFutureHoldsWhatNextGives) {
  const auto loader = ThreeSteps();
  asio::thread_pool pool{1};
  auto first = async_next(*loader, asio::use_future);
  static_assert(std::is_same_v<decltype(first), std::future<Result>>);
  EXPECT_THAT(StepOf(first.get()), IsOkAndHolds(0));
  auto second =
      async_next(*loader, asio::bind_executor(pool, asio::use_future));
  static_assert(std::is_same_v<decltype(second), std::future<Result>>);
  EXPECT_THAT(StepOf(second.get()), IsOkAndHolds(1));
  EXPECT_THAT(loader->NextBlocking(), IsOk());
  auto past = async_next(*loader, asio::use_future(StepOf));
  EXPECT_THAT(past.get(),
              StatusIs(absl::StatusCode::kOutOfRange, ::testing::_));
}

asio::awaitable<void> AwaitInEveryWay(Loader* loader, std::vector<Step>* got) {
  {
    Result plain = co_await async_next(*loader, asio::use_awaitable);
    got->push_back(StepOf(plain));
  }
  {
    Result deferred = co_await async_next(*loader, asio::deferred);
    got->push_back(StepOf(deferred));
  }
  {
    auto tuple =
        co_await async_next(*loader, asio::as_tuple(asio::use_awaitable));
    got->push_back(StepOf(std::get<0>(tuple)));
  }
  Result past = co_await async_next(*loader, asio::use_awaitable);
  got->push_back(StepOf(past));
}

TEST(AsyncNextTest, CoroutinesMayAwaitItInEveryWay) {
  const auto loader = ThreeSteps();
  asio::io_context context{1};
  std::vector<Step> got;
  asio::co_spawn(context, AwaitInEveryWay(loader.get(), &got),
                 [](std::exception_ptr thrown) { EXPECT_FALSE(thrown); });
  context.run();
  ASSERT_EQ(got.size(), 4u);
  for (uint64_t step = 0; step < 3; ++step) {
    EXPECT_THAT(got[step], IsOkAndHolds(step));
  }
  EXPECT_THAT(got[3], StatusIs(absl::StatusCode::kOutOfRange, ::testing::_));
}

// Which a Task<> cannot: its executor is any_io_executor.
using OnContext = asio::io_context::executor_type;

asio::awaitable<void, OnContext> AwaitOnContext(Loader* loader, Step* got) {
  constexpr asio::use_awaitable_t<OnContext> kToken;
  Result batch = co_await async_next(*loader, kToken);
  *got = StepOf(batch);
}

TEST(AsyncNextTest, CoroutinesOfAnotherExecutorTypeMayAwaitIt) {
  const auto loader = ThreeSteps();
  asio::io_context context{1};
  Step got = absl::UnknownError("not yet");
  asio::co_spawn(context, AwaitOnContext(loader.get(), &got),
                 [](std::exception_ptr thrown) { EXPECT_FALSE(thrown); });
  context.run();
  EXPECT_THAT(got, IsOkAndHolds(0));
}

TEST(AsyncNextTest, DeferredDoesNothingUntilItIsStarted) {
  const auto loader = ThreeSteps();
  asio::io_context context{1};
  Step got = absl::UnknownError("not yet");
  auto later = async_next(*loader, asio::deferred);
  EXPECT_THAT(loader->NextBlocking(), IsOk());
  std::move(later)(
      asio::bind_executor(context, [&](Result batch) { got = StepOf(batch); }));
  context.run();
  EXPECT_THAT(got, IsOkAndHolds(1));
}

TEST(AsyncNextTest, HandlersMayBeMoveOnlyOrErased) {
  const auto loader = ThreeSteps();
  asio::io_context context{1};
  std::vector<Step> got;
  auto own = std::make_unique<int>(7);
  async_next(*loader, asio::bind_executor(
                          context, [&got, own = std::move(own)](Result batch) {
                            EXPECT_EQ(*own, 7);
                            got.push_back(StepOf(batch));
                          }));
  context.run();
  asio::any_completion_handler<void(Result)> erased(asio::bind_executor(
      context, [&](Result batch) { got.push_back(StepOf(batch)); }));
  async_next(*loader, std::move(erased));
  context.restart();
  context.run();
  ASSERT_EQ(got.size(), 2u);
  EXPECT_THAT(got[0], IsOkAndHolds(0));
  EXPECT_THAT(got[1], IsOkAndHolds(1));
}

TEST(AsyncNextTest, TheHandlerRunsInItsStrand) {
  const auto loader = Open(CountingWindows(100, kSeqLen), MakeSchedule(0, 2));
  asio::thread_pool pool{3};
  auto strand = asio::make_strand(pool);
  for (int step = 0; step < 50; ++step) {
    std::promise<bool> in_strand;
    async_next(*loader, asio::bind_executor(strand, [&](Result batch) {
      EXPECT_THAT(batch, IsOk());
      in_strand.set_value(strand.running_in_this_thread());
    }));
    EXPECT_TRUE(in_strand.get_future().get());
  }
}

template <class T>
class CountingAllocator {
 public:
  using value_type = T;
  explicit CountingAllocator(int* live, int* total)
      : live_(live), total_(total) {}
  template <class U>
  CountingAllocator(const CountingAllocator<U>& other)
      : live_(other.live_), total_(other.total_) {}
  T* allocate(size_t n) {
    ++*live_;
    ++*total_;
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* p, size_t n) {
    --*live_;
    std::allocator<T>().deallocate(p, n);
  }
  bool operator==(const CountingAllocator& other) const {
    return live_ == other.live_;
  }

 private:
  template <class U>
  friend class CountingAllocator;
  int* live_;
  int* total_;
};

TEST(AsyncNextTest, TheAssociatedAllocatorHoldsTheHandlerUntilItIsCalled) {
  const auto loader = ThreeSteps();
  asio::io_context context{1};
  int live = 0;
  int total = 0;
  int live_in_handler = -1;
  async_next(*loader, asio::bind_allocator(
                          CountingAllocator<char>(&live, &total),
                          asio::bind_executor(context, [&](Result batch) {
                            EXPECT_THAT(batch, IsOk());
                            live_in_handler = live;
                          })));
  EXPECT_EQ(live, 1);
  context.run();
  EXPECT_EQ(live_in_handler, 0);
  EXPECT_EQ(total, 1);
}

TEST(AsyncNextTest, WhatTheHandlerThrowsComesOutOfRun) {
  const auto loader = ThreeSteps();
  asio::io_context context{1};
  async_next(*loader, asio::bind_executor(context, [](Result) {
    throw std::runtime_error("of the handler");
  }));
  EXPECT_THROW(context.run(), std::runtime_error);
  EXPECT_THAT(StepOf(loader->NextBlocking()), IsOkAndHolds(1));
}

TEST(AsyncNextTest, ErrorsOfTheDataArriveAndTheStepCanBeTriedAgain) {
  const auto flaky = FlakyWindows(0, 1, "Input/output error");
  const auto loader = Open(flaky, MakeSchedule(0, 4));
  EXPECT_THAT(
      StepOf(async_next(*loader, asio::use_future).get()),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("step 0, rank 0: ")));
  EXPECT_THAT(StepOf(async_next(*loader, asio::use_future).get()),
              IsOkAndHolds(0));
}

TEST(AsyncNextTest, TheSecondOfTwoIsToldSoInTheOrderOfTheCalls) {
  Waiting waiting;
  asio::io_context context{1};
  std::vector<Step> got(2, absl::UnknownError("not yet"));
  for (int i = 0; i < 2; ++i) {
    async_next(*waiting.loader, asio::bind_executor(context, [&, i](Result b) {
      got[i] = StepOf(b);
    }));
  }
  EXPECT_THAT(waiting.loader->NextBlocking(), MatchesSecond());
  waiting.Append();
  context.run();
  EXPECT_THAT(got[0], IsOkAndHolds(0));
  EXPECT_THAT(got[1], MatchesSecond());
}

TEST(AsyncNextTest, AConsumerThatKeepsTooManyBatchesIsTold) {
  LoaderOptions options;
  options.max_held = 1;
  const auto loader =
      Open(CountingWindows(100, kSeqLen), MakeSchedule(0, 2), options);
  std::vector<Result> kept;
  for (int i = 0; i < 2; ++i) {
    kept.push_back(async_next(*loader, asio::use_future).get());
    EXPECT_THAT(kept.back(), IsOk());
  }
  EXPECT_THAT(async_next(*loader, asio::use_future).get(),
              StatusIs(absl::StatusCode::kResourceExhausted, ::testing::_));
  kept.clear();
  EXPECT_THAT(StepOf(async_next(*loader, asio::use_future).get()),
              IsOkAndHolds(2));
}

class CancelTest : public ::testing::TestWithParam<asio::cancellation_type> {};

TEST_P(CancelTest, EndsAWaitAndLosesNoBatch) {
  Waiting waiting;
  asio::io_context context{1};
  asio::cancellation_signal cancel;
  Step got = absl::UnknownError("not yet");
  const auto begin = [&] {
    async_next(*waiting.loader,
               asio::bind_cancellation_slot(
                   cancel.slot(), asio::bind_executor(context, [&](Result b) {
                     got = StepOf(b);
                   })));
  };
  begin();
  context.poll();
  cancel.emit(GetParam());
  EXPECT_EQ(got.status().code(), absl::StatusCode::kUnknown);
  context.run();
  EXPECT_THAT(got, MatchesCancelled());

  cancel.emit(GetParam());  // to nobody
  waiting.Append();
  begin();
  context.restart();
  context.run();
  EXPECT_THAT(got, IsOkAndHolds(0));
}

TEST_P(CancelTest, EndsAnOperationThatHasNotBegunToRun) {
  Waiting waiting;
  asio::io_context context{1};
  asio::cancellation_signal cancel;
  Step got = absl::UnknownError("not yet");
  async_next(*waiting.loader,
             asio::bind_cancellation_slot(
                 cancel.slot(), asio::bind_executor(context, [&](Result b) {
                   got = StepOf(b);
                 })));
  cancel.emit(GetParam());
  context.run();
  EXPECT_THAT(got, MatchesCancelled());
}

INSTANTIATE_TEST_SUITE_P(EveryType, CancelTest,
                         ::testing::Values(asio::cancellation_type::terminal,
                                           asio::cancellation_type::partial,
                                           asio::cancellation_type::total,
                                           asio::cancellation_type::all));

TEST(AsyncNextTest, MayBeCancelledFromAnyThreadAtAnyTime) {
  Waiting waiting;
  asio::thread_pool pool{2};
  uint64_t served = 0;
  for (int round = 0; round < 300; ++round) {
    asio::cancellation_signal cancel;
    std::promise<Step> got;
    async_next(*waiting.loader,
               asio::bind_cancellation_slot(
                   cancel.slot(), asio::bind_executor(pool, [&](Result b) {
                     got.set_value(StepOf(b));
                   })));
    std::thread writer([&] { waiting.Append(); });
    if (round % 3 != 0) cancel.emit(asio::cancellation_type::terminal);
    const Step step = got.get_future().get();
    writer.join();
    if (step.ok()) {
      EXPECT_THAT(step, IsOkAndHolds(served++));
    } else {
      EXPECT_THAT(step, MatchesCancelled());
    }
  }
  EXPECT_EQ(waiting.loader->next_step(), served);
}

asio::awaitable<void> NextOrTimeout(Loader* loader, bool* timed_out) {
  using asio::experimental::awaitable_operators::operator||;
  asio::steady_timer timer(co_await asio::this_coro::executor);
  timer.expires_after(std::chrono::milliseconds(5));
  auto first = co_await (async_next(*loader, asio::use_awaitable) ||
                         timer.async_wait(asio::use_awaitable));
  *timed_out = first.index() == 1;
}

TEST(AsyncNextTest, ATimeoutLosesNoBatch) {
  Waiting waiting;
  asio::io_context context{1};
  bool timed_out = false;
  asio::co_spawn(context, NextOrTimeout(waiting.loader.get(), &timed_out),
                 [](std::exception_ptr thrown) { EXPECT_FALSE(thrown); });
  context.run();
  EXPECT_TRUE(timed_out);
  waiting.Append();
  EXPECT_THAT(StepOf(waiting.loader->NextBlocking()), IsOkAndHolds(0));
}

TEST(AsyncNextTest, TheLoadersEndReachesAHandlerInEveryState) {
  // 0: not begun to run; 1: waiting; 2: the batch is there; 3: given already.
  for (int state = 0; state < 4; ++state) {
    Waiting waiting;
    asio::io_context context{1};
    Step got = absl::UnknownError("not yet");
    async_next(*waiting.loader, asio::bind_executor(context, [&](Result b) {
      got = StepOf(b);
    }));
    if (state > 0) context.poll();
    if (state > 1) waiting.Append();
    while (state > 1 && waiting.loader->metrics().batches_ready == 0) {
      std::this_thread::yield();
    }
    if (state > 2) context.run();
    waiting.loader.reset();
    context.restart();
    context.run();
    if (state < 3) {
      EXPECT_THAT(got, MatchesClosed()) << state;
    } else {
      EXPECT_THAT(got, IsOkAndHolds(0));
    }
  }
}

TEST(AsyncNextTest, AHandlerMayDestroyTheLoader) {
  auto loader = ThreeSteps();
  asio::io_context context{1};
  async_next(*loader, asio::bind_executor(context, [&](Result batch) {
    loader.reset();
    EXPECT_THAT(StepOf(batch), IsOkAndHolds(0));
  }));
  context.run();
  EXPECT_EQ(loader, nullptr);
}

TEST(AsyncNextTest, AContextThatDiesDropsTheHandlerAndTheLoaderGoesOn) {
  // 0: not begun to run; 1: waiting; 2: the batch is there.
  for (int state = 0; state < 3; ++state) {
    for (const bool cancellable : {false, true}) {
      Waiting waiting;
      asio::cancellation_signal cancel;
      auto alive = std::make_shared<int>();
      std::optional<asio::io_context> context(1);
      auto handler = asio::bind_executor(*context, [alive](Result) {
        ADD_FAILURE() << "called without its context";
      });
      if (cancellable) {
        async_next(*waiting.loader, asio::bind_cancellation_slot(
                                        cancel.slot(), std::move(handler)));
      } else {
        async_next(*waiting.loader, std::move(handler));
      }
      if (state > 0) context->poll();
      if (state > 1) waiting.Append();
      while (state > 1 && waiting.loader->metrics().batches_ready == 0) {
        std::this_thread::yield();
      }
      context.reset();
      EXPECT_EQ(alive.use_count(), 1) << "state " << state;
      cancel.emit(asio::cancellation_type::terminal);
      if (state < 2) waiting.Append();
      EXPECT_THAT(StepOf(waiting.loader->NextBlocking()), IsOkAndHolds(0));
    }
  }
}

TEST(AsyncNextTest, AFutureOfAContextThatDiesIsBroken) {
  Waiting waiting;
  std::optional<asio::thread_pool> pool(1);
  auto future =
      async_next(*waiting.loader, asio::bind_executor(*pool, asio::use_future));
  pool.reset();
  EXPECT_THROW((void)future.get(), std::future_error);
}

asio::awaitable<void> AwaitForEver(Loader* loader) {
  Result batch = co_await async_next(*loader, asio::use_awaitable);
  ADD_FAILURE() << "resumed without its context";
}

TEST(AsyncNextTest, ACoroutineMayDieWithItsContext) {
  Waiting waiting;
  {
    asio::io_context context{1};
    asio::co_spawn(context, AwaitForEver(waiting.loader.get()),
                   [](std::exception_ptr) { ADD_FAILURE(); });
    context.poll();
  }
  waiting.Append();
  EXPECT_THAT(StepOf(waiting.loader->NextBlocking()), IsOkAndHolds(0));
}

}  // namespace
}  // namespace poniente
