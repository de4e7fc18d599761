// SPDX-License-Identifier: Apache-2.0
// A tree from which items are dropped while it is read, beside lists that are
// dealt out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "dataset/steering/steered_run.h"
#include "poniente/dataset_tree.h"
#include "poniente/flat_mixture.h"
#include "poniente/journal.h"
#include "poniente/mixture_dataset.h"
#include "poniente/schedule.h"
#include "poniente/score_order.h"
#include "poniente/transforms.h"
#include "tests/dataset/items_of_run.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/slow_permutation.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using ::testing::AllOf;
using testing::CountingWindows;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::ItemsOfRun;
using testing::kInvalid;
using testing::SlowChildSeed;
using testing::SlowComponentKey;
using testing::SlowEpochKey;
using testing::SlowPermutation;
using testing::StatusIs;

constexpr uint64_t kSeed = 42;
constexpr uint64_t kBlock = 16;
constexpr uint32_t kTokens = 4;

DatasetPtr<TokenWindow> Windows(uint64_t items) {
  return CountingWindows(items, kTokens);
}

// Leaves: web (0), code (1), small/a (2), small/b (3), mixed/x (4), mixed/y
// (5).
const std::vector<std::string> kPaths = {"web",     "code",    "small/a",
                                         "small/b", "mixed/x", "mixed/y"};
const std::vector<uint64_t> kItems = {150, 37, 20, 83, 25, 40};

DatasetPtr<TokenWindow> MakeRoot() {
  MixtureOptions nested;
  nested.block_size = 8;
  auto mixed = MixtureDataset<TokenWindow>::Create(
      {{.name = "x", .dataset = Windows(kItems[4])},
       {.name = "y", .dataset = Windows(kItems[5])}},
      nested);
  EXPECT_THAT(mixed, IsOk());
  auto small = FlatMixture<TokenWindow>::Create(
      {{"a", Windows(kItems[2])}, {"b", Windows(kItems[3])}});
  EXPECT_THAT(small, IsOk());
  MixtureOptions options;
  options.block_size = kBlock;
  options.seed = kSeed;
  auto root = MixtureDataset<TokenWindow>::Create(
      {{.name = "web", .dataset = Windows(kItems[0]), .weight = 0.4},
       {.name = "code", .dataset = Windows(kItems[1]), .weight = 0.2},
       {.name = "small", .dataset = *small, .weight = 0.3},
       {.name = "mixed", .dataset = *mixed, .weight = 0.1}},
      options);
  EXPECT_THAT(root, IsOk());
  return *std::move(root);
}

SteeredRun MakeRun() {
  ScheduleOptions options;
  options.steps = 1'000'000;
  options.batch_size = 1;
  options.seq_len = kTokens;
  auto schedule = Schedule::Create(options);
  EXPECT_THAT(schedule, IsOk());
  return {MakeRoot(), *std::move(schedule)};
}

JournalEntry DropAt(uint64_t sample, uint32_t leaf,
                    std::vector<uint64_t> items) {
  std::vector<NumberRange> ranges;
  for (const uint64_t item : items) ranges.push_back({item, item + 1});
  return {1, sample, 0, RunChange::DropItems(kPaths[leaf], std::move(ranges))};
}

// One finite component, as a list that is dealt out.
class SlowComponent {
 public:
  // `first_leaf`: of one leaf, or of a flat mixture's two.
  SlowComponent(std::string name, uint32_t first_leaf, bool is_flat)
      : name_(std::move(name)), is_flat_(is_flat) {
    for (uint32_t leaf = first_leaf; leaf < first_leaf + (is_flat ? 2 : 1);
         ++leaf) {
      for (uint64_t i = 0; i < kItems[leaf]; ++i) kept_.push_back({leaf, i});
    }
  }

  LeafPosition Next() {
    if (left_.empty()) BeginEpoch();
    const auto [leaf, item] = left_.front();
    left_.pop_front();
    return {leaf, {.index = item, .epoch = epochs_ - 1}};
  }

  void Drop(uint32_t leaf, const std::set<uint64_t>& items) {
    const auto is_dropped = [&](const std::pair<uint32_t, uint64_t>& one) {
      return one.first == leaf && items.contains(one.second);
    };
    std::erase_if(kept_, is_dropped);
    std::erase_if(left_, is_dropped);
  }

  size_t size() const { return kept_.size(); }

 private:
  void BeginEpoch() {
    const uint64_t key =
        is_flat_ ? SlowEpochKey(SlowChildSeed(kSeed, name_), "flat", epochs_)
                 : SlowComponentKey(kSeed, name_, epochs_);
    const std::vector<uint64_t> order = SlowPermutation(kept_.size(), key);
    for (const uint64_t place : order) left_.push_back(kept_[place]);
    ++epochs_;
  }

