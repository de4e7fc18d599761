// SPDX-License-Identifier: Apache-2.0
// Freezes order version 2 as a whole: a tree with every kind of node, under a
// schedule in which everything changes, resolved to the end. Whoever changes a
// number here reorders every run ever resumed: bump kOrderVersion and say so in
// CHANGELOG.md. The parts have golden values of their own.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "index/keyed_hash.h"
#include "poniente/flat_mixture.h"
#include "poniente/mixture_dataset.h"
#include "poniente/run_trace.h"
#include "poniente/transforms.h"
#include "poniente/version.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using testing::CountingWindows;

constexpr uint32_t kGoldenMaxLen = 64;

DatasetPtr<TokenWindow> Windows(uint64_t items) {
  return CountingWindows(items, kGoldenMaxLen);
}

Schedule EverythingChanges() {
  ScheduleOptions options;
  options.steps = 4000;
  options.batch_size = 7;
  options.seq_len = 16;
  options.stages = {{.start = RunPoint::ShareOfTokens(0.2),
                     .name = "ramped",
                     .weights = {{"web", 0.5}, {"code", 2}, {"late", 1}},
                     .ramp = RunPoint::ShareOfTokens(0.05),
                     .is_ramp_centred = true},
                    {.start = RunPoint::Sample(15001),
                     .batch_size = 11,
                     .weights = {{"books", -1}, {"notes", 3}},
                     .temperature = 0.5},
                    {.start = RunPoint::Step(-300),
                     .weights = {{"code", 2.5}},
                     .temperature = 8,
                     .ramp = RunPoint::Step(100),
                     .ramp_blocks = 1}};
  options.seq_lens = {{RunPoint::Step(900), 64}, {RunPoint::Step(2900), 21}};
  options.mixture.block_size = 100;
  options.mixture.weight_rule = WeightRule::kScores;
  options.mixture.temperature = 1.5;
  options.mixture.seed = 2026;
  return *Schedule::Create(options);
}

DatasetPtr<TokenWindow> EveryKindOfNode(const Schedule& schedule) {
  const auto prose = *FlatMixture<TokenWindow>::Create(
      {{"words", Windows(70)}, {"fortunes", Windows(300)}},
      {.shuffle =
           ShuffleOptions::Blocks({.chunk_items = 8, .window_chunks = 3})});
  MixtureOptions inner;
  inner.block_size = 33;
  inner.weight_rule = WeightRule::kSizeProportional;
  inner.stop_rule = StopRule::kAllExhausted;
  const auto notes = *MixtureDataset<TokenWindow>::Create(
      {{"old", Windows(20), 1}, {"new", Windows(90), 2}}, inner);
  std::vector<float> scores(500);
  for (size_t i = 0; i < scores.size(); ++i) {
    scores[i] = static_cast<float>(i * 7919 % 501);
  }
  const auto books = Windows(500);
  const auto good = *Filter<TokenWindow>(
      books, *Selection::AtLeast(std::span<const float>(scores), 100));
  const auto best = *Filter<TokenWindow>(
      books, *Selection::AtLeast(std::span<const float>(scores), 400));
  const auto easy_first = *Order<TokenWindow>(
      Windows(500), *ScoreOrder::FromScores(std::span<const float>(scores)),
      {.bucket_items = 50});
  const auto held = *HoldOutFraction<TokenWindow>(Windows(1000), 0.25, 5);
  const auto never = -std::numeric_limits<double>::infinity();
  return *MixtureDataset<TokenWindow>::Create(
      {{"web", held.train, 1},
       {"prose", prose, 0.5},
       {"notes", notes, 0},
       {"books", good, 0.7},
       {"code", easy_first, -0.5},
       {"eras", *EraShuffle<TokenWindow>(Windows(130), 32), -1},
       {"late", *Concat<TokenWindow>({{"a", Windows(40)}, {"b", Windows(5)}}),
        never, ShuffleOptions::Eras(16)}},
      schedule.mixture_options(),
      {{"books", schedule.stages()[2].start_sample, best}});
}

TEST(OrderVersionTest, IsVersion2) {
  EXPECT_EQ(kOrderVersion, 2u);
  const Schedule schedule = EverythingChanges();
  const auto root = EveryKindOfNode(schedule);
  const RunTrace trace(*root, schedule);
  internal::KeyHash hash(0);
  uint64_t samples = 0;
  for (uint64_t step = 0; step < schedule.steps(); ++step) {
    ASSERT_OK_AND_ASSIGN(const auto origins, trace.Resolve(step));
    for (const SampleOrigin& origin : origins) {
      hash.Add(std::string_view(origin.path))
          .Add(origin.item)
          .Add(origin.epoch)
          .Add(origin.token_begin)
          .Add(origin.token_end);
      ++samples;
    }
  }
  EXPECT_EQ(samples, 35428u);
  EXPECT_EQ(hash.key(), 12712948123660270818u);
}

uint64_t HashOf(const DatasetNode& root, const Schedule& schedule,
                uint64_t steps) {
  const RunTrace trace(root, schedule);
  internal::KeyHash hash(0);
  for (uint64_t step = 0; step < steps; ++step) {
    const auto origins = trace.Resolve(step);
    EXPECT_THAT(origins, testing::IsOk());
    if (!origins.ok()) return 0;
    for (const SampleOrigin& origin : *origins) {
      hash.Add(std::string_view(origin.path)).Add(origin.item);
      hash.Add(origin.epoch).Add(origin.token_begin).Add(origin.token_end);
    }
  }
  return hash.key();
}

// Version 1 gave what lies below a Cut another seed than without it.
TEST(OrderVersionTest, OfARootThatIsCut) {
  ScheduleOptions options;
  options.steps = 250;
  options.batch_size = 4;
  options.seq_len = kGoldenMaxLen;
  options.seq_lens = {{RunPoint::Step(75), 16}};
  const Schedule schedule = *Schedule::Create(options);
  const auto flat = (*FlatMixture<TokenWindow>::Create(
      {{"a", Windows(40)}, {"b", Windows(90)}}));
  const auto cut = (*Cut(flat, schedule.mixture_options()))->WithSeed(2026);
  EXPECT_EQ(HashOf(*cut, schedule, 75),
            HashOf(*(*Repeat(flat))->WithSeed(2026), schedule, 75));
  EXPECT_EQ(HashOf(*cut, schedule, 250), 15136373335110616187u);
}

// The same data from every direction: each reading of some items is found.
TEST(OrderVersionTest, FindsWhatItReads) {
  const Schedule schedule = EverythingChanges();
  const auto root = EveryKindOfNode(schedule);
  const RunTrace trace(*root, schedule);
  for (uint64_t step = 0; step < schedule.steps(); step += 37) {
    ASSERT_OK_AND_ASSIGN(const auto origins, trace.Resolve(step));
    for (const SampleOrigin& origin : origins) {
      ASSERT_OK_AND_ASSIGN(
          const auto found,
          trace.Find(origin.path, origin.item, step, step + 1));
      const Reading expected = {
          step,         origin.position,    origin.sample,
          origin.epoch, origin.token_begin, origin.token_end};
      ASSERT_NE(std::find(found.begin(), found.end(), expected), found.end())
          << origin.path << ' ' << origin.item << " of epoch " << origin.epoch;
    }
  }
}

}  // namespace
}  // namespace poniente
