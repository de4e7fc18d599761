// SPDX-License-Identifier: Apache-2.0
// Decisions during a run give the plan that would have been made had they been
// known from the start.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "index/mixture/stage_plan.h"
#include "poniente/mixture_plan.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kInvalid;
using testing::StatusIs;

MixturePlan Planned(const MixtureOptions& options,
                    const std::vector<WeightedComponent>& components,
                    const std::vector<uint64_t>& further_starts = {}) {
  auto plan = MixturePlan::Create(options, components, further_starts);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *std::move(plan);
}

MixturePlan Decided(const MixturePlan& plan,
                    const std::vector<MixtureDecision>& decisions) {
  auto decided = plan.With(decisions);
  EXPECT_TRUE(decided.ok()) << decided.status();
  return *std::move(decided);
}

// Everything that a plan says, up to sample `end`.
void ExpectEqual(const MixturePlan& a, const MixturePlan& b, uint64_t end) {
  const internal::StagePlan& plan_a = *a.stages();
  const internal::StagePlan& plan_b = *b.stages();
  ASSERT_EQ(plan_a.stages(), plan_b.stages());
  for (size_t s = 0; s < plan_a.stages(); ++s) {
    ASSERT_EQ(plan_a.stage_start(s), plan_b.stage_start(s)) << s;
    ASSERT_THAT(plan_a.quanta(s), ::testing::ElementsAreArray(plan_b.quanta(s)))
        << s;
    ASSERT_THAT(plan_a.base(s), ::testing::ElementsAreArray(plan_b.base(s)))
        << s;
  }
  for (uint64_t k = 0; k < end; ++k) {
    ASSERT_EQ(plan_a.At(k, 7), plan_b.At(k, 7)) << k;
    ASSERT_EQ(a.TemperatureAt(k), b.TemperatureAt(k)) << k;
  }
  EXPECT_EQ(a.PrefixHash(7, end), b.PrefixHash(7, end));
}

// The same run, written down by hand: a list of stages in which a decision is a
// stage like any other.
class Twin {
 public:
  Twin(MixtureOptions options, std::map<std::string, double> first)
      : options_(std::move(options)), first_(std::move(first)) {}

  void Decide(const MixtureDecision& decision) {
    std::map<std::string, double> weights = first_;
    double temperature = options_.temperature;
    for (const MixtureStage& stage : options_.stages) {
      if (stage.start > decision.start) break;
      weights = first_;
      for (const auto& [name, weight] : stage.weights) weights[name] = weight;
      temperature = stage.temperature.value_or(options_.temperature);
    }
    for (const auto& [name, weight] : decision.weights) weights[name] = weight;
    for (const std::string& name : decision.retired) retired_.push_back(name);
    MixtureStage stage;
    stage.start = decision.start;
    stage.weights = weights;
    stage.temperature = decision.temperature.value_or(temperature);
    std::erase_if(options_.stages, [&](const MixtureStage& one) {
      return one.start == decision.start;
    });
    options_.stages.push_back(stage);
    std::sort(options_.stages.begin(), options_.stages.end(),
              [](const auto& a, const auto& b) { return a.start < b.start; });
    for (MixtureStage& one : options_.stages) {
      if (one.start < decision.start) continue;
      for (const std::string& name : retired_) one.weights[name] = 0;
    }
  }

  const MixtureOptions& options() const { return options_; }

 private:
  MixtureOptions options_;
  const std::map<std::string, double> first_;
  std::vector<std::string> retired_;
};

TEST(DecisionsTest, GiveThePlanThatStagesWouldHaveGiven) {
  std::mt19937_64 random(testing::TestSeed(17));
  for (int round = 0; round < 300; ++round) {
    MixtureOptions options;
    options.block_size = 1 + random() % 40;
    const size_t count = 4 + random() % 4;
    std::map<std::string, double> first;
    std::vector<WeightedComponent> components;
    const auto weight = [&random] {
      return random() % 4 == 0 ? 0.0 : static_cast<double>(1 + random() % 100);
    };
    for (size_t c = 0; c < count; ++c) {
      const std::string name = absl::StrCat("c", c);
      first[name] = static_cast<double>(1 + random() % 100);
      components.push_back({name, first[name], {}});
    }
    uint64_t start = 0;
    for (size_t s = random() % 4; s > 0; --s) {
      MixtureStage& stage = options.stages.emplace_back();
      start += 1 + random() % 400;
      stage.start = start;
      stage.weights["c0"] = weight();
      if (random() % 3 == 0) stage.temperature = 2.5;
      if (random() % 2 == 0) {
        stage.ramp_samples = random() % 300;
        stage.ramp_blocks = 1 + static_cast<uint32_t>(random() % 2);
      }
    }
    std::vector<uint64_t> cuts;
    for (size_t s = random() % 3; s > 0; --s) cuts.push_back(random() % 900);
    std::sort(cuts.begin(), cuts.end());
    std::erase(cuts, 0u);
    MixturePlan plan = Planned(options, components, cuts);
    Twin twin(options, first);
    uint64_t at = 0;
    bool has_retired = false;
    std::vector<MixtureDecision> decisions;
    for (size_t d = 1 + random() % 5; d > 0; --d) {
      MixtureDecision& decision = decisions.emplace_back();
      at += (at == 0 ? 1 : 0) + random() % 300;
      // Sometimes where a stage begins.
      if (!options.stages.empty() && random() % 4 == 0) {
        at = std::max(at, options.stages[0].start);
      }
      decision.start = at;
      if (random() % 5 == 0 && !has_retired) {
        has_retired = true;
        decision.retired = {"c1"};
      } else {
        decision.weights["c0"] = 1 + weight();
        decision.weights["c2"] = weight();
      }
      if (random() % 3 == 0) decision.temperature = 0.5;
      twin.Decide(decision);
    }
    // One after the other, and all at once.
    MixturePlan steered = plan;
    for (const MixtureDecision& decision : decisions) {
      steered = Decided(steered, {decision});
    }
    ExpectEqual(steered, Planned(twin.options(), components, cuts), 1500);
    ExpectEqual(Decided(plan, decisions), steered, 1500);
    if (::testing::Test::HasFatalFailure()) FAIL() << "round " << round;
  }
}

