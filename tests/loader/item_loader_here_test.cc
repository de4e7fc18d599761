// SPDX-License-Identifier: Apache-2.0
// Where batches are made: on the loader's thread or the consumer's, alone or
// with others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "poniente/cached_dataset.h"
#include "poniente/in_memory_dataset.h"
#include "poniente/item_loader.h"
#include "poniente/mapped_dataset.h"
#include "poniente/transforms.h"
#include "tests/loader/open_items.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

namespace asio = boost::asio;
using std::chrono::microseconds;
using testing::Counting;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::Items;
using testing::NumberLoader;
using testing::OpenItems;

std::atomic<std::thread::id> consumer;
std::atomic<uint64_t> copied_here;

// Copying one is slow on all threads but the consumer's, which so gets to make
// some.
struct SlowElsewhere {
  SlowElsewhere() = default;
  explicit SlowElsewhere(uint64_t n) : number(n) {}
  SlowElsewhere(SlowElsewhere&&) = default;
  SlowElsewhere& operator=(SlowElsewhere&&) = default;
  SlowElsewhere(const SlowElsewhere& other) : number(other.number) { Copy(); }
  SlowElsewhere& operator=(const SlowElsewhere& other) {
    number = other.number;
    Copy();
    return *this;
  }

  static void Copy() {
    if (std::this_thread::get_id() == consumer) {
      ++copied_here;
    } else {
      std::this_thread::sleep_for(microseconds(100));
    }
  }

  uint64_t number = 0;
};

using SlowLoader = ItemLoader<SlowElsewhere>;

std::unique_ptr<SlowLoader> OpenSlow(ItemLoaderOptions<SlowElsewhere> options) {
  std::vector<SlowElsewhere> items;
  for (uint64_t i = 0; i < 64; ++i) items.emplace_back(i);
  auto root = Repeat(InMemoryDataset<SlowElsewhere>::Create(std::move(items)));
  EXPECT_THAT(root, IsOk());
  options.batch_size = 2;
  options.prefetch_batches = 4;  // one step to a request
  auto loader = SlowLoader::Create(*root, std::move(options));
  EXPECT_THAT(loader, IsOk());
  return *std::move(loader);
}

// Awaits batches until so many items were copied on this thread.
Task<> Take(SlowLoader* loader, uint64_t steps, uint64_t wanted) {
  for (uint64_t step = 0; step < steps && copied_here < wanted; ++step) {
    absl::StatusOr<std::vector<SlowElsewhere>> batch = co_await loader->Next();
    if (!batch.ok()) co_return batch.status();
    EXPECT_EQ(batch->at(0).number, 2 * step % 64);
    EXPECT_EQ(batch->at(1).number, 2 * step % 64 + 1);
  }
  co_return absl::OkStatus();
}

absl::Status RunHere(Task<> task) {
  asio::io_context context{1};
  absl::Status ended = absl::UnknownError("not ended");
  asio::co_spawn(context, std::move(task),
                 [&ended](std::exception_ptr thrown, absl::Status status) {
                   EXPECT_FALSE(thrown);
                   ended = status;
                 });
  context.run();
  return ended;
}

