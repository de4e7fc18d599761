// SPDX-License-Identifier: Apache-2.0
#include "poniente/item_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "poniente/mapped_dataset.h"
#include "poniente/mixture_dataset.h"
#include "poniente/transforms.h"
#include "tests/loader/open_items.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using testing::Counting;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::Items;
using testing::kInvalid;
using testing::NumberLoader;
using testing::NumberOptions;
using testing::OpenItems;
using testing::StatusIs;

// What rank `options.rank` reads of a finite run, one item at a time.
std::vector<Items> SlowRun(const DatasetPtr<uint64_t>& root, uint64_t length,
                           const NumberOptions& options) {
  std::vector<Items> steps;
  for (uint64_t first = options.start_step * options.batch_size; first < length;
       first += options.batch_size) {
    if (options.steps > 0 && first / options.batch_size >= options.steps) break;
    const uint64_t samples = std::min(options.batch_size, length - first);
    const bool is_short = samples < options.batch_size;
    if (is_short && options.last_batch == LastBatch::kDrop) break;
    Items& step = steps.emplace_back();
    for (uint64_t i = 0; i < samples; ++i) {
      const bool is_own = i >= options.rank * samples / options.ranks &&
                          i < (options.rank + 1) * samples / options.ranks;
      if (is_own) step.push_back(*root->GetBlocking(first + i));
    }
  }
  return steps;
}

void ExpectRun(NumberLoader* loader, uint64_t step,
               const std::vector<Items>& steps) {
  for (const Items& expected : steps) {
    ASSERT_EQ(loader->next_step(), step++);
    ASSERT_THAT(loader->NextBlocking(), IsOkAndHolds(expected))
        << "step " << step - 1;
  }
  for (int i = 0; i < 2; ++i) {
    ASSERT_THAT(
        loader->NextBlocking(),
        StatusIs(absl::StatusCode::kOutOfRange,
                 HasSubstr("there is no step " + std::to_string(step))));
  }
}

TEST(ItemLoaderTest, ServesWhatOneItemAfterTheOtherGives) {
  std::mt19937_64 random(testing::TestSeed(1));
  for (int trial = 0; trial < 150; ++trial) {
    const uint64_t length = random() % 300;
    const auto root = *Shuffle(Counting(length), trial);
    NumberOptions options;
    options.batch_size = 1 + random() % 20;
    options.ranks = static_cast<uint32_t>(1 + random() % 5);
    options.rank = static_cast<uint32_t>(random() % options.ranks);
    options.steps = random() % 2 * (random() % 40);
    options.last_batch =
        random() % 2 == 0 ? LastBatch::kKeep : LastBatch::kDrop;
    options.start_step = random() % 3;
    options.prefetch_batches = static_cast<uint32_t>(random() % 6);
    const auto loader = OpenItems(root, options);
    ExpectRun(loader.get(), options.start_step, SlowRun(root, length, options));
    if (HasFatalFailure()) FAIL() << "trial " << trial;
  }
}

// Long enough for several steps to be asked for at once, by both threads.
TEST(ItemLoaderTest, SmallBatchesFromMemoryAreTheSame) {
  const uint64_t length = 30'000;
  const auto root = *Shuffle(Counting(length), 3);
  const Items expected = *root->GetBatchBlocking(testing::Indices(0, length));
  for (const uint64_t batch_size : {1, 3, 64}) {
    const auto loader = OpenItems(root, {.batch_size = batch_size});
    Items all;
    while (true) {
      const auto batch = loader->NextBlocking();
      if (!batch.ok()) break;
      ASSERT_LE(batch->size(), batch_size);
      all.insert(all.end(), batch->begin(), batch->end());
    }
    EXPECT_EQ(all, expected);
    EXPECT_EQ(loader->next_step(), (length + batch_size - 1) / batch_size);
  }
}

