// SPDX-License-Identifier: Apache-2.0
// A mixture in which parts take the place of a component while it is read,
// beside lists that are dealt out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "dataset/steering/steered_run.h"
#include "poniente/dataset_tree.h"
#include "poniente/extend/opened_component.h"
#include "poniente/journal.h"
#include "poniente/mixture_dataset.h"
#include "poniente/schedule.h"
#include "poniente/selection.h"
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
using testing::SlowComponentKey;
using testing::SlowPermutation;
using testing::StatusIs;

constexpr uint64_t kSplitSeed = 42;
constexpr uint32_t kSplitTokens = 4;
constexpr uint64_t kWebItems = 300;

// Which items of the store each component has.
using Parts = std::map<std::string, std::vector<uint64_t>>;

struct SplitRun {
  Parts parts;
  uint64_t block = 16;

  DatasetPtr<TokenWindow> Dataset(const std::string& name) const {
    auto windows = CountingWindows(kWebItems, kSplitTokens);
    auto selection = Selection::FromIndices(kWebItems, parts.at(name));
    EXPECT_THAT(selection, IsOk());
    auto filtered = Filter(std::move(windows), *std::move(selection));
    EXPECT_THAT(filtered, IsOk());
    return *std::move(filtered);
  }

  SteeredRun Begin() const {
    MixtureOptions options;
    options.block_size = block;
    options.seed = kSplitSeed;
    auto root = MixtureDataset<TokenWindow>::Create(
        {{.name = "web", .dataset = Dataset("web"), .weight = 0.7},
         {.name = "code",
          .dataset = CountingWindows(41, kSplitTokens, 5),
          .weight = 0.3}},
        options);
    EXPECT_THAT(root, IsOk());
    ScheduleOptions run;
    run.batch_size = 8;
    run.seq_len = kSplitTokens;
    run.steps = 400;
    return {*root, *Schedule::Create(run)};
  }

  absl::StatusOr<SteeredRun> Steer(
      SteeredRun run, std::span<const JournalEntry> entries) const {
    return Steered(
        std::move(run), entries,
        [this](const std::string&,
               const ComponentText& text) -> absl::StatusOr<OpenedComponent> {
          OpenedComponent opened;
          opened.part.component = {
              .name = text.name, .dataset = Dataset(text.name), .weight = 0.3};
          return opened;
        });
  }
};

RunChange SplitInto(const std::string& whole,
                    const std::vector<std::string>& parts) {
  std::vector<ComponentText> texts;
  for (const std::string& part : parts) texts.push_back({part, "{}"});
  return RunChange::Split(whole, std::move(texts));
}

// A component as a list that is dealt out.
struct SlowPart {
  std::string name;
  std::vector<uint64_t> kept;  // ascending
  std::deque<uint64_t> left = {};
  uint64_t epochs = 0;          // begun
  std::set<uint64_t> out = {};  // read of the epoch, or left out of it

  void BeginEpoch() {
    out.clear();
    for (const uint64_t place : SlowPermutation(
             kept.size(), SlowComponentKey(kSplitSeed, name, epochs))) {
      left.push_back(kept[place]);
    }
    ++epochs;
  }
  std::pair<uint64_t, uint64_t> Next() {  // item, epoch
    if (left.empty()) BeginEpoch();
    const uint64_t item = left.front();
    left.pop_front();
    out.insert(item);
    return {item, epochs - 1};
  }
  void Drop(const std::set<uint64_t>& items) {
    const auto is_dropped = [&](uint64_t item) { return items.contains(item); };
    std::erase_if(kept, is_dropped);
    std::erase_if(left, is_dropped);
  }
  SlowPart Part(std::string part, const std::vector<uint64_t>& items) const {
    SlowPart made = {std::move(part), {}};
    for (const uint64_t item : items) {
      if (std::find(kept.begin(), kept.end(), item) != kept.end()) {
        made.kept.push_back(item);
      }
    }
    const auto is_out = [&](uint64_t item) { return out.contains(item); };
    // Between two epochs, or nothing of it has been read.
    if (left.empty() ||
        std::none_of(made.kept.begin(), made.kept.end(), is_out))
      return made;
    made.BeginEpoch();
    made.out = out;
    std::erase_if(made.left, is_out);
    if (!made.left.empty()) return made;
    return {made.name, made.kept};  // all of it has been read
  }
};

