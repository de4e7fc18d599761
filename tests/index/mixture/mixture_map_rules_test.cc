// SPDX-License-Identifier: Apache-2.0
// Ends of mixtures, parts of items and views of components, against the slow
// twin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "index/mixture/mixture_map.h"
#include "index/mixture/weights.h"
#include "tests/index/map_laws.h"
#include "tests/index/slow_mixture.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using ::poniente::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Range;
using testing::Resolve;
using testing::SlowBlock;
using testing::SlowComponent;
using testing::SlowMixture;

constexpr uint64_t kRulesTotal = QuotaTree::kTotal;
constexpr uint64_t kDealt = 6000;
using testing::kInvalid;

using Map = std::unique_ptr<MixtureMap>;

std::vector<uint64_t> RandomRuleQuanta(size_t components,
                                       std::mt19937_64& random, bool zeros) {
  std::vector<double> weights(components);
  for (double& weight : weights) {
    weight = zeros && random() % 5 == 0 ? 0.0
                                        : static_cast<double>(1 + random() % 9);
  }
  weights[random() % components] = 4;
  return *QuantaFromWeights(weights);
}

absl::StatusOr<Map> MakeMap(const SlowMixture& mixture,
                            StopRule stop_rule = StopRule::kRestart) {
  std::vector<PlanStage> stages;
  for (const auto& stage : mixture.stages) {
    stages.push_back({stage.start, stage.quanta});
  }
  // Declared by the number of their first view.
  std::vector<MapComponent> components(mixture.components.size());
  for (const SlowComponent& slow : mixture.components) {
    MapComponent& made = components[slow.children[0]];
    made.name = slow.name;
    made.max_epochs = slow.max_epochs;
    for (const auto& view : slow.views) {
      std::optional<uint64_t> length;
      if (view.items != 0) length = view.items;
      OrderSpec order;
      if (!view.shuffle) order.kind = ShuffleKind::kNone;
      made.views.push_back({view.start, length, order});
    }
  }
  MixtureRules rules;
  rules.stop_rule = stop_rule;
  rules.group = mixture.group;
  for (const auto& change : mixture.parts) {
    rules.parts.push_back({change.start, {change.count, change.length}});
  }
  auto plan = StagePlan::Create(mixture.block_size, stages);
  if (!plan.ok()) return plan.status();
  return MixtureMap::Create(*plan, std::move(components), mixture.seed, rules);
}

struct RuleShape {
  bool zeros = false;
  bool endless = false;
  bool parts = false;
  bool views = false;
};

SlowMixture RandomMixture(std::mt19937_64& random, const RuleShape& shape) {
  SlowMixture mixture;
  mixture.seed = random();
  mixture.block_size = random() % 4 == 0 ? 1 : 1 + random() % 60;
  mixture.group = random() % 2 == 0 ? 0 : 1 + random() % 12;
  const size_t count = 1 + random() % 5;
  mixture.stages = {{0, RandomRuleQuanta(count, random, shape.zeros)}};
  for (uint64_t left = random() % 4; left > 0; --left) {
    mixture.stages.push_back({mixture.stages.back().start + 1 + random() % 200,
                              RandomRuleQuanta(count, random, shape.zeros)});
  }
  if (shape.parts) {
    for (const auto& stage : mixture.stages) {
      if (stage.start > 0 && random() % 3 == 0) continue;
      // Of items of 1024 tokens.
      const auto length = static_cast<uint32_t>(128 + random() % 896);
      mixture.parts.push_back({stage.start, 1024 / length, length});
      if (random() % 4 == 0) mixture.parts.back() = {stage.start};
    }
  }
  std::vector<uint32_t> declared(count);
  for (uint32_t i = 0; i < count; ++i) declared[i] = i;
  std::shuffle(declared.begin(), declared.end(), random);
  for (uint32_t i = 0; i < count; ++i) {
    SlowComponent component = {
        std::string(1, static_cast<char>('a' + i)), {}, {declared[i]}};
    const bool endless = shape.endless && random() % 4 == 0;
    for (const auto& stage : mixture.stages) {
      const bool first = component.views.empty();
      if (!first && (!shape.views || endless || random() % 2 == 0)) continue;
      component.views.push_back(
          {stage.start, endless ? 0 : 1 + random() % 60, random() % 4 > 0});
    }
    mixture.components.push_back(component);
  }
  // Later views in the order of declaration.
  auto next = static_cast<uint32_t>(count);
  for (uint32_t d = 0; d < count; ++d) {
    for (SlowComponent& component : mixture.components) {
      if (component.children[0] != d) continue;
      while (component.children.size() < component.views.size()) {
        component.children.push_back(next++);
      }
    }
  }
  return mixture;
}

