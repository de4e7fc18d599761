// SPDX-License-Identifier: Apache-2.0
// Whole blocks of mixtures of many components, all kinds of them, against one
// draw after the other: the plan's draw, ItemDraws, ItemOrder.
#include "index/mixture/draw_batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "index/mixture/mixture_map.h"
#include "index/mixture/weights.h"
#include "tests/index/map_laws.h"
#include "tests/index/order_specs.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using testing::Range;
using testing::Resolve;

constexpr uint64_t kBatchSeed = 7;
constexpr uint64_t kBatchStages = 4;

// What the test knows of a map that it made.
struct Mixed {
  std::unique_ptr<MixtureMap> map;
  std::vector<std::vector<uint32_t>> children;  // by component and view
};

class RandomMixture {
 public:
  explicit RandomMixture(uint64_t seed) : random_(seed) {}

  Mixed Make() {
    const auto count = static_cast<uint32_t>(1 + Below(Chance(2) ? 20 : 200));
    block_ = 1 + Below(6 * count);
    stage_ = block_ * (1 + Below(3)) + Below(block_);
    std::vector<double> weights(count);
    for (double& weight : weights) weight = 1.0 + 20.0 * Chance(4);
    auto quanta = QuantaFromWeights(weights);
    EXPECT_TRUE(quanta.ok()) << quanta.status();
    std::vector<PlanStage> stages;
    for (uint64_t s = 0; s < kBatchStages; ++s) {
      stages.push_back({s * stage_, *quanta});
    }
    auto plan = StagePlan::Create(block_, std::move(stages));
    EXPECT_TRUE(plan.ok()) << plan.status();
    std::vector<MapComponent> components;
    for (uint32_t i = 0; i < count; ++i) components.push_back(Component(i));
    Mixed mixed;
    uint32_t next = count;
    for (uint32_t i = 0; i < count; ++i) {
      mixed.children.push_back({i});
      for (size_t v = 1; v < components[i].views.size(); ++v) {
        mixed.children[i].push_back(next++);
      }
    }
    auto map =
        MixtureMap::Create(*plan, std::move(components), kBatchSeed, Rules());
    EXPECT_TRUE(map.ok()) << map.status();
    mixed.map = *std::move(map);
    return mixed;
  }

  // Whole blocks, from the first on or far away.
  std::vector<Position> Positions() {
    const uint64_t all = kBatchStages * stage_ + 2 * block_;
    if (Chance(2)) return Range(0, all);
    const uint64_t far = Random() >> (3 + Below(20));
    const uint64_t begin = (kBatchStages - 1) * stage_ + far / block_ * block_;
    return Range(begin, begin + 2 * block_);
  }

 private:
  uint64_t Random() { return random_(); }
  uint64_t Below(uint64_t end) { return random_() % end; }
  bool Chance(uint64_t one_in) { return Below(one_in) == 0; }
  // Log-uniform.
  uint64_t Sized(double least, double most) {
    std::uniform_real_distribution<double> exponent(std::log(least),
                                                    std::log(most));
    return static_cast<uint64_t>(std::exp(exponent(random_)));
  }

  uint64_t Length() {
    switch (Below(5)) {
      case 0:
        return 1 + Below(200);
      case 1:
        return (uint64_t{1} << 32) - 1 + Below(3);
      case 2:
        return Sized(1e10, 1e17);
      case 3:
        return uint64_t{1} << (7 + Below(40));
      default:
        return Sized(100, 1e9);
    }
  }

  OrderSpec Order() {
    switch (Below(6)) {
      case 0:
        return Stored();
      case 1:
        return Eras(1 + Sized(1, 1e6));
      case 2:
      case 3:
        return Blocks(1 + Sized(1, 1e3), 1 + Sized(1, 1e4));
      default:
        return Full();
    }
  }

  MapComponent Component(uint32_t i) {
    MapComponent component;
    component.name = absl::StrCat("component ", 1000 + i);
    if (Chance(12)) {
      component.views = {{0, std::nullopt, Order()}};
      return component;
    }
    component.views = {{0, Length(), Order()}};
    if (!Chance(4)) return component;
    for (uint64_t s = 1; s < kBatchStages; ++s) {
      if (Chance(2)) component.views.push_back({s * stage_, Length(), Order()});
    }
    return component;
  }

  MixtureRules Rules() {
    MixtureRules rules;
    if (Chance(3)) return rules;
    if (Chance(2)) rules.group = 1 + Sized(1, 1e4);
    const bool trims = Chance(4);
    for (uint64_t s = 0; s < kBatchStages; ++s) {
      if (s > 0 && Chance(3)) continue;
      ItemParts parts;
      parts.is_trimmed = trims;
      const auto count = static_cast<uint32_t>(1 + Below(Chance(2) ? 9 : 300));
      if (!trims) parts.count = count;
      if (parts.length > 1 && Chance(2)) parts.overlap = 1;
      if (count > 1) parts.length = 32768 / count;
      rules.parts.push_back({s * stage_, parts});
    }
    return rules;
  }

