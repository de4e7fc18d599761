// SPDX-License-Identifier: Apache-2.0
// A Next() that is given up just when its batch comes loses no batch: whatever
// gives it up, the next one gives the step that was next.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "poniente/async_next.h"
#include "poniente/mapped_dataset.h"
#include "tests/loader/open_loader.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

namespace asio = boost::asio;
using asio::experimental::awaitable_operators::operator||;
using testing::CountingWindows;
using testing::IsOk;
using testing::kSeqLen;
using testing::MakeSchedule;
using testing::Open;
using testing::TestSeed;
using Result = absl::StatusOr<Batch>;

constexpr uint64_t kSteps = 50'000;  // then from the first one again

// PONIENTE_TEST_TIMEOUTS sets how many come in each test.
int Timeouts(int unless_said) {
  const char* const said = std::getenv("PONIENTE_TEST_TIMEOUTS");
  return said == nullptr ? unless_said : std::atoi(said);
}

// Microseconds that a window takes.
using Pause = std::shared_ptr<std::atomic<int>>;

// Windows that take longer than a consumer takes to ask again, so that it has
// to wait.
DatasetPtr<TokenWindow> SlowWindows(Pause pause) {
  return Map<TokenWindow>(
      "slow", CountingWindows(kSteps, kSeqLen),
      [pause = std::move(pause)](TokenWindow window) {
        std::this_thread::sleep_for(std::chrono::microseconds(pause->load()));
        return window;
      });
}

// What a consumer sees, and when it gives up.
class Consumer {
 public:
  explicit Consumer(int timeouts)
      : most_timeouts_(timeouts),
        loader_(Open(SlowWindows(pause_), MakeSchedule(0, 1))),
        random_(TestSeed(43)) {}

  Loader& loader() { return *loader_; }
  bool IsDone() const { return timeouts_ >= most_timeouts_ || failed_; }

  // About as long as a batch takes: as many come in time as do not.
  std::chrono::nanoseconds Patience() {
    return std::chrono::nanoseconds(
        static_cast<int64_t>(patience_ * static_cast<double>(random_() % 128)));
  }
  // What came of one attempt; nullopt where the time was over.
  void Saw(const std::optional<Result>& batch) {
    if (!batch.has_value() || absl::IsCancelled(batch->status())) {
      ++timeouts_;
    } else if (!batch->ok() || (*batch)->step() != next_) {
      failed_ = true;
      ADD_FAILURE() << (batch->ok() ? std::to_string((*batch)->step())
                                    : batch->status().ToString())
                    << " came where step " << next_ << " was next, after "
                    << timeouts_ << " timeouts";
    } else if (++next_ == kSteps) {
      EXPECT_THAT(loader_->Seek(0), IsOk());
      next_ = 0;
    }
    const bool in_time = batch.has_value() && batch->ok();
    received_ += in_time;
    patience_ = std::clamp(patience_ * (in_time ? 0.9 : 1.1), kLeast, 1e6);
    // Batches that are ready come before the shortest timer: then the loader is
    // faster than this consumer, as with sanitizers.
    if (patience_ == kLeast && pause_->load() < kLongestPause) ++*pause_;
  }
  void ExpectBothEnds() const {
    EXPECT_FALSE(failed_);
    EXPECT_GT(received_, most_timeouts_ / 10);
  }

 private:
  static constexpr double kLeast = 0.1;
  static constexpr int kLongestPause = 5000;

  const int most_timeouts_;
  const Pause pause_ = std::make_shared<std::atomic<int>>(1);
  const std::unique_ptr<Loader> loader_;
  std::mt19937_64 random_;
  double patience_ = 50;
  uint64_t next_ = 0;
  int timeouts_ = 0;
  int received_ = 0;
  bool failed_ = false;
};