std::vector<Position> Whole(uint64_t end, uint64_t epoch = 0) {
  std::vector<Position> positions(end);
  for (uint64_t k = 0; k < end; ++k) positions[k] = {k, epoch};
  return positions;
}

// What an end by rules should be: a length, none, or a refusal.
struct End {
  std::optional<uint64_t> length;
  bool refused = false;
  bool unknown = false;  // beyond the samples dealt
};

std::optional<uint64_t> Least(std::optional<uint64_t> a,
                              std::optional<uint64_t> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

End ExpectedEnd(const SlowMixture& mixture, StopRule rule) {
  End end;
  std::optional<uint64_t> runs_out;
  std::optional<uint64_t> all_end = 0;
  bool runs_out_later = false;
  bool all_end_later = false;
  for (uint32_t i = 0; i < mixture.components.size(); ++i) {
    const SlowComponent& component = mixture.components[i];
    std::optional<uint64_t> epochs = component.max_epochs;
    if (rule == StopRule::kFirstExhausted) epochs = 1;
    const bool goes_on =
        mixture.stages.back().quanta[i] > 0 && component.views[0].items != 0;
    if (epochs) {
      const auto position = mixture.PositionOfEpoch(i, *epochs);
      runs_out = Least(runs_out, position);
      runs_out_later |= !position && goes_on;
    }
    const std::optional<uint64_t> last = mixture.EndOfFirstEpoch(i);
    all_end_later |= !last && goes_on;
    if (!last) {
      all_end.reset();
    } else if (all_end) {
      const SlowBlock block = mixture.BlockOf(*last);
      all_end = std::max(*all_end, block.first + block.size);
    }
  }
  if (rule == StopRule::kAllExhausted) {
    end.unknown = all_end_later;
    end.refused = !all_end || (runs_out && *runs_out < *all_end);
    end.length = all_end;
  } else if (runs_out) {
    end.length = mixture.BlockOf(*runs_out).first;
    end.refused = *end.length == 0;
  } else {
    end.unknown = runs_out_later;
    end.refused = rule == StopRule::kFirstExhausted;
  }
  return end;
}

class MixtureMapRulesTest : public ::testing::Test {
 protected:
  std::mt19937_64 random_{testing::TestSeed(91)};
};

TEST_F(MixtureMapRulesTest, EndsWhereBruteForceSays) {
  int finite = 0, refused = 0, endless = 0;
  for (int number = 0; number < 400; ++number) {
    SCOPED_TRACE(number);
    const bool bits[] = {random_() % 2 == 0, random_() % 3 == 0,
                         random_() % 3 == 0, random_() % 4 == 0};
    SlowMixture mixture =
        RandomMixture(random_, {bits[0], bits[1], bits[2], bits[3]});
    const auto rule = static_cast<StopRule>(number % 3);
    for (SlowComponent& component : mixture.components) {
      if (random_() % 3 == 0) component.max_epochs = 1 + random_() % 6;
    }
    mixture.Deal(kDealt);
    const End expected = ExpectedEnd(mixture, rule);
    if (expected.unknown) continue;
    const absl::StatusOr<Map> map = MakeMap(mixture, rule);
    ASSERT_EQ(!map.ok(), expected.refused) << map.status();
    refused += expected.refused;
    if (expected.refused) continue;
    ASSERT_EQ((*map)->length(), expected.length);
    ASSERT_EQ((*map)->end_reason().empty(), !expected.length.has_value());
    endless += !expected.length;
    finite += expected.length.has_value();
  }
  EXPECT_GT(finite, 100);
  EXPECT_GT(refused, 50);
  EXPECT_GT(endless, 20);
}

TEST_F(MixtureMapRulesTest, ServesEachComponentsFirstDrawsExactly) {
  int seen = 0;
  for (int number = 0; number < 60; ++number) {
    SCOPED_TRACE(number);
    SlowMixture mixture = RandomMixture(
        random_, {true, number % 2 == 0, number % 3 == 0, number % 4 == 0});
    mixture.Deal(kDealt);
    const auto rule =
        number % 2 == 0 ? StopRule::kFirstExhausted : StopRule::kAllExhausted;
    const End expected = ExpectedEnd(mixture, rule);
    if (expected.unknown || expected.refused) continue;
    ASSERT_OK_AND_ASSIGN(const Map map, MakeMap(mixture, rule));
    const uint64_t end = *expected.length;
    ASSERT_EQ(Resolve(*map, Whole(end)), mixture.Samples(end));
    std::vector<std::set<uint64_t>> ordinals(mixture.components.size());
    for (uint64_t k = 0; k < end; ++k) {
      const Draw draw = map->plan().At(k, mixture.seed);
      ASSERT_TRUE(ordinals[draw.component].insert(draw.ordinal).second);
    }
    for (const std::set<uint64_t>& served : ordinals) {
      ASSERT_TRUE(served.empty() || *served.rbegin() == served.size() - 1);
    }
    ++seen;
  }
  EXPECT_GT(seen, 15);
}

TEST_F(MixtureMapRulesTest, DrawsCountOnThroughTheEpochsOfAFiniteMixture) {
  int seen = 0;
  for (int number = 0; number < 60; ++number) {
    SCOPED_TRACE(number);
    SlowMixture mixture = RandomMixture(random_, {true, true, false, false});
    mixture.Deal(kDealt);
    const auto rule =
        number % 2 == 0 ? StopRule::kFirstExhausted : StopRule::kAllExhausted;
    const End expected = ExpectedEnd(mixture, rule);
    if (expected.unknown || expected.refused) continue;
    ASSERT_OK_AND_ASSIGN(const Map map, MakeMap(mixture, rule));
    const uint64_t end = *expected.length;
    std::vector<uint64_t> per_epoch(mixture.components.size());
    for (uint64_t k = 0; k < end; ++k) {
      ++per_epoch[mixture.run.draws[k].component];
    }
    // In which (child, epoch, index) may come once.
    std::set<std::tuple<uint32_t, uint64_t, uint64_t>> read;
    for (uint64_t epoch = 0; (epoch + 1) * end < kDealt / 6 && epoch < 4;
         ++epoch) {
      std::vector<uint64_t> served = per_epoch;
      bool known = true;
      for (size_t i = 0; i < served.size(); ++i) {
        served[i] *= epoch;
        known &= served[i] + per_epoch[i] <= mixture.items[i].size();
      }
      if (!known) break;
      const auto samples = Resolve(*map, Whole(end, epoch));
      ASSERT_EQ(samples, mixture.Samples(end, served)) << "epoch " << epoch;
      for (const ChildPosition& item : samples) {
        ASSERT_TRUE(
            read.emplace(item.child, item.position.epoch, item.position.index)
                .second);
      }
      testing::ExpectLaws(*map, Whole(end, epoch));
      seen += epoch > 0;
    }
    testing::ExpectLaws(*map, Range(0, std::min(end, uint64_t{200}), 12345));
  }
  EXPECT_GT(seen, 15);
}

TEST_F(MixtureMapRulesTest, CutsItemsAndChangesViewsLikeTheSlowTwin) {
  for (int number = 0; number < 80; ++number) {
    SCOPED_TRACE(number);
    SlowMixture mixture =
        RandomMixture(random_, {true, true, number % 4 > 0, number % 3 > 0});
    mixture.Deal(2500);
    ASSERT_OK_AND_ASSIGN(const Map map, MakeMap(mixture));
    const SlowBlock last = mixture.BlockOf(1800);
    ASSERT_EQ(Resolve(*map, Whole(last.first)), mixture.Samples(last.first));
  }
}

// Tokens of an epoch of a child that samples have read.
using Tokens = std::map<std::tuple<uint32_t, uint64_t, uint64_t>,
                        std::vector<std::pair<uint32_t, uint64_t>>>;

TEST_F(MixtureMapRulesTest, NoTokenOfAnEpochIsReadTwice) {
  for (int number = 0; number < 40; ++number) {
    SCOPED_TRACE(number);
    const SlowMixture mixture =
        RandomMixture(random_, {true, true, true, number % 2 == 0});
    ASSERT_OK_AND_ASSIGN(const Map map, MakeMap(mixture));
    Tokens read;
    for (const ChildPosition& item : Resolve(*map, Whole(3000))) {
      const Position& at = item.position;
      auto& others = read[{item.child, at.epoch, at.index}];
      const uint64_t end = uint64_t{at.part_begin} + at.part_length;
      for (const auto& [begin, other_end] : others) {
        ASSERT_TRUE(end <= begin || other_end <= at.part_begin)
            << "child " << item.child << ' ' << at.index;
      }
      others.emplace_back(at.part_begin, end);
    }
  }
}

TEST_F(MixtureMapRulesTest, FindsEverySampleThatReadsAnItem) {
  for (int number = 0; number < 40; ++number) {
    SCOPED_TRACE(number);
    const SlowMixture mixture =
        RandomMixture(random_, {true, true, number % 4 > 0, number % 2 == 0});
    ASSERT_OK_AND_ASSIGN(const Map map, MakeMap(mixture));
    const uint64_t end = 1500;
    const auto samples = Resolve(*map, Whole(end));
    std::map<std::tuple<uint32_t, uint64_t, uint64_t>, std::set<uint64_t>>
        readers;
    for (uint64_t k = 0; k < end; ++k) {
      const Position& at = samples[k].position;
      readers[{samples[k].child, at.epoch, at.index}].insert(k);
      ASSERT_EQ(map->Find(samples[k].child, at), Position{k});
      if (at.part_length == kWholeItem) continue;
      // Neither the whole item nor tokens of two samples.
      ASSERT_EQ(map->Find(samples[k].child, {at.index, at.epoch}),
                std::nullopt);
      ASSERT_EQ(map->Find(samples[k].child, {at.index, at.epoch, at.part_begin,
                                             at.part_length + 1}),
                std::nullopt);
    }
    uint32_t children = 0;
    for (const SlowComponent& component : mixture.components) {
      children += static_cast<uint32_t>(component.views.size());
    }
    for (uint32_t child = 0; child < children; ++child) {
      for (uint64_t epoch = 0; epoch < 6; ++epoch) {
        for (uint64_t index = 0; index < 64; ++index) {
          std::vector<FoundPart> found;
          map->FindParts(child, {index, epoch}, &found);
          std::set<uint64_t> at;
          for (const FoundPart& part : found) {
            const uint64_t k = part.position.index;
            ASSERT_EQ(part.position, Position{k});
            if (k >= end) continue;
            ASSERT_TRUE(at.insert(k).second);
            const ChildPosition expected = {
                child, {index, epoch, part.part_begin, part.part_length}};
            ASSERT_EQ(samples[k], expected);
          }
          ASSERT_EQ(at, (readers[{child, epoch, index}]))
              << "child " << child << " item " << index << " of " << epoch;
        }
      }
    }
    std::vector<FoundPart> none;
    map->FindParts(children, {}, &none);
    map->FindParts(0, {uint64_t{1} << 61, 3}, &none);
    EXPECT_TRUE(none.empty());
  }
}

TEST_F(MixtureMapRulesTest, KeepsTheLawsHoweverCallsAreCut) {
  for (int number = 0; number < 25; ++number) {
    SCOPED_TRACE(number);
    const SlowMixture mixture =
        RandomMixture(random_, {true, true, true, number % 2 == 0});
    ASSERT_OK_AND_ASSIGN(const Map map, MakeMap(mixture));
    testing::ExpectLaws(*map, Range(0, 1200), /*cuts_items=*/true);
    testing::ExpectLaws(*map, Whole(600), /*cuts_items=*/true);
    const uint64_t far = uint64_t{1} << 60;
    testing::ExpectLaws(*map, Range(far, far + 200), /*cuts_items=*/true);
    std::vector<Position> scattered;
    for (int i = 0; i < 200; ++i) {
      scattered.push_back({random_() >> (2 + random_() % 60), 0, 3, 100});
    }
    testing::ExpectLaws(*map, scattered, /*cuts_items=*/true);
  }
}

bool IsBefore(const Position& a, const Position& b) {
  return std::pair(a.epoch, a.index) < std::pair(b.epoch, b.index);
}

TEST_F(MixtureMapRulesTest, SpansBelowHoldAllThatIsRead) {
  for (int number = 0; number < 60; ++number) {
    SCOPED_TRACE(number);
    SlowMixture mixture =
        RandomMixture(random_, {true, true, number % 3 == 0, number % 2 == 0});
    absl::StatusOr<Map> made = MakeMap(mixture);
    if (number % 3 == 1) {  // a finite one, over several epochs
      mixture = RandomMixture(random_, {true, true, false, false});
      made = MakeMap(mixture, StopRule::kFirstExhausted);
      if (!made.ok()) continue;
    }
    const Map& map = *made;
    const bool finite = map->length().has_value();
    const uint64_t end = map->length().value_or(1500);
    std::vector<ChildPosition> samples;
    const uint64_t epochs = finite ? 3 : 1;
    for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
      const auto more = Resolve(*map, Whole(end, epoch));
      samples.insert(samples.end(), more.begin(), more.end());
    }
    for (int i = 0; i < 60; ++i) {
      uint64_t from = random_() % samples.size();
      uint64_t to =
          from + random_() % std::min<uint64_t>(samples.size() - from,
                                                i % 2 == 0 ? 9 : 9999);
      const bool whole_blocks = i % 3 == 0;
      if (whole_blocks) {
        from -= from % end - mixture.BlockOf(from % end).first;
        const SlowBlock last = mixture.BlockOf(to % end);
        to += last.first + last.size - 1 - to % end;
        if (to >= samples.size()) continue;
      }
      const IndexSpan span = {{from % end, from / end}, {to % end, to / end}};
      std::map<uint32_t, std::pair<uint64_t, uint64_t>> read;  // epochs
      for (uint64_t k = from; k <= to; ++k) {
        const auto& [child, at] = samples[k];
        const auto below = map->SpanBelow(child, span);
        ASSERT_TRUE(below.has_value());
        ASSERT_FALSE(IsBefore(at, below->first));
        ASSERT_FALSE(IsBefore(below->last, at));
        read.try_emplace(child, at.epoch, at.epoch);
        auto& [first, last] = read[child];
        first = std::min(first, at.epoch);
        last = std::max(last, at.epoch);
      }
      if (!whole_blocks) continue;
      for (const SlowComponent& component : mixture.components) {
        for (const uint32_t child : component.children) {
          const auto below = map->SpanBelow(child, span);
          ASSERT_EQ(below.has_value(), read.count(child) > 0);
          if (!below) continue;
          ASSERT_EQ(below->first.epoch, read[child].first);
          ASSERT_EQ(below->last.epoch, read[child].second);
        }
      }
    }
  }
}