TEST(ItemLoaderHereTest, NextCopiesItemsInsteadOfWaiting) {
  consumer = std::this_thread::get_id();
  copied_here = 0;
  const auto loader = OpenSlow({});
  EXPECT_THAT(RunHere(Take(loader.get(), 100'000, 20)), IsOk());
  EXPECT_GE(copied_here, 20u);
}

TEST(ItemLoaderHereTest, NextRunsNoFunctionOnItsExecutor) {
  consumer = std::this_thread::get_id();
  copied_here = 0;
  std::atomic<uint64_t> collated_here = 0;
  const auto loader =
      OpenSlow({.collate = [&collated_here](std::vector<SlowElsewhere> items) {
        if (std::this_thread::get_id() == consumer) ++collated_here;
        return items;
      }});
  EXPECT_THAT(RunHere(Take(loader.get(), 500, 1)), IsOk());
  EXPECT_EQ(collated_here, 0u);
  EXPECT_EQ(copied_here, 0u);

  const auto sized =
      OpenSlow({.bytes_of = [&](const std::vector<SlowElsewhere>&) {
        if (std::this_thread::get_id() == consumer) ++collated_here;
        return uint64_t{1};
      }});
  EXPECT_THAT(RunHere(Take(sized.get(), 500, 1)), IsOk());
  EXPECT_EQ(collated_here, 0u);
  EXPECT_EQ(copied_here, 0u);

  std::atomic<uint64_t> mapped_here = 0;
  const auto mapped = OpenItems(
      Map<uint64_t>("here", *Repeat(Counting(64)),
                    [&mapped_here](uint64_t number) {
                      if (std::this_thread::get_id() == consumer) {
                        ++mapped_here;
                      } else {
                        std::this_thread::sleep_for(microseconds(100));
                      }
                      return number;
                    }),
      {.batch_size = 2, .prefetch_batches = 4});
  const auto take = [](NumberLoader* numbers) -> Task<> {
    for (int step = 0; step < 500; ++step) {
      absl::StatusOr<Items> batch = co_await numbers->Next();
      if (!batch.ok()) co_return batch.status();
    }
    co_return absl::OkStatus();
  };
  EXPECT_THAT(RunHere(take(mapped.get())), IsOk());
  EXPECT_EQ(mapped_here, 0u);
}

// A request to a cache may wait for what another one reads, maybe on this very
// executor.
TEST(ItemLoaderHereTest, NextAsksNoCacheOnItsExecutor) {
  consumer = std::this_thread::get_id();
  copied_here = 0;
  std::vector<SlowElsewhere> items;
  for (uint64_t i = 0; i < 64; ++i) items.emplace_back(i);
  const auto cached =
      Cache(InMemoryDataset<SlowElsewhere>::Create(std::move(items)),
            {.max_items = 8});
  ASSERT_THAT(cached, IsOk());
  const auto root = Repeat(*cached);
  ASSERT_THAT(root, IsOk());
  const auto loader =
      SlowLoader::Create(*root, {.batch_size = 2, .prefetch_batches = 4});
  ASSERT_THAT(loader, IsOk());
  EXPECT_THAT(RunHere(Take(loader->get(), 500, 1)), IsOk());
  EXPECT_EQ(copied_here, 0u);
}

// Takes 20 us to be copied from number 4000 on. Number 3500 holds up every
// thread but the consumer's, which so gets to make those.
struct SlowLater {
  SlowLater() = default;
  explicit SlowLater(uint64_t n) : number(n) {}
  SlowLater(SlowLater&&) = default;
  SlowLater& operator=(SlowLater&&) = default;
  SlowLater(const SlowLater& other) : number(other.number) { Copy(); }
  SlowLater& operator=(const SlowLater& other) {
    number = other.number;
    Copy();
    return *this;
  }

  static constexpr uint64_t kFirstSlow = 4000;
  void Copy() const {
    if (consumer == std::thread::id()) return;
    const bool is_here = std::this_thread::get_id() == consumer;
    if (number == 3500 && !is_here) {
      std::this_thread::sleep_for(microseconds(200'000));
    }
    if (number < kFirstSlow) return;
    if (is_here) ++copied_here;
    const auto end = std::chrono::steady_clock::now() + microseconds(20);
    while (std::chrono::steady_clock::now() < end) {
    }
  }

  uint64_t number = 0;
};

// Requests have grown to 1024 steps when copies become slow.
TEST(ItemLoaderHereTest, NextLetsGoOfItsExecutorWhenCopiesBecomeSlow) {
  consumer = std::thread::id();
  std::vector<SlowLater> items;
  for (uint64_t i = 0; i < 6000; ++i) items.emplace_back(i);
  const auto loader = *ItemLoader<SlowLater>::Create(
      InMemoryDataset<SlowLater>::Create(std::move(items)), {.batch_size = 1});
  consumer = std::this_thread::get_id();
  asio::io_context context{1};
  bool is_over = false;
  uint64_t most_in_a_turn = 0;
  std::function<void()> tick = [&] {
    most_in_a_turn =
        std::max<uint64_t>(most_in_a_turn, copied_here.exchange(0));
    if (!is_over) asio::post(context, tick);
  };
  copied_here = 0;
  asio::post(context, tick);
  const auto take = [&]() -> Task<> {
    // From the slow ones back, for as long as this thread has made none: with
    // a sanitizer, even quick requests may take too long for it.
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (most_in_a_turn == 0 && std::chrono::steady_clock::now() < end) {
      absl::Status sought = loader->Seek(0);
      if (!sought.ok()) co_return sought;
      for (int step = 0; step < 5500; ++step) {
        absl::StatusOr<std::vector<SlowLater>> batch = co_await loader->Next();
        if (!batch.ok()) co_return batch.status();
      }
    }
    co_return absl::OkStatus();
  };
  asio::co_spawn(context, take(), [&](std::exception_ptr, absl::Status ended) {
    EXPECT_THAT(ended, IsOk());
    is_over = true;
  });
  context.run();
  EXPECT_GT(most_in_a_turn, 0u);
  EXPECT_LE(most_in_a_turn, 256u);
}

// Requests have grown to 1024 steps by then. What is there does not wait for
// the whole request, most of whose steps would take 100 ms each.
TEST(ItemLoaderHereTest, QuickItemsDoNotWaitForSlowOnesFarBehind) {
  constexpr uint64_t kFirstSlow = 50'000;
  std::atomic<uint64_t> slow = 0;
  const auto loader =
      OpenItems(Map<uint64_t>("turns slow", Counting(60'000),
                              [&slow](uint64_t number) {
                                if (number >= kFirstSlow) {
                                  const bool are_many = ++slow > 192;
                                  std::this_thread::sleep_for(
                                      microseconds(are_many ? 100'000 : 2000));
                                }
                                return number;
                              }),
                {.batch_size = 1});
  for (uint64_t step = 0; step < kFirstSlow; ++step) {
    ASSERT_THAT(loader->NextBlocking(), IsOkAndHolds(Items{step}));
  }
  // A part of 64 on each of the threads, and single ones since: not the 1024
  // with which the last quick one was asked for.
  EXPECT_LE(slow, 512u);
  for (uint64_t step = kFirstSlow; step < kFirstSlow + 20; ++step) {
    ASSERT_THAT(loader->NextBlocking(), IsOkAndHolds(Items{step}));
  }
}

// What is no longer wanted when its request is cut has no part in what may be
// under way.
TEST(ItemLoaderHereTest, SeeksFromRequestsThatAreCutLoseNothing) {
  constexpr uint64_t kFirstSlow = 5'000;
  const auto loader = OpenItems(
      Map<uint64_t>("turns slow", Counting(10'000),
                    [](uint64_t number) {
                      if (number >= kFirstSlow) {
                        std::this_thread::sleep_for(microseconds(1000));
                      }
                      return number;
                    }),
      {.batch_size = 1, .prefetch_batches = 512});
  for (int trial = 0; trial < 20; ++trial) {
    for (uint64_t step = 0; step < kFirstSlow; ++step) {
      ASSERT_THAT(loader->NextBlocking(), IsOkAndHolds(Items{step}));
    }
    std::this_thread::sleep_for(microseconds(1000 * (trial % 8)));
    ASSERT_THAT(loader->Seek(0), IsOk());
  }
}

TEST(ItemLoaderHereTest, NothingIsMadeAfterItsEnd) {
  for (int trial = 0; trial < 20; ++trial) {
    std::atomic<bool> is_over = false;
    std::atomic<uint64_t> after = 0;
    auto loader = OpenItems(
        Map<uint64_t>("slow", *Repeat(Counting(64)),
                      [&](uint64_t number) {
                        std::this_thread::sleep_for(microseconds(200));
                        if (is_over) ++after;
                        return number;
                      }),
        {.prefetch_batches = 4});
    std::thread reader([raw = loader.get(), trial] {
      for (int i = 0; i < 12 + trial; ++i) {
        if (!raw->NextBlocking().ok()) return;
      }
    });
    reader.join();
    std::thread last([raw = loader.get()] { (void)raw->NextBlocking(); });
    std::this_thread::sleep_for(microseconds(50 * (trial % 5)));
    EXPECT_THAT(loader->CloseBlocking(), IsOk());
    last.join();
    loader.reset();
    is_over = true;
    EXPECT_EQ(after, 0u);
  }
}

}  // namespace
}  // namespace poniente
