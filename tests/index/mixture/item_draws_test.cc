// SPDX-License-Identifier: Apache-2.0
#include "index/mixture/item_draws.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "poniente/permutation.h"
#include "tests/index/slow_item_draws.h"
#include "tests/support/slow_permutation.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using ::testing::ElementsAre;
using testing::ReadAll;
using testing::SlowComponentKey;
using testing::SlowItem;
using testing::SlowPermutation;
using testing::SlowSegment;

constexpr uint64_t kSamples = uint64_t{1} << 62;

ItemView View(uint64_t items, uint32_t number = 0) {
  if (items == 0) return {std::nullopt, number};
  return {items, number};
}

// The dropped places of a segment, in whatever view they are asked for.
PlacesToDrop PlacesOf(const std::vector<SlowSegment>& segments, size_t u) {
  return [&segments, u](uint32_t view, uint64_t,
                        const std::shared_ptr<const Omissions>& before)
             -> absl::StatusOr<std::shared_ptr<const Omissions>> {
    std::vector<uint64_t> places = *segments[u].dropped;
    if (before != nullptr) {
      const std::vector<uint64_t> earlier = before->Omitted();
      places.insert(places.end(), earlier.begin(), earlier.end());
    }
    uint64_t items = 0;
    for (const SlowSegment& one : segments) {
      if (one.view == view) items = one.items;
    }
    std::erase_if(places, [items](uint64_t place) { return place >= items; });
    return std::make_shared<const Omissions>(std::move(places), items);
  };
}

ItemDraws MakeDraws(uint64_t seed, const std::string& name, uint64_t group,
                    const std::vector<SlowSegment>& segments) {
  const auto view = [](const SlowSegment& s) { return View(s.items, s.view); };
  const auto parts = [](const SlowSegment& s) {
    return ItemParts{s.parts, s.length};
  };
  ItemDraws draws(seed, name, view(segments[0]), parts(segments[0]), group);
  uint64_t ordinal = 0;
  for (size_t u = 1; u < segments.size(); ++u) {
    ordinal += segments[u - 1].draws;
    if (segments[u].dropped) {
      EXPECT_EQ(draws.Drop(ordinal, view(segments[u]), parts(segments[u]),
                           PlacesOf(segments, u)),
                absl::OkStatus());
      continue;
    }
    draws.Continue(ordinal, view(segments[u]), parts(segments[u]));
  }
  return draws;
}

SlowItem Slow(const ItemDraws::Item& item) {
  return {item.view, item.epoch,       item.place,
          item.part, item.parts.count, item.parts.length};
}

// docs/index-math.md 2.7. Changing these reorders every run ever resumed: bump
// kOrderVersion.
TEST(ItemDrawsTest, ReadsTheVectorOfOrderVersion1) {
  const ItemDraws draws =
      MakeDraws(42, "books", 4, {{13, 4, 10}, {13, 2, 10}, {14, 1, 10}});
  std::string text;
  for (uint64_t n = 0; n < 40; ++n) {
    const ItemDraws::Item item = draws.At(n);
    const uint64_t key = SlowComponentKey(42, "books", item.epoch);
    absl::StrAppend(&text, item.epoch, ".",
                    SlowPermutation(10, key)[item.place], ".", item.part, " ");
  }
  EXPECT_EQ(text,
            "0.4.2 0.7.3 0.8.0 0.7.2 0.8.3 0.8.2 0.7.1 0.3.0 0.3.2 0.4.1 0.7.0 "
            "0.8.1 0.3.1 "
            "0.2.0 0.1.1 0.1.0 0.5.0 0.2.1 0.6.0 0.6.1 0.5.1 0.9.0 0.0.1 0.9.1 "
            "0.0.0 1.9.1 "
            "1.7.0 1.6.0 1.4.0 1.2.0 1.1.0 1.8.0 2.5.0 2.1.0 2.8.0 2.3.0 2.7.0 "
            "2.0.0 2.2.0 2.4.0 ");
}

