// SPDX-License-Identifier: Apache-2.0
#include "poniente/cached_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <list>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "dataset/tree_past.h"
#include "poniente/mapped_dataset.h"
#include "poniente/transforms.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/dataset_conformance.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

namespace asio = boost::asio;
using testing::Counting;
using testing::DatasetCase;
using testing::DatasetConformanceTest;
using ::testing::ElementsAre;
using testing::Epoch;
using ::testing::HasSubstr;
using testing::Indices;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::kInvalid;
using testing::StatusIs;

INSTANTIATE_TEST_SUITE_P(
    Cache, DatasetConformanceTest,
    ::testing::Values(
        DatasetCase{"OfAll",
                    [] { return *Cache(Counting(300), {.max_items = 1000}); },
                    300},
        DatasetCase{
            "OfFew",
            [] { return *Cache(*Shuffle(Counting(300)), {.max_items = 7}); },
            300},
        DatasetCase{
            "OfBytes",
            [] { return *Shuffle(*Cache(Counting(300), {.max_bytes = 80})); },
            300},
        DatasetCase{
            "Endless",
            [] { return *Cache(*Repeat(Counting(9)), {.max_items = 100}); },
            std::nullopt}),
    testing::CaseName);

// Counts how often each item is read.
class Source {
 public:
  explicit Source(uint64_t items)
      : reads_(std::make_shared<std::vector<std::atomic<int>>>(items)),
        dataset_(Map<uint64_t>("read", Counting(items),
                               [reads = reads_](uint64_t x) {
                                 ++(*reads)[x];
                                 return 10 * x;
                               })) {}

  const DatasetPtr<uint64_t>& dataset() const { return dataset_; }
  int reads(uint64_t item) const { return (*reads_)[item]; }
  int reads() const {
    int all = 0;
    for (const auto& one : *reads_) all += one;
    return all;
  }

 private:
  const std::shared_ptr<std::vector<std::atomic<int>>> reads_;
  const DatasetPtr<uint64_t> dataset_;
};

TEST(CachedDatasetTest, ReadsAnItemOnceForAllEpochs) {
  const Source source(20);
  const auto cached = *Cache(source.dataset(), {.max_items = 20});
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    const auto items = Epoch(cached, epoch, 20);
    for (uint64_t i = 0; i < 20; ++i) EXPECT_EQ(items[i], 10 * i);
  }
  const std::vector<Index> twice = {3, 3, 4};
  EXPECT_THAT(cached->GetBatchBlocking(twice),
              IsOkAndHolds(ElementsAre(30, 30, 40)));
  EXPECT_EQ(source.reads(), 20);
}

TEST(CachedDatasetTest, ADuplicateThatIsMissingIsReadOnce) {
  const Source source(5);
  const auto cached = *Cache(source.dataset(), {.max_items = 1});
  const std::vector<Index> indices = {2, 4, 2, 4, 2};
  EXPECT_THAT(cached->GetBatchBlocking(indices),
              IsOkAndHolds(ElementsAre(20, 40, 20, 40, 20)));
  EXPECT_EQ(source.reads(2), 1);
  EXPECT_EQ(source.reads(4), 1);
}

// The same as a list of what was used last, for single items.
TEST(CachedDatasetTest, DropsTheLeastRecentlyUsed) {
  std::mt19937_64 random(testing::TestSeed(1));
  for (const uint64_t bound : {1, 3, 8}) {
    const Source source(12);
    const auto cached = *Cache(source.dataset(), {.max_items = bound});
    std::list<uint64_t> used;
    int expected = 0;
    for (int i = 0; i < 500; ++i) {
      const uint64_t item = random() % 12;
      const auto found = std::find(used.begin(), used.end(), item);
      if (found == used.end()) {
        ++expected;
      } else {
        used.erase(found);
      }
      used.push_front(item);
      if (used.size() > bound) used.pop_back();
      ASSERT_THAT(cached->GetBlocking(item), IsOkAndHolds(10 * item));
      ASSERT_EQ(source.reads(), expected) << i;
    }
  }
}

TEST(CachedDatasetTest, BytesAreBounded) {
  std::atomic<int> reads = 0;
  const auto texts = Map<std::string>("text", Counting(10), [&](uint64_t x) {
    ++reads;
    return std::string(x == 9 ? 5000 : 100, 'x');
  });
  const auto cached = *Cache(
      texts, {.max_bytes = 1000,
              .bytes_of = [](const std::string& text) { return text.size(); }});
  for (int i = 0; i < 2; ++i) Epoch(cached, 0, 9);
  EXPECT_EQ(reads, 9);
  // Larger than the bound: it is not kept, and nothing is dropped for it.
  for (int i = 0; i < 2; ++i) EXPECT_THAT(cached->GetBlocking(9), IsOk());
  EXPECT_EQ(reads, 11);
  Epoch(cached, 0, 9);
  EXPECT_EQ(reads, 11);
}

