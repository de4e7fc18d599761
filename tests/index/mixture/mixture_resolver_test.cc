// SPDX-License-Identifier: Apache-2.0
// Threads keep the items of their last block: whatever they have resolved
// before, they give what a thread gives that has resolved nothing.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <latch>
#include <memory>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "index/mixture/mixture_map.h"
#include "tests/index/map_laws.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using testing::Range;
using testing::Resolve;

constexpr uint64_t kResolverTotal = QuotaTree::kTotal;
constexpr uint64_t kBlock = 256;
constexpr uint64_t kBoundary = 3 * kBlock + 40;

std::shared_ptr<const StagePlan> FourStages() {
  auto plan = StagePlan::Create(
      kBlock,
      {{0, {kResolverTotal / 2, kResolverTotal / 4, kResolverTotal / 4}},
       {kBoundary,
        {kResolverTotal / 8, kResolverTotal / 2, kResolverTotal / 8 * 3}}});
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *plan;
}

std::unique_ptr<MixtureMap> Make(std::shared_ptr<const StagePlan> plan,
                                 uint64_t seed,
                                 const MixtureRules& rules = {}) {
  std::vector<MapComponent> components = {{"a", {{0, 5000, {}}}, {}},
                                          {"b", {{0, 3000, {}}}, {}},
                                          {"c", {{0, 70, {}}}, {}}};
  auto map = MixtureMap::Create(std::move(plan), components, seed, rules);
  EXPECT_TRUE(map.ok()) << map.status();
  return *std::move(map);
}

std::unique_ptr<MixtureMap> MakeFinite() {
  MixtureRules rules;
  rules.stop_rule = StopRule::kAllExhausted;
  return Make(FourStages(), 42, rules);
}

std::vector<ChildPosition> ByAnotherThread(
    const MixtureMap& map, std::span<const Position> positions) {
  std::vector<ChildPosition> items;
  std::jthread([&] { items = Resolve(map, positions); }).join();
  return items;
}

std::vector<Position> OfEpoch(std::vector<Position> positions, uint64_t epoch) {
  for (Position& position : positions) position.epoch = epoch;
  return positions;
}

TEST(MixtureResolverTest, MapsOfOnePlanAlternateOnAThread) {
  const auto plan = FourStages();
  const auto one = Make(plan, 1);
  const auto two = Make(plan, 2);
  const auto block = Range(0, kBlock);
  const auto of_one = ByAnotherThread(*one, block);
  const auto of_two = ByAnotherThread(*two, block);
  ASSERT_NE(of_one, of_two);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Resolve(*one, block), of_one);
    EXPECT_EQ(Resolve(*two, block), of_two);
  }
}

// Most allocators put the new one where the old one was.
TEST(MixtureResolverTest, AMapThatIsGoneLeavesNothingToTheNext) {
  const auto plan = FourStages();
  const auto block = Range(0, kBlock);
  std::vector<ChildPosition> before;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const auto map = Make(plan, seed);
    const auto items = Resolve(*map, block);
    EXPECT_NE(items, before);
    EXPECT_EQ(items, ByAnotherThread(*map, block));
    before = items;
  }
}

TEST(MixtureResolverTest, EpochsOfAFiniteMapAlternate) {
  const auto map = MakeFinite();
  ASSERT_GE(map->length(), kBlock);
  for (const uint64_t epoch : {0, 1, 0, 2, 1}) {
    const auto block = OfEpoch(Range(0, kBlock), epoch);
    const auto items = Resolve(*map, block);
    EXPECT_EQ(items, ByAnotherThread(*map, block)) << "epoch " << epoch;
  }
  EXPECT_NE(Resolve(*map, Range(0, kBlock)),
            Resolve(*map, OfEpoch(Range(0, kBlock), 1)));
}

// Another length of a block, too: the stage cuts one.
TEST(MixtureResolverTest, BlocksComeInAnyOrder) {
  const auto map = Make(FourStages(), 42);
  std::mt19937_64 random(testing::TestSeed(33));
  for (int i = 0; i < 300; ++i) {
    const uint64_t begin = random() % (2 * kBoundary);
    const uint64_t end = begin + 1 + random() % kBlock;
    const auto positions = Range(begin, end);
    ASSERT_EQ(Resolve(*map, positions), ByAnotherThread(*map, positions))
        << begin << " to " << end;
  }
}

// Each asks for a small part of the block; together they are worth all of it.
TEST(MixtureResolverTest, SmallCallsGiveWhatOneGives) {
  const auto plan = FourStages();
  const auto one = Make(plan, 1);
  const auto two = Make(plan, 2);
  const auto finite = MakeFinite();
  const auto all = Range(0, 2 * kBoundary);
  const auto of_one = ByAnotherThread(*one, all);
  const auto of_two = ByAnotherThread(*two, all);
  const auto later = OfEpoch(all, 1);
  const auto of_later = ByAnotherThread(*finite, later);
  for (const size_t step : {size_t{1}, size_t{7}, kBlock / 8 - 1}) {
    for (size_t at = 0; at + step <= all.size(); at += step) {
      const auto here = std::span(all).subspan(at, step);
      const auto expect = [&](const std::vector<ChildPosition>& items,
                              const std::vector<ChildPosition>& expected) {
        ASSERT_TRUE(std::equal(items.begin(), items.end(),
                               expected.begin() + static_cast<ptrdiff_t>(at)))
            << step << " at " << at;
      };
      expect(Resolve(*one, here), of_one);
      // Every few blocks by turns.
      if (at / 1000 % 2 == 0) continue;
      expect(Resolve(*two, here), of_two);
      expect(Resolve(*finite, std::span(later).subspan(at, step)), of_later);
    }
  }
}

TEST(MixtureResolverTest, ThreadsKeepBlocksOfTheirOwn) {
  const auto plan = FourStages();
  const auto one = Make(plan, 1);
  const auto two = Make(plan, 2);
  const auto all = Range(0, 2 * kBoundary);
  const auto of_one = ByAnotherThread(*one, all);
  const auto of_two = ByAnotherThread(*two, all);
  const uint64_t seed = testing::TestSeed(34);
  std::vector<int> wrong(4);
  std::latch start(static_cast<ptrdiff_t>(wrong.size()));
  {
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < wrong.size(); ++t) {
      threads.emplace_back([&, t] {
        std::mt19937_64 random(seed + t);
        start.arrive_and_wait();
        for (int i = 0; i < 3000; ++i) {
          const bool first = random() % 2 == 0;
          const uint64_t begin = random() % kBoundary;
          const uint64_t size = 1 + random() % kBlock;
          const auto items =
              Resolve(first ? *one : *two, std::span(all).subspan(begin, size));
          const auto& expected = first ? of_one : of_two;
          wrong[t] +=
              !std::equal(items.begin(), items.end(),
                          expected.begin() + static_cast<ptrdiff_t>(begin));
        }
      });
    }
  }
  EXPECT_EQ(wrong, std::vector<int>(wrong.size()));
}

}  // namespace
}  // namespace poniente::internal
