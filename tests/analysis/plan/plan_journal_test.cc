// SPDX-License-Identifier: Apache-2.0
// Plans of runs that changes of a journal have changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dataset/steering/steered_run.h"
#include "poniente/dataset_tree.h"
#include "poniente/journal.h"
#include "poniente/mixture_dataset.h"
#include "poniente/plan.h"
#include "poniente/schedule.h"
#include "poniente/token_source.h"
#include "poniente/transforms.h"
#include "tests/support/status_matchers.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using Tokens = DatasetPtr<TokenWindow>;

constexpr uint64_t kBlock = 16;
constexpr uint32_t kLength = 8;
constexpr uint64_t kBatch = 8;

Tokens Windows(uint64_t windows) {
  return DeclaredWindows("declared", windows * kLength, kLength).value();
}

ScheduleOptions RunOf(uint64_t steps) {
  ScheduleOptions options;
  options.steps = steps;
  options.batch_size = kBatch;
  options.seq_len = kLength;
  options.mixture.block_size = kBlock;
  options.components = {{"code", 1}, {"web", 1}};
  return options;
}

absl::StatusOr<SteeredRun> Changed(const ScheduleOptions& options, Tokens code,
                                   const std::vector<JournalEntry>& entries) {
  PONIENTE_ASSIGN_OR_RETURN(Schedule schedule, Schedule::Create(options));
  PONIENTE_ASSIGN_OR_RETURN(
      Tokens root, MixtureDataset<TokenWindow>::Create(
                       {{"code", std::move(code), 1}, {"web", Windows(500), 1}},
                       schedule.mixture_options()));
  return Steered({std::move(root), std::move(schedule)}, entries, nullptr);
}

absl::StatusOr<PlannedRun> PlanOf(const SteeredRun& run) {
  return MakePlan(*run.dataset, run.schedule, {}, LastBatch::kKeep,
                  std::nullopt);
}

// Drops ten of each eleven of the first 110 items.
RunChange DropMost(const std::string& path) {
  std::vector<NumberRange> ranges;
  for (uint64_t item = 0; item < 110; ++item) {
    if (item % 11 != 0) ranges.push_back({item, item + 1});
  }
  return RunChange::DropItems(path, std::move(ranges));
}

// Returns the epochs of a leaf that the first `end` samples read: all before
// the last one as whole ones, and the share of the last one's `length` items.
// REQUIRES: the samples are whole blocks.
double EpochsRead(const Tokens& root, uint32_t leaf, uint64_t end,
                  uint64_t length) {
  std::vector<Position> positions;
  for (uint64_t i = 0; i < end; ++i) positions.push_back({.index = i});
  std::vector<LeafPosition> items(end);
  EXPECT_THAT(DatasetTree(*root).Resolve(positions, items), testing::IsOk());
  std::vector<uint64_t> of_epoch;
  for (const LeafPosition& item : items) {
    if (item.leaf != leaf) continue;
    of_epoch.resize(std::max(of_epoch.size(), item.position.epoch + 1));
    ++of_epoch[item.position.epoch];
  }
  return static_cast<double>(of_epoch.size() - 1) +
         static_cast<double>(of_epoch.back()) / static_cast<double>(length);
}