// An item whose move may fail, for all that a loader can know.
struct Careful {
  explicit Careful(uint64_t n = 0) : number(n) {}
  Careful(const Careful&) = default;
  Careful& operator=(const Careful&) = default;
  Careful(Careful&& other) noexcept(false) : number(other.number) {}
  Careful& operator=(Careful&& other) noexcept(false) = default;
  bool operator==(const Careful&) const = default;

  uint64_t number;
};

// Batches of some of these are made by whoever takes them.
template <class T>
void ExpectSmallBatches(T (*make)(uint64_t)) {
  constexpr uint64_t kItems = 5000;
  const auto root = Map<T>("make", Counting(kItems), make);
  for (const uint64_t batch_size : {1, 3, 64}) {
    for (const uint32_t ranks : {1, 5}) {
      const auto loader = *ItemLoader<T>::Create(
          root, {.batch_size = batch_size, .rank = ranks / 2, .ranks = ranks});
      uint64_t step = 0;
      for (; step * batch_size < kItems; ++step) {
        const uint64_t first = step * batch_size;
        const BatchShare share =
            RankShare(std::min(batch_size, kItems - first), ranks / 2, ranks);
        std::vector<T> expected;
        for (uint64_t i = share.begin; i < share.end; ++i) {
          expected.push_back(make(first + i));
        }
        const auto batch = step % 2 == 0 ? loader->NextBlocking()
                                         : RunBlocking(loader->Next());
        ASSERT_THAT(batch, IsOkAndHolds(expected)) << step;
      }
    }
  }
}

TEST(ItemLoaderTest, SmallBatchesOfAnyItemAreTheSame) {
  ExpectSmallBatches<std::string>(
      [](uint64_t i) { return std::string(i % 100, 'x') + std::to_string(i); });
  ExpectSmallBatches<std::array<uint64_t, 128>>([](uint64_t i) {
    return std::array<uint64_t, 128>{i, i + 1};
  });
  ExpectSmallBatches<bool>([](uint64_t i) { return i * i % 7 < 3; });
  ExpectSmallBatches<Careful>([](uint64_t i) { return Careful(i); });
}

TEST(ItemLoaderTest, AnEndlessRunGoesOnUntilItsSteps) {
  const auto endless = *Repeat(*Shuffle(Counting(7), 1));
  const auto loader = OpenItems(endless, {.batch_size = 3, .steps = 50});
  for (uint64_t step = 0; step < 50; ++step) {
    const Items expected =
        *endless->GetBatchBlocking(testing::Indices(3 * step, 3 * step + 3));
    ASSERT_THAT(loader->NextBlocking(), IsOkAndHolds(expected));
  }
  EXPECT_THAT(loader->NextBlocking(),
              StatusIs(absl::StatusCode::kOutOfRange, ::testing::_));
}

TEST(ItemLoaderTest, ARankWithoutSamplesGetsEmptyBatches) {
  for (uint32_t rank = 0; rank < 3; ++rank) {
    const auto loader =
        OpenItems(Counting(4), {.batch_size = 2, .rank = rank, .ranks = 3});
    Items seen;
    for (int step = 0; step < 2; ++step) {
      const auto batch = loader->NextBlocking();
      ASSERT_THAT(batch, IsOk());
      seen.insert(seen.end(), batch->begin(), batch->end());
    }
    EXPECT_EQ(seen.size(), rank == 0 ? 0u : 2u);
  }
}

TEST(ItemLoaderTest, SeekGoesAnywhere) {
  const auto root = *Shuffle(Counting(200), 5);
  const auto loader = OpenItems(root, {.batch_size = 4});
  std::mt19937_64 random(testing::TestSeed(2));
  for (int i = 0; i < 200; ++i) {
    const uint64_t step = random() % 55;
    ASSERT_THAT(loader->Seek(step), IsOk());
    ASSERT_EQ(loader->next_step(), step);
    for (uint64_t at = step; at < step + random() % 4; ++at) {
      if (at >= 50) {
        ASSERT_THAT(loader->NextBlocking(),
                    StatusIs(absl::StatusCode::kOutOfRange, ::testing::_));
        break;
      }
      const Items expected =
          *root->GetBatchBlocking(testing::Indices(4 * at, 4 * at + 4));
      ASSERT_THAT(loader->NextBlocking(), IsOkAndHolds(expected));
    }
  }
}