// Two components of one half each: a of 10 items, b of 25.
SlowMixture Halves(uint64_t block_size) {
  SlowMixture mixture;
  mixture.block_size = block_size;
  mixture.stages = {{0, {kRulesTotal / 2, kRulesTotal / 2}}};
  mixture.components = {{"a", {{0, 10}}, {0}}, {"b", {{0, 25}}, {1}}};
  return mixture;
}

TEST_F(MixtureMapRulesTest, EndsOfTwoHalves) {
  // a serves its ten at 20 samples or just before, b its 25 at 50.
  ASSERT_OK_AND_ASSIGN(const Map first,
                       MakeMap(Halves(4), StopRule::kFirstExhausted));
  EXPECT_EQ(first->length(), 20u);
  EXPECT_THAT(first->end_reason(), AllOf(HasSubstr("'a'"), HasSubstr("20")));
  ASSERT_OK_AND_ASSIGN(const Map all,
                       MakeMap(Halves(4), StopRule::kAllExhausted));
  EXPECT_EQ(all->length(), 52u);
  SlowMixture limited = Halves(4);
  limited.components[1].max_epochs = 2;
  ASSERT_OK_AND_ASSIGN(const Map twice, MakeMap(limited));
  EXPECT_EQ(twice->length(), 100u);
  EXPECT_THAT(twice->end_reason(), AllOf(HasSubstr("'b'"), HasSubstr("(2)")));
  ASSERT_OK_AND_ASSIGN(const Map endless, MakeMap(Halves(4)));
  EXPECT_EQ(endless->length(), std::nullopt);
  EXPECT_EQ(endless->end_reason(), "");
}