TEST(ItemDrawsTest, KeysEpochsByNameAndNumber) {
  const ItemDraws draws(42, "books", View(10));
  for (const uint64_t epoch : {0, 1, 7}) {
    EXPECT_EQ(draws.EpochKey(epoch), SlowComponentKey(42, "books", epoch));
  }
}

TEST(ItemDrawsTest, WholeItemsOfOneViewAreDividedIntoEpochs) {
  const ItemDraws draws(42, "books", View(7));
  EXPECT_TRUE(draws.is_plain());
  for (const uint64_t n : {uint64_t{0}, uint64_t{6}, uint64_t{7}, uint64_t{700},
                           kSamples - 1, 2 * kSamples - 1}) {
    EXPECT_EQ(draws.At(n), (ItemDraws::Item{n / 7, n % 7, 0, {}, 0}));
  }
}

// The part of a split component that leaves out what was read of the epoch, and
// loses the rest of it before its first draw.
TEST(ItemDrawsTest, WhatIsLeftOfTheFirstEpochMayAllBeDropped) {
  const auto drop = [](std::vector<uint64_t> places) -> PlacesToDrop {
    return [places](uint32_t, uint64_t, const std::shared_ptr<const Omissions>&)
               -> absl::StatusOr<std::shared_ptr<const Omissions>> {
      return std::make_shared<const Omissions>(places, 8);
    };
  };
  ItemDraws draws(42, "books", View(8));
  ASSERT_EQ(draws.Drop(0, View(8), {}, drop({0, 1, 2, 4, 5}), true),
            absl::OkStatus());
  ASSERT_EQ(draws.Drop(0, View(5, 1), {}, drop({0, 1, 2, 3, 4, 5, 6, 7})),
            absl::OkStatus());
  for (uint64_t n = 0; n < 20; ++n) {
    EXPECT_EQ(draws.At(n), (ItemDraws::Item{1 + n / 5, n % 5, 0, {}, 1})) << n;
    const ItemDraws::Run run = draws.RunAt(n);
    EXPECT_EQ(run.epoch, 1 + n / 5) << n;
    EXPECT_EQ(run.first_place + run.number, n % 5) << n;
    const auto readings = draws.ReadingsOf(1, 1 + n / 5, n % 5);
    ASSERT_EQ(readings.size(), 1u) << n;
    EXPECT_EQ(readings[0].ordinal, n);
  }
}

// Random views, lengths and groups, among them segments that draw nothing.
class ItemDrawsRunTest : public ::testing::Test {
 protected:
  static constexpr int kCases = 250;

  static std::vector<SlowSegment> RandomSegments(std::mt19937_64& random,
                                                 bool views) {
    std::vector<SlowSegment> segments;
    const bool endless = !views && random() % 6 == 0;
    const uint64_t most = random() % 4 == 0 ? 3000 : 60;
    uint64_t items = endless ? 0 : 1 + random() % most;
    uint32_t view = 0;
    const size_t count = 1 + random() % 6;
    for (size_t u = 0; u < count; ++u) {
      std::optional<std::vector<uint64_t>> dropped;
      if (views && u > 0 && random() % 2 == 0) {
        // A few, some, or many places; the next view's length is its own.
        if (random() % 2 == 0) {
          dropped.emplace();
          const uint64_t rarity = 1 + random() % (random() % 2 == 0 ? 40 : 3);
          for (uint64_t place = 0; place < items; ++place) {
            if (random() % rarity == 0) dropped->push_back(place);
          }
        }
        items = 1 + random() % most;
        ++view;
      }
      const uint32_t parts = 1 + random() % (random() % 2 == 0 ? 3 : 17);
      const uint64_t draws = random() % 4 == 0 ? 0 : random() % (3 * most);
      // Lengths that fit equally often are still different lengths.
      const auto length = static_cast<uint32_t>(100 * parts + random() % 2);
      segments.push_back({draws, parts, items, view, length, dropped});
    }
    segments.back().draws += 1;
    return segments;
  }