TEST(DecisionsTest, LeaveTheSamplesBeforeThemAlone) {
  MixtureOptions options;
  options.block_size = 16;
  const MixturePlan plan = Planned(options, {{"a", 1, {}}, {"b", 3, {}}});
  const uint64_t start = plan.EarliestStart(100);
  EXPECT_EQ(start, 112u);
  const MixturePlan decided =
      Decided(plan, {{.start = start, .weights = {{"a", 9}}}});
  for (uint64_t k = 0; k < start; ++k) {
    ASSERT_EQ(plan.stages()->At(k, 3), decided.stages()->At(k, 3)) << k;
  }
  EXPECT_EQ(plan.PrefixHash(3, start), decided.PrefixHash(3, start));
  EXPECT_NE(plan.PrefixHash(3, start + 1), decided.PrefixHash(3, start + 1));
  EXPECT_THAT(decided.WeightsAt(start - 1), ElementsAre(0.25, 0.75));
  EXPECT_THAT(decided.WeightsAt(start), ElementsAre(0.75, 0.25));
}

TEST(DecisionsTest, AScoreIsRetiredToMinusInfinity) {
  MixtureOptions options;
  options.weight_rule = WeightRule::kScores;
  const MixturePlan plan =
      Planned(options, {{"a", 1, {}}, {"b", 1, {}}, {"c", 1, {}}});
  const MixturePlan decided =
      Decided(plan, {{.start = 2048, .retired = {"b"}}});
  EXPECT_THAT(decided.WeightsAt(2048), ElementsAre(0.5, 0, 0.5));
}

TEST(DecisionsTest, RefusedOnesAreNamed) {
  const MixturePlan plan = Planned({}, {{"web", 1, {}}, {"code", 3, {}}});
  const auto refused = [](const MixturePlan& of,
                          const MixtureDecision& decision) {
    return of.With({{decision}}).status();
  };
  EXPECT_THAT(refused(plan, {.start = 0}),
              StatusIs(kInvalid, HasSubstr("above 0")));
  EXPECT_THAT(refused(plan, {.start = 5, .weights = {{"cod", 1}}}),
              StatusIs(kInvalid, HasSubstr("did you mean 'code'")));
  EXPECT_THAT(refused(plan, {.start = 5, .retired = {"nix"}}),
              StatusIs(kInvalid, HasSubstr("'nix' (known: code, web)")));
  EXPECT_THAT(
      refused(plan, {.start = 5, .weights = {{"code", -1}}, .label = "no. 3"}),
      StatusIs(kInvalid, HasSubstr("no. 3: ")));
  EXPECT_THAT(refused(plan, {.start = 5, .retired = {"web", "code"}}),
              StatusIs(kInvalid, HasSubstr("sample 5")));
  EXPECT_THAT(refused(plan, {.start = 5, .temperature = 0.0}),
              StatusIs(kInvalid, HasSubstr("temperature")));
  const MixturePlan decided = Decided(plan, {{.start = 9, .retired = {"web"}}});
  EXPECT_THAT(refused(decided, {.start = 8, .weights = {{"code", 1}}}),
              StatusIs(kInvalid, HasSubstr("at least 9")));
  EXPECT_THAT(refused(decided, {.start = 10, .weights = {{"web", 1}}}),
              StatusIs(kInvalid, HasSubstr("'web' has been retired")));
}

// The past is shared, not copied: one more decision after many costs what one
// after few costs. Counted in look-ups that stay exact, not in time.
TEST(DecisionsTest, ManyDecisionsStayInvertible) {
  MixtureOptions options;
  options.block_size = 32;
  std::vector<WeightedComponent> components;
  for (int c = 0; c < 20; ++c) components.push_back({absl::StrCat(c), 1, {}});
  MixturePlan plan = Planned(options, components);
  std::mt19937_64 random(3);
  constexpr uint64_t kDecisions = 2000;
  for (uint64_t d = 1; d <= kDecisions; ++d) {
    MixtureDecision decision;
    decision.start = d * 64;
    for (int c = 0; c < 20; ++c) {
      decision.weights[absl::StrCat(c)] = static_cast<double>(random() % 1000);
    }
    plan = Decided(plan, {decision});
  }
  EXPECT_EQ(plan.stages()->stages(), kDecisions + 1);
  for (int i = 0; i < 2000; ++i) {
    const uint64_t k = random() % (kDecisions * 64 + 1000);
    const Draw draw = plan.stages()->At(k, 5);
    ASSERT_EQ(plan.stages()->FindSample(draw.component, draw.ordinal, 5), k);
  }
}

}  // namespace
}  // namespace poniente
