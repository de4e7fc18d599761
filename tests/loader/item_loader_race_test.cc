// SPDX-License-Identifier: Apache-2.0
// ItemLoaders whose consumers give up, seek, close and go at any time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>
#include <random>
#include <thread>
#include <variant>
#include <vector>

#include "poniente/item_loader.h"
#include "poniente/mapped_dataset.h"
#include "poniente/transforms.h"
#include "tests/loader/open_items.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

namespace asio = boost::asio;
using asio::experimental::awaitable_operators::operator||;
using std::chrono::microseconds;
using testing::Counting;
using ::testing::ElementsAre;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::Items;
using testing::NumberLoader;
using testing::StatusIs;

// Endless numbers from 0 on, each of which takes so long.
DatasetPtr<uint64_t> SlowNumbers(microseconds pause, uint32_t threads) {
  static const DatasetPtr<uint64_t> numbers = Counting(300'000);
  return Map<uint64_t>("slow", *Repeat(numbers),
                       [pause](uint64_t x) {
                         if (pause.count() > 0)
                           std::this_thread::sleep_for(pause);
                         return x;
                       },
                       {.parallel = threads});
}

// Asks for batches, and gives up each wait after a random time.
asio::awaitable<void> TakeWithTimeouts(NumberLoader* loader, uint64_t seed,
                                       uint64_t steps, int* timeouts) {
  const auto executor = co_await asio::this_coro::executor;
  std::mt19937_64 random(seed);
  uint64_t next = 0;
  while (next < steps) {
    asio::steady_timer timer(executor);
    timer.expires_after(microseconds(random() % 200));
    std::variant<absl::StatusOr<Items>, std::monostate> first =
        co_await (loader->Next() || timer.async_wait(asio::use_awaitable));
    if (first.index() == 1) {
      ++*timeouts;
      continue;
    }
    const absl::StatusOr<Items>& batch = std::get<0>(first);
    EXPECT_THAT(batch, IsOkAndHolds(ElementsAre(next)));
    if (!batch.ok() || (*batch)[0] != next) co_return;
    ++next;
  }
}

TEST(ItemLoaderRaceTest, ANextThatIsGivenUpLosesNothing) {
  for (const uint32_t threads : {1, 2}) {
    const auto loader =
        *NumberLoader::Create(SlowNumbers(microseconds(100), threads), {});
    asio::io_context context{1};
    int timeouts = 0;
    asio::co_spawn(context,
                   TakeWithTimeouts(loader.get(), testing::TestSeed(threads),
                                    500, &timeouts),
                   [](std::exception_ptr thrown) { EXPECT_FALSE(thrown); });
    context.run();
    EXPECT_EQ(loader->next_step(), 500u);
    EXPECT_GT(timeouts, 0);
  }
}

TEST(ItemLoaderRaceTest, ACancelledNextReturnsCancelled) {
  const auto growing = InMemoryDataset<uint64_t>::Growing();
  const auto loader = *NumberLoader::Create(growing, {});
  asio::io_context context{1};
  asio::cancellation_signal cancel;
  absl::Status ended;
  asio::co_spawn(
      context, loader->Next(),
      asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr thrown,
                                                      absl::StatusOr<Items> r) {
        ended = thrown ? internal::StatusFromException(thrown) : r.status();
      }));
  context.poll();
  cancel.emit(asio::cancellation_type::terminal);
  context.run();
  EXPECT_THAT(ended, StatusIs(absl::StatusCode::kCancelled, ::testing::_));
  EXPECT_THAT(growing->Append({5}), IsOk());
  EXPECT_THAT(loader->NextBlocking(), IsOkAndHolds(ElementsAre(5)));
}

TEST(ItemLoaderRaceTest, ItsConsumersContextMayBeDestroyed) {
  const auto growing = InMemoryDataset<uint64_t>::Growing();
  const auto loader = *NumberLoader::Create(growing, {});
  {
    asio::io_context context{1};
    asio::co_spawn(context, loader->Next(),
                   [](std::exception_ptr, absl::StatusOr<Items>) {
                     ADD_FAILURE() << "it cannot have ended";
                   });
    context.poll();
  }
  EXPECT_THAT(growing->Append({5}), IsOk());
  EXPECT_THAT(loader->NextBlocking(), IsOkAndHolds(ElementsAre(5)));
}

