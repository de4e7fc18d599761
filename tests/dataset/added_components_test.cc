// SPDX-License-Identifier: Apache-2.0
// A mixture that gets components while it is read, beside one that had them
// from the beginning and did not draw them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "dataset/steering/steered_run.h"
#include "poniente/dataset_tree.h"
#include "poniente/extend/opened_component.h"
#include "poniente/journal.h"
#include "poniente/mixture_dataset.h"
#include "poniente/schedule.h"
#include "tests/dataset/items_of_run.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using ::testing::AllOf;
using testing::CountingWindows;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::ItemsOfRun;
using testing::kInvalid;
using testing::StatusIs;

constexpr uint32_t kAddedTokens = 4;
constexpr uint64_t kAddedSamples = 3000;

struct Added {
  std::string path;  // of the mixture
  std::string name;
  double weight;
  uint64_t items;
  uint64_t sample;
};

// A run of the components a, b and mixed/x, mixed/y, whose root has two stages,
// or the same run with everything that a journal adds in it from the beginning.
struct Described {
  uint64_t block = 16;
  WeightRule rule = WeightRule::kProportions;
  uint64_t stage = 1000;
  std::vector<Added> added = {};

  // What a component of no weight has.
  double none() const { return rule == WeightRule::kScores ? -INFINITY : 0; }

  SteeredRun Make(bool with_added) const {
    MixtureOptions nested;
    nested.block_size = 8;
    std::vector<MixtureComponent<TokenWindow>> below = {
        {.name = "x", .dataset = CountingWindows(25, kAddedTokens)},
        {.name = "y",
         .dataset = CountingWindows(40, kAddedTokens),
         .weight = 2}};
    MixtureOptions options;
    options.block_size = block;
    options.weight_rule = rule;
    options.seed = 42;
    options.stages = {{.start = stage, .weights = {{"a", 0.1}, {"b", 0.6}}}};
    std::vector<MixtureComponent<TokenWindow>> components = {
        {.name = "a",
         .dataset = CountingWindows(150, kAddedTokens),
         .weight = 0.5},
        {.name = "b",
         .dataset = CountingWindows(37, kAddedTokens),
         .weight = 0.3}};
    for (const Added& one : added) {
      if (!with_added) break;
      MixtureComponent<TokenWindow> component = {
          .name = one.name,
          .dataset = CountingWindows(one.items, kAddedTokens),
          .weight = one.path.empty() ? none() : 0};
      if (one.path.empty()) {
        components.push_back(component);
        // Its weight is its own in the stages behind the change.
        if (one.sample < stage) {
          options.stages[0].weights[one.name] = one.weight;
        }
      } else {
        below.push_back(component);
      }
    }
    auto mixed = MixtureDataset<TokenWindow>::Create(below, nested);
    EXPECT_THAT(mixed, IsOk());
    components.push_back({.name = "mixed", .dataset = *mixed, .weight = 0.2});
    auto root = MixtureDataset<TokenWindow>::Create(components, options);
    EXPECT_THAT(root, IsOk());
    ScheduleOptions run;
    run.batch_size = 8;
    run.seq_len = kAddedTokens;
    run.steps = kAddedSamples / 8;
    return {*root, *Schedule::Create(run)};
  }

  absl::StatusOr<OpenedComponent> Open(const std::string& mixture,
                                       const ComponentText& text) const {
    for (const Added& one : added) {
      if (one.path != mixture || one.name != text.name) continue;
      OpenedComponent opened;
      opened.part.component = {
          .name = one.name,
          .dataset = CountingWindows(one.items, kAddedTokens),
          .weight = one.weight};
      return opened;
    }
    return absl::NotFoundError("no such component");
  }
};

RunChange AddOf(const Added& one) {
  RunChange change = RunChange::Add(one.name, "{}");
  change.path = one.path;
  return change;
}

RunChange WeightsIn(const std::string& path,
                    std::map<std::string, double> weights) {
  RunChange change = RunChange::Weights(std::move(weights));
  change.path = path;
  return change;
}

