// SPDX-License-Identifier: Apache-2.0
#include "poniente/mixture_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "index/mixture/mixture_stages.h"
#include "index/mixture/stage_plan.h"
#include "index/mixture/weights.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using internal::QuantaFromPowers;
using internal::QuantaFromScores;
using internal::QuantaFromWeights;
using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using testing::StatusIs;

using Quanta = std::vector<uint64_t>;
__extension__ typedef unsigned __int128 UnsignedWide;
using testing::kInvalid;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr uint64_t kEndlessSamples = uint64_t{1} << 62;

const std::vector<WeightedComponent> kWebCodeBooks = {
    {"web", 5, 5000}, {"code", 3, 700}, {"books", 2, 90}};

MixturePlan MakePlan(
    const MixtureOptions& options,
    const std::vector<WeightedComponent>& components = kWebCodeBooks,
    const std::vector<uint64_t>& further_starts = {}) {
  auto plan = MixturePlan::Create(options, components, further_starts);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *std::move(plan);
}

Quanta QuantaAt(const MixturePlan& plan, uint64_t sample) {
  const auto quanta =
      plan.stages()->quanta(plan.stages()->BlockOf(sample).stage);
  return Quanta(quanta.begin(), quanta.end());
}

std::vector<uint64_t> Starts(const MixturePlan& plan) {
  std::vector<uint64_t> starts;
  for (size_t s = 0; s < plan.stages()->stages(); ++s) {
    starts.push_back(plan.stages()->stage_start(s));
  }
  return starts;
}

