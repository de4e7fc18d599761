// SPDX-License-Identifier: Apache-2.0
#include "index/mixture/mixture_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "index/mixture/weights.h"
#include "poniente/permutation.h"
#include "tests/index/map_laws.h"
#include "tests/index/slow_dealer.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using ::poniente::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Range;
using testing::Resolve;
using testing::ResolveOne;

constexpr uint64_t kMapTotal = QuotaTree::kTotal;

// A component of one view.
struct Declared {
  std::string name;
  std::optional<uint64_t> length;
  bool shuffle = true;
};

std::vector<MapComponent> Components(const std::vector<Declared>& all) {
  std::vector<MapComponent> components;
  for (const Declared& one : all) {
    const OrderSpec order = {.kind = one.shuffle ? ShuffleKind::kFull
                                                 : ShuffleKind::kNone};
    components.push_back({one.name, {{0, one.length, order}}, {}});
  }
  return components;
}

absl::StatusOr<std::unique_ptr<MixtureMap>> MakeMixture(
    uint64_t block_size, std::vector<PlanStage> stages,
    const std::vector<Declared>& components, uint64_t seed = 42) {
  auto plan = StagePlan::Create(block_size, std::move(stages));
  if (!plan.ok()) return plan.status();
  return MixtureMap::Create(*plan, Components(components), seed);
}

// The worked example of order version 1, as declared there: web, code, books.
const std::vector<PlanStage> kStages = {
    {0, {922337203685477632, 1383505805528216320, 2305843009213693952}},
    {13, {3458764513820540928, 0, 1152921504606846976}}};

TEST(MixtureMapTest, ServesTheOrderOfOrderVersion1) {
  ASSERT_OK_AND_ASSIGN(
      const auto map,
      MakeMixture(8, kStages, {{"web", {}}, {"code", {}}, {"books", {}}}));
  EXPECT_EQ(map->length(), std::nullopt);
  const auto text = [&](const std::vector<ChildPosition>& items) {
    std::string words;
    for (const ChildPosition& item : items) {
      absl::StrAppend(&words, std::string(1, "wcb"[item.child]),
                      item.position.index, " ");
    }
    return words;
  };
  const std::string expected =
      "b1 w3 w0 b0 c1 c0 w2 w1 c2 w5 w6 c3 w4 "
      "b7 b3 b6 w7 b4 b5 b8 b2 b11 b14 b10 ";
  EXPECT_EQ(text(Resolve(*map, Range(0, 24))), expected);
  EXPECT_EQ(map->Find(2, {4}), Position{17});
  EXPECT_EQ(map->Find(1, {3}), Position{11});
  EXPECT_EQ(map->Find(0, {6}), Position{10});
  EXPECT_EQ(map->Find(1, {4}), std::nullopt);
}

TEST(MixtureMapTest, PermutesEachEpochAsInOrderVersion1) {
  ASSERT_OK_AND_ASSIGN(const auto map,
                       MakeMixture(1, {{0, {kMapTotal}}}, {{"books", 5}}));
  std::vector<uint64_t> places;
  for (uint64_t k = 0; k < 10; ++k) {
    const ChildPosition item = ResolveOne(*map, k);
    EXPECT_EQ(item.position.epoch, k / 5);
    places.push_back(item.position.index);
  }
  EXPECT_THAT(places, ElementsAre(1, 3, 2, 0, 4, 2, 1, 3, 0, 4));
}

TEST(MixtureMapTest, AComponentWithAnOrderOfItsOwnIsOnlyDivided) {
  ASSERT_OK_AND_ASSIGN(
      const auto map,
      MakeMixture(1, {{0, {kMapTotal}}}, {{"books", 5, /*shuffle=*/false}}));
  EXPECT_EQ(ResolveOne(*map, 13), (ChildPosition{0, {3, 2}}));
}

// Components of all kinds under three stages.
class MixtureMapRunTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  // Declared out of order; canonical: code, endless, none, prose, tiny.
  const std::vector<Declared> components_ = {{"tiny", 3, true},
                                             {"prose", 1000, true},
                                             {"none", 0, true},
                                             {"endless", std::nullopt, true},
                                             {"code", 77, false}};
  const std::vector<uint32_t> declared_ = {4, 3, 2, 1, 0};
  const std::vector<PlanStage> stages_ = {
      {0, {kMapTotal / 4, kMapTotal / 4, 0, kMapTotal / 4, kMapTotal / 4}},
      {700, {kMapTotal / 8, 0, 0, kMapTotal / 4 * 3, kMapTotal / 8}},
      {1001,
       {kMapTotal / 16, kMapTotal / 2, 0, kMapTotal / 16 * 5, kMapTotal / 8}}};

  std::unique_ptr<MixtureMap> Make() const {
    auto map = MakeMixture(GetParam(), stages_, components_);
    EXPECT_TRUE(map.ok()) << map.status();
    return *std::move(map);
  }
};