TEST(CachedDatasetTest, EpochsOfAShuffleAreKeptApart) {
  const auto shuffled = *Shuffle(Counting(30), 5);
  const auto cached = *Cache(shuffled, {.max_items = 100});
  for (const uint64_t epoch : {0, 1, 0, 2, 1}) {
    EXPECT_EQ(Epoch(cached, epoch, 30), Epoch(shuffled, epoch, 30));
  }
  const auto endless = *Repeat(Counting(7));
  const auto part = *Cache(*Take(endless, 5), {.max_items = 100});
  EXPECT_THAT(Epoch(part, 0, 5), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(Epoch(part, 1, 5), ElementsAre(5, 6, 0, 1, 2));
}

TEST(CachedDatasetTest, ErrorsAreNotKept) {
  std::atomic<int> failures = 2;
  const auto flaky = Map<uint64_t>("flaky", Counting(3),
                                   [&](uint64_t x) -> absl::StatusOr<uint64_t> {
                                     if (x == 1 && failures-- > 0)
                                       return absl::UnavailableError("later");
                                     return x;
                                   });
  const auto cached = *Cache(flaky, {.max_items = 3});
  const std::vector<Index> all = {0, 1, 2};
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(cached->GetBatchBlocking(all),
                StatusIs(absl::StatusCode::kUnavailable,
                         "dataset 'flaky' item 1 epoch 0: later"));
  }
  EXPECT_THAT(cached->GetBatchBlocking(all),
              IsOkAndHolds(ElementsAre(0, 1, 2)));
}

TEST(CachedDatasetTest, ManyRequestsReadAnItemOnce) {
  const Source source(100);
  const auto cached = *Cache(source.dataset(), {.max_items = 100});
  const std::vector<Index> indices = Indices(0, 100);
  asio::thread_pool pool(4);
  std::atomic<int> equal = 0;
  for (int i = 0; i < 40; ++i) {
    asio::co_spawn(
        pool, cached->GetBatch(indices),
        [&](std::exception_ptr, absl::StatusOr<std::vector<uint64_t>> items) {
          if (items.ok() && (*items)[99] == 990) ++equal;
        });
  }
  pool.join();
  EXPECT_EQ(equal, 40);
  EXPECT_EQ(source.reads(), 100);
}

// Items that appear when the test says so.
struct Held {
  std::shared_ptr<InMemoryDataset<uint64_t>> items =
      InMemoryDataset<uint64_t>::Growing();
  DatasetPtr<uint64_t> cached =
      *Cache(DatasetPtr<uint64_t>(items), {.max_items = 10});
  asio::io_context context{1};

  void Start(std::span<const Index> indices,
             absl::StatusOr<std::vector<uint64_t>>* result,
             asio::cancellation_slot slot = {}) {
    *result = absl::UnknownError("not yet");
    asio::co_spawn(context, cached->GetBatch(indices),
                   asio::bind_cancellation_slot(
                       slot, [result](std::exception_ptr thrown,
                                      absl::StatusOr<std::vector<uint64_t>> r) {
                         *result = thrown
                                       ? internal::StatusFromException(thrown)
                                       : std::move(r);
                       }));
    context.poll();
  }
};

// What the first was to read, the second reads.
TEST(CachedDatasetTest, ACancelledRequestLeavesItsItemsToTheOthers) {
  Held held;
  const std::vector<Index> indices = {0, 1};
  absl::StatusOr<std::vector<uint64_t>> first, second;
  asio::cancellation_signal cancel;
  held.Start(indices, &first, cancel.slot());
  held.Start(indices, &second);
  cancel.emit(asio::cancellation_type::terminal);
  held.context.poll();
  EXPECT_THAT(first, StatusIs(absl::StatusCode::kCancelled, ::testing::_));
  EXPECT_THAT(second, StatusIs(absl::StatusCode::kUnknown, "not yet"));
  EXPECT_THAT(held.items->Append({5, 6}), IsOk());
  held.context.run();
  EXPECT_THAT(second, IsOkAndHolds(ElementsAre(5, 6)));
}