// A random run, its journal, and the journal that says the same of the run that
// has all components from the beginning.
struct RandomJournal {
  explicit RandomJournal(std::mt19937_64* random) {
    std::mt19937_64& draw = *random;
    described.block = 1 + draw() % 40;
    described.stage = 200 + draw() % 2000;
    if (draw() % 4 == 0) described.rule = WeightRule::kScores;
    std::vector<std::string> known[2] = {{"a", "b", "mixed"}, {"x", "y"}};
    const std::string paths[2] = {"", "mixed"};
    uint64_t sample = 0;
    const uint64_t count = 1 + draw() % 8;
    for (uint64_t i = 0; i < count; ++i) {
      sample += draw() % 600;
      const size_t where = draw() % 3 == 0 ? 1 : 0;
      const auto weight = [&] {
        return static_cast<double>(1 + draw() % 9) / 10;
      };
      JournalEntry entry;
      entry.number = i + 1;
      // The place where it can hold, in the run with the changes so far.
      const SteeredRun so_far = Steer(false);
      RunChange twin;
      if (draw() % 2 == 0) {
        // Names before, between and behind those that are there.
        Added one = {paths[where],
                     absl::StrCat(std::string(1, "0apz"[draw() % 4]), i),
                     weight(), 1 + draw() % 90, 0};
        entry.change = AddOf(one);
        entry.sample =
            EarliestChange(*so_far.dataset, entry.change, sample + 1);
        one.sample = entry.sample;
        described.added.push_back(one);
        known[where].push_back(one.name);
        twin = WeightsIn(one.path, {{one.name, one.weight}});
      } else {
        entry.change =
            WeightsIn(paths[where],
                      {{known[where][draw() % known[where].size()], weight()}});
        entry.sample =
            EarliestChange(*so_far.dataset, entry.change, sample + 1);
        twin = entry.change;
      }
      sample = entry.sample;
      entries.push_back(entry);
      twins.push_back(entry);
      twins.back().change = twin;
    }
  }

  SteeredRun Steer(bool is_twin) const {
    auto run =
        Steered(described.Make(is_twin), is_twin ? twins : entries,
                [this](const std::string& mixture, const ComponentText& text) {
                  return described.Open(mixture, text);
                });
    EXPECT_THAT(run, IsOk());
    return *std::move(run);
  }

  Described described;
  std::vector<JournalEntry> entries;
  std::vector<JournalEntry> twins;
};

TEST(AddedComponentsTest, RandomJournalsServeWhatARunWithAllOfThemServes) {
  std::mt19937_64 random(testing::TestSeed(91));
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(absl::StrCat("round ", round));
    const RandomJournal journal(&random);
    const SteeredRun run = journal.Steer(false);
    const SteeredRun twin = journal.Steer(true);
    const DatasetTree tree(*run.dataset);
    const DatasetTree twin_tree(*twin.dataset);
    const std::vector<LeafPosition> items = ItemsOfRun(tree, kAddedSamples);
    const std::vector<LeafPosition> expected =
        ItemsOfRun(twin_tree, kAddedSamples);
    for (uint64_t s = 0; s < kAddedSamples; ++s) {
      ASSERT_EQ(tree.leaves()[items[s].leaf].path,
                twin_tree.leaves()[expected[s].leaf].path)
          << "sample " << s;
      ASSERT_EQ(items[s].position, expected[s].position) << "sample " << s;
      auto found = tree.Find(items[s]);
      ASSERT_THAT(found, IsOk());
      ASSERT_TRUE(found->has_value());
      ASSERT_EQ((*found)->index, s);
    }
    // Sources keep their numbers, and what is added comes last, in order.
    const SteeredRun before = journal.described.Make(false);
    const DatasetTree first(*before.dataset);
    std::vector<std::string> paths;
    for (const TreeLeaf& leaf : first.leaves()) paths.push_back(leaf.path);
    for (const Added& one : journal.described.added) {
      paths.push_back(one.path.empty() ? one.name : "mixed/" + one.name);
    }
    std::vector<std::string> has;
    for (const TreeLeaf& leaf : tree.leaves()) has.push_back(leaf.path);
    EXPECT_EQ(has, paths);
    EXPECT_EQ(run.dataset->fingerprint(), before.dataset->fingerprint());
  }
}

TEST(AddedComponentsTest, OneByOneOrAllAtOnceIsTheSame) {
  std::mt19937_64 random(testing::TestSeed(92));
  for (int round = 0; round < 10; ++round) {
    const RandomJournal journal(&random);
    SteeredRun run = journal.described.Make(false);
    for (const JournalEntry& entry : journal.entries) {
      auto next =
          Steered(std::move(run), std::span(&entry, 1),
                  [&](const std::string& mixture, const ComponentText& text) {
                    return journal.described.Open(mixture, text);
                  });
      ASSERT_THAT(next, IsOk());
      run = *std::move(next);
    }
    const SteeredRun at_once = journal.Steer(false);
    EXPECT_EQ(ItemsOfRun(*run.dataset, kAddedSamples),
              ItemsOfRun(*at_once.dataset, kAddedSamples));
  }
}