INSTANTIATE_TEST_SUITE_P(BlockSizes, MixtureMapRunTest,
                         ::testing::Values(1, 16, 100, 1024));

TEST_P(MixtureMapRunTest, TurnsDrawsIntoItems) {
  const auto map = Make();
  for (uint64_t k = 0; k < 3000; ++k) {
    const Draw draw = map->plan().At(k, 42);
    const uint32_t child = declared_[draw.component];
    const Declared& component = components_[child];
    Position expected = {draw.ordinal, 0};
    if (component.length) {
      expected.epoch = draw.ordinal / *component.length;
      expected.index = draw.ordinal % *component.length;
    }
    if (child <= 1) {
      const uint64_t key =
          Derive(42, Tag("epoc"), component.name, expected.epoch);
      expected.index =
          Permutation(*component.length, key).Forward(expected.index);
    }
    ASSERT_EQ(ResolveOne(*map, k), (ChildPosition{child, expected}));
  }
}

TEST_P(MixtureMapRunTest, KeepsTheLawsHoweverCallsAreCut) {
  const auto map = Make();
  testing::ExpectLaws(*map, Range(0, 3000));
  const uint64_t far = uint64_t{1} << 60;
  testing::ExpectLaws(*map, Range(far, far + 300));
  std::mt19937_64 random(testing::TestSeed(31));
  std::vector<Position> scattered;
  for (int i = 0; i < 500; ++i) {
    scattered.push_back({random() >> (2 + random() % 60)});
  }
  testing::ExpectLaws(*map, scattered);
}

TEST_P(MixtureMapRunTest, EpochsCoverTheirComponentOnce) {
  const auto map = Make();
  // Of each child, (epoch, index).
  std::vector<std::set<std::pair<uint64_t, uint64_t>>> seen(5);
  // A block end, so that each component has served its first ordinals.
  const Block last = map->plan().BlockOf(8000);
  const uint64_t end = last.first + last.size;
  std::vector<Position> positions(end);
  for (uint64_t k = 0; k < end; ++k) positions[k] = {k};
  for (const ChildPosition& item : Resolve(*map, positions)) {
    ASSERT_TRUE(seen[item.child]
                    .emplace(item.position.epoch, item.position.index)
                    .second);
  }
  for (uint32_t child = 0; child < 5; ++child) {
    const uint32_t canonical = 4 - child;
    const uint64_t served = map->plan().Count(canonical, end);
    ASSERT_EQ(seen[child].size(), served);
    if (served == 0 || !components_[child].length) continue;
    EXPECT_EQ(seen[child].rbegin()->first,
              (served - 1) / *components_[child].length);
  }
  EXPECT_TRUE(seen[2].empty());
}

TEST_P(MixtureMapRunTest, TheOrderOfDeclarationChangesNothing) {
  const auto map = Make();
  const std::vector<Declared> reversed(components_.rbegin(),
                                       components_.rend());
  ASSERT_OK_AND_ASSIGN(const auto other,
                       MakeMixture(GetParam(), stages_, reversed));
  const auto positions = Range(0, 3000);
  const auto items = Resolve(*map, positions);
  const auto others = Resolve(*other, positions);
  for (size_t i = 0; i < positions.size(); ++i) {
    ASSERT_EQ(items[i].child, 4 - others[i].child);
    ASSERT_EQ(items[i].position, others[i].position);
  }
}

TEST(MixtureMapTest, ManyComponentsKeepTheLaws) {
  std::vector<Declared> components;
  std::vector<double> weights;
  for (int i = 0; i < 1000; ++i) {
    components.push_back({absl::StrCat("component ", 10000 + i), 50 + i * 3});
    weights.push_back(1.0 + i % 17);
  }
  ASSERT_OK_AND_ASSIGN(const auto quanta, QuantaFromWeights(weights));
  ASSERT_OK_AND_ASSIGN(const auto map,
                       MakeMixture(2048, {{0, quanta}}, components));
  testing::ExpectLaws(*map, Range(100000, 103000));
}