// Up to 32768 samples, a plan looks up each of them.
TEST(PlanJournalTest, CountsTheEpochsThatAreReadAfterADrop) {
  for (const uint64_t steps : {100, 6000}) {
    for (const uint64_t sample : {0, 48, 320}) {
      SCOPED_TRACE(::testing::Message()
                   << steps << " steps, sample " << sample);
      ScheduleOptions options = RunOf(steps);
      options.stages = {{.start = RunPoint::Step(80)}};
      ASSERT_OK_AND_ASSIGN(
          const SteeredRun run,
          Changed(options, Windows(110), {{1, sample, 0, DropMost("code")}}));
      ASSERT_OK_AND_ASSIGN(const PlannedRun plan, PlanOf(run));
      const PlannedRunSource& code = plan.sources[0];
      EXPECT_EQ(code.path, "code");
      EXPECT_EQ(code.length, 10u);
      EXPECT_TRUE(code.is_over_repeated);
      const double before = EpochsRead(run.dataset, 0, 80 * kBatch, 10);
      const double all = EpochsRead(run.dataset, 0, steps * kBatch, 10);
      EXPECT_NEAR(*code.epochs, all, 1e-9);
      EXPECT_NEAR(code.stage_epochs[0], before, 1e-9);
      EXPECT_NEAR(code.stage_epochs[1], all - before, 1e-9);
    }
  }
}

// A concatenation is dropped from as a whole: its parts are read as often.
TEST(PlanJournalTest, PartsOfWhatIsDroppedFromHaveItsEpochs) {
  ASSERT_OK_AND_ASSIGN(const Tokens parts,
                       Concat(std::vector<NamedDataset<TokenWindow>>{
                           {"p", Windows(110)}, {"q", Windows(20)}}));
  ASSERT_OK_AND_ASSIGN(
      const SteeredRun run,
      Changed(RunOf(150), parts, {{1, 0, 0, DropMost("code/p")}}));
  ASSERT_OK_AND_ASSIGN(const PlannedRun plan, PlanOf(run));
  ASSERT_EQ(plan.sources.size(), 4u);
  EXPECT_EQ(plan.sources[1].path, "code/p");
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(*plan.sources[i].epochs, 600.0 / 30, 1e-9) << i;
  }
}

// The length of an epoch is that at the end of the run.
TEST(PlanJournalTest, AnEpochThatTheRunDoesNotReachIsNotShown) {
  ASSERT_OK_AND_ASSIGN(
      const SteeredRun run,
      Changed(RunOf(20), Windows(110), {{1, 320, 0, DropMost("code")}}));
  ASSERT_OK_AND_ASSIGN(const PlannedRun plan, PlanOf(run));
  EXPECT_EQ(plan.sources[0].length, 110u);
  EXPECT_NEAR(*plan.sources[0].epochs, 80.0 / 110, 1e-9);
}

// Returns the step at which the ramp of the second stage ends.
std::optional<uint64_t> RampEndStep(const std::vector<JournalEntry>& entries) {
  ScheduleOptions options = RunOf(100);
  options.stages = {{.start = RunPoint::Step(50),
                     .weights = {{"code", 5}},
                     .ramp = RunPoint::Step(20)}};
  const auto run = Changed(options, Windows(110), entries);
  EXPECT_THAT(run, testing::IsOk());
  const auto plan = PlanOf(*run);
  EXPECT_THAT(plan, testing::IsOk());
  EXPECT_EQ(plan->stages.size(), 2u);
  return plan->stages[1].ramp_end_step;
}

TEST(PlanJournalTest, AChangeEndsARamp) {
  EXPECT_EQ(RampEndStep({}), 70u);
  const RunChange weights = RunChange::Weights({{"web", 3}});
  const RunChange drop = RunChange::DropItems("web", {{0, 3}});
  EXPECT_EQ(RampEndStep({{1, 400 + 4 * kBlock, 0, weights}}), 58u);
  EXPECT_EQ(RampEndStep({{1, 400 + 2 * kBlock, 0, weights},
                         {2, 400 + 4 * kBlock, 0, weights}}),
            54u);
  // It holds from the stage's first sample on: the ramp does not begin.
  EXPECT_EQ(RampEndStep({{1, 400, 0, weights}}), std::nullopt);
  EXPECT_EQ(RampEndStep({{1, 400 - kBlock, 0, weights}}), 70u);
  EXPECT_EQ(RampEndStep({{1, 400 + 10 * kBlock, 0, weights}}), 70u);
}

}  // namespace
}  // namespace poniente::internal
