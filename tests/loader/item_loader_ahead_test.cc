// SPDX-License-Identifier: Apache-2.0
// How far an ItemLoader runs ahead, and what it does while it waits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <string>
#include <thread>

#include "poniente/item_loader.h"
#include "poniente/mapped_dataset.h"
#include "poniente/transforms.h"
#include "tests/loader/open_items.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

namespace asio = boost::asio;
using testing::Counting;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::Items;
using testing::OpenItems;
using testing::StatusIs;

// How many batches have been made, and are not delivered yet.
TEST(ItemLoaderAheadTest, BatchesAheadAreBoundedByNumber) {
  std::atomic<uint64_t> made = 0;
  const auto counting = [&made](Items items) {
    ++made;
    return items;
  };
  const auto root = *Repeat(Counting(1000));
  for (const uint32_t ahead : {1, 3, 8}) {
    made = 0;
    const auto loader = OpenItems(
        root,
        {.batch_size = 2, .collate = counting, .prefetch_batches = ahead});
    for (uint64_t step = 0; step < 500; ++step) {
      ASSERT_THAT(loader->NextBlocking(), IsOk());
      ASSERT_LE(made.load(), step + 1 + ahead);
    }
    while (made.load() < 500 + ahead / 2) std::this_thread::yield();
  }
}

TEST(ItemLoaderAheadTest, BatchesAheadAreBoundedByBytes) {
  std::atomic<uint64_t> made = 0;
  const auto root = *Repeat(Counting(1000));
  const auto loader =
      OpenItems(root, {.batch_size = 2,
                       .collate =
                           [&made](Items items) {
                             ++made;
                             return items;
                           },
                       .prefetch_batches = 1000,
                       .prefetch_bytes = 100,
                       .bytes_of = [](const Items&) { return uint64_t{30}; }});
  for (uint64_t step = 0; step < 500; ++step) {
    ASSERT_THAT(loader->NextBlocking(), IsOk());
    // Nothing is known of the size before the first is there.
    ASSERT_LE(made.load(), step + 1 + 3);
  }
  const auto tiny = OpenItems(root, {.batch_size = 2, .prefetch_bytes = 1});
  for (uint64_t step = 0; step < 500; ++step) {
    ASSERT_THAT(tiny->NextBlocking(), IsOk());  // one is always fetched
  }
}

TEST(ItemLoaderAheadTest, ItemsThatAreWaitedForAreNotAskedForFarAhead) {
  const auto growing = InMemoryDataset<uint64_t>::Growing();
  std::atomic<uint64_t> seen = 0;
  const auto root =
      Map<uint64_t>("slow", DatasetPtr<uint64_t>(growing), [&seen](uint64_t x) {
        ++seen;
        return x;
      });
  EXPECT_THAT(growing->Append(testing::Indices(0, 5000)), IsOk());
  const auto loader = OpenItems(root, {});
  for (uint64_t step = 0; step < 1000; ++step) {
    ASSERT_THAT(loader->NextBlocking(), IsOkAndHolds(ElementsAre(step)));
    ASSERT_LE(seen.load(), step + 1 + 4);
  }
}

TEST(ItemLoaderAheadTest, ItemsThatThreadsMakeAreAskedForTogether) {
  std::atomic<uint64_t> seen = 0;
  const auto root = Map<uint64_t>("count", *Repeat(Counting(1000)),
                                  [&seen](uint64_t x) {
                                    ++seen;
                                    return x;
                                  },
                                  {.parallel = 2});
  const auto loader = OpenItems(root, {});
  uint64_t step = 0;
  // One request for each batch would be at most four ahead.
  for (; seen < step + 16; ++step) {
    ASSERT_THAT(loader->NextBlocking(), IsOkAndHolds(ElementsAre(step % 1000)));
    ASSERT_LT(step, 1'000'000);
  }
}

TEST(ItemLoaderAheadTest, FollowsADatasetThatGrows) {
  const auto growing = InMemoryDataset<uint64_t>::Growing();
  const auto loader = OpenItems(growing, {.batch_size = 3});
  std::thread writer([&growing] {
    for (uint64_t i = 0; i < 100; ++i) {
      EXPECT_THAT(growing->Append({i}), IsOk());
      if (i % 7 == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    growing->Finish();
  });
  for (uint64_t step = 0; step < 33; ++step) {
    EXPECT_THAT(
        loader->NextBlocking(),
        IsOkAndHolds(ElementsAre(3 * step, 3 * step + 1, 3 * step + 2)));
  }
  EXPECT_THAT(loader->NextBlocking(), IsOkAndHolds(ElementsAre(99)));
  EXPECT_THAT(loader->NextBlocking(),
              StatusIs(absl::StatusCode::kOutOfRange, ::testing::_));
  writer.join();
}

TEST(ItemLoaderAheadTest, ASecondNextIsRefused) {
  const auto growing = InMemoryDataset<uint64_t>::Growing();
  const auto loader = OpenItems(growing, {});
  asio::io_context context{1};
  absl::StatusOr<Items> first = absl::UnknownError("not yet");
  asio::co_spawn(
      context, loader->Next(),
      [&](std::exception_ptr, absl::StatusOr<Items> batch) { first = batch; });
  context.poll();
  EXPECT_THAT(loader->NextBlocking(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("another Next()")));
  EXPECT_THAT(growing->Append({7}), IsOk());
  context.run();
  EXPECT_THAT(first, IsOkAndHolds(ElementsAre(7)));
}

TEST(ItemLoaderAheadTest, ClosesInAnyState) {
  const auto growing = InMemoryDataset<uint64_t>::Growing();
  const auto loader = OpenItems(growing, {});
  asio::io_context context{1};
  absl::StatusOr<Items> first = absl::UnknownError("not yet");
  asio::co_spawn(
      context, loader->Next(),
      [&](std::exception_ptr, absl::StatusOr<Items> batch) { first = batch; });
  context.poll();
  EXPECT_THAT(loader->CloseBlocking(), IsOk());
  context.run();
  const auto is_closed = StatusIs(absl::StatusCode::kFailedPrecondition,
                                  HasSubstr("the loader is closed"));
  EXPECT_THAT(first, is_closed);
  EXPECT_THAT(loader->NextBlocking(), is_closed);
  EXPECT_THAT(loader->Seek(1), is_closed);
  EXPECT_THAT(loader->CloseBlocking(), IsOk());
  EXPECT_EQ(loader->next_step(), 0u);
}

}  // namespace
}  // namespace poniente