TEST(ItemLoaderTest, CollateMakesBatchesOfAnyType) {
  using TextLoader = ItemLoader<uint64_t, std::string>;
  const auto loader = TextLoader::Create(
      Counting(5), {.batch_size = 2, .collate = [](Items items) {
                      std::string text;
                      for (const uint64_t item : items) {
                        text += std::to_string(item) + ";";
                      }
                      return text;
                    }});
  ASSERT_THAT(loader, IsOk());
  EXPECT_THAT((*loader)->NextBlocking(), IsOkAndHolds("0;1;"));
  EXPECT_THAT((*loader)->NextBlocking(), IsOkAndHolds("2;3;"));
  EXPECT_THAT((*loader)->NextBlocking(), IsOkAndHolds("4;"));
  EXPECT_THAT(TextLoader::Create(Counting(5), {}),
              StatusIs(kInvalid, HasSubstr("needs `collate`")));
}

TEST(ItemLoaderTest, ItemsAndBatchesMayBeMovableOnly) {
  using Box = std::unique_ptr<uint64_t>;
  const auto boxes = Map<Box>("box", Counting(300), [](uint64_t x) {
    return std::make_unique<uint64_t>(x);
  });
  const auto plain = *ItemLoader<Box>::Create(boxes, {.batch_size = 2});
  const auto nested =
      *ItemLoader<Box, std::unique_ptr<std::vector<Box>>>::Create(
          boxes, {.batch_size = 2, .collate = [](std::vector<Box> items) {
                    return std::make_unique<std::vector<Box>>(std::move(items));
                  }});
  for (uint64_t step = 0; step < 150; ++step) {
    EXPECT_EQ(*plain->NextBlocking()->at(1), 2 * step + 1);
    EXPECT_EQ(*(**nested->NextBlocking())[0], 2 * step);
  }
}

// 300 numbers, of which number `item` cannot be had the first `times` times.
DatasetPtr<uint64_t> Flaky(
    uint64_t item, int times,
    absl::Status error = absl::UnavailableError("busy")) {
  auto failures = std::make_shared<std::atomic<int>>(times);
  return Map<uint64_t>("flaky", Counting(300),
                       [=](uint64_t x) -> absl::StatusOr<uint64_t> {
                         if (x == item && failures->fetch_sub(1) > 0) {
                           return error;
                         }
                         return x;
                       });
}

TEST(ItemLoaderTest, AnErrorLeavesTheLoaderAtItsStep) {
  // More failures than there may be requests for several steps before.
  const auto loader =
      OpenItems(Flaky(250, 20), {.batch_size = 2, .rank = 1, .ranks = 2});
  int errors = 0;
  for (uint64_t step = 0; step < 150;) {
    const auto batch = loader->NextBlocking();
    if (batch.ok()) {
      ASSERT_THAT(*batch, ElementsAre(2 * step + 1));
      ++step;
      continue;
    }
    ++errors;
  }
  EXPECT_EQ(errors, 0);  // it is the other rank's
  const auto own = OpenItems(Flaky(250, 20), {.batch_size = 2, .ranks = 2});
  for (uint64_t step = 0; step < 150;) {
    const auto batch = own->NextBlocking();
    ASSERT_EQ(own->next_step(), step + (batch.ok() ? 1 : 0));
    if (batch.ok()) {
      ASSERT_THAT(*batch, ElementsAre(2 * step));
      ++step;
      continue;
    }
    ++errors;
    ASSERT_EQ(step, 125u);
    EXPECT_THAT(batch, StatusIs(absl::StatusCode::kUnavailable,
                                "step 125, rank 0: dataset 'flaky' item 250 "
                                "epoch 0: busy"));
  }
  EXPECT_GT(errors, 5);
}