  const std::string name_;
  const bool is_flat_;
  std::vector<std::pair<uint32_t, uint64_t>> kept_;
  std::deque<std::pair<uint32_t, uint64_t>> left_;  // of the epoch
  uint64_t epochs_ = 0;                             // begun
};

// web, code, small.
std::vector<SlowComponent> SlowComponents() {
  std::vector<SlowComponent> slow;
  slow.emplace_back("web", 0, false);
  slow.emplace_back("code", 1, false);
  slow.emplace_back("small", 2, true);
  return slow;
}

size_t ComponentOf(uint32_t leaf) { return std::min<size_t>(leaf, 2); }

// The samples before `samples`, block by block, and in a block in the order of
// the draws of their components, which blocks shuffle. REQUIRES: `run` drops
// nothing.
std::vector<uint64_t> InOrderOfDraws(const std::vector<LeafPosition>& run) {
  std::vector<std::map<std::tuple<uint32_t, uint64_t, uint64_t>, size_t>> draws;
  for (SlowComponent& component : SlowComponents()) {
    auto& of_items = draws.emplace_back();
    for (size_t n = 0; n < run.size(); ++n) {
      const LeafPosition at = component.Next();
      of_items[{at.leaf, at.position.index, at.position.epoch}] = n;
    }
  }
  std::vector<uint64_t> samples(run.size());
  std::iota(samples.begin(), samples.end(), 0u);
  std::sort(samples.begin(), samples.end(), [&](uint64_t a, uint64_t b) {
    const auto key = [&](uint64_t sample) {
      const auto& [leaf, at] = run[sample];
      const size_t draw =
          leaf < 4 ? draws[ComponentOf(leaf)].at({leaf, at.index, at.epoch})
                   : 0;
      return std::tuple(sample / kBlock, draw, sample);
    };
    return key(a) < key(b);
  });
  return samples;
}

TEST(DroppedItemsTest, TheRestOfTheEpochGoesOnWithoutThem) {
  constexpr uint64_t kSamples = 156 * kBlock;
  std::mt19937_64 random(testing::TestSeed(1));
  // Which component a sample is of does not change, nor which of its draws.
  const std::vector<LeafPosition> before = ItemsOfRun(*MakeRoot(), kSamples);
  const std::vector<uint64_t> in_order = InOrderOfDraws(before);
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(round);
    std::map<uint64_t, std::vector<JournalEntry>> at;  // by block
    std::vector<JournalEntry> entries;
    const size_t changes = 1 + random() % 8;
    std::vector<uint64_t> samples;
    for (size_t i = 0; i < changes; ++i) {
      samples.push_back(kBlock * (1 + random() % (kSamples / 2 / kBlock)));
    }
    std::sort(samples.begin(), samples.end());
    std::vector<SlowComponent> slow = SlowComponents();
    for (const uint64_t sample : samples) {
      const auto leaf = static_cast<uint32_t>(random() % 4);
      std::vector<uint64_t> items;
      const uint64_t rarity = 3 + random() % 20;
      for (uint64_t i = 0; i < kItems[leaf]; ++i) {
        if (random() % rarity == 0) items.push_back(i);
      }
      if (items.empty()) items.push_back(random() % kItems[leaf]);
      entries.push_back(DropAt(sample, leaf, items));
      entries.back().number = entries.size();
      at[sample].push_back(entries.back());
    }
    std::vector<LeafPosition> expected(kSamples);
    uint64_t block = UINT64_MAX;
    for (const uint64_t k : in_order) {
      const bool begins = k / kBlock != block;
      block = k / kBlock;
      for (const JournalEntry& entry :
           begins ? at[block * kBlock] : std::vector<JournalEntry>()) {
        const auto leaf = static_cast<uint32_t>(
            std::find(kPaths.begin(), kPaths.end(), entry.change.path) -
            kPaths.begin());
        std::set<uint64_t> items;
        for (const NumberRange& range : entry.change.dropped) {
          for (uint64_t i = range.begin; i < range.end; ++i) items.insert(i);
        }
        slow[ComponentOf(leaf)].Drop(leaf, items);
      }
      const uint32_t leaf = before[k].leaf;
      expected[k] = leaf < 4 ? slow[ComponentOf(leaf)].Next() : before[k];
    }
    if (slow[0].size() * slow[1].size() * slow[2].size() == 0) continue;

    auto run = Steered(MakeRun(), entries);
    ASSERT_THAT(run, IsOk());
    const std::vector<LeafPosition> got = ItemsOfRun(*run->dataset, kSamples);
    for (uint64_t k = 0; k < kSamples; ++k) {
      ASSERT_EQ(got[k], expected[k]) << "sample " << k;
    }
    // One by one, they are the same.
    SteeredRun steered = MakeRun();
    for (const JournalEntry& entry : entries) {
      auto next = Steered(std::move(steered), std::span(&entry, 1));
      ASSERT_THAT(next, IsOk());
      steered = *std::move(next);
    }
    ASSERT_EQ(ItemsOfRun(*steered.dataset, kSamples), got);
    // And back.
    const DatasetTree tree(*run->dataset);
    ASSERT_EQ(tree.leaves().size(), kPaths.size());
    for (uint64_t k = 0; k < kSamples; ++k) {
      const auto found = tree.Find(got[k]);
      ASSERT_THAT(found, IsOk());
      ASSERT_TRUE(found->has_value()) << "sample " << k;
      ASSERT_EQ((*found)->index, k);
    }
  }
}