  void Pick(int number) {
    std::mt19937_64 random(base_seed_ + number);
    const bool views = number % 2 == 1;
    segments_ = RandomSegments(random, views);
    group_ = random() % 3 == 0 ? 0 : 1 + random() % 40;
    seed_ = random();
    expected_ = ReadAll(seed_, "web", group_, segments_);
    random_ = random;
    for (const SlowSegment& one : segments_) drops_ += one.dropped.has_value();
  }

  // The cases that a test has gone through contain what it is about.
  void TearDown() override { EXPECT_GT(drops_, kCases / 4); }

  ItemDraws Make() const { return MakeDraws(seed_, "web", group_, segments_); }

  // Items of the view that place, epoch and view are taken from.
  std::map<uint32_t, uint64_t> Lengths() const {
    std::map<uint32_t, uint64_t> lengths;
    for (const SlowSegment& s : segments_) lengths[s.view] = s.items;
    return lengths;
  }

  const uint64_t base_seed_ = testing::TestSeed(1000);
  std::vector<SlowSegment> segments_;
  uint64_t group_ = 0;
  uint64_t seed_ = 0;
  std::vector<SlowItem> expected_;  // by ordinal
  int drops_ = 0;
  std::mt19937_64 random_;
};

TEST_F(ItemDrawsRunTest, ReadsLikeTheSlowReader) {
  for (int number = 0; number < kCases; ++number) {
    SCOPED_TRACE(number);
    Pick(number);
    const ItemDraws draws = Make();
    for (uint64_t n = 0; n < expected_.size(); ++n) {
      ASSERT_EQ(Slow(draws.At(n)), expected_[n]) << "draw " << n;
    }
  }
}

TEST_F(ItemDrawsRunTest, RunsHoldTheDrawsThatFollowOneAnother) {
  for (int number = 0; number < kCases; ++number) {
    SCOPED_TRACE(number);
    Pick(number);
    const ItemDraws draws = Make();
    for (uint64_t n = 0; n < expected_.size();) {
      const ItemDraws::Run run = draws.RunAt(n);
      ASSERT_GE(run.count, 1u);
      const uint64_t r = run.parts.count;
      std::optional<Permutation> order;
      if (r > 1) {
        order.emplace(
            run.places * r,
            ItemDraws::PartKey(draws.EpochKey(run.epoch), run.first_place));
      }
      for (uint64_t i = 0; i < run.count && n < expected_.size(); ++i, ++n) {
        uint64_t at = run.number + i;
        if (order) at = order->Forward(at);
        ASSERT_EQ((SlowItem{run.view, run.epoch, run.first_place + at / r,
                            static_cast<uint32_t>(at % r), run.parts.count,
                            run.parts.length}),
                  expected_[n])
            << "draw " << n;
      }
    }
  }
}

TEST_F(ItemDrawsRunTest, ReadsNothingTwiceInAnEpoch) {
  for (int number = 0; number < kCases; ++number) {
    SCOPED_TRACE(number);
    Pick(number);
    const ItemDraws draws = Make();
    // Of (epoch, place), the parts read.
    std::map<std::pair<uint64_t, uint64_t>, std::vector<ItemDraws::Item>> read;
    for (uint64_t n = 0; n < expected_.size(); ++n) {
      const ItemDraws::Item item = draws.At(n);
      auto& others = read[{item.epoch, item.place}];
      for (const ItemDraws::Item& other : others) {
        ASSERT_EQ(other.view, item.view) << "draw " << n;
        ASSERT_EQ(other.parts, item.parts) << "draw " << n;
        ASSERT_NE(other.part, item.part) << "draw " << n;
      }
      others.push_back(item);
    }
  }
}

