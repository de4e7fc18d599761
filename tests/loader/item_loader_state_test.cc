// SPDX-License-Identifier: Apache-2.0
// ItemLoader::State() and Resume(): what may change in between.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "loader/state/run_state.h"
#include "poniente/batch_mapped_dataset.h"
#include "poniente/cached_dataset.h"
#include "poniente/item_loader.h"
#include "poniente/mapped_dataset.h"
#include "poniente/mixture_dataset.h"
#include "poniente/transforms.h"
#include "poniente/zipped_dataset.h"
#include "tests/loader/open_items.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using testing::Counting;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::Items;
using testing::kInvalid;
using testing::NumberLoader;
using testing::NumberOptions;
using testing::StatusIs;

// A mixture of what is made in every way.
DatasetPtr<uint64_t> Tree(uint64_t seed, std::string name = "pairs",
                          uint64_t items = 90) {
  const auto plus = [](uint64_t x) { return x + 1; };
  const auto sum = [](std::tuple<uint64_t, uint64_t> pair) {
    return std::get<0>(pair) + std::get<1>(pair);
  };
  const auto same = [](Items group) { return group; };
  const auto zipped =
      Map<uint64_t>("sum", *Zip(Counting(items, 0, name), Counting(items, 9)),
                    sum, {.parallel = 2});
  const auto grouped = *MapBatches<uint64_t>(
      "same", Counting(70, 1000, "groups"), {.group_items = 6}, same);
  const auto turns = *Interleave<uint64_t>(
      {{"x", Counting(30, 2000, "x")},
       {"y", Map<uint64_t>("plus", Counting(40, 3000, "y"), plus)}},
      3);
  MixtureOptions options;
  options.seed = seed;
  options.block_size = 16;
  return *MixtureDataset<uint64_t>::Create(
      {{"zipped", *Cache(zipped, {.max_items = 20}), 3},
       {"grouped", grouped, 2},
       {"turns", turns, 1}},
      options);
}

std::unique_ptr<NumberLoader> OpenTree(DatasetPtr<uint64_t> root,
                                       NumberOptions options = {}) {
  if (options.batch_size == 1) options.batch_size = 6;
  return *NumberLoader::Create(std::move(root), std::move(options));
}

Items TakeSteps(NumberLoader* loader, uint64_t steps) {
  Items all;
  for (uint64_t i = 0; i < steps; ++i) {
    const auto batch = loader->NextBlocking();
    EXPECT_THAT(batch, IsOk());
    if (!batch.ok()) return all;
    all.insert(all.end(), batch->begin(), batch->end());
  }
  return all;
}

// A process is stopped at any step, and others go on, on any number of ranks.
TEST(ItemLoaderStateTest, ARunGoesOnOnAnyNumberOfRanks) {
  constexpr uint64_t kSteps = 60;
  const Items whole = TakeSteps(OpenTree(Tree(7)).get(), kSteps);
  std::mt19937_64 random(testing::TestSeed(1));
  for (int trial = 0; trial < 15; ++trial) {
    std::vector<Items> steps(kSteps);
    std::string state;
    for (uint64_t step = 0; step < kSteps;) {
      const uint64_t end = std::min(kSteps, step + 1 + random() % 20);
      const auto ranks = static_cast<uint32_t>(1 + random() % 4);
      std::string next;
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        const auto loader = OpenTree(
            Tree(7), {.rank = rank,
                      .ranks = ranks,
                      .prefetch_batches = static_cast<uint32_t>(random() % 9)});
        if (!state.empty()) {
          ASSERT_THAT(loader->Resume(state), IsOk());
        }
        ASSERT_EQ(loader->next_step(), step);
        for (uint64_t at = step; at < end; ++at) {
          const Items part = TakeSteps(loader.get(), 1);
          steps[at].insert(steps[at].end(), part.begin(), part.end());
        }
        if (rank > 0) {
          ASSERT_EQ(loader->State(), next);
        }
        next = loader->State();
      }
      state = next;
      step = end;
    }
    Items all;
    for (const Items& step : steps) {
      all.insert(all.end(), step.begin(), step.end());
    }
    ASSERT_EQ(all, whole) << "trial " << trial;
  }
}

