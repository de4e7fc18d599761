// SPDX-License-Identifier: Apache-2.0
// Batches that Next() makes on the thread of its consumer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "poniente/item_loader.h"
#include "tests/loader/open_items.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

namespace asio = boost::asio;
using std::chrono::microseconds;
using testing::Items;
using testing::NumberLoader;
using testing::OpenItems;

// Of one step to a request.
const testing::NumberOptions kOptions = {.batch_size = 2,
                                         .prefetch_batches = 4};

// What the requests of a loader did.
struct Seen {
  std::thread::id consumer;
  // Whether requests on its thread wait, and until when: at most so long, or
  // until this is something else than it was.
  bool waits = false;
  std::chrono::seconds at_most{2};
  std::atomic<uint64_t> ticks = 0;

  std::atomic<uint64_t> here = 0;  // requests that began on its thread,
  std::atomic<uint64_t> left = 0;  // and ended on another,
  std::atomic<uint64_t> held = 0;  // and whose wait was never over
};

// Numbers from 0 on. The loader's thread is slow, so that the consumer gets to
// make some.
class SlowElsewhere final : public AsyncDataset<uint64_t> {
 public:
  explicit SlowElsewhere(Seen* seen) : seen_(seen) {}

  std::string name() const override { return "slow"; }
  uint64_t fingerprint() const override { return 1; }
  LengthState length_now() const override {
    return LengthState::Final(uint64_t{1} << 40);
  }
  Task<Items> GetBatch(std::span<const Index> indices) const override {
    if (std::this_thread::get_id() != seen_->consumer) {
      std::this_thread::sleep_for(microseconds(200));
      co_return Items(indices.begin(), indices.end());
    }
    ++seen_->here;
    if (seen_->waits) {
      const uint64_t ticks = seen_->ticks;
      const auto end = std::chrono::steady_clock::now() + seen_->at_most;
      while (seen_->ticks == ticks) {
        if (std::chrono::steady_clock::now() > end) {
          ++seen_->held;
          break;
        }
        asio::steady_timer timer(co_await asio::this_coro::executor,
                                 microseconds(100));
        co_await timer.async_wait(asio::use_awaitable);
      }
    }
    if (std::this_thread::get_id() != seen_->consumer) ++seen_->left;
    co_return Items(indices.begin(), indices.end());
  }

 private:
  Seen* const seen_;
};

// Awaits batches until `count` has reached `wanted`, at most 100,000.
Task<> Take(NumberLoader* loader, const std::atomic<uint64_t>* count,
            uint64_t wanted) {
  for (uint64_t step = 0; step < 100'000 && *count < wanted; ++step) {
    absl::StatusOr<Items> batch = co_await loader->Next();
    if (!batch.ok()) co_return batch.status();
    EXPECT_EQ(*batch, Items({2 * step, 2 * step + 1}));
  }
  co_return absl::OkStatus();
}

Task<> Tick(Seen* seen, const bool* is_over) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  while (!*is_over) {
    ++seen->ticks;
    timer.expires_after(microseconds(200));
    co_await timer.async_wait(asio::use_awaitable);
  }
  co_return absl::OkStatus();
}

// Runs both on this thread.
absl::Status TakeAndTick(NumberLoader* loader, Seen* seen,
                         const std::atomic<uint64_t>* count, uint64_t wanted) {
  asio::io_context context{1};
  bool is_over = false;
  absl::Status taken = absl::UnknownError("not ended");
  asio::co_spawn(context, Tick(seen, &is_over), asio::detached);
  asio::co_spawn(context, Take(loader, count, wanted),
                 [&](std::exception_ptr thrown, absl::Status status) {
                   EXPECT_FALSE(thrown);
                   taken = status;
                   is_over = true;
                 });
  context.run();
  return taken;
}

TEST(ItemLoaderHereTest, NextMakesBatchesInsteadOfWaiting) {
  Seen seen;
  seen.consumer = std::this_thread::get_id();
  const auto loader =
      OpenItems(std::make_shared<SlowElsewhere>(&seen), kOptions);
  EXPECT_THAT(TakeAndTick(loader.get(), &seen, &seen.here, 10),
              testing::IsOk());
  EXPECT_GE(seen.here, 10u);
  EXPECT_EQ(seen.left, 0u);
  EXPECT_GT(loader->metrics().cpu_seconds, 0);
}

TEST(ItemLoaderHereTest, ARequestThatWaitsIsLeftToAnotherThread) {
  Seen seen;
  seen.consumer = std::this_thread::get_id();
  seen.waits = true;
  const auto loader =
      OpenItems(std::make_shared<SlowElsewhere>(&seen), kOptions);
  // The waits end when this thread goes on with its other work.
  EXPECT_THAT(TakeAndTick(loader.get(), &seen, &seen.left, 5), testing::IsOk());
  EXPECT_GE(seen.left, 5u);
  EXPECT_EQ(seen.held, 0u);
}

TEST(ItemLoaderHereTest, IsDestroyedWhileARequestIsLeft) {
  for (int trial = 0; trial < 10; ++trial) {
    Seen seen;
    seen.waits = true;
    seen.at_most = std::chrono::seconds(600);
    std::atomic<bool> has_consumer = false;
    asio::io_context context{1};
    auto loader = OpenItems(std::make_shared<SlowElsewhere>(&seen), kOptions);
    absl::Status ended;
    asio::co_spawn(context, Take(loader.get(), &seen.here, 1'000'000),
                   [&](std::exception_ptr thrown, absl::Status status) {
                     EXPECT_FALSE(thrown);
                     ended = status;
                   });
    std::thread consumer([&] {
      while (!has_consumer) std::this_thread::yield();
      context.run();
    });
    seen.consumer = consumer.get_id();
    has_consumer = true;
    while (seen.here == 0) std::this_thread::yield();
    if (trial % 2 == 0) std::this_thread::sleep_for(microseconds(300));
    if (trial % 3 == 0) {
      EXPECT_THAT(loader->CloseBlocking(), testing::IsOk());
      consumer.join();
    } else {
      // Next() has seen that the request is waited for, or has not yet.
      loader.reset();
      consumer.join();
    }
    EXPECT_FALSE(ended.ok());
  }
}

}  // namespace
}  // namespace poniente