TEST_F(MixtureMapRulesTest, RefusalsNameComponentAndSample) {
  EXPECT_THAT(MakeMap(Halves(64), StopRule::kFirstExhausted),
              StatusIs(kInvalid, AllOf(HasSubstr("'a'"), HasSubstr("sample 2"),
                                       HasSubstr("block of 64"))));
  SlowMixture limited = Halves(4);
  limited.components[0].max_epochs = 2;
  EXPECT_THAT(
      MakeMap(limited, StopRule::kAllExhausted),
      StatusIs(kInvalid, AllOf(HasSubstr("'a'"), HasSubstr("(2)"),
                               HasSubstr("sample 4"), HasSubstr("sample 52"))));
  limited.components[0].max_epochs = 3;
  EXPECT_TRUE(MakeMap(limited, StopRule::kAllExhausted).ok());
  SlowMixture gone = Halves(4);
  gone.stages.push_back({30, {kRulesTotal, 0}});
  EXPECT_THAT(MakeMap(gone, StopRule::kAllExhausted),
              StatusIs(kInvalid, AllOf(HasSubstr("'b'"), HasSubstr("weight"))));
  SlowMixture endless = Halves(4);
  endless.components[0].views[0].items = 0;
  EXPECT_THAT(
      MakeMap(endless, StopRule::kAllExhausted),
      StatusIs(kInvalid, AllOf(HasSubstr("'a'"), HasSubstr("endless"))));
  endless.components[1].views[0].items = 0;
  EXPECT_THAT(MakeMap(endless, StopRule::kFirstExhausted),
              StatusIs(kInvalid, HasSubstr("never")));
  SlowMixture views = Halves(4);
  views.stages.push_back({30, {kRulesTotal / 2, kRulesTotal / 2}});
  views.components[1].views.push_back({30, 0});
  views.components[1].children.push_back(2);
  EXPECT_THAT(MakeMap(views),
              StatusIs(kInvalid, AllOf(HasSubstr("'b'"), HasSubstr("view"),
                                       HasSubstr("endless"))));
}