// All that a change of length passes over lies in the group last touched.
TEST_F(ItemDrawsRunTest, AChangeOfLengthSkipsLessThanAGroup) {
  for (int number = 0; number < kCases; ++number) {
    SCOPED_TRACE(number);
    Pick(number);
    if (Lengths().size() > 1 || segments_[0].items == 0) continue;
    const uint64_t items = segments_[0].items;
    const uint64_t least = std::min<uint64_t>(1024, (items + 15) / 16);
    const uint64_t group = std::min(group_ == 0 ? least : group_, items);
    const ItemDraws draws = Make();
    uint64_t ordinal = 0;
    uint64_t passed = 0;  // places, in all epochs
    for (size_t u = 0; u < segments_.size(); ++u) {
      SlowSegment segment = segments_[u];
      while (u + 1 < segments_.size() &&
             segments_[u + 1].length == segment.length) {
        segment.draws += segments_[++u].draws;
      }
      if (segment.draws == 0) continue;
      std::set<uint64_t> touched;
      for (uint64_t i = 0; i < segment.draws; ++i) {
        const ItemDraws::Item item = draws.At(ordinal++);
        touched.insert(item.epoch * items + item.place);
      }
      const uint64_t last = *touched.rbegin();
      ASSERT_GE(*touched.begin(), passed);
      ASSERT_LT(*touched.begin(), passed + group);
      const uint64_t in_epoch = last % items;
      const uint64_t group_begin = last - in_epoch % group;
      const uint64_t group_end =
          std::min(group_begin + group, last - in_epoch + items);
      // Everything before the last group was read, part by part.
      const uint64_t parts_before = (group_begin - passed) * segment.parts;
      ASSERT_LE(parts_before, segment.draws - 1);
      ASSERT_LE(segment.draws - parts_before,
                (group_end - group_begin) * segment.parts);
      passed = group_end;
    }
  }
}

TEST_F(ItemDrawsRunTest, FindsTheDrawsOfEachItem) {
  for (int number = 0; number < kCases; ++number) {
    SCOPED_TRACE(number);
    Pick(number);
    const ItemDraws draws = Make();
    using Key = std::tuple<uint32_t, uint64_t, uint64_t>;
    std::map<Key, std::vector<std::pair<uint64_t, SlowItem>>> draws_of;
    uint64_t epochs = 0;
    for (uint64_t n = 0; n < expected_.size(); ++n) {
      const SlowItem& item = expected_[n];
      draws_of[{item.view, item.epoch, item.place}].push_back({n, item});
      epochs = std::max(epochs, item.epoch + 1);
    }
    for (const auto& [view, length] : Lengths()) {
      for (uint64_t epoch = 0; epoch <= std::min<uint64_t>(epochs, 20);
           ++epoch) {
        const uint64_t places = length == 0 ? 300 : std::min(length, 150ul);
        for (uint64_t place = 0; place < places + 2; ++place) {
          std::vector<std::pair<uint64_t, SlowItem>> found;
          for (const ItemDraws::Reading& reading :
               draws.ReadingsOf(view, epoch, place)) {
            // Later draws were not simulated.
            if (reading.ordinal >= expected_.size()) continue;
            found.push_back({reading.ordinal,
                             {view, epoch, place, reading.part,
                              reading.parts.count, reading.parts.length}});
          }
          ASSERT_EQ(found, (draws_of[{view, epoch, place}]))
              << "view " << view << " epoch " << epoch << " place " << place;
        }
      }
    }
  }
}

TEST_F(ItemDrawsRunTest, FindsWhatItReadsBeyondTheSimulation) {
  for (int number = 0; number < kCases; ++number) {
    SCOPED_TRACE(number);
    Pick(number);
    const ItemDraws draws = Make();
    for (int i = 0; i < 50; ++i) {
      const uint64_t n = random_() >> (2 + random_() % 50);
      const ItemDraws::Item item = draws.At(n);
      int found = 0;
      for (const ItemDraws::Reading& reading :
           draws.ReadingsOf(item.view, item.epoch, item.place)) {
        ASSERT_EQ(draws.At(reading.ordinal).place, item.place);
        if (reading.ordinal != n) continue;
        ++found;
        ASSERT_EQ(reading.part, item.part);
        ASSERT_EQ(reading.parts, item.parts);
      }
      ASSERT_EQ(found, 1) << "draw " << n;
    }
  }
}

