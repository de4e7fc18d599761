// SPDX-License-Identifier: Apache-2.0
// The ways around a bug of Asio that docs/coroutines.md shows under "Cancelling
// what co_spawn has started", as it shows them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <future>
#include <utility>

#include "poniente/transforms.h"
#include "tests/loader/open_loader.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

namespace asio = boost::asio;
using testing::CountingWindows;
using testing::IsOk;
using testing::kSeqLen;
using testing::MakeSchedule;
using testing::Open;
using testing::StatusIs;

// A run without an end.
asio::awaitable<absl::Status> Train(Loader* loader) {
  while (true) {
    const auto batch = co_await loader->Next();
    if (!batch.ok()) co_return batch.status();
  }
}

struct TrainingRun {
  asio::strand<asio::thread_pool::executor_type> strand;
  Loader* loader;
  bool is_stopped = false;  // on the strand
  asio::cancellation_signal stop = {};
  std::promise<absl::Status> ended = {};
};

void Start(TrainingRun* run) {
  asio::post(run->strand, [run] {
    if (run->is_stopped) return;
    auto done = [run](std::exception_ptr thrown, absl::Status status) {
      if (thrown) status = absl::CancelledError("operation_aborted");
      run->ended.set_value(std::move(status));
    };
    asio::co_spawn(run->strand, Train(run->loader),
                   asio::bind_cancellation_slot(run->stop.slot(), done));
  });
}

void Stop(TrainingRun* run) {
  asio::post(run->strand, [run] {
    run->is_stopped = true;
    run->stop.emit(asio::cancellation_type::terminal);
  });
}

TEST(CancelledStartTest, ARunThatIsStoppedAtOnceHasItsEnd) {
  const auto loader = Open(*Repeat(CountingWindows(100, kSeqLen)),
                           MakeSchedule(1'000'000'000, 1));
  for (int round = 0; round < 200; ++round) {
    asio::thread_pool pool(2);
    TrainingRun run = {.strand = asio::make_strand(pool),
                       .loader = loader.get()};
    Start(&run);
    Stop(&run);
    EXPECT_THAT(run.ended.get_future().get(),
                StatusIs(absl::StatusCode::kCancelled, ::testing::_));
    pool.join();
  }
}

TEST(CancelledStartTest, ARunThatIsStoppedBeforeDoesNotStart) {
  const auto loader = Open(*Repeat(CountingWindows(100, kSeqLen)),
                           MakeSchedule(1'000'000'000, 1));
  asio::thread_pool pool(2);
  TrainingRun run = {.strand = asio::make_strand(pool), .loader = loader.get()};
  Stop(&run);
  Start(&run);
  pool.join();
  EXPECT_EQ(loader->next_step(), 0u);
}

// Blocks its thread until it may end.
asio::awaitable<absl::Status> Work(std::promise<void>* begun,
                                   std::shared_future<void> may_end) {
  begun->set_value();
  may_end.wait();
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> WorkOn(asio::thread_pool& pool,
                                     std::promise<void>* begun,
                                     std::shared_future<void> may_end) {
  asio::awaitable<absl::Status> work = Work(begun, std::move(may_end));
  auto token = asio::bind_cancellation_slot(asio::cancellation_slot(),
                                            asio::use_awaitable);
  auto result = co_await asio::co_spawn(pool, std::move(work), token);
  co_return result;
}

TEST(CancelledStartTest, WorkThatBlocksIsWaitedForAndTheSignalSeenAfterwards) {
  asio::thread_pool pool(1);
  asio::thread_pool blocking(1);
  auto strand = asio::make_strand(pool);
  asio::cancellation_signal stop;
  std::promise<void> begun, may_end, ended;
  std::exception_ptr thrown;
  asio::co_spawn(
      strand, WorkOn(blocking, &begun, may_end.get_future().share()),
      asio::bind_cancellation_slot(
          stop.slot(), [&](std::exception_ptr error, absl::Status status) {
            EXPECT_THAT(status, IsOk());
            thrown = error;
            ended.set_value();
          }));
  begun.get_future().wait();
  std::promise<void> emitted;
  asio::post(strand, [&] {
    stop.emit(asio::cancellation_type::terminal);
    emitted.set_value();
  });
  emitted.get_future().wait();
  may_end.set_value();
  ended.get_future().wait();
  EXPECT_EQ(thrown, nullptr);
  blocking.join();
  pool.join();
}

}  // namespace
}  // namespace poniente