  std::mt19937_64 random_;
  uint64_t block_ = 1;
  uint64_t stage_ = 1;
};

ChildPosition OneByOne(const Mixed& mixed, const Position& position) {
  const MixtureMap& map = *mixed.map;
  const Draw draw = map.plan().At(position.index, kBatchSeed);
  const ItemDraws& draws = map.draws(draw.component);
  uint64_t ordinal = draw.ordinal;
  if (map.length()) {
    ordinal += position.epoch * map.plan().Count(draw.component, *map.length());
  }
  const ItemDraws::Item item = draws.At(ordinal);
  ChildPosition expected;
  // Names are in the order of declaration.
  expected.child = mixed.children[draw.component][item.view];
  expected.position.epoch = item.epoch;
  expected.position.index = item.place;
  const MapComponentView& view = map.view(expected.child);
  if (view.is_permuted()) {
    expected.position.index =
        ItemOrder(*view.length, draws.EpochKey(item.epoch), view.order)
            .Forward(item.place);
  }
  TakePart(TokensOf(item.parts, item.part), position, &expected.position);
  return expected;
}

TEST(DrawBatchTest, ReadsWhatOneDrawAfterTheOtherReads) {
  std::mt19937_64 seeds(testing::TestSeed(36));
  for (int i = 0; i < 150; ++i) {
    const uint64_t seed = seeds();
    RandomMixture random(seed);
    const Mixed mixed = random.Make();
    const std::vector<Position> positions = random.Positions();
    const auto items = Resolve(*mixed.map, positions);
    for (size_t k = 0; k < positions.size(); ++k) {
      ASSERT_EQ(items[k], OneByOne(mixed, positions[k]))
          << "mixture " << seed << ", sample " << positions[k].index;
    }
  }
}

// Components of which each block has more draws than are taken together, or
// just as many.
TEST(DrawBatchTest, TakesRunsOfAnyLength) {
  for (const uint64_t draws : {1, 2, 15, 16, 17, 18, 40}) {
    for (const OrderSpec& order : {Full(), Eras(300), Blocks(7, 50)}) {
      std::vector<MapComponent> components;
      std::vector<double> weights(5, 1.0);
      Mixed mixed;
      for (uint32_t c = 0; c < weights.size(); ++c) {
        components.push_back(
            {absl::StrCat("c", c), {{0, 5000 + c * 4000000000, order}}, {}});
        mixed.children.push_back({c});
      }
      ASSERT_OK_AND_ASSIGN(const auto quanta, QuantaFromWeights(weights));
      ASSERT_OK_AND_ASSIGN(const auto plan,
                           StagePlan::Create(5 * draws, {{0, quanta}}));
      MixtureRules rules;
      rules.parts = {{0, {.count = 8, .length = 4096}}};
      ASSERT_OK_AND_ASSIGN(
          mixed.map, MixtureMap::Create(plan, components, kBatchSeed, rules));
      const auto positions = Range(0, 50 * draws);
      const auto items = Resolve(*mixed.map, positions);
      for (size_t k = 0; k < positions.size(); ++k) {
        ASSERT_EQ(items[k], OneByOne(mixed, positions[k])) << k;
      }
    }
  }
}

TEST(DrawBatchTest, DrawsCountOnThroughTheEpochsOfAFiniteMixture) {
  std::vector<MapComponent> components;
  std::vector<double> weights(40, 1.0);
  Mixed mixed;
  for (uint32_t c = 0; c < weights.size(); ++c) {
    const OrderSpec order = c % 3 == 0   ? Full()
                            : c % 3 == 1 ? Eras(70)
                                         : Blocks(3, 30);
    components.push_back(
        {absl::StrCat("component ", 100 + c), {{0, 100 + 31 * c, order}}, {}});
    mixed.children.push_back({c});
  }
  ASSERT_OK_AND_ASSIGN(const auto quanta, QuantaFromWeights(weights));
  ASSERT_OK_AND_ASSIGN(const auto plan, StagePlan::Create(100, {{0, quanta}}));
  MixtureRules rules;
  rules.stop_rule = StopRule::kAllExhausted;
  rules.parts = {{0, {.count = 3, .length = 1000}}};
  ASSERT_OK_AND_ASSIGN(mixed.map,
                       MixtureMap::Create(plan, components, kBatchSeed, rules));
  for (const uint64_t epoch : {0, 1, 5}) {
    const auto positions = Range(0, 3000, epoch);
    const auto items = Resolve(*mixed.map, positions);
    for (size_t k = 0; k < positions.size(); ++k) {
      ASSERT_EQ(items[k], OneByOne(mixed, positions[k]))
          << "epoch " << epoch << ", sample " << k;
    }
  }
}

}  // namespace
}  // namespace poniente::internal