TEST_F(ItemDrawsRunTest, KnowsWhereEpochsBegin) {
  for (int number = 0; number < kCases; ++number) {
    SCOPED_TRACE(number);
    Pick(number);
    const ItemDraws draws = Make();
    if (segments_[0].items == 0) {
      EXPECT_EQ(draws.FirstOfEpoch(1), std::nullopt);
      continue;
    }
    for (uint64_t epoch = 0; epoch < expected_.back().epoch + 3; ++epoch) {
      const auto at = std::find_if(
          expected_.begin(), expected_.end(),
          [epoch](const SlowItem& item) { return item.epoch >= epoch; });
      const std::optional<uint64_t> first = draws.FirstOfEpoch(epoch);
      ASSERT_TRUE(first.has_value());
      if (at != expected_.end()) {
        ASSERT_EQ(*first, static_cast<uint64_t>(at - expected_.begin()))
            << "epoch " << epoch;
      } else {
        ASSERT_GE(*first, expected_.size());
        ASSERT_EQ(draws.At(*first).epoch, epoch);
        ASSERT_EQ(draws.At(*first - 1).epoch, epoch - 1);
      }
    }
  }
}

TEST_F(ItemDrawsRunTest, KnowsTheEpochsBetweenDraws) {
  for (int number = 0; number < kCases; ++number) {
    SCOPED_TRACE(number);
    Pick(number);
    const ItemDraws draws = Make();
    for (int i = 0; i < 40; ++i) {
      uint64_t begin = random_() % expected_.size();
      uint64_t end = random_() % (expected_.size() + 1);
      if (i % 4 == 0) end = std::min(begin + i / 4, expected_.size());
      for (const auto& [view, length] : Lengths()) {
        std::set<uint64_t> epochs;
        for (uint64_t n = begin; n < end; ++n) {
          if (expected_[n].view == view) epochs.insert(expected_[n].epoch);
        }
        const auto between = draws.EpochsBetween(view, begin, end);
        ASSERT_EQ(between.has_value(), !epochs.empty());
        if (epochs.empty()) continue;
        ASSERT_EQ(between->first, *epochs.begin());
        ASSERT_EQ(between->last, *epochs.rbegin());
      }
    }
  }
}

TEST(ItemDrawsTest, GroupsOfOneKeepTheOrderOfItemsForAnyNumberOfParts) {
  for (const uint32_t parts : {2, 4, 7}) {
    const ItemDraws draws = MakeDraws(5, "a", 1, {{1, parts, 11}});
    for (uint64_t n = 0; n < 3 * 11 * parts; ++n) {
      const ItemDraws::Item item = draws.At(n);
      // Items follow one another as ever; only parts of one may swap.
      ASSERT_EQ(item.epoch, n / (11 * parts));
      ASSERT_EQ(item.place, n / parts % 11);
    }
  }
}

TEST(ItemDrawsTest, OnePartAndOneSegmentIsPlainDivision) {
  std::mt19937_64 random(testing::TestSeed(3));
  for (int i = 0; i < 200; ++i) {
    const uint64_t items = 1 + (random() >> (2 + random() % 62));
    // Stated again, or given where nothing was drawn: still one segment.
    ItemDraws draws(1, "a", View(3), {4, 8}, 1 + random() % items);
    draws.Continue(0, View(items, 1), {2, 8});
    draws.Continue(0, View(items, 1), {1, 16});
    draws.Continue(random(), View(items, 1), {1, 16});
    for (int j = 0; j < 20; ++j) {
      const uint64_t n = random() >> (2 + random() % 50);
      ASSERT_EQ(draws.At(n),
                (ItemDraws::Item{n / items, n % items, 0, {1, 16}, 1}));
    }
  }
}