TEST(MixtureMapTest, SeedsShareThePlanButNotTheOrder) {
  ASSERT_OK_AND_ASSIGN(const auto plan, StagePlan::Create(64, kStages));
  const std::vector<Declared> components = {
      {"web", 900}, {"code", 900}, {"books", 900}};
  ASSERT_OK_AND_ASSIGN(const auto one,
                       MixtureMap::Create(plan, Components(components), 1));
  ASSERT_OK_AND_ASSIGN(const auto two,
                       MixtureMap::Create(plan, Components(components), 2));
  int equal = 0;
  for (uint64_t k = 0; k < 1000; ++k) {
    equal += ResolveOne(*one, k) == ResolveOne(*two, k);
  }
  EXPECT_LT(equal, 10);
}

TEST(MixtureMapTest, AnEndlessMixtureHasOneEpoch) {
  ASSERT_OK_AND_ASSIGN(
      const auto map,
      MakeMixture(8, kStages, {{"web", {}}, {"code", {}}, {"books", {}}}));
  EXPECT_EQ(ResolveOne(*map, 5, 9), ResolveOne(*map, 5, 0));
}

TEST(MixtureMapTest, FindsOnlyWhatIsServed) {
  ASSERT_OK_AND_ASSIGN(
      const auto map,
      MakeMixture(8, kStages, {{"web", 10}, {"code", 10}, {"books", {}}}));
  EXPECT_EQ(map->Find(3, {0}), std::nullopt);
  EXPECT_EQ(map->Find(0, {10}), std::nullopt);
  EXPECT_EQ(map->Find(1, {0, 1}), std::nullopt);  // Only 4 of its 10 served.
  EXPECT_EQ(map->Find(2, {0, 1}), std::nullopt);
  EXPECT_EQ(map->Find(0, {0, UINT64_MAX}), std::nullopt);
  EXPECT_TRUE(map->Find(0, {9, 1000}).has_value());
}

TEST(MixtureMapTest, FindsNothingInEpochsThatAreNeverReached) {
  const uint64_t length = uint64_t{1} << 32;
  ASSERT_OK_AND_ASSIGN(const auto map, MakeMixture(8, {{0, {kMapTotal}}},
                                                   {{"web", length, false}}));
  EXPECT_TRUE(map->Find(0, {0, (uint64_t{1} << 30) - 1}).has_value());
  EXPECT_EQ(map->Find(0, {0, uint64_t{1} << 30}), std::nullopt);
  EXPECT_EQ(map->Find(0, {0, uint64_t{1} << 32}), std::nullopt);
}

TEST(MixtureMapTest, RefusesAnEmptyComponentThatAStageDraws) {
  EXPECT_THAT(
      MakeMixture(8, kStages, {{"web", 10}, {"code", 0}, {"books", 1}}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("component 'code' is empty, but has a weight above 0 "
                         "in stage 0")));
  EXPECT_TRUE(
      MakeMixture(8, {{0, {kMapTotal, 0}}}, {{"web", 0}, {"code", 10}}).ok());
}

// Not the number of the plan's stage, which counts the steps of ramps.
TEST(MixtureMapTest, NamesTheStageThatDrawsAnEmptyComponentAsItWasStated) {
  MixtureOptions options;
  options.block_size = 8;
  options.stages = {{.start = 80, .weights = {{"web", 2}}, .ramp_samples = 80},
                    {.start = 800, .weights = {{"code", 1}}, .name = "late"}};
  ASSERT_OK_AND_ASSIGN(const MixturePlan plan,
                       MixturePlan::Create(options, {{"web", 1}, {"code", 0}}));
  EXPECT_THAT(
      MixtureMap::Create(plan.stages(), Components({{"web", 10}, {"code", 0}}),
                         42),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("component 'code' is empty, but has a weight above 0 "
                         "in stage 'late' at sample 800")));
}

TEST(MixtureMapTest, RefusesComponentsThatDoNotMatchThePlan) {
  EXPECT_THAT(MakeMixture(8, kStages, {{"web", 10}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("has 1 components, its weights are for 3")));
  EXPECT_THAT(
      MakeMixture(8, kStages, {{"web", 1}, {"web", 1}, {"books", 1}}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("named 'web'")));
}

}  // namespace
}  // namespace poniente::internal