// `once` is a coroutine that makes one attempt.
template <class Once>
void RunAll(Once once) {
  Consumer consumer(Timeouts(2'000));
  asio::io_context context{1};
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> {
        asio::steady_timer timer(context);
        while (!consumer.IsDone()) {
          timer.expires_after(consumer.Patience());
          const std::optional<Result> batch =
              co_await once(consumer.loader(), timer);
          consumer.Saw(batch);
        }
      },
      [](std::exception_ptr thrown) { EXPECT_FALSE(thrown); });
  context.run();
  consumer.ExpectBothEnds();
}

asio::awaitable<std::optional<Result>> TokenOrTimer(Loader& loader,
                                                    asio::steady_timer& timer) {
  auto first = co_await (async_next(loader, asio::use_awaitable) ||
                         timer.async_wait(asio::use_awaitable));
  std::optional<Result> batch;
  if (first.index() == 0) batch = std::get<0>(std::move(first));
  co_return batch;
}

TEST(TimeoutTest, OfATokenInAnOrExpression) { RunAll(TokenOrTimer); }

asio::awaitable<std::optional<Result>> NextOrTimer(Loader& loader,
                                                   asio::steady_timer& timer) {
  auto first =
      co_await (loader.Next() || timer.async_wait(asio::use_awaitable));
  std::optional<Result> batch;
  if (first.index() == 0) batch = std::get<0>(std::move(first));
  co_return batch;
}

TEST(TimeoutTest, OfACoroutineInAnOrExpression) { RunAll(NextOrTimer); }

asio::awaitable<std::optional<Result>> TimerOrNext(Loader& loader,
                                                   asio::steady_timer& timer) {
  auto first =
      co_await (timer.async_wait(asio::use_awaitable) || loader.Next());
  std::optional<Result> batch;
  if (first.index() == 1) batch = std::get<1>(std::move(first));
  co_return batch;
}

TEST(TimeoutTest, OfACoroutineBehindTheTimer) { RunAll(TimerOrNext); }

asio::awaitable<std::optional<Result>> GroupOfBoth(Loader& loader,
                                                   asio::steady_timer& timer) {
  auto group = asio::experimental::make_parallel_group(
      async_next(loader,
                 asio::bind_executor(timer.get_executor(), asio::deferred)),
      timer.async_wait(asio::deferred));
  auto [order, result, error] = co_await group.async_wait(
      asio::experimental::wait_for_one(), asio::use_awaitable);
  std::optional<Result> batch;
  if (order[0] == 0) batch = std::move(result);
  co_return batch;
}

TEST(TimeoutTest, OfADeferredOneInAGroup) { RunAll(GroupOfBoth); }

// Callbacks: the timer's emits the signal, and no batch is looked at behind it.
TEST(TimeoutTest, OfCallbacks) {
  Consumer consumer(Timeouts(2'000));
  asio::io_context context{1};
  asio::steady_timer timer(context);
  while (!consumer.IsDone()) {
    asio::cancellation_signal cancel;
    bool is_late = false;
    std::optional<Result> batch;
    timer.expires_after(consumer.Patience());
    timer.async_wait([&](boost::system::error_code error) {
      if (error || batch.has_value()) return;
      is_late = true;
      cancel.emit(asio::cancellation_type::all);
    });
    async_next(consumer.loader(),
               asio::bind_cancellation_slot(
                   cancel.slot(), asio::bind_executor(context, [&](Result b) {
                     timer.cancel();
                     batch = std::move(b);
                   })));
    context.run();
    context.restart();
    if (is_late) batch.reset();
    consumer.Saw(batch);
  }
  consumer.ExpectBothEnds();
}

// On another thread than the signal's: what the future holds is all there is.
TEST(TimeoutTest, OfFutures) {
  Consumer consumer(Timeouts(2'000));
  asio::thread_pool pool{1};
  const auto strand = asio::make_strand(pool);
  while (!consumer.IsDone()) {
    asio::cancellation_signal cancel;
    auto ahead = async_next(
        consumer.loader(),
        asio::bind_cancellation_slot(
            cancel.slot(), asio::bind_executor(strand, asio::use_future)));
    if (ahead.wait_for(consumer.Patience()) != std::future_status::ready) {
      cancel.emit(asio::cancellation_type::terminal);
    }
    consumer.Saw(ahead.get());
  }
  consumer.ExpectBothEnds();
}

// The handler's context dies with the batch on its way to it.
TEST(TimeoutTest, OfContextsThatDie) {
  Consumer consumer(0);
  for (int round = 0; round < 2000; ++round) {
    std::optional<Result> batch;
    {
      asio::io_context context{1};
      async_next(consumer.loader(), asio::bind_executor(context, [&](Result b) {
                   batch.emplace(std::move(b));
                 }));
      const auto patience = consumer.Patience();
      for (int i = 0; i < round % 4; ++i) context.run_one_for(patience);
    }
    consumer.Saw(batch);
  }
}

}  // namespace
}  // namespace poniente