TEST(ItemLoaderTest, OutOfRangeOfTheDatasetIsNotTheEnd) {
  const auto loader =
      OpenItems(Flaky(3, 1000, absl::OutOfRangeError("beyond")), {});
  for (int i = 0; i < 3; ++i) EXPECT_THAT(loader->NextBlocking(), IsOk());
  EXPECT_THAT(loader->NextBlocking(),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("step 3, rank 0: dataset 'flaky' item 3")));
}

TEST(ItemLoaderTest, ExceptionsBecomeErrorsOfTheirStep) {
  std::atomic<bool> throws = true;
  const auto collating =
      OpenItems(Counting(300), {.batch_size = 2, .collate = [&](Items items) {
                                  if (items.front() == 200 && throws) {
                                    throw std::runtime_error("boom");
                                  }
                                  return items;
                                }});
  for (uint64_t step = 0; step < 100; ++step) {
    ASSERT_THAT(collating->NextBlocking(), IsOk());
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(collating->NextBlocking(),
                StatusIs(absl::StatusCode::kInternal,
                         "step 100, rank 0: collate: boom"));
  }
  throws = false;
  EXPECT_THAT(collating->NextBlocking(), IsOkAndHolds(ElementsAre(200, 201)));
  const auto mapped = OpenItems(Map<uint64_t>("bad", Counting(9),
                                              [](uint64_t x) {
                                                if (x == 4)
                                                  throw std::bad_alloc();
                                                return x;
                                              }),
                                {.batch_size = 4});
  EXPECT_THAT(mapped->NextBlocking(), IsOk());
  EXPECT_THAT(mapped->NextBlocking(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "step 1, rank 0: dataset 'bad' item 4 epoch 0: out of "
                       "memory"));
}

TEST(ItemLoaderTest, RefusesWhatNoRunCanHave) {
  const auto create = [](NumberOptions options) {
    return NumberLoader::Create(Counting(5), std::move(options)).status();
  };
  EXPECT_THAT(NumberLoader::Create(nullptr),
              StatusIs(kInvalid, HasSubstr("needs a dataset")));
  EXPECT_THAT(create({.batch_size = 0}),
              StatusIs(kInvalid, HasSubstr("batch_size")));
  EXPECT_THAT(create({.rank = 2, .ranks = 2}),
              StatusIs(kInvalid, HasSubstr("got rank 2 of 2")));
  EXPECT_THAT(create({.ranks = 0}), StatusIs(kInvalid, ::testing::_));
  EXPECT_THAT(create({.prefetch_batches = 65537}),
              StatusIs(kInvalid, HasSubstr("prefetch_batches")));
  EXPECT_THAT(create({.batch_size = uint64_t{1} << 60, .steps = 100}),
              StatusIs(kInvalid, ::testing::_));
  EXPECT_THAT(
      create({.batch_size = 0, .ranks = 0, .prefetch_batches = 65537}),
      StatusIs(kInvalid, AllOf(HasSubstr("batch_size"), HasSubstr("rank"),
                               HasSubstr("prefetch_batches"))));
  EXPECT_THAT(create({.start_step = UINT64_MAX}), IsOk());
}

TEST(ItemLoaderTest, AStartBeyondTheEndIsTheEnd) {
  const auto loader = OpenItems(Counting(5), {.start_step = UINT64_MAX});
  EXPECT_THAT(loader->NextBlocking(),
              StatusIs(absl::StatusCode::kOutOfRange, ::testing::_));
  EXPECT_THAT(loader->Seek(4), IsOk());
  EXPECT_THAT(loader->NextBlocking(), IsOkAndHolds(ElementsAre(4)));
}

TEST(ItemLoaderTest, SaysWhereItemsComeFrom) {
  const auto loader = OpenItems(
      *Concat<uint64_t>({{"a", Counting(3)}, {"b", Counting(3)}}), {});
  ASSERT_EQ(loader->tree().leaves().size(), 2u);
  EXPECT_EQ(loader->tree().leaves()[1].path, "b");
}

}  // namespace
}  // namespace poniente