TEST(SplitComponentTest, PartsGoOnWhereTheWholeWas) {
  std::mt19937_64 random(testing::TestSeed(93));
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(absl::StrCat("round ", round));
    SplitRun run;
    run.block = 1 + random() % 30;
    for (uint64_t i = 0; i < kWebItems; ++i) {
      if (random() % 4 != 0) run.parts["web"].push_back(i);
    }
    // Splits of what is there, and items that are dropped from it.
    SteeredRun steered = run.Begin();
    std::vector<JournalEntry> entries;
    std::vector<std::string> names = {"web"};
    uint64_t sample = 0;
    const uint64_t changes = 1 + random() % 6;
    for (uint64_t i = 0; i < changes; ++i) {
      sample += random() % 2 * (random() % 500);
      const size_t which = random() % names.size();
      const std::string name = names[which];
      JournalEntry entry;
      entry.number = entries.size() + 1;
      if (random() % 2 == 0) {
        std::vector<NumberRange> items;
        for (const uint64_t item : run.parts[name]) {
          if (random() % 20 == 0) items.push_back({item, item + 1});
        }
        if (items.empty()) continue;
        entry.change = RunChange::DropItems(name, std::move(items));
      } else {
        std::vector<std::string> parts;
        for (uint64_t p = 0; p < 2 + random() % 2; ++p) {
          parts.push_back(absl::StrCat(name, p));
          run.parts[parts.back()].clear();
        }
        for (const uint64_t item : run.parts[name]) {
          // Some are of no part any more.
          const uint64_t part = random() % (parts.size() * 8 + 1) / 8;
          if (part < parts.size()) run.parts[parts[part]].push_back(item);
        }
        entry.change = SplitInto(name, parts);
      }
      entry.sample = EarliestChange(*steered.dataset, entry.change, sample + 1);
      sample = entry.sample;
      auto next = run.Steer(steered, std::span(&entry, 1));
      // A part may have nothing, or nothing that was not dropped.
      if (absl::StrContains(next.status().message(), "is empty")) continue;
      ASSERT_THAT(next, IsOk());
      steered = *std::move(next);
      if (entry.change.kind == RunChange::Kind::kSplit) {
        names.erase(names.begin() + static_cast<ptrdiff_t>(which));
        for (const ComponentText& part : entry.change.added) {
          names.push_back(part.name);
        }
      }
      entries.push_back(std::move(entry));
    }
    const uint64_t samples = sample + 2500;
    const DatasetTree tree(*steered.dataset);
    const std::vector<LeafPosition> items = ItemsOfRun(tree, samples);
    auto at_once = run.Steer(run.Begin(), entries);
    ASSERT_THAT(at_once, IsOk());
    ASSERT_EQ(ItemsOfRun(*at_once->dataset, samples), items);

    std::map<std::string, SlowPart> slow;
    slow["web"] = {"web", run.parts["web"]};
    const auto& mixture =
        dynamic_cast<const MixtureDataset<TokenWindow>&>(*steered.dataset);
    const MixturePlan plan = *mixture.plan();
    size_t changed = 0;
    for (uint64_t begin = 0; begin < samples;) {
      for (; changed < entries.size() && entries[changed].sample == begin;
           ++changed) {
        const RunChange& change = entries[changed].change;
        if (change.kind == RunChange::Kind::kDrop) {
          std::set<uint64_t> dropped;
          for (const NumberRange& range : change.dropped) {
            for (uint64_t i = range.begin; i < range.end; ++i) {
              dropped.insert(i);
            }
          }
          slow[change.path].Drop(dropped);
          continue;
        }
        const SlowPart whole = slow[change.components[0]];
        for (const ComponentText& part : change.added) {
          slow[part.name] = whole.Part(part.name, run.parts[part.name]);
        }
        slow.erase(change.components[0]);
      }
      const uint64_t end = std::min(plan.EarliestStart(begin + 1), samples);
      // A block shuffles its draws.
      using Item = std::pair<uint64_t, uint64_t>;
      std::map<std::string, std::multiset<Item>> got;
      for (uint64_t s = begin; s < end; ++s) {
        const std::string& path = tree.leaves()[items[s].leaf].path;
        if (path == "code") continue;
        got[path].insert({items[s].position.index, items[s].position.epoch});
      }
      if (end == plan.EarliestStart(begin + 1)) {
        for (const auto& [path, served] : got) {
          ASSERT_TRUE(slow.contains(path)) << path << " at " << begin;
          std::multiset<Item> expected;
          for (size_t n = 0; n < served.size(); ++n) {
            expected.insert(slow[path].Next());
          }
          ASSERT_EQ(served, expected) << path << " from sample " << begin;
        }
      }
      begin = end;
    }
    EXPECT_EQ(changed, entries.size());
    for (int look = 0; look < 500; ++look) {
      const uint64_t s = random() % samples;
      const auto found = tree.Find(items[s]);
      ASSERT_THAT(found, IsOk());
      ASSERT_TRUE(found->has_value()) << "sample " << s;
      ASSERT_EQ((*found)->index, s);
    }
  }
}

}  // namespace
}  // namespace poniente::internal