// docs/index-math.md 2.4 asked sample by sample: what is in force at one,
// looked up from the options anew each time.
class SlowPlan {
 public:
  SlowPlan(const MixtureOptions& options,
           std::vector<WeightedComponent> components)
      : options_(options), components_(std::move(components)) {
    std::sort(components_.begin(), components_.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
  }

  Quanta At(uint64_t sample) const {
    const MixtureStage* stage = StageAt(sample);
    if (stage == nullptr) return Stated({}, options_.temperature);
    const Quanta target = Stated(
        stage->weights, stage->temperature.value_or(options_.temperature));
    const uint64_t step = Step(*stage);
    if (step == 0) return target;
    const uint64_t steps = (stage->ramp_samples + step - 1) / step;
    const uint64_t s = (sample - stage->start) / step;
    if (s >= steps) return target;
    if (stage->ramps_temperature) {
      return Stated(stage->weights, TemperatureAt(sample));
    }
    return OnRamp(At(stage->start - 1), target, s, steps);
  }

  double TemperatureAt(uint64_t sample) const {
    const MixtureStage* stage = StageAt(sample);
    if (stage == nullptr) return options_.temperature;
    const double own = stage->temperature.value_or(options_.temperature);
    const uint64_t step = Step(*stage);
    if (!stage->ramps_temperature) return own;
    const uint64_t steps = (stage->ramp_samples + step - 1) / step;
    const uint64_t s = (sample - stage->start) / step;
    if (s >= steps) return own;
    const MixtureStage* last = StageAt(stage->start - 1);
    const double before =
        last == nullptr ? options_.temperature
                        : last->temperature.value_or(options_.temperature);
    // In units of 2^-40, at the middle of the step.
    const auto units = [](double t) {
      return UnsignedWide{static_cast<uint64_t>(t * 0x1p40)};
    };
    const UnsignedWide line =
        units(before) * (2 * steps - 2 * s - 1) + units(own) * (2 * s + 1);
    return static_cast<double>(static_cast<uint64_t>(line / (2 * steps))) *
           0x1p-40;
  }

  // A stage of the plan begins there because of weights.
  bool Begins(uint64_t sample) const {
    if (sample == 0) return true;
    const MixtureStage* stage = StageAt(sample);
    if (stage == nullptr) return false;
    if (stage->start == sample) return true;
    const uint64_t step = Step(*stage);
    if (step == 0 || (sample - stage->start) % step != 0) return false;
    // The last start is that of the target.
    return sample - stage->start < stage->ramp_samples + step;
  }

  // Samples per step of a ramp; 0 if there is none.
  uint64_t Step(const MixtureStage& stage) const {
    if (stage.ramp_samples == 0) return 0;
    uint64_t blocks = stage.ramp_blocks;
    if (blocks == 0) {
      blocks = 1;
      const uint64_t size = options_.block_size;
      while (blocks * size * 256 < stage.ramp_samples) ++blocks;
    }
    return blocks * options_.block_size;
  }

 private:
  const MixtureStage* StageAt(uint64_t sample) const {
    const MixtureStage* found = nullptr;
    for (const MixtureStage& stage : options_.stages) {
      if (stage.start <= sample) found = &stage;
    }
    return found;
  }

  Quanta Stated(const std::map<std::string, double>& stated,
                double temperature) const {
    std::vector<double> weights;
    for (const WeightedComponent& component : components_) {
      weights.push_back(stated.count(component.name) ? stated.at(component.name)
                                                     : component.weight);
      if (options_.weight_rule == WeightRule::kSizeProportional) {
        weights.back() *= static_cast<double>(*component.items);
      }
    }
    if (options_.weight_rule == WeightRule::kScores) {
      return *QuantaFromScores(weights, temperature);
    }
    if (temperature == 1) return *QuantaFromWeights(weights);
    return *QuantaFromPowers(weights, temperature);
  }

  // apportion() of 2.4, of from * (2S - 2s - 1) + to * (2s + 1).
  static Quanta OnRamp(const Quanta& from, const Quanta& to, uint64_t s,
                       uint64_t steps) {
    Quanta quanta;
    std::vector<uint64_t> rests;
    UnsignedWide given = 0;
    for (size_t i = 0; i < from.size(); ++i) {
      const UnsignedWide line =
          UnsignedWide{from[i]} * (2 * steps - 2 * s - 1) +
          UnsignedWide{to[i]} * (2 * s + 1);
      quanta.push_back(static_cast<uint64_t>(line / (2 * steps)));
      rests.push_back(static_cast<uint64_t>(line % (2 * steps)));
      if (line > 0 && quanta.back() == 0) {
        quanta.back() = 1;
        rests.back() = 0;
      }
      given += quanta.back();
    }
    for (; given < UnsignedWide{1} << 62; ++given) {
      const auto most = std::max_element(rests.begin(), rests.end());
      ++quanta[most - rests.begin()];
      *most = 0;
    }
    for (; given > UnsignedWide{1} << 62; --given) {
      --*std::max_element(quanta.begin(), quanta.end());
    }
    return quanta;
  }

  const MixtureOptions& options_;
  std::vector<WeightedComponent> components_;
};

TEST(MixturePlanTest, RampsOfOneStageFollowTheText) {
  // 100 samples in steps of 2 blocks of 8: S = ceil(100 / 16) = 7.
  MixtureOptions options;
  options.block_size = 8;
  options.stages = {{.start = 50,
                     .weights = {{"web", 0}, {"code", 1}, {"books", 1}},
                     .ramp_samples = 100,
                     .ramp_blocks = 2}};
  const MixturePlan plan = MakePlan(options);
  EXPECT_THAT(Starts(plan),
              ElementsAre(0, 50, 66, 82, 98, 114, 130, 146, 50 + 7 * 16));
  // books 0.2 -> 0.5, code 0.3 -> 0.5, web 0.5 -> 0; step 3 is half way.
  EXPECT_THAT(plan.WeightsAt(49),
              Pointwise(DoubleNear(1e-15), {0.2, 0.3, 0.5}));
  EXPECT_THAT(plan.WeightsAt(50),
              Pointwise(DoubleNear(1e-15),
                        {0.2 + 0.3 / 14, 0.3 + 0.2 / 14, 0.5 - 0.5 / 14}));
  EXPECT_THAT(plan.WeightsAt(113),
              Pointwise(DoubleNear(1e-15), {0.35, 0.4, 0.25}));
  EXPECT_THAT(
      plan.WeightsAt(161),
      Pointwise(DoubleNear(1e-15), {0.5 - 0.3 / 14, 0.5 - 0.2 / 14, 0.5 / 14}));
  EXPECT_EQ(plan.WeightsAt(162), (std::vector<double>{0.5, 0.5, 0}));
  EXPECT_EQ(plan.WeightsAt(kEndlessSamples - 1),
            (std::vector<double>{0.5, 0.5, 0}));
}

// The quanta of docs/index-math.md 2.6, on a ramp from 5 3 1 1 to 1 1 1 1.
TEST(MixturePlanTest, RampsOfOrderVersion1) {
  MixtureOptions options;
  options.block_size = 16;
  options.stages = {{.start = 10,
                     .weights = {{"a", 1}, {"b", 1}},
                     .ramp_samples = 3 * 16,
                     .ramp_blocks = 1}};
  const MixturePlan plan = MakePlan(
      options, {{"a", 5, {}}, {"b", 3, {}}, {"c", 1, {}}, {"d", 1, {}}});
  EXPECT_THAT(QuantaAt(plan, 10),
              ElementsAre(2113689425112552789, 1345075088707988139,
                          576460752303423488, 576460752303423488));
}

TEST(MixturePlanTest, RampsTakeAtMost256StepsUnlessTold) {
  for (const uint64_t ramp :
       {uint64_t{1}, uint64_t{2048}, uint64_t{2049}, uint64_t{256 * 2048},
        uint64_t{256 * 2048 + 1}, uint64_t{1000000}, uint64_t{1} << 61}) {
    MixtureOptions options;
    options.stages = {
        {.start = 7, .weights = {{"web", 0}}, .ramp_samples = ramp}};
    const MixturePlan plan = MakePlan(options);
    const std::vector<uint64_t> starts = Starts(plan);
    ASSERT_GE(starts.size(), 3u);
    const uint64_t step = starts[2] - starts[1];
    EXPECT_EQ(step % 2048, 0u);
    const uint64_t steps = starts.size() - 2;
    EXPECT_LE(steps, 256u);
    EXPECT_EQ(starts.back(), 7 + steps * step);
    EXPECT_GE(steps * step, ramp);
    EXPECT_LT((steps - 1) * step, ramp);
    // A block less would take more steps than that.
    EXPECT_TRUE(step == 2048 ||
                UnsignedWide{ramp} > UnsignedWide{256} * (step - 2048));
  }
}

TEST(MixturePlanTest, RampsThatReachBeyondTheLastSampleAreCut) {
  MixtureOptions options;
  options.stages = {{.start = kEndlessSamples - 5,
                     .weights = {{"web", 0}},
                     .ramp_samples = UINT64_MAX}};
  EXPECT_THAT(Starts(MakePlan(options)), ElementsAre(0, kEndlessSamples - 5));
  options.stages[0].start = 1;
  EXPECT_LE(Starts(MakePlan(options)).back(), kEndlessSamples - 1);
}

// Quanta computed from docs/index-math.md 2.1 and 2.4 by another program.
TEST(MixturePlanTest, RampsOfTheTemperatureOfOrderVersion2) {
  MixtureOptions options;
  options.block_size = 8;
  options.stages = {{.start = 20,
                     .temperature = 4,
                     .ramp_samples = 3 * 8,
                     .ramp_blocks = 1,
                     .ramps_temperature = true}};
  const MixturePlan plan =
      MakePlan(options, {{"a", 1000, {}}, {"b", 100, {}}, {"c", 10, {}}});
  EXPECT_THAT(Starts(plan), ElementsAre(0, 20, 28, 36, 44));
  EXPECT_THAT(
      QuantaAt(plan, 20),
      ElementsAre(3654675136024126426, 787375889384741223, 169634993018520255));
  EXPECT_THAT(QuantaAt(plan, 28),
              ElementsAre(2962672759862816700, 1179461269704911609,
                          469551988859659595));
  EXPECT_THAT(QuantaAt(plan, 43),
              ElementsAre(2581817268516271934, 1337245716868194433,
                          692623033042921537));
  EXPECT_EQ(QuantaAt(plan, 44),
            *QuantaFromPowers(std::vector<double>{1000, 100, 10}, 4));
  EXPECT_EQ(plan.TemperatureAt(19), 1);
  EXPECT_EQ(plan.TemperatureAt(20), 1.5);
  EXPECT_EQ(plan.TemperatureAt(35), 2.5);
  EXPECT_EQ(plan.TemperatureAt(36), 3.5);
  EXPECT_EQ(plan.TemperatureAt(44), 4);
  // Sevenths of the way are no doubles: rounded down to units of 2^-40.
  options.stages[0].temperature = 3;
  options.stages[0].ramp_samples = 7 * 8;
  const MixturePlan sevenths = MakePlan(
      options, {{"a", 5, {}}, {"b", 3, {}}, {"c", 1, {}}, {"d", 1, {}}});
  EXPECT_EQ(sevenths.TemperatureAt(20), 1.142857142856883);
  EXPECT_THAT(QuantaAt(sevenths, 20),
              ElementsAre(2166433689537863519, 1385567681152950429,
                          529842323868286978, 529842323868286978));
  EXPECT_THAT(QuantaAt(sevenths, 20 + 6 * 8),
              ElementsAre(1550181471579852132, 1296389423899454170,
                          882557561474040801, 882557561474040801));
  // Between the same temperatures, the shares differ from a ramp of shares.
  options.stages[0].ramps_temperature = false;
  EXPECT_NE(
      QuantaAt(
          MakePlan(options,
                   {{"a", 5, {}}, {"b", 3, {}}, {"c", 1, {}}, {"d", 1, {}}}),
          20 + 6 * 8),
      QuantaAt(sevenths, 20 + 6 * 8));
}

TEST(MixturePlanTest, DecisionsAndRampsOfTheTemperature) {
  MixtureOptions options;
  options.block_size = 8;
  options.stages = {{.start = 40,
                     .temperature = 3,
                     .ramp_samples = 80,
                     .ramp_blocks = 1,
                     .ramps_temperature = true},
                    {.start = 400,
                     .temperature = 1,
                     .ramp_samples = 80,
                     .ramp_blocks = 1,
                     .ramps_temperature = true},
                    {.start = 800,
                     .temperature = 2,
                     .ramp_samples = 80,
                     .ramp_blocks = 1,
                     .ramps_temperature = true}};
  const MixturePlan plan = MakePlan(options);
  // The sixth of ten steps: 2.1, in units of 2^-40.
  const double kHalfWay = 2.0999999999994543;
  // One decision in the first ramp: its temperature is the one in force.
  const std::vector<MixtureDecision> decisions = {
      {.start = 80, .weights = {{"web", 9}}}};
  auto with = plan.With(decisions);
  ASSERT_TRUE(with.ok()) << with.status();
  EXPECT_EQ(with->TemperatureAt(79), plan.TemperatureAt(79));
  EXPECT_EQ(with->TemperatureAt(80), kHalfWay);
  EXPECT_EQ(with->TemperatureAt(399), kHalfWay);
  EXPECT_EQ(QuantaAt(*with, 399),
            *QuantaFromPowers(std::vector<double>{2, 3, 9}, kHalfWay));
  // The next ramp moves the shares, from those that were decided.
  EXPECT_EQ(with->TemperatureAt(400), 1);
  const Quanta first = QuantaAt(*with, 400);
  EXPECT_EQ(first,
            internal::QuantaOnRamp(
                QuantaAt(*with, 399),
                *QuantaFromWeights(std::vector<double>{2, 3, 5}), 0, 10));
  EXPECT_NE(first, QuantaAt(plan, 400));
  // The one after it moves the temperature again, as planned.
  for (const uint64_t sample : {480, 800, 808, 872, 880, 5000}) {
    EXPECT_EQ(QuantaAt(*with, sample), QuantaAt(plan, sample)) << sample;
    EXPECT_EQ(with->TemperatureAt(sample), plan.TemperatureAt(sample));
  }
}

TEST(MixturePlanTest, ARampOfTheTemperatureBeginsWhereTheSharesAre) {
  const auto refused = [](MixtureStage second, const char* why,
                          double first_temperature = 2) {
    MixtureOptions options;
    options.block_size = 8;
    options.stages = {{.start = 100,
                       .weights = {{"web", 4}},
                       .temperature = first_temperature,
                       .ramp_samples = 40,
                       .ramp_blocks = 1},
                      std::move(second)};
    options.stages[1].ramps_temperature = true;
    EXPECT_THAT(MixturePlan::Create(options, kWebCodeBooks),
                StatusIs(kInvalid, HasSubstr(why)));
  };
  refused({.start = 200, .weights = {{"web", 4}}, .temperature = 3},
          "stage at sample 200 has no ramp in which the temperature could "
          "move: state one");
  refused({.start = 200, .temperature = 3, .ramp_samples = 80},
          "stage at sample 200: a ramp of the temperature keeps the weights, "
          "but that of 'web' changes from 4 to 5; state the weights of the "
          "stage before it, or let the ramp move the shares");
  refused({.start = 139,
           .weights = {{"web", 4}},
           .temperature = 3,
           .ramp_samples = 80},
          "stage at sample 139: a ramp of the temperature cannot begin while "
          "the ramp of stage at sample 100 still runs, until sample 140");
  refused({.start = 140,
           .weights = {{"web", 4}},
           .temperature = kInfinity,
           .ramp_samples = 80},
          "goes from 2 to inf, but each must be at most 2^20");
  refused({.start = 140, .weights = {{"web", 4}}, .ramp_samples = 80},
          "goes from 2e+06 to 1, but each must be at most 2^20", 2e6);
}

// Random rules, stages, ramps that the next stage cuts, and lengths.
class RandomPlanTest : public ::testing::Test {
 protected:
  static constexpr int kCases = 150;
  static constexpr uint64_t kRun = 3000;