TEST(DroppedItemsTest, ANestedMixtureServesThemNoMoreAndAllOthersOnce) {
  const uint64_t samples = 12'000;
  const std::vector<LeafPosition> before = ItemsOfRun(*MakeRoot(), samples);
  auto run = Steered(MakeRun(), std::vector{DropAt(640, 5, {3, 9, 10, 11})});
  ASSERT_THAT(run, IsOk());
  const std::vector<LeafPosition> after = ItemsOfRun(*run->dataset, samples);
  std::map<uint64_t, std::multiset<uint64_t>> epochs;
  bool has_changed = false;
  for (uint64_t k = 0; k < samples; ++k) {
    if (after[k].leaf != 5) {
      ASSERT_EQ(after[k], before[k]);
      continue;
    }
    if (k < 640) {
      ASSERT_EQ(after[k], before[k]);
    }
    const Position& at = after[k].position;
    has_changed |= at != before[k].position;
    if (at.epoch > 1) {
      ASSERT_TRUE(at.index != 3 && (at.index < 9 || at.index > 11)) << k;
    }
    ASSERT_TRUE(epochs[at.epoch].insert(at.index) != epochs[at.epoch].end());
    ASSERT_EQ(epochs[at.epoch].count(at.index), 1u);
  }
  EXPECT_TRUE(has_changed);
  epochs.erase(std::prev(epochs.end()));
  ASSERT_GE(epochs.size(), 5u);
  for (const auto& [epoch, items] : epochs) {
    if (epoch > 1) {
      ASSERT_EQ(items.size(), kItems[5] - 4) << epoch;
    }
  }
}

TEST(DroppedItemsTest, WeightsAndLaterDropsGoTogether) {
  std::vector<JournalEntry> entries = {
      DropAt(160, 0, {1, 2, 3}), {2, 320, 0, RunChange::Weights({{"web", 3}})},
      DropAt(480, 0, {7, 8}),    {4, 480, 0, RunChange::Temperature(2)},
      DropAt(480, 3, {0, 1}),
  };
  for (size_t i = 0; i < entries.size(); ++i) entries[i].number = i + 1;
  auto run = Steered(MakeRun(), entries);
  ASSERT_THAT(run, IsOk());
  const std::vector<LeafPosition> got = ItemsOfRun(*run->dataset, 3000);
  for (uint64_t k = 480; k < 3000; ++k) {
    const uint64_t item = got[k].position.index;
    if (got[k].leaf == 0) {
      ASSERT_TRUE(item != 1 && item != 2 && item != 3 && item != 7 && item != 8)
          << k;
    }
    if (got[k].leaf == 3) {
      ASSERT_GT(item, 1u) << k;
    }
  }
}

TEST(DroppedItemsTest, FromTheFirstSampleOnWhereNothingWasServed) {
  // Also of a nested mixture of which nothing has been served.
  auto run = Steered(
      MakeRun(),
      std::vector{DropAt(0, 0, {3}), DropAt(0, 4, {7}), DropAt(32, 0, {9})});
  ASSERT_THAT(run, IsOk());
  const std::vector<LeafPosition> got = ItemsOfRun(*run->dataset, 3000);
  for (uint64_t k = 0; k < got.size(); ++k) {
    const uint64_t item = got[k].position.index;
    ASSERT_FALSE(got[k].leaf == 0 && item == 3) << k;
    ASSERT_FALSE(got[k].leaf == 4 && item == 7) << k;
    ASSERT_FALSE(k >= 32 && got[k].leaf == 0 && item == 9) << k;
  }
}