// Plan, components a and b, and rules as they are: for empty views, which the
// slow twin cannot say.
absl::StatusOr<Map> MakeOf(std::vector<PlanStage> stages,
                           std::vector<MapComponentView> a,
                           std::vector<MapComponentView> b,
                           StopRule rule = StopRule::kRestart) {
  auto plan = StagePlan::Create(4, std::move(stages));
  if (!plan.ok()) return plan.status();
  return MixtureMap::Create(*plan,
                            {{"a", std::move(a), {}}, {"b", std::move(b), {}}},
                            42, {rule, {}, 0});
}

TEST_F(MixtureMapRulesTest, ViewsMayBeEmptyWhereTheyHaveNoWeight) {
  const std::vector<PlanStage> late = {
      {0, {kRulesTotal, 0}}, {20, {kRulesTotal / 2, kRulesTotal / 2}}};
  ASSERT_OK_AND_ASSIGN(const Map map,
                       MakeOf(late, {{0, 8}}, {{0, 0}, {20, 6}}));
  std::set<uint64_t> read;
  for (const ChildPosition& item : Resolve(*map, Whole(32))) {
    if (item.child == 0) continue;
    EXPECT_EQ(item.child, 2u);
    EXPECT_EQ(item.position.epoch, 0u);
    EXPECT_TRUE(read.insert(item.position.index).second);
  }
  EXPECT_EQ(read.size(), 6u);
  EXPECT_THAT(MakeOf(late, {{0, 8}}, {{0, 5}, {20, 0}}),
              StatusIs(kInvalid, AllOf(HasSubstr("'b'"), HasSubstr("empty"),
                                       HasSubstr("stage 1"))));
  // b has to complete an epoch, though it begins empty: 6 of 12 samples.
  ASSERT_OK_AND_ASSIGN(const Map all, MakeOf(late, {{0, 8}}, {{0, 0}, {20, 6}},
                                             StopRule::kAllExhausted));
  EXPECT_EQ(all->length(), 32u);
}