// The first number of items that two trees serve alike; all if they are one the
// beginning of the other.
size_t Common(const Items& a, const Items& b) {
  const auto [end, unused] =
      std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return end - a.begin();
}

Items ItemsOf(const DatasetPtr<uint64_t>& root) {
  Items all;
  for (uint64_t i = 0; i < root->length_now().readable; ++i) {
    all.push_back(*root->GetBlocking(i));
  }
  return all;
}

// How much there is below decides what is served above: the end of an epoch
// that is shuffled, and the last, short group.
TEST(ItemLoaderStateTest, LengthsBelowNodesThatPassItemsOnCount) {
  using Tree = DatasetPtr<uint64_t>;
  const auto take = [](uint64_t n) { return *Take(Counting(500), n); };
  const auto slice = [](uint64_t n) { return *Slice(Counting(500), 5, n); };
  const auto once = [](Tree tree) { return *Repeat(std::move(tree), 1); };
  const auto shuffled = [](Tree tree) { return *Shuffle(std::move(tree), 7); };
  const auto sums = [](Tree tree) {
    return *MapBatches<uint64_t>(
        "sums", std::move(tree), {.group_items = 4, .made_items = 1},
        [](Items group) -> Items {
          return {std::accumulate(group.begin(), group.end(), uint64_t{0})};
        });
  };
  const std::pair<Tree, Tree> pairs[] = {
      {shuffled(once(take(40))), shuffled(once(take(41)))},
      {once(take(40)), once(take(41))},
      {once(slice(40)), once(slice(41))},
      {shuffled(once(once(slice(40)))), shuffled(once(once(slice(41))))},
      {shuffled(*Repeat(take(20), 2)), shuffled(*Repeat(take(20), 3))},
      {sums(take(10)), sums(take(11))},
      {sums(take(8)), sums(take(12))},
      {sums(slice(15)), sums(slice(16))},
      {once(sums(take(10))), once(sums(take(11)))},
      {shuffled(sums(take(40))), shuffled(sums(take(44)))},
      {shuffled(sums(once(take(41)))), shuffled(sums(once(take(42))))},
      {shuffled(sums(*Repeat(take(8), 2))),
       shuffled(sums(*Repeat(take(8), 3)))},
      {*Concat<uint64_t>({{"x", once(take(9))}, {"y", Counting(50, 1000)}}),
       *Concat<uint64_t>({{"x", once(take(8))}, {"y", Counting(50, 1000)}})},
  };
  for (size_t i = 0; i < std::size(pairs); ++i) {
    const auto& [a, b] = pairs[i];
    const size_t common = Common(ItemsOf(a), ItemsOf(b));
    const auto writer = OpenTree(a, {.batch_size = 2});
    const uint64_t items = a->length_now().readable;
    for (uint64_t step = 1; step <= (items + 1) / 2; ++step) {
      TakeSteps(writer.get(), 1);
      const auto reader = OpenTree(b, {.batch_size = 2});
      const absl::Status resumed = reader->Resume(writer->State());
      // A tree that goes on alike need not be accepted.
      if (std::min(2 * step, items) > common) {
        EXPECT_FALSE(resumed.ok()) << "pair " << i << ", step " << step;
      }
      ASSERT_THAT(OpenTree(a, {.batch_size = 2})->Resume(writer->State()),
                  IsOk());
    }
  }
  // Whole groups, and an epoch whose end is not reached, go on.
  for (const auto& [a, b] : {std::pair(sums(take(8)), sums(take(12))),
                             std::pair(once(take(40)), once(take(41)))}) {
    const auto writer = OpenTree(a, {.batch_size = 2});
    TakeSteps(writer.get(), 1);
    EXPECT_THAT(OpenTree(b, {.batch_size = 2})->Resume(writer->State()),
                IsOk());
  }
}