TEST(ItemLoaderRaceTest, IsDestroyedAtAnyTime) {
  std::mt19937_64 random(testing::TestSeed(3));
  for (int trial = 0; trial < 200; ++trial) {
    const auto threads = static_cast<uint32_t>(1 + trial % 3);
    const microseconds pause(trial % 2 == 0 ? 0 : random() % 60);
    auto loader = *NumberLoader::Create(SlowNumbers(pause, threads),
                                        {.batch_size = 1 + random() % 3});
    const uint64_t steps = random() % 40;
    for (uint64_t i = 0; i < steps; ++i) {
      ASSERT_THAT(loader->NextBlocking(), IsOk());
    }
    if (random() % 2 == 0) {
      std::this_thread::sleep_for(microseconds(random() % 300));
    }
    if (random() % 4 == 0) {
      EXPECT_THAT(loader->CloseBlocking(), IsOk());
    }
    loader.reset();
  }
}

// The dataset does not answer.
TEST(ItemLoaderRaceTest, IsDestroyedWhileItWaits) {
  for (int trial = 0; trial < 20; ++trial) {
    const auto growing = InMemoryDataset<uint64_t>::Growing();
    auto loader = *NumberLoader::Create(growing, {.prefetch_batches = 3});
    asio::io_context context{1};
    absl::Status ended;
    asio::co_spawn(context, loader->Next(),
                   [&](std::exception_ptr, absl::StatusOr<Items> r) {
                     ended = r.status();
                   });
    context.poll();
    if (trial % 2 == 0) std::this_thread::sleep_for(microseconds(100));
    loader.reset();
    context.run();
    EXPECT_THAT(ended,
                StatusIs(absl::StatusCode::kFailedPrecondition, ::testing::_));
  }
}

// Another thread seeks; each batch is the one that was next at some time.
TEST(ItemLoaderRaceTest, SeeksOfAnotherThreadDropWhatWasAhead) {
  for (const uint32_t threads : {1, 2}) {
    for (const int pause : {0, 20}) {
      const auto loader = *NumberLoader::Create(
          SlowNumbers(microseconds(pause), threads), {.batch_size = 2});
      std::atomic<bool> is_over = false;
      std::atomic<int> received = 0;
      std::thread seeker([&] {
        std::mt19937_64 random(testing::TestSeed(4));
        while (!is_over) {
          const int before = received;
          EXPECT_THAT(loader->Seek(1000 * (random() % 100)), IsOk());
          std::this_thread::sleep_for(microseconds(random() % 200));
          // Where a batch takes longer than that, half of the seeks let one
          // through.
          const bool waits = random() % 2 == 0;
          while (waits && received == before && !is_over) {
            std::this_thread::yield();
          }
        }
      });
      uint64_t last = 0;
      const int batches = pause == 0 ? 3000 : 200;
      for (int i = 0; i < batches; ++i) {
        const auto batch = loader->NextBlocking();
        ASSERT_THAT(batch, IsOk());
        ASSERT_EQ(batch->size(), 2u);
        ASSERT_EQ((*batch)[1], (*batch)[0] + 1);
        const bool follows = (*batch)[0] == last + 2;
        const bool is_target = (*batch)[0] % 2000 == 0;
        ASSERT_TRUE(follows || is_target) << last << ' ' << (*batch)[0];
        last = (*batch)[0];
        ++received;
      }
      is_over = true;
      seeker.join();
    }
  }
}

TEST(ItemLoaderRaceTest, CloseOfAnotherThreadEndsANextBlocking) {
  for (int trial = 0; trial < 50; ++trial) {
    const auto loader = *NumberLoader::Create(
        SlowNumbers(microseconds(trial % 3 * 30), 1 + trial % 2), {});
    std::thread closer([&] {
      std::this_thread::sleep_for(microseconds(50 * (trial % 20)));
      EXPECT_THAT(loader->CloseBlocking(), IsOk());
    });
    uint64_t next = 0;
    absl::StatusOr<Items> batch;
    while ((batch = loader->NextBlocking()).ok()) {
      EXPECT_THAT(*batch, ElementsAre(next++));
    }
    EXPECT_THAT(batch,
                StatusIs(absl::StatusCode::kFailedPrecondition, ::testing::_));
    closer.join();
  }
}

}  // namespace
}  // namespace poniente