TEST_F(MixtureMapRulesTest, EmptyComponentsWithoutWeightEndNothing) {
  const std::vector<PlanStage> one = {{0, {kRulesTotal, 0}}};
  ASSERT_OK_AND_ASSIGN(
      const Map all, MakeOf(one, {{0, 8}}, {{0, 0}}, StopRule::kAllExhausted));
  EXPECT_EQ(all->length(), 8u);
  ASSERT_OK_AND_ASSIGN(const Map first, MakeOf(one, {{0, 8}}, {{0, 0}},
                                               StopRule::kFirstExhausted));
  EXPECT_EQ(first->length(), 8u);
  EXPECT_EQ(first->Find(1, {}), std::nullopt);
}

// Trimmed items are read once each, whatever the length.
TEST(PartsOfTest, CutsOrTrimsByTheLengths) {
  MixtureOptions options;
  options.max_seq_len = 100;
  const std::vector<SeqLenChange> lengths = {
      {0, 30}, {7, 50}, {9, 100}, {11, 51}};
  const auto texts = [&] {
    std::string text;
    for (const PartsChange& change : PartsOf(options, lengths)) {
      absl::StrAppend(&text, change.start, ":", change.parts.count, "x",
                      change.parts.length, " ");
    }
    return text;
  };
  EXPECT_EQ(texts(), "0:3x30 7:2x50 9:1x4294967295 11:1x51 ");
  options.trim = true;
  EXPECT_EQ(texts(), "0:1x30 7:1x50 9:1x4294967295 11:1x51 ");
}