  void Pick(int number) {
    std::mt19937_64 random(base_seed_ + number);
    const auto weight = [&random] {
      return random() % 4 == 0 ? 0.0 : 1.0 + static_cast<double>(random() % 99);
    };
    options_ = MixtureOptions();
    options_.weight_rule = static_cast<WeightRule>(random() % 3);
    options_.block_size = 1 + random() % 40;
    options_.temperature = 0.5 * static_cast<double>(1 + random() % 6);
    components_ = {{"zeta", weight(), 1 + random() % 1000},
                   {"a", weight(), 1 + random() % 1000},
                   {"b", 3, 1 + random() % 1000},  // never all 0
                   {"Omega", weight(), 1 + random() % 1000}};
    uint64_t start = 0;
    for (uint64_t left = random() % 5; left > 0; --left) {
      start += 1 + random() % 700;
      MixtureStage stage = {.start = start};
      for (const char* name : {"zeta", "a", "Omega"}) {
        if (random() % 3 > 0) stage.weights[name] = weight();
      }
      if (random() % 3 == 0) {
        stage.temperature = 0.25 * static_cast<double>(1 + random() % 20);
      }
      if (random() % 3 > 0) stage.ramp_samples = random() % 900;
      if (random() % 2 == 0) {
        stage.ramp_blocks = static_cast<uint32_t>(1 + random() % 5);
      }
      // Some move the temperature, where the weights before allow it.
      const MixtureStage* last =
          options_.stages.empty() ? nullptr : &options_.stages.back();
      const bool is_over =
          last == nullptr ||
          internal::RampEnd(*last, options_.block_size).value_or(0) <= start;
      if (stage.ramp_samples > 0 && is_over && random() % 2 == 0) {
        stage.weights = {};
        if (last != nullptr) stage.weights = last->weights;
        stage.ramps_temperature = true;
      }
      options_.stages.push_back(stage);
    }
    if (random() % 2 == 0) {
      options_.max_seq_len = 64;
      for (uint64_t at = 0; at < kRun; at += 1 + random() % 1000) {
        options_.seq_lens.push_back(
            {at, static_cast<uint32_t>(1 + random() % 64)});
      }
    }
    further_starts_.clear();
    for (uint64_t left = random() % 3; left > 0; --left) {
      further_starts_.push_back(random() % kRun);
    }
    random_ = random;
  }