TEST(ItemDrawsTest, TakesRanksAndLengthsUpToTheLast) {
  std::mt19937_64 random(testing::TestSeed(4));
  for (const uint64_t items :
       {kSamples - 1, kSamples, 2 * kSamples - 1, 2 * kSamples, kSamples / 3,
        uint64_t{1} << 40, uint64_t{12345}}) {
    for (const uint32_t parts : {1, 2, 3, 65536}) {
      const int tries = parts > 100 ? 12 : 60;
      ItemDraws draws(9, "a", View(items), {parts, 1});
      draws.Continue(1000, View(items), {7, 2});
      draws.Continue(kSamples / 2, View(items), {parts, 1});
      draws.Continue(kSamples - 5, View(items), {1, 16});
      for (int i = 0; i < tries; ++i) {
        uint64_t n = random() >> (2 + random() % 60);
        if (i % 4 == 0) n = kSamples - 1 - i / 4;
        const ItemDraws::Item item = draws.At(n);
        ASSERT_LT(item.place, items);
        ASSERT_LT(item.part, item.parts.count);
        if (item.parts.count > 100 && i > 2) continue;  // slow to find
        int found = 0;
        for (const auto& reading :
             draws.ReadingsOf(0, item.epoch, item.place)) {
          found += reading.ordinal == n && reading.part == item.part;
        }
        ASSERT_EQ(found, 1) << items << " items in " << parts << ", draw " << n;
      }
    }
  }
}

TEST(ItemDrawsTest, TheLargestGroupsOfTheShortestPartsStayExact) {
  ItemDraws draws(9, "a", View(0), {UINT32_MAX, 1}, uint64_t{1} << 30);
  draws.Continue(kSamples / 2, View(0), {UINT32_MAX - 1, 1});
  for (const uint64_t n : {uint64_t{0}, kSamples / 2 - 1, kSamples / 2}) {
    const ItemDraws::Item item = draws.At(n);
    EXPECT_LT(item.place, uint64_t{2} << 30);
    EXPECT_EQ(item.place >> 30, n / (kSamples / 2));
  }
}

// The exact place of a draw, from 2.7, in two segments and 128 bits.
TEST(ItemDrawsTest, FarDrawsGoOnFromTheEndOfTheGroup) {
  __extension__ typedef unsigned __int128 Wide;
  const uint64_t items = (uint64_t{1} << 45) + 3;
  const uint64_t group = 1000;
  const uint64_t change = kSamples / 2;
  ItemDraws draws(9, "a", View(items), {8, 512}, group);
  draws.Continue(change, View(items), {1, 4096});
  const uint64_t per_epoch = items * 8;
  const uint64_t x = (change - 1) % per_epoch;
  const uint64_t base = (change - 1) / per_epoch * items +
                        std::min(items, (x / (group * 8) + 1) * group);
  for (const uint64_t n : {change, change + 1, change + items, kSamples - 1}) {
    const Wide at = Wide{base} + (n - change);
    const ItemDraws::Item item = draws.At(n);
    EXPECT_EQ(item.epoch, static_cast<uint64_t>(at / items));
    EXPECT_EQ(item.place, static_cast<uint64_t>(at % items));
  }
}

TEST(ItemDrawsTest, ManyChangesOfAHugeItemStayExact) {
  // Each change passes over the rest of an epoch of 2^62 items.
  const uint64_t items = kSamples;
  ItemDraws draws(9, "a", View(items), {1, 16}, items);
  for (uint32_t u = 1; u <= 12; ++u) {
    draws.Continue(u, View(items), {1, 16 + u});
  }
  for (uint32_t u = 0; u <= 12; ++u) {
    EXPECT_EQ(draws.At(u), (ItemDraws::Item{u, 0, 0, {1, 16 + u}, 0}));
    EXPECT_EQ(draws.FirstOfEpoch(u), u);
    EXPECT_THAT(draws.ReadingsOf(0, u, 0), ::testing::SizeIs(1));
    EXPECT_EQ(draws.EpochsBetween(0, u, u + 1)->first, u);
  }
}