TEST_F(MixtureMapRulesTest, TenThousandComponentsKeepTheLaws) {
  SlowMixture mixture;
  mixture.block_size = 2048;
  std::vector<double> weights;
  for (uint32_t i = 0; i < 10000; ++i) {
    mixture.components.push_back(
        {absl::StrCat(100000 + i), {{0, 1 + random_() % 100000}}, {i}});
    weights.push_back(i % 7 == 0 ? 0 : std::exp2(random_() % 20));
  }
  mixture.stages = {{0, *QuantaFromWeights(weights)}};
  mixture.parts = {{0, 8, 512}};
  ASSERT_OK_AND_ASSIGN(const Map map, MakeMap(mixture));
  for (const uint64_t begin : {uint64_t{0}, uint64_t{1} << 60}) {
    testing::ExpectLaws(*map, Range(begin, begin + 2500), /*cuts_items=*/true);
  }
  for (const ChildPosition& item : Resolve(*map, Whole(20000))) {
    ASSERT_NE(item.child % 7, 0u) << "weight 0 was drawn";
  }
}

TEST_F(MixtureMapRulesTest, ATinyComponentIsDrawnAtItsRate) {
  SlowMixture mixture = Halves(2048);
  ASSERT_OK_AND_ASSIGN(const auto quanta,
                       QuantaFromWeights(std::vector<double>{1, 1e-9}));
  mixture.stages = {{0, quanta}};
  ASSERT_OK_AND_ASSIGN(const Map map, MakeMap(mixture));
  const double rate = 1e-9 / (1 + 1e-9);
  for (int i = 0; i < 2000; ++i) {
    const uint64_t k = random_() >> (14 + random_() % 40);
    ASSERT_NEAR(static_cast<double>(map->plan().Count(1, k)),
                static_cast<double>(k) * rate, 1.68);
  }
  // Its draws one by one, each where the map serves it.
  for (uint64_t n = 0; n < 100; ++n) {
    const auto sample = map->plan().FindSample(1, n, mixture.seed);
    ASSERT_TRUE(sample.has_value());
    ASSERT_NEAR(static_cast<double>(*sample) * rate, n + 0.5, 1.68 + 1e-5);
    const ChildPosition item = testing::ResolveOne(*map, *sample);
    ASSERT_EQ(item.child, 1u);
    ASSERT_EQ(item.position.epoch, n / 25);
    ASSERT_EQ(map->Find(1, item.position), Position{*sample});
  }
}