  const uint64_t base_seed_ = testing::TestSeed(77);
  MixtureOptions options_;
  std::vector<WeightedComponent> components_;
  std::vector<uint64_t> further_starts_;
  std::mt19937_64 random_;
};

TEST_F(RandomPlanTest, FollowsTheTextSampleBySample) {
  for (int number = 0; number < kCases; ++number) {
    SCOPED_TRACE(number);
    Pick(number);
    const MixturePlan plan = MakePlan(options_, components_, further_starts_);
    const SlowPlan slow(options_, components_);
    const std::vector<uint64_t> starts = Starts(plan);
    for (uint64_t k = 0; k < kRun; ++k) {
      bool begins = slow.Begins(k);
      for (const SeqLenChange& change : options_.seq_lens) {
        begins |= change.start == k;
      }
      for (const uint64_t start : further_starts_) begins |= start == k;
      ASSERT_EQ(std::binary_search(starts.begin(), starts.end(), k), begins)
          << "sample " << k;
      // Between starts nothing can change.
      if (!begins && k % 16 != 0) continue;
      ASSERT_EQ(QuantaAt(plan, k), slow.At(k)) << "sample " << k;
      ASSERT_EQ(plan.TemperatureAt(k), slow.TemperatureAt(k)) << k;
    }
    ASSERT_LT(starts.back(), kRun + 3000);
  }
}

TEST_F(RandomPlanTest, TheOrderOfDeclarationChangesNothing) {
  for (int number = 0; number < kCases; ++number) {
    SCOPED_TRACE(number);
    Pick(number);
    const MixturePlan plan = MakePlan(options_, components_, further_starts_);
    std::shuffle(components_.begin(), components_.end(), random_);
    std::shuffle(further_starts_.begin(), further_starts_.end(), random_);
    const MixturePlan other = MakePlan(options_, components_, further_starts_);
    EXPECT_THAT(plan.names(), ElementsAre("Omega", "a", "b", "zeta"));
    EXPECT_THAT(other.names(), ElementsAre("Omega", "a", "b", "zeta"));
    ASSERT_EQ(Starts(plan), Starts(other));
    for (const uint64_t start : Starts(plan)) {
      ASSERT_EQ(QuantaAt(plan, start), QuantaAt(other, start));
      ASSERT_EQ(plan.PrefixHash(1, start), other.PrefixHash(1, start));
    }
  }
}

TEST_F(RandomPlanTest, WhatIsAppendedChangesNothingBeforeIt) {
  for (int number = 0; number < kCases; ++number) {
    SCOPED_TRACE(number);
    Pick(number);
    const MixturePlan plan = MakePlan(options_, components_);
    // After all that is there, ramps included or not.
    uint64_t last = 1 + random_() % 100;
    if (!options_.stages.empty()) last += options_.stages.back().start;
    if (!options_.seq_lens.empty()) {
      last = std::max(last, options_.seq_lens.back().start + 1);
    }
    const uint64_t start = plan.EarliestStart(last);
    MixtureOptions longer = options_;
    longer.stages.push_back({.start = start,
                             .weights = {{"a", 7}},
                             .ramp_samples = random_() % 1000});
    if (longer.max_seq_len > 0 && random_() % 2 == 0) {
      longer.seq_lens.push_back({start, 5});
    }
    const MixturePlan other = MakePlan(longer, components_);
    EXPECT_EQ(other.EarliestStart(last), start);
    // Some samples, and the last ones in any case.
    for (uint64_t k = 0; k <= start; k += start - k > 40 ? 23 : 1) {
      ASSERT_EQ(other.PrefixHash(3, k), plan.PrefixHash(3, k)) << k;
      if (k == start) break;
      ASSERT_EQ(QuantaAt(other, k), QuantaAt(plan, k));
      ASSERT_EQ(other.SeqLenAt(k), plan.SeqLenAt(k));
      ASSERT_EQ(other.TemperatureAt(k), plan.TemperatureAt(k));
    }
    EXPECT_NE(other.PrefixHash(3, start + 1), plan.PrefixHash(3, start + 1));
  }
}

TEST_F(RandomPlanTest, CountsAddUpTheDraws) {
  for (int number = 0; number < 40; ++number) {
    SCOPED_TRACE(number);
    Pick(number);
    const MixturePlan plan = MakePlan(options_, components_, further_starts_);
    std::vector<uint64_t> counts(4);
    for (uint64_t k = 0; k < 2000; ++k) {
      for (uint32_t i = 0; i < 4; ++i) ASSERT_EQ(plan.Count(i, k), counts[i]);
      ++counts[plan.stages()->Locate(k).component];
    }
  }
}

TEST_F(RandomPlanTest, EarliestStartsAreEndsOfBlocks) {
  for (int number = 0; number < 40; ++number) {
    SCOPED_TRACE(number);
    Pick(number);
    const MixturePlan plan = MakePlan(options_, components_, further_starts_);
    EXPECT_EQ(plan.EarliestStart(0), 0u);
    // Blocks restart at each start of a stage.
    const std::vector<uint64_t> starts = Starts(plan);
    uint64_t begin = 0;
    for (uint64_t k = 1; k < kRun; ++k) {
      const bool is_start = std::binary_search(starts.begin(), starts.end(), k);
      const bool is_end = is_start || k - begin == options_.block_size;
      ASSERT_EQ(plan.EarliestStart(k) == k, is_end) << "sample " << k;
      ASSERT_GE(plan.EarliestStart(k), k);
      ASSERT_EQ(plan.EarliestStart(begin + 1), plan.EarliestStart(k));
      if (is_end) begin = k;
    }
  }
}

TEST(MixturePlanTest, AStageMayBeginAtTheEarliestStartAndNoEarlier) {
  MixtureOptions options;
  options.block_size = 10;
  const MixturePlan plan = MakePlan(options);
  EXPECT_EQ(plan.EarliestStart(1), 10u);
  EXPECT_EQ(plan.EarliestStart(10), 10u);
  EXPECT_EQ(plan.EarliestStart(11), 20u);
  options.stages = {{.start = 15, .weights = {{"web", 1}}}};
  const MixturePlan cut = MakePlan(options);
  EXPECT_EQ(cut.PrefixHash(1, 10), plan.PrefixHash(1, 10));
  EXPECT_NE(cut.PrefixHash(1, 11), plan.PrefixHash(1, 11));
}

// docs/index-math.md 2.6.
TEST(MixturePlanTest, PrefixHashesOfOrderVersion2) {
  MixtureOptions options;
  options.block_size = 8;
  options.stages = {{13, {{"books", 0.75}, {"code", 0}, {"web", 0.25}}}};
  const MixturePlan plan = MakePlan(
      options, {{"web", 0.5, {}}, {"code", 0.3, {}}, {"books", 0.2, {}}});
  EXPECT_EQ(plan.PrefixHash(42, 0), 0x429aafe9abaece80);
  EXPECT_EQ(plan.PrefixHash(42, 8), 0xdb5b7663f4b5b468);
  EXPECT_EQ(plan.PrefixHash(42, 9), 0x18b6a75611580c0a);
  EXPECT_EQ(plan.PrefixHash(42, 14), 0x8e09cda97812abb4);
}

TEST(MixturePlanTest, PrefixHashesTellLengthsApart) {
  MixtureOptions options;
  options.block_size = 8;
  options.max_seq_len = 64;
  const MixturePlan whole = MakePlan(options);
  options.seq_lens = {{0, 64}};
  EXPECT_EQ(MakePlan(options).PrefixHash(1, 5), whole.PrefixHash(1, 5));
  options.seq_lens = {{0, 32}};
  const MixturePlan half = MakePlan(options);
  EXPECT_NE(half.PrefixHash(1, 5), whole.PrefixHash(1, 5));
  EXPECT_EQ(half.PrefixHash(1, 0), whole.PrefixHash(1, 0));
  options.seq_lens = {{0, 32}, {16, 64}};
  EXPECT_EQ(MakePlan(options).PrefixHash(1, 16), half.PrefixHash(1, 16));
  EXPECT_NE(MakePlan(options).PrefixHash(1, 17), half.PrefixHash(1, 17));
}

TEST(MixturePlanTest, PrefixHashesTellCutsApart) {
  MixtureOptions options;
  options.block_size = 8;
  options.max_seq_len = 64;
  options.seq_lens = {{0, 64}, {16, 32}};
  const MixturePlan plan = MakePlan(options);
  const auto expect = [&](const char* changed) {
    const MixturePlan other = MakePlan(options);
    EXPECT_EQ(other.PrefixHash(1, 16), plan.PrefixHash(1, 16)) << changed;
    EXPECT_NE(other.PrefixHash(1, 17), plan.PrefixHash(1, 17)) << changed;
  };
  options.group_items = 100;
  expect("group_items");
  options.group_items = 0;
  options.trim = true;
  expect("trim");
}

TEST(MixturePlanTest, TemperaturesAndLengthsHoldFromTheirStartOn) {
  MixtureOptions options;
  options.block_size = 8;
  options.temperature = 2;
  options.stages = {
      {.start = 10, .weights = {{"web", 1}}},
      {.start = 20, .weights = {}, .temperature = 3.0, .ramp_samples = 50},
      {.start = 30, .weights = {}}};
  options.max_seq_len = 64;
  options.seq_lens = {{0, 16}, {25, 32}, {26, 64}};
  const MixturePlan plan = MakePlan(options);
  EXPECT_EQ(plan.TemperatureAt(0), 2);
  EXPECT_EQ(plan.TemperatureAt(19), 2);
  EXPECT_EQ(plan.TemperatureAt(20), 3);
  EXPECT_EQ(plan.TemperatureAt(29), 3);
  EXPECT_EQ(plan.TemperatureAt(30), 2);
  EXPECT_EQ(plan.SeqLenAt(0), 16u);
  EXPECT_EQ(plan.SeqLenAt(24), 16u);
  EXPECT_EQ(plan.SeqLenAt(25), 32u);
  EXPECT_EQ(plan.SeqLenAt(26), 64u);
  EXPECT_EQ(plan.SeqLenAt(kEndlessSamples - 1), 64u);
  EXPECT_EQ(plan.seq_lens().size(), 3u);
  EXPECT_EQ(MakePlan(MixtureOptions()).SeqLenAt(5), 0u);
  options.seq_lens = {};
  EXPECT_EQ(MakePlan(options).SeqLenAt(5), 64u);
}

TEST(MixturePlanTest, RulesGiveTheSharesTheyName) {
  MixtureOptions options;
  const auto shares = [&](std::optional<double> temperature = {}) {
    MixtureOptions staged = options;
    staged.stages = {{.start = 9, .weights = {{"code", 2.5}}}};
    staged.stages[0].temperature = temperature;
    return std::pair(MakePlan(staged).WeightsAt(0),
                     MakePlan(staged).WeightsAt(9));
  };
  // Of books 2, code 3 (then 2.5), web 5.
  const auto normed = [](std::vector<double> weights) {
    const double sum = weights[0] + weights[1] + weights[2];
    for (double& weight : weights) weight /= sum;
    return Pointwise(DoubleNear(1e-12), weights);
  };
  EXPECT_THAT(shares().first, normed({2, 3, 5}));
  EXPECT_THAT(shares().second, normed({2, 2.5, 5}));
  EXPECT_THAT(shares(2).first, normed({2, 3, 5}));
  EXPECT_THAT(shares(2).second,
              normed({std::sqrt(2), std::sqrt(2.5), std::sqrt(5)}));
  EXPECT_THAT(shares(kInfinity).second, normed({1, 1, 1}));
  options.temperature = 0.5;
  EXPECT_THAT(shares().first, normed({4, 9, 25}));
  EXPECT_THAT(shares().second, normed({4, 6.25, 25}));
  EXPECT_THAT(shares(1).second, normed({2, 2.5, 5}));
  options.weight_rule = WeightRule::kScores;
  EXPECT_THAT(shares().first, normed({std::exp(4), std::exp(6), std::exp(10)}));
  EXPECT_THAT(shares(5).second,
              normed({std::exp(.4), std::exp(.5), std::exp(1)}));
  options.weight_rule = WeightRule::kSizeProportional;
  EXPECT_THAT(shares(1).second, normed({2. * 90, 2.5 * 700, 5. * 5000}));
  EXPECT_THAT(shares().first,
              normed({180. * 180, 2100. * 2100, 25000. * 25000}));
}

TEST(MixturePlanTest, AScoreOfMinusInfinityIsNeverDrawn) {
  MixtureOptions options;
  options.weight_rule = WeightRule::kScores;
  options.stages = {{.start = 5, .weights = {{"web", -kInfinity}}}};
  const MixturePlan plan = MakePlan(options);
  EXPECT_GT(plan.WeightsAt(4)[2], 0);
  EXPECT_EQ(plan.WeightsAt(5)[2], 0);
}

TEST(MixturePlanTest, NamesAreFoundInCanonicalOrder) {
  const MixturePlan plan = MakePlan(MixtureOptions());
  EXPECT_THAT(plan.names(), ElementsAre("books", "code", "web"));
  EXPECT_EQ(plan.Find("books"), 0u);
  EXPECT_EQ(plan.Find("web"), 2u);
  EXPECT_EQ(plan.Find("wea"), std::nullopt);
  EXPECT_EQ(plan.Find("zzz"), std::nullopt);
  EXPECT_EQ(plan.Find(""), std::nullopt);
}

TEST(MixturePlanTest, ACutAtAFurtherStartKeepsTheShares) {
  MixtureOptions options;
  options.block_size = 100;
  const MixturePlan plan =
      MakePlan(options, kWebCodeBooks, std::vector<uint64_t>{130, 0, 130, 250});
  EXPECT_THAT(Starts(plan), ElementsAre(0, 130, 250));
  EXPECT_EQ(QuantaAt(plan, 0), QuantaAt(plan, 249));
  EXPECT_EQ(plan.EarliestStart(101), 130u);
}

TEST(MixturePlanTest, KeepsItsStagesAsTheyWereStated) {
  MixtureOptions options;
  options.block_size = 8;
  options.stages = {{.start = 80,
                     .weights = {{"web", 5}},
                     .ramp_samples = 20,
                     .label = "stage 0 at step 10 (sample 80)",
                     .ramp_label = "2 steps (20 samples)"},
                    {.start = 200, .name = "end"}};
  const MixturePlan plan = MakePlan(options, {{"web", 1, {}}, {"code", 2, {}}});
  const auto& stated = plan.stages()->stated();
  ASSERT_EQ(stated.size(), 3u);
  EXPECT_EQ(stated[0].label, "");
  EXPECT_THAT(stated[0].weights, ElementsAre(2, 1));
  EXPECT_EQ(stated[1].start, 80u);
  EXPECT_EQ(stated[1].ramp_end, 104u);  // whole blocks
  EXPECT_EQ(stated[1].label, "stage 0 at step 10 (sample 80)");
  EXPECT_EQ(stated[1].ramp_label, "2 steps (20 samples)");
  EXPECT_THAT(stated[1].weights, ElementsAre(2, 5));
  EXPECT_EQ(stated[2].ramp_end, 0u);
  EXPECT_EQ(stated[2].label, "stage 'end' at sample 200");
  EXPECT_EQ(stated[2].ramp_label, "");
  EXPECT_THAT(stated[2].weights, ElementsAre(2, 1));
}

// What Create() refuses, and the words that its message must hold.
absl::Status Refused(
    const MixtureOptions& options,
    const std::vector<WeightedComponent>& components = kWebCodeBooks) {
  return MixturePlan::Create(options, components).status();
}

TEST(MixturePlanErrorTest, NamesComponentsAndWeights) {
  const MixtureOptions plain;
  EXPECT_THAT(Refused(plain, {}), StatusIs(kInvalid, HasSubstr("component")));
  EXPECT_THAT(Refused(plain, {{"web", 1, {}}, {"a", 1, {}}, {"web", 2, {}}}),
              StatusIs(kInvalid, HasSubstr("'web'")));
  for (const double weight : {-0.25, kInfinity, std::nan("")}) {
    EXPECT_THAT(
        Refused(plain, {{"web", 1, {}}, {"code", weight, {}}}),
        StatusIs(kInvalid, AllOf(HasSubstr("'code'"),
                                 HasSubstr(absl::StrCat("got ", weight)))));
  }
  EXPECT_THAT(Refused(plain, {{"web", 0, {}}, {"code", 0, {}}}),
              StatusIs(kInvalid, HasSubstr("2 weights must be above 0")));
}

TEST(MixturePlanErrorTest, NamesStagesAndTheirValues) {
  const auto with = [](const MixtureStage& stage,
                       WeightRule rule = WeightRule::kProportions) {
    MixtureOptions options;
    options.weight_rule = rule;
    options.stages = {{.start = 7, .weights = {{"web", 1}}}, stage};
    return Refused(options);
  };
  EXPECT_THAT(
      with({.start = 3000, .weights = {{"bocks", 1}}}),
      StatusIs(kInvalid, AllOf(HasSubstr("sample 3000"), HasSubstr("'bocks'"),
                               HasSubstr("did you mean 'books'?"))));
  EXPECT_THAT(
      with({.start = 3000, .weights = {{"books", -1}}}),
      StatusIs(kInvalid, AllOf(HasSubstr("sample 3000"), HasSubstr("'books'"),
                               HasSubstr("got -1"))));
  EXPECT_THAT(
      with({.start = 3000, .weights = {{"books", 0}, {"web", 0}, {"code", 0}}}),
      StatusIs(kInvalid, AllOf(HasSubstr("sample 3000"), HasSubstr("3"))));
  EXPECT_THAT(with({.start = 7, .weights = {}}),
              StatusIs(kInvalid, AllOf(HasSubstr("stage at sample 7"),
                                       HasSubstr("at sample 7"))));
  EXPECT_THAT(with({.start = 6, .weights = {}}),
              StatusIs(kInvalid, AllOf(HasSubstr("stage at sample 6"),
                                       HasSubstr("at sample 7"))));
  EXPECT_THAT(with({.start = kEndlessSamples, .weights = {}}),
              StatusIs(kInvalid, AllOf(HasSubstr(absl::StrCat(kEndlessSamples)),
                                       HasSubstr("2^62"))));
  EXPECT_THAT(
      with({.start = 3000, .weights = {{"books", std::nan("")}}},
           WeightRule::kScores),
      StatusIs(kInvalid, AllOf(HasSubstr("sample 3000"), HasSubstr("'books'"),
                               HasSubstr("nan"))));
  for (const double temperature : {0.0, -1.0, 0x1p-11, std::nan("")}) {
    EXPECT_THAT(
        with({.start = 3000, .weights = {}, .temperature = temperature}),
        StatusIs(kInvalid,
                 AllOf(HasSubstr("sample 3000"),
                       HasSubstr(absl::StrCat("got ", temperature)))));
  }
  MixtureOptions zero;
  zero.stages = {{.start = 0, .weights = {}}};
  EXPECT_THAT(Refused(zero), StatusIs(kInvalid, HasSubstr("sample 0")));
}

TEST(MixturePlanErrorTest, NamesRampsOfTooManySteps) {
  MixtureOptions options;
  options.block_size = 8;
  options.stages = {{.start = 5,
                     .weights = {},
                     .ramp_samples = 65536 * 16,
                     .ramp_blocks = 2}};
  EXPECT_TRUE(Refused(options).ok());
  ++options.stages[0].ramp_samples;
  EXPECT_THAT(Refused(options),
              StatusIs(kInvalid, AllOf(HasSubstr("sample 5"),
                                       HasSubstr("1048577 samples"),
                                       HasSubstr("steps of 2 blocks"),
                                       HasSubstr("65537 steps"))));
  options.stages[0].ramp_samples = UINT64_MAX;
  options.stages[0].ramp_blocks = 1;
  EXPECT_THAT(Refused(options), StatusIs(kInvalid, HasSubstr("sample 5")));
}

TEST(MixturePlanErrorTest, NamesComponentsWithoutASize) {
  MixtureOptions options;
  options.weight_rule = WeightRule::kSizeProportional;
  EXPECT_THAT(
      Refused(options, {{"web", 1, 10}, {"nested", 1, {}}}),
      StatusIs(kInvalid, AllOf(HasSubstr("'nested'"), HasSubstr("endless"))));
}

TEST(MixturePlanErrorTest, NamesLengthsAndTheirStarts) {
  const auto with = [](uint32_t max, std::vector<SeqLenChange> lengths) {
    MixtureOptions options;
    options.max_seq_len = max;
    options.seq_lens = std::move(lengths);
    return Refused(options);
  };
  EXPECT_TRUE(with(64, {{0, 64}, {1, 1}}).ok());
  EXPECT_THAT(with(0, {{0, 64}}), StatusIs(kInvalid, HasSubstr("max_seq_len")));
  EXPECT_THAT(
      with(64, {{10, 32}}),
      StatusIs(kInvalid, AllOf(HasSubstr("32"), HasSubstr("at sample 10"))));
  EXPECT_THAT(
      with(64, {{0, 32}, {20, 16}, {20, 8}}),
      StatusIs(kInvalid, AllOf(HasSubstr("length 8"), HasSubstr("sample 20"))));
  EXPECT_THAT(with(64, {{0, 32}, {20, 65}}),
              StatusIs(kInvalid, AllOf(HasSubstr("sample 20"), HasSubstr("64"),
                                       HasSubstr("got 65"))));
  EXPECT_THAT(with(64, {{0, 0}}), StatusIs(kInvalid, HasSubstr("got 0")));
  EXPECT_THAT(with(64, {{0, 8}, {kEndlessSamples, 16}}),
              StatusIs(kInvalid, HasSubstr("2^62")));
}

TEST(MixturePlanErrorTest, NamesGroupsWhosePartsCannotBeCounted) {
  MixtureOptions options;
  options.max_seq_len = UINT32_MAX;
  options.group_items = uint64_t{1} << 30;
  EXPECT_TRUE(Refused(options).ok());
  ++options.group_items;
  EXPECT_THAT(Refused(options),
              StatusIs(kInvalid, AllOf(HasSubstr("group_items"),
                                       HasSubstr("got 1073741825"))));
}

TEST(MixturePlanErrorTest, NamesBlockSizes) {
  MixtureOptions options;
  for (const uint64_t size : {uint64_t{0}, uint64_t{65537}, UINT64_MAX}) {
    options.block_size = size;
    EXPECT_THAT(Refused(options),
                StatusIs(kInvalid, HasSubstr(absl::StrCat("got ", size))));
  }
}

// A stage of a nested mixture that shall begin where the outer one changes.
TEST(MixturePlanTest, ItemsBeforeAreWhereANestedStageBegins) {
  MixtureOptions options;
  options.block_size = 16;
  options.stages = {{1000, {{"inner", 3}}}};
  ASSERT_OK_AND_ASSIGN(const MixturePlan plain,
                       MixturePlan::Create(options, {{"inner", 1}, {"x", 3}}));
  EXPECT_EQ(plain.ItemsBefore(0, 0), 0u);
  EXPECT_EQ(plain.ItemsBefore(0, 1000), 250u);
  EXPECT_EQ(plain.ItemsBefore(0, 1007), plain.Count(0, 1007));

  options.max_seq_len = 32;
  options.seq_lens = {{0, 8}, {1000, 32}};
  options.group_items = 4;
  ASSERT_OK_AND_ASSIGN(const MixturePlan cut,
                       MixturePlan::Create(options, {{"inner", 1}, {"x", 3}}));
  // 250 quarters of items: 62.5, of which groups of 4 end at 64.
  EXPECT_EQ(cut.ItemsBefore(0, 1000), 64u);
  EXPECT_EQ(cut.ItemsBefore(0, 1100), 64 + cut.Count(0, 1100) - 250);
}

TEST(MixturePlanErrorTest, NamesRampsThatNoMemoryHolds) {
  MixtureOptions options;
  options.block_size = 1;
  MixtureStage stage;
  stage.start = 10;
  stage.ramp_samples = 65536;
  stage.ramp_blocks = 1;
  options.stages = {stage};
  std::vector<WeightedComponent> components;
  for (int i = 0; i < 10000; ++i) components.push_back({absl::StrCat(i), 1.0});
  EXPECT_THAT(MixturePlan::Create(options, components),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("a plan of 65538 stages"),
                             HasSubstr("over 10000 components"),
                             HasSubstr("2 GiB"), HasSubstr("ramp_blocks"))));
}