TEST(ItemLoaderStateTest, IsTheTextOfARunState) {
  const auto loader = OpenTree(Tree(7));
  TakeSteps(loader.get(), 4);
  const std::string state = loader->State();
  EXPECT_THAT(state,
              AllOf(HasSubstr("step 4\nsample 24\n"), HasSubstr("seed 7\n"),
                    HasSubstr("max_seq_len 1\nbatches 0 6 1\n"),
                    HasSubstr("\"zipped/0\"")));
  EXPECT_THAT(internal::ParseRunState(state), IsOk());
  EXPECT_EQ(*loader->State(4), state);
  const auto later = loader->State(9);
  ASSERT_THAT(later, IsOk());
  EXPECT_THAT(*later, HasSubstr("step 9\n"));
  EXPECT_THAT(
      OpenTree(Tree(7), {.steps = 5})->State(6),
      StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("after 5 steps")));
}

// 50 items in batches of 4: 13 steps, the last of two items.
TEST(ItemLoaderStateTest, NoStepBehindTheEndOfTheItemsHasAState) {
  const auto ends = StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("ends"));
  for (const uint64_t steps : {0, 20}) {
    const auto loader =
        OpenTree(Counting(50), {.batch_size = 4, .steps = steps});
    EXPECT_THAT(loader->State(13), IsOk());
    EXPECT_THAT(loader->State(14), ends);
    EXPECT_THAT(loader->State(20), ends);
    EXPECT_THAT(loader->State(uint64_t{1} << 40), ends);
  }
  const auto whole =
      OpenTree(Counting(50), {.batch_size = 4, .last_batch = LastBatch::kDrop});
  EXPECT_THAT(whole->State(12), IsOk());
  EXPECT_THAT(whole->State(13), ends);
  EXPECT_THAT(OpenTree(Counting(0))->State(0), IsOk());
  EXPECT_THAT(OpenTree(Counting(0))->State(1), ends);
}

TEST(ItemLoaderStateTest, WhatDecidedThePastIsCompared) {
  const auto loader = OpenTree(Tree(7));
  TakeSteps(loader.get(), 20);
  const std::string state = loader->State();
  const auto refuses = [&state](std::unique_ptr<NumberLoader> other,
                                const std::string& why) {
    EXPECT_THAT(other->Resume(state),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("cannot go on with step 20"),
                               HasSubstr(why))));
    EXPECT_EQ(other->next_step(), 0u);
  };
  refuses(OpenTree(Tree(8)), "seed 7 in the state, seed 8 here");
  refuses(OpenTree(Tree(7, "others")), "other data in 'zipped/0'");
  refuses(OpenTree(Tree(7), {.batch_size = 5}),
          "batch_size 6 and seq_len 1 from step 0 on in the state");
  refuses(OpenTree(*Shuffle(Counting(500), 7)), "not read here");
  const auto same = OpenTree(Tree(7), {.steps = 40, .prefetch_batches = 2});
  EXPECT_THAT(same->Resume(state), IsOk());
  EXPECT_EQ(same->next_step(), 20u);
}

TEST(ItemLoaderStateTest, OnlyWholeTextsAreAccepted) {
  const auto loader = OpenTree(Tree(7));
  TakeSteps(loader.get(), 2);
  std::string state = loader->State();
  state[state.find("step 2") + 5] = '3';
  EXPECT_THAT(loader->Resume(state), StatusIs(kInvalid, HasSubstr("line")));
  EXPECT_THAT(loader->Resume("nonsense"),
              StatusIs(kInvalid, HasSubstr("line 1")));
  EXPECT_EQ(loader->next_step(), 2u);
}

TEST(ItemLoaderStateTest, ACacheOrThreadsMayBeAddedToARun) {
  const auto plus = [](uint64_t x) { return x + 1; };
  const auto make = [&](bool is_cached, uint32_t threads) {
    auto root = *Shuffle(Counting(100), 3);
    auto mapped = Map<uint64_t>("plus", root, plus, {.parallel = threads});
    return is_cached ? *Cache(mapped, {.max_items = 9}) : mapped;
  };
  const auto loader = OpenTree(make(false, 1));
  TakeSteps(loader.get(), 3);
  const auto resumed = OpenTree(make(true, 3));
  EXPECT_THAT(resumed->Resume(loader->State()), IsOk());
  EXPECT_EQ(TakeSteps(resumed.get(), 5), TakeSteps(loader.get(), 5));
}

}  // namespace
}  // namespace poniente