TEST(CachedDatasetTest, ARequestThatWaitsForAnotherMayBeCancelled) {
  Held held;
  const std::vector<Index> indices = {0, 1};
  absl::StatusOr<std::vector<uint64_t>> first, second;
  asio::cancellation_signal cancel;
  held.Start(indices, &first);
  held.Start(indices, &second, cancel.slot());
  cancel.emit(asio::cancellation_type::terminal);
  held.context.poll();
  EXPECT_THAT(second, StatusIs(absl::StatusCode::kCancelled, ::testing::_));
  EXPECT_THAT(held.items->Append({5, 6}), IsOk());
  held.context.run();
  EXPECT_THAT(first, IsOkAndHolds(ElementsAre(5, 6)));
}

TEST(CachedDatasetTest, RequestsThatShareItemsDoNotWaitInACircle) {
  const Source source(50);
  const auto cached = *Cache(source.dataset(), {.max_items = 3});
  std::vector<std::vector<Index>> requests;
  std::mt19937_64 random(testing::TestSeed(2));
  for (int i = 0; i < 400; ++i) {
    auto& request = requests.emplace_back(10);
    for (Index& index : request) index = random() % 50;
  }
  asio::thread_pool pool(4);
  std::atomic<int> equal = 0;
  for (const auto& request : requests) {
    asio::co_spawn(
        pool, cached->GetBatch(request),
        [&](std::exception_ptr, absl::StatusOr<std::vector<uint64_t>> items) {
          bool is_equal = items.ok();
          for (size_t i = 0; is_equal && i < request.size(); ++i) {
            is_equal = (*items)[i] == 10 * request[i];
          }
          if (is_equal) ++equal;
        });
  }
  pool.join();
  EXPECT_EQ(equal, 400);
}

TEST(CachedDatasetTest, CountsAsThoughItDidNotExist) {
  const auto shuffled = *Shuffle(Counting(30), 5);
  const auto cached = *Cache(shuffled, {.max_items = 5});
  EXPECT_EQ(cached->fingerprint(), shuffled->fingerprint());
  EXPECT_EQ(internal::PastOf(*cached, 20), internal::PastOf(*shuffled, 20));
  const auto above =
      *Shuffle(*Cache(*Take(Counting(50), 40), {.max_items = 5}));
  const auto without = *Shuffle(*Take(Counting(50), 40));
  EXPECT_EQ(internal::PastOf(*above, 20).structure,
            internal::PastOf(*without, 20).structure);
}

TEST(CachedDatasetTest, CutsPartsOutOfWholeWindows) {
  const auto windows = testing::CountingWindows(4, 10);
  const auto cached = *Cache(windows, {.max_items = 4});
  EXPECT_EQ(cached->item_tokens(), windows->item_tokens());
  EXPECT_EQ(*cached->vocabulary(), *windows->vocabulary());
  const std::vector<Position> parts = {
      {.index = 2, .part_begin = 3, .part_length = 4}, {.index = 2}};
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(RunBlocking(cached->GetAt(parts))->front().tokens,
              (std::vector<uint32_t>{23, 24, 25, 26}));
  }
  const auto numbers = *Cache(Counting(4), {.max_items = 4});
  EXPECT_THAT(RunBlocking(numbers->GetAt(parts)),
              StatusIs(kInvalid, HasSubstr("whole items only")));
}

TEST(CachedDatasetTest, ATreeThatDoesNotReorderItSharesIt) {
  const Source source(20);
  const auto cached = *Cache(source.dataset(), {.max_items = 20});
  Epoch(*Shuffle(cached, 1), 0, 20);
  Epoch(*Shuffle(cached, 2), 0, 20);
  EXPECT_EQ(source.reads(), 20);
}

struct Unknown {
  std::vector<std::vector<int>> rows;
};

TEST(CachedDatasetTest, NeedsABoundAndTheBytes) {
  EXPECT_THAT(Cache(Counting(3), {}),
              StatusIs(kInvalid, HasSubstr("state max_items or max_bytes")));
  const auto unknown =
      Map<Unknown>("unknown", Counting(3), [](uint64_t) { return Unknown(); });
  EXPECT_THAT(Cache(unknown, {.max_bytes = 5}),
              StatusIs(kInvalid, HasSubstr("max_bytes needs bytes_of")));
  EXPECT_THAT(Cache(unknown, {.max_items = 5}), IsOk());
  EXPECT_THAT(Cache(DatasetPtr<uint64_t>(), {.max_items = 5}),
              StatusIs(kInvalid, HasSubstr("no dataset")));
}

}  // namespace
}  // namespace poniente