class ItemsToDrop final : public DroppedItems {
 public:
  ItemsToDrop(std::vector<uint64_t> items, bool of_whole_epoch)
      : items_(std::move(items)), of_whole_epoch_(of_whole_epoch) {}
  absl::StatusOr<std::vector<uint64_t>> IndicesIn(uint32_t,
                                                  uint64_t) const override {
    return items_;
  }
  bool leaves_out_of_whole_epoch() const override { return of_whole_epoch_; }

 private:
  const std::vector<uint64_t> items_;
  const bool of_whole_epoch_;
};

// A part of a split component, of which three of eight items had been read; the
// rest of the epoch, but for `left` items, is dropped before the part's first
// draw.
TEST(AllExhaustedTest, AnEpochOfWhichNothingIsLeftIsExhausted) {
  const auto length_with = [](uint64_t left) {
    auto plan = StagePlan::Create(
        8, {{0, {kRulesTotal, 0}}, {32, {kRulesTotal / 2, kRulesTotal / 2}}});
    EXPECT_TRUE(plan.ok());
    MapComponent all = {"all", {{0, 5}}, {}};
    MapComponent part = {"part", {{0, 8}}, {}};
    MapComponentView unread = {.start = 32, .length = 8};
    unread.dropped = std::make_shared<ItemsToDrop>(
        std::vector<uint64_t>{0, 1, 2}, /*of_whole_epoch=*/true);
    std::vector<uint64_t> rest = {3, 4, 5, 6, 7};
    rest.resize(rest.size() - left);
    MapComponentView kept = {.start = 32, .length = 8 - rest.size()};
    kept.dropped = std::make_shared<ItemsToDrop>(rest, false);
    part.views.push_back(unread);
    part.views.push_back(kept);
    MixtureRules rules;
    rules.stop_rule = StopRule::kAllExhausted;
    std::vector<MapComponent> components = {std::move(all), std::move(part)};
    auto map = MixtureMap::Create(*plan, std::move(components), 42, rules);
    EXPECT_TRUE(map.ok()) << map.status();
    return map.ok() ? (*map)->length() : std::nullopt;
  };
  EXPECT_EQ(length_with(5), 48u);
  EXPECT_EQ(length_with(1), 40u);
  EXPECT_EQ(length_with(0), 32u);
}

}  // namespace
}  // namespace poniente::internal