TEST(AddedComponentsTest, ScheduleAndMixtureHaveTheSameShares) {
  ScheduleOptions options;
  options.batch_size = 8;
  options.seq_len = kAddedTokens;
  options.steps = 300;
  options.components = {{"a", 3, 150}, {"b", 1, 50}};
  options.mixture.block_size = 16;
  options.mixture.weight_rule = WeightRule::kSizeProportional;
  auto schedule = Schedule::Create(options);
  ASSERT_THAT(schedule, IsOk());
  auto root = MixtureDataset<TokenWindow>::Create(
      {{.name = "a",
        .dataset = CountingWindows(150, kAddedTokens),
        .weight = 3},
       {.name = "b",
        .dataset = CountingWindows(50, kAddedTokens),
        .weight = 1}},
      schedule->mixture_options());
  ASSERT_THAT(root, IsOk());
  JournalEntry entry = {1, 160, 20, RunChange::Add("aa", "{}")};
  auto run = Steered({*root, *schedule}, std::span(&entry, 1),
                     [](const std::string&, const ComponentText&) {
                       OpenedComponent opened;
                       opened.part.component = {
                           .name = "aa",
                           .dataset = CountingWindows(100, kAddedTokens),
                           .weight = 5};
                       return opened;
                     });
  ASSERT_THAT(run, IsOk());
  // 3 * 150, 5 * 100 and 1 * 50 of 1000.
  EXPECT_THAT(run->schedule.At(20).weights,
              ElementsAre(::testing::DoubleNear(0.45, 1e-9),
                          ::testing::DoubleNear(0.5, 1e-9),
                          ::testing::DoubleNear(0.05, 1e-9)));
  EXPECT_THAT(run->schedule.At(19).weights,
              ElementsAre(::testing::DoubleNear(0.9, 1e-9), 0,
                          ::testing::DoubleNear(0.1, 1e-9)));
  const auto& mixture =
      dynamic_cast<const MixtureDataset<TokenWindow>&>(*run->dataset);
  EXPECT_EQ(mixture.plan()->PrefixHash(7, 2400),
            run->schedule.mixture()->PrefixHash(7, 2400));
}

TEST(AddedComponentsTest, WhatCannotBeAddedIsRefused) {
  Described described;
  described.added = {{"", "new", 0.5, 10, 0}};
  const auto error = [&](const RunChange& change, uint64_t sample,
                         const ComponentOpener& open) {
    JournalEntry entry = {1, sample, 5, change};
    return Steered(described.Make(false), std::span(&entry, 1), open).status();
  };
  const ComponentOpener open = [&](const std::string& mixture,
                                   const ComponentText& text) {
    return described.Open(mixture, text);
  };
  const RunChange add = AddOf(described.added[0]);
  EXPECT_THAT(error(add, 160, open), IsOk());
  EXPECT_THAT(error(add, 160, nullptr),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("change 1 at sample 160"),
                             HasSubstr("component_opener"))));
  RunChange other = add;
  other.added[0].fingerprint = 77;
  EXPECT_THAT(error(other, 160, open),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("other data now"),
                             HasSubstr("000000000000004d"))));
  described.added[0].name = "a";
  EXPECT_THAT(
      error(AddOf(described.added[0]), 160, open),
      StatusIs(kInvalid, HasSubstr("there is a component 'a' already")));
  described.added[0] = {"a", "new", 0.5, 10, 0};
  EXPECT_THAT(error(AddOf(described.added[0]), 160, open),
              StatusIs(kInvalid, HasSubstr("'a' is no mixture")));
  described.added[0] = {"", "new", 0.5, 0, 0};
  EXPECT_THAT(error(AddOf(described.added[0]), 160, open),
              StatusIs(kInvalid, HasSubstr("'new' is empty")));
  described.added[0] = {"", "new", -1, 5, 0};
  EXPECT_THAT(error(AddOf(described.added[0]), 160, open),
              StatusIs(kInvalid, HasSubstr("-1")));
}

}  // namespace
}  // namespace poniente::internal