TEST(DroppedItemsTest, ErrorsNameTheSourceAndTheRemedy) {
  const auto error = [](const JournalEntry& entry) {
    return Steered(MakeRun(), std::vector{entry}).status();
  };
  JournalEntry entry = DropAt(160, 0, {5});
  entry.change.path = "wep";
  EXPECT_THAT(error(entry), StatusIs(kInvalid, HasSubstr("mean 'web'")));
  entry.change.path = "small/c";
  EXPECT_THAT(error(entry), StatusIs(kInvalid, HasSubstr("no source 'c'")));
  entry.change.path = "small";
  EXPECT_THAT(error(entry), StatusIs(kInvalid, HasSubstr("such as 'a'")));
  entry.change.path = "mixed";
  EXPECT_THAT(error(entry), StatusIs(kInvalid, HasSubstr("is a mixture")));
  EXPECT_THAT(error(DropAt(160, 0, {150})),
              StatusIs(kInvalid, HasSubstr("no item 150, only 150 items")));
  EXPECT_THAT(error(DropAt(161, 0, {5})),
              StatusIs(kInvalid, HasSubstr("not the first of a block")));
  entry.change.path = "web/";
  EXPECT_THAT(error(entry), StatusIs(kInvalid, HasSubstr("an empty name")));
  for (const uint64_t sample :
       {uint64_t{1} << 62, UINT64_MAX - 63, UINT64_MAX}) {
    EXPECT_THAT(error(DropAt(sample, 0, {5})),
                StatusIs(kInvalid, HasSubstr("samples are below")));
    EXPECT_THAT(error(DropAt(sample, 4, {5})),
                StatusIs(kInvalid, HasSubstr("samples are below")));
  }
  std::vector<uint64_t> all(kItems[1]);
  for (uint64_t i = 0; i < all.size(); ++i) all[i] = i;
  EXPECT_THAT(error(DropAt(160, 1, all)),
              StatusIs(kInvalid, HasSubstr("retire the component")));
  JournalEntry documents = DropAt(160, 0, {5});
  documents.change.drops_items = false;
  EXPECT_THAT(error(documents), StatusIs(kInvalid, HasSubstr("drop items")));
}

TEST(DroppedItemsTest, NodesThatNumberTheirItemsAreRefusedByName) {
  const auto error = [](DatasetPtr<TokenWindow> component) {
    MixtureOptions options;
    options.block_size = kBlock;
    auto root = MixtureDataset<TokenWindow>::Create(
        {{.name = "web", .dataset = std::move(component)}}, options);
    EXPECT_THAT(root, IsOk());
    SteeredRun run = {*root, MakeRun().schedule};
    return Steered(std::move(run), std::vector{DropAt(160, 0, {5})}).status();
  };
  EXPECT_THAT(error(*Repeat(Windows(20), 2)),
              StatusIs(kInvalid, HasSubstr("'repeat' lies above it")));
  EXPECT_THAT(error(*Take(*Shuffle(Windows(20)), 10)),
              StatusIs(kInvalid, HasSubstr("'take' lies above it")));
  std::vector<float> scores(20);
  std::iota(scores.begin(), scores.end(), 0.0f);
  const ScoreOrder order = *ScoreOrder::FromScores(std::span(scores));
  EXPECT_THAT(error(*Order(Windows(20), order, {.buckets = 2})),
              StatusIs(kInvalid, HasSubstr("orders by score without buckets")));
  EXPECT_THAT(error(*Order(Windows(20), order)), IsOk());
  EXPECT_THAT(error(*Take(*Order(Windows(20), order), 10)), IsOk());
  EXPECT_THAT(error(*Take(*Order(Windows(20), order, {.buckets = 2}), 10)),
              StatusIs(kInvalid, HasSubstr("'take' lies above it")));
  EXPECT_THAT(error(*Shuffle(Windows(20))), IsOk());
  EXPECT_THAT(error(*Take(Windows(20), 10)), IsOk());
}

TEST(DroppedItemsTest, ACurriculumGoesOnWithoutThem) {
  std::vector<float> scores(20);
  for (size_t i = 0; i < scores.size(); ++i) {
    scores[i] = static_cast<float>(i % 7);
  }
  MixtureOptions options;
  options.block_size = 1;
  auto root = MixtureDataset<TokenWindow>::Create(
      {{.name = "web",
        .dataset =
            *Order(Windows(20), *ScoreOrder::FromScores(std::span(scores)))}},
      options);
  ASSERT_THAT(root, IsOk());
  auto run = Steered({*root, MakeRun().schedule},
                     std::vector{DropAt(8, 0, {5, 6, 13})});
  ASSERT_THAT(run, IsOk());
  std::vector<uint64_t> expected;
  for (const LeafPosition& at : ItemsOfRun(**root, 40)) {
    const uint64_t item = at.position.index;
    const bool is_late = expected.size() >= 8;
    if (is_late && (item == 5 || item == 6 || item == 13)) continue;
    expected.push_back(item);
  }
  std::vector<uint64_t> got;
  for (const LeafPosition& at : ItemsOfRun(*run->dataset, expected.size())) {
    got.push_back(at.position.index);
  }
  EXPECT_EQ(got, expected);
}

}  // namespace
}  // namespace poniente::internal