TEST(ItemDrawsTest, EpochsThatAreNeverReachedHaveNoDraws) {
  for (const uint64_t items :
       {uint64_t{3}, uint64_t{1} << 40, kSamples, 2 * kSamples}) {
    for (const uint32_t parts : {1u, 2u, 65536u}) {
      const ItemDraws draws(9, "a", View(items), {parts, 1}, 16);
      for (int bit = 20; bit < 64; ++bit) {
        const uint64_t power = uint64_t{1} << bit;
        if (power < kSamples / items / parts + 2) continue;
        for (const uint64_t epoch : {power, 2 * power - 1}) {
          EXPECT_THAT(draws.ReadingsOf(0, epoch, 0), ::testing::IsEmpty())
              << items << " x " << parts << " epoch " << epoch;
          EXPECT_EQ(draws.FirstOfEpoch(epoch), std::nullopt);
        }
      }
    }
  }
}

TEST(ItemDrawsTest, AnEpochThatWouldBeginAtTheLastSampleHasNoDraw) {
  EXPECT_EQ(ItemDraws(1, "a", View(kSamples - 1)).FirstOfEpoch(1),
            kSamples - 1);
  EXPECT_EQ(ItemDraws(1, "a", View(kSamples)).FirstOfEpoch(1), std::nullopt);
  EXPECT_THAT(ItemDraws(1, "a", View(kSamples)).ReadingsOf(0, 1, 0),
              ::testing::IsEmpty());
  EXPECT_THAT(ItemDraws(1, "a", View(kSamples / 2)).ReadingsOf(0, 1, 0),
              ::testing::SizeIs(1));
}

TEST(ItemDrawsTest, ItemsOfOtherViewsAndPlacesHaveNoDraws) {
  ItemDraws draws(1, "a", View(10));
  draws.Continue(4, View(6, 1), {});
  EXPECT_THAT(draws.ReadingsOf(0, 0, 4), ::testing::IsEmpty());
  EXPECT_THAT(draws.ReadingsOf(0, 1, 0), ::testing::IsEmpty());
  EXPECT_THAT(draws.ReadingsOf(1, 0, 0), ::testing::IsEmpty());
  EXPECT_THAT(draws.ReadingsOf(1, 1, 5), ::testing::SizeIs(1));
  EXPECT_THAT(draws.ReadingsOf(1, 1, 6), ::testing::IsEmpty());
  EXPECT_THAT(draws.ReadingsOf(2, 1, 0), ::testing::IsEmpty());
  const ItemDraws endless(1, "b", View(0), {2, 8});
  EXPECT_THAT(endless.ReadingsOf(0, 0, 100), ::testing::SizeIs(2));
  EXPECT_THAT(endless.ReadingsOf(0, 1, 100), ::testing::IsEmpty());
}

TEST(ItemDrawsTest, AViewBeginsANewEpochOnlyIfItsComponentWasDrawn) {
  ItemDraws draws(1, "a", View(10));
  draws.Continue(0, View(5, 1), {});
  EXPECT_EQ(draws.At(0), (ItemDraws::Item{0, 0, 0, {}, 1}));
  draws.Continue(5, View(7, 2), {});  // Just when the epoch was complete.
  EXPECT_EQ(draws.At(5), (ItemDraws::Item{1, 0, 0, {}, 2}));
  draws.Continue(6, View(9, 3), {});
  draws.Continue(6, View(2, 4), {});
  EXPECT_EQ(draws.At(6), (ItemDraws::Item{2, 0, 0, {}, 4}));
  EXPECT_EQ(draws.At(8), (ItemDraws::Item{3, 0, 0, {}, 4}));
}

TEST(ItemDrawsDeathTest, RefusesWhatItsCallerMustNotPass) {
  EXPECT_DEATH(ItemDraws(1, "a", {uint64_t{0}, 0}), "check failed");
  EXPECT_DEATH(ItemDraws(1, "a", View(3), {0, 8}), "check failed");
  ItemDraws draws(1, "a", View(3));
  draws.Continue(5, View(3), {2, 8});
  EXPECT_DEATH(draws.Continue(4, View(3), {3, 8}), "check failed");
  EXPECT_DEATH(draws.Continue(9, View(0, 1), {}), "endless");
}

}  // namespace
}  // namespace poniente::internal