// No stage is too large by itself.
TEST(MixturePlanErrorTest, CountsAllStagesTogether) {
  constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;
  std::vector<WeightedComponent> components;
  for (int i = 0; i < 300000; ++i) components.push_back({absl::StrCat(i), 1.0});
  MixtureOptions options;
  options.block_size = 1;
  // 112 stages of 300000 components are above 2^31 / 64.
  for (uint64_t s = 1; s < 112; ++s) options.stages.push_back({.start = s});
  EXPECT_THAT(MixturePlan::Create(options, components),
              StatusIs(kExhausted, HasSubstr("112 stages")));
  options.stages = {{.start = 10, .ramp_samples = 70, .ramp_blocks = 1},
                    {.start = 50, .ramp_samples = 70, .ramp_blocks = 1}};
  // The first ramp is cut after 40 of its steps; then 70 and the stage.
  EXPECT_THAT(MixturePlan::Create(options, components),
              StatusIs(kExhausted, HasSubstr("112 stages")));
  options.stages.clear();
  options.max_seq_len = 8;
  for (uint64_t s = 0; s < 111; ++s) {
    options.seq_lens.push_back({s, static_cast<uint32_t>(1 + s % 8)});
  }
  EXPECT_THAT(MixturePlan::Create(options, components),
              StatusIs(kExhausted, HasSubstr("112 stages")));
  std::vector<uint64_t> starts(111);
  std::iota(starts.begin(), starts.end(), 1);
  EXPECT_THAT(MixturePlan::Create({}, components, starts),
              StatusIs(kExhausted, HasSubstr("112 stages")));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Ends the process; a plan of about a gigabyte does not fit into what it has.
void MakePlanInLittleMemory(const MixtureOptions& options,
                            const std::vector<WeightedComponent>& components) {
  const rlimit limit = {rlim_t{256} << 20, rlim_t{256} << 20};
  setrlimit(RLIMIT_AS, &limit);
  const auto plan = MixturePlan::Create(options, components);
  std::cerr << plan.status();
  std::_Exit(absl::IsResourceExhausted(plan.status()) ? 0 : 1);
}

TEST(MixturePlanDeathTest, ALackOfMemoryIsAnError) {
  MixtureOptions options;
  options.block_size = 1;
  options.stages = {{.start = 10, .ramp_samples = 30000, .ramp_blocks = 1}};
  std::vector<WeightedComponent> components;
  for (int i = 0; i < 1000; ++i) components.push_back({absl::StrCat(i), 1.0});
  EXPECT_EXIT(MakePlanInLittleMemory(options, components),
              ::testing::ExitedWithCode(0),
              "30002 stages .* over 1000 components");
}
#endif

TEST(MixturePlanErrorTest, NamesTheStageByItsName) {
  MixtureOptions options;
  options.stages = {{.start = 80, .weights = {{"x", 1}}, .name = "anneal"}};
  EXPECT_THAT(
      MixturePlan::Create(options, kWebCodeBooks),
      StatusIs(kInvalid, HasSubstr("stage 'anneal' at sample 80: unknown")));
}

TEST(MixturePlanErrorTest, NamesTheStageAndItsRampByTheirLabels) {
  MixtureOptions options;
  options.block_size = 8;
  options.stages = {{.start = 80,
                     .ramp_samples = 65537 * 8,
                     .ramp_blocks = 1,
                     .name = "anneal",
                     .label = "stage 0 ('anneal') at step 10 (sample 80)",
                     .ramp_label = "9 steps"}};
  EXPECT_THAT(MixturePlan::Create(options, kWebCodeBooks),
              StatusIs(kInvalid,
                       HasSubstr("stage 0 ('anneal') at step 10 (sample 80): a "
                                 "ramp of 9 steps in steps of 1 blocks")));
  options.stages = {{.start = 80, .label = "this"},
                    {.start = 80, .label = "that"}};
  EXPECT_THAT(MixturePlan::Create(options, kWebCodeBooks),
              StatusIs(kInvalid, HasSubstr("that does not begin after the "
                                           "stage before it, this")));
}

}  // namespace
}  // namespace poniente
