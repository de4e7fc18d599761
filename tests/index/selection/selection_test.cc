// SPDX-License-Identifier: Apache-2.0
// Selections against a list of the chosen items.

#include "poniente/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "index/maps/selection_map.h"
#include "index/selection/select_in_word.h"
#include "tests/index/map_laws.h"
#include "tests/support/slow_permutation.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::StatusIs;

using testing::kInvalid;

std::vector<uint64_t> ChosenOf(const std::vector<bool>& bits) {
  std::vector<uint64_t> chosen;
  for (uint64_t i = 0; i < bits.size(); ++i) {
    if (bits[i]) chosen.push_back(i);
  }
  return chosen;
}

std::vector<uint64_t> WordsOf(const std::vector<bool>& bits) {
  std::vector<uint64_t> words((bits.size() + 63) / 64);
  for (uint64_t i = 0; i < bits.size(); ++i) {
    if (bits[i]) words[i / 64] |= uint64_t{1} << (i % 64);
  }
  return words;
}

std::vector<uint64_t> AllSelectedItems(const Selection& selection) {
  std::vector<uint64_t> items(selection.count());
  for (uint64_t k = 0; k < items.size(); ++k) items[k] = k;
  selection.Select(items, items);
  return items;
}

// Everything a selection answers, for every item and place.
void ExpectEqual(const Selection& selection, const std::vector<bool>& bits) {
  const std::vector<uint64_t> chosen = ChosenOf(bits);
  ASSERT_EQ(selection.size(), bits.size());
  ASSERT_EQ(selection.count(), chosen.size());
  for (uint64_t k = 0; k < chosen.size(); ++k) {
    ASSERT_EQ(selection.Select(k), chosen[k]) << "place " << k;
  }
  ASSERT_EQ(AllSelectedItems(selection), chosen);
  uint64_t below = 0;
  for (uint64_t i = 0; i < bits.size(); ++i) {
    ASSERT_EQ(selection.CountBelow(i), below) << "item " << i;
    ASSERT_EQ(selection.Contains(i), bits[i]) << "item " << i;
    ASSERT_EQ(selection.OrdinalOf(i),
              bits[i] ? std::optional<uint64_t>(below) : std::nullopt)
        << "item " << i;
    below += bits[i];
  }
  ASSERT_EQ(selection.CountBelow(bits.size()), below);
  ASSERT_EQ(selection.OrdinalOf(bits.size()), std::nullopt);
  ASSERT_EQ(selection.OrdinalOf(UINT64_MAX), std::nullopt);
}

TEST(SelectInWordTest, FindsEachBitOfWordsOfAllKinds) {
  std::mt19937_64 random(testing::TestSeed(51));
  std::vector<uint64_t> words = {1, uint64_t{1} << 63, ~uint64_t{0},
                                 0x8000000000000001};
  for (int i = 0; i < 3000; ++i) {
    words.push_back(random());
    words.push_back(random() & random() & random());
    words.push_back(random() | random() | random());
  }
  for (const uint64_t word : words) {
    uint64_t k = 0;
    for (uint64_t bit = 0; bit < 64; ++bit) {
      if ((word >> bit & 1) == 0) continue;
      ASSERT_EQ(internal::SelectInWord(word, k), bit) << std::hex << word;
      ++k;
    }
  }
}

TEST(SelectionTest, EverySubsetOfUpToTwelveItems) {
  for (uint64_t n = 0; n <= 12; ++n) {
    for (uint64_t subset = 0; subset < uint64_t{1} << n; ++subset) {
      std::vector<bool> bits(n);
      for (uint64_t i = 0; i < n; ++i) bits[i] = (subset >> i & 1) != 0;
      ASSERT_OK_AND_ASSIGN(const Selection selection,
                           Selection::FromIndices(n, ChosenOf(bits)));
      ExpectEqual(selection, bits);
    }
  }
}

class SelectionSizesTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(SelectionSizesTest, EveryWayToMakeOneGivesTheSame) {
  const uint64_t n = GetParam();
  std::mt19937_64 random(testing::TestSeed(52));
  for (const double density : {0.0, 0.001, 0.02, 0.5, 0.98, 1.0}) {
    std::vector<bool> bits(n);
    std::vector<float> scores(n);
    for (uint64_t i = 0; i < n; ++i) {
      bits[i] = std::generate_canonical<double, 53>(random) < density;
      scores[i] = bits[i] ? 0.7f : std::nextafterf(0.7f, 0);
    }
    ASSERT_OK_AND_ASSIGN(const Selection selection,
                         Selection::FromBitmap(n, WordsOf(bits)));
    ExpectEqual(selection, bits);
    std::vector<uint64_t> shuffled = ChosenOf(bits);
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    const std::vector<double> wide(scores.begin(), scores.end());
    const std::vector<uint64_t> words = WordsOf(bits);
    std::vector<std::byte> bytes((n + 7) / 8);
    if (n > 0) std::memcpy(bytes.data(), words.data(), bytes.size());
    const absl::StatusOr<Selection> others[] = {
        Selection::FromIndices(n, shuffled),
        Selection::AtLeast(std::span<const float>(scores), 0.7f),
        Selection::AtLeast(std::span<const double>(wide), double{0.7f}),
        Selection::FromBitmap(n, std::span<const std::byte>(bytes)),
        selection.Complement()->Complement()};
    for (const absl::StatusOr<Selection>& other : others) {
      ASSERT_OK_AND_ASSIGN(const Selection made, other);
      EXPECT_EQ(made.fingerprint(), selection.fingerprint());
      EXPECT_EQ(AllSelectedItems(made), AllSelectedItems(selection));
    }
    bits.flip();
    ExpectEqual(*selection.Complement(), bits);
  }
}

INSTANTIATE_TEST_SUITE_P(AroundWordsBlocksAndSuperblocks, SelectionSizesTest,
                         ::testing::Values(0, 1, 7, 8, 9, 63, 64, 65, 127, 128,
                                           129, 511, 512, 513, 4095, 4096, 4097,
                                           8191, 8192, 8193, 12345, 40000));

TEST(SelectionTest, BatchesOfPlacesInAnyOrderAgree) {
  std::mt19937_64 random(testing::TestSeed(53));
  std::vector<bool> bits(100'000);
  // Long gaps, long runs, and what lies between.
  for (uint64_t i = 0; i < bits.size(); ++i) {
    bits[i] =
        i / 9000 % 3 == 0 ? false : i / 9000 % 3 == 1 || random() % 7 == 0;
  }
  const Selection selection =
      *Selection::FromBitmap(bits.size(), WordsOf(bits));
  const std::vector<uint64_t> chosen = ChosenOf(bits);
  for (const uint64_t most_step : {1, 2, 50, 5000}) {
    std::vector<uint64_t> places;
    for (uint64_t k = 0; k < chosen.size(); k += 1 + random() % most_step) {
      places.push_back(k);
    }
    for (int i = 0; i < 200; ++i) places.push_back(random() % chosen.size());
    std::vector<uint64_t> items(places.size());
    selection.Select(places, items);
    for (size_t i = 0; i < places.size(); ++i) {
      ASSERT_EQ(items[i], chosen[places[i]]) << "place " << places[i];
    }
  }
}

TEST(SelectionTest, TenMillionItemsTakeABitAndAFewPerCent) {
  constexpr uint64_t kItems = 10'000'019;
  std::mt19937_64 random(testing::TestSeed(54));
  std::vector<uint64_t> words((kItems + 63) / 64);
  for (uint64_t& word : words) word = random() & random();
  words.back() &= (uint64_t{1} << kItems % 64) - 1;
  const Selection selection = *Selection::FromBitmap(kItems, words);
  EXPECT_LT(static_cast<double>(selection.memory_bytes()),
            1.06 * kItems / 8 + 1024);
  uint64_t place = 0;
  for (uint64_t i = 0; i < kItems; ++i) {
    if ((words[i / 64] >> i % 64 & 1) == 0) continue;
    if (place % 31 == 0) {
      ASSERT_EQ(selection.OrdinalOf(i), place);
      ASSERT_EQ(selection.Select(place), i);
    }
    ++place;
  }
  EXPECT_EQ(selection.count(), place);
}

TEST(SelectionTest, MoreThanTwoToTheThirtyTwoItems) {
  constexpr uint64_t kFour = uint64_t{1} << 32;
  constexpr uint64_t kItems = kFour + 4099;
  const std::vector<uint64_t> chosen = {
      0, 5, kFour - 1, kFour, kFour + 63, kFour + 4095, kFour + 4098};
  const Selection selection = *Selection::FromIndices(kItems, chosen);
  EXPECT_EQ(AllSelectedItems(selection), chosen);
  for (uint64_t k = 0; k < chosen.size(); ++k) {
    EXPECT_EQ(selection.Select(k), chosen[k]);
    EXPECT_EQ(selection.OrdinalOf(chosen[k]), k);
  }
  EXPECT_EQ(selection.OrdinalOf(kFour + 5), std::nullopt);
}

TEST(SelectionTest, CopiesShareTheirBitmap) {
  const Selection selection = *Selection::ByHash(100'000, 0.5);
  const Selection copy = selection;
  EXPECT_EQ(copy.fingerprint(), selection.fingerprint());
  EXPECT_EQ(AllSelectedItems(copy), AllSelectedItems(selection));
  EXPECT_EQ(sizeof(Selection), sizeof(std::shared_ptr<int>));
}

TEST(SelectionTest, NothingOfNothing) {
  ExpectEqual(Selection(), {});
  EXPECT_EQ(Selection().fingerprint(),
            Selection::FromIndices(0, {})->fingerprint());
}

TEST(SelectionTest, TheFingerprintFollowsSizeAndItems) {
  const auto of = [](uint64_t n, std::vector<uint64_t> items) {
    return Selection::FromIndices(n, items)->fingerprint();
  };
  EXPECT_EQ(of(100, {3, 70}), of(100, {70, 3}));
  EXPECT_NE(of(100, {3, 70}), of(101, {3, 70}));
  EXPECT_NE(of(100, {3, 70}), of(100, {3, 71}));
  EXPECT_NE(of(100, {3, 70}), of(100, {3}));
  EXPECT_NE(of(0, {}), of(1, {}));
}

TEST(SelectionTest, ScoresAreComparedAsNumbers) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> scores = {-kInf, -1, -0.0f, 0, 1, kInf};
  const auto at_least = [&](float threshold) {
    return AllSelectedItems(
        *Selection::AtLeast(std::span<const float>(scores), threshold));
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(at_least(0), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(at_least(-0.0f), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(at_least(kInf), ElementsAre(5));
  EXPECT_THAT(at_least(-kInf), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(SelectionTest, NotANumberIsRefusedWithItsPlace) {
  const std::vector<float> scores = {0, 1, std::nanf(""), std::nanf("")};
  const std::vector<double> wide(scores.begin(), scores.end());
  EXPECT_THAT(Selection::AtLeast(std::span<const float>(scores), 0.5f),
              StatusIs(kInvalid, HasSubstr("score 2 of 4 is not a number")));
  EXPECT_THAT(Selection::AtLeast(std::span<const double>(wide), 0.5),
              StatusIs(kInvalid, HasSubstr("score 2 of 4 is not a number")));
  EXPECT_THAT(Selection::AtLeast(std::span(scores).first(2), std::nanf("")),
              StatusIs(kInvalid, HasSubstr("threshold is not a number")));
}

TEST(SelectionTest, IndicesMustExistOnce) {
  const auto from = [](std::vector<uint64_t> indices) {
    return Selection::FromIndices(10, indices);
  };
  EXPECT_THAT(from({3, 10}), StatusIs(kInvalid, HasSubstr("entry 1 of a list "
                                                          "of indices is 10")));
  EXPECT_THAT(from({UINT64_MAX}), StatusIs(kInvalid, HasSubstr("entry 0")));
  EXPECT_THAT(from({3, 9, 3}), StatusIs(kInvalid, HasSubstr("entry 2 of a list "
                                                            "of indices names "
                                                            "item 3 a second "
                                                            "time")));
}

TEST(SelectionTest, ABitmapMustFitItsItems) {
  const auto words = [](uint64_t size, std::vector<uint64_t> of) {
    return Selection::FromBitmap(size, std::move(of));
  };
  EXPECT_THAT(words(65, {1}),
              StatusIs(kInvalid, HasSubstr("has 2 words, got 1")));
  EXPECT_THAT(words(64, {1, 0}),
              StatusIs(kInvalid, HasSubstr("has 1 words, got 2")));
  EXPECT_THAT(words(0, {0}), StatusIs(kInvalid, HasSubstr("0 words")));
  EXPECT_THAT(words(65, {0, 2}),
              StatusIs(kInvalid, HasSubstr("bit 65 of a bitmap of 65 items")));
  EXPECT_THAT(words(70, {0, uint64_t{1} << 63}),
              StatusIs(kInvalid, HasSubstr("bit 127")));
  const std::vector<std::byte> bytes = {std::byte{0xff}, std::byte{0x10}};
  const std::span<const std::byte> span(bytes);
  EXPECT_THAT(Selection::FromBitmap(12, span),
              StatusIs(kInvalid, HasSubstr("bit 12 ")));
  EXPECT_THAT(Selection::FromBitmap(17, span),
              StatusIs(kInvalid, HasSubstr("has 3 bytes, got 2")));
  EXPECT_EQ(Selection::FromBitmap(13, span)->count(), 9u);
}

TEST(SelectionTest, TooManyItemsAreRefused) {
  for (const uint64_t size : {(uint64_t{1} << 48) + 1, UINT64_MAX}) {
    EXPECT_THAT(Selection::FromIndices(size, {}),
                StatusIs(kInvalid, HasSubstr("2^48")));
    EXPECT_THAT(Selection::ByHash(size, 0.5),
                StatusIs(kInvalid, HasSubstr("2^48")));
    EXPECT_THAT(Selection::FromBitmap(size, std::vector<uint64_t>()),
                StatusIs(kInvalid, HasSubstr("2^48")));
  }
}

// derive(seed, "hold", x), from its text.
uint64_t SlowHold(uint64_t seed, uint64_t x) {
  return testing::SlowEpochKey(seed, "hold", x);
}

TEST(SelectionByHashTest, TakesTheItemsWhoseHashIsBelowTheFraction) {
  for (const uint64_t seed : {0, 1, 42}) {
    for (const double fraction : {1e-300, 0.001, 0.5, 0.75, 1 - 0x1p-53}) {
      const Selection held = *Selection::ByHash(3000, fraction, seed);
      for (uint64_t x = 0; x < 3000; ++x) {
        // Exact: the fraction has 53 bits.
        const bool below =
            static_cast<long double>(SlowHold(seed, x)) <
            std::floor(std::ldexp(static_cast<long double>(fraction), 64));
        ASSERT_EQ(held.Contains(x), below) << fraction << ' ' << x;
      }
    }
  }
}

// Changing these moves items between training and validation of every run ever
// made: bump kOrderVersion.
TEST(SelectionByHashTest, GoldenValues) {
  EXPECT_THAT(
      AllSelectedItems(*Selection::ByHash(300, 0.05)),
      ::testing::ElementsAre(23, 33, 48, 54, 71, 72, 83, 84, 126, 136, 147, 156,
                             181, 204, 209, 237, 238, 261, 286, 287, 293));
  EXPECT_THAT(AllSelectedItems(*Selection::ByHash(300, 0.05, 7)),
              ::testing::ElementsAre(35, 88, 105, 108, 122, 131, 147, 163, 170,
                                     175, 193, 194, 195, 213, 224, 234, 235,
                                     243, 260, 265, 279));
  EXPECT_EQ(Selection::ByHash(300, 0.05)->fingerprint(), 10200056447902256173u);
  EXPECT_EQ(Selection::ByHash(1'000'000, 0.01)->count(), 10092u);
}

TEST(SelectionByHashTest, DoesNotDependOnTheSize) {
  const auto few = AllSelectedItems(*Selection::ByHash(1000, 0.1));
  auto many = AllSelectedItems(*Selection::ByHash(5000, 0.1));
  many.resize(few.size());
  EXPECT_EQ(few, many);
}

TEST(SelectionByHashTest, RefusesWhatIsNoFraction) {
  for (const double fraction : {0.0, -0.5, 1.0, 2.0, std::nan(""),
                                std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(Selection::ByHash(10, fraction),
                StatusIs(kInvalid, HasSubstr("between 0 and 1")));
  }
}

TEST(SelectionMapTest, KeepsTheLaws) {
  std::mt19937_64 random(testing::TestSeed(55));
  for (const uint64_t n : {1u, 64u, 700u, 9000u}) {
    for (const uint64_t one_in : {1, 3, 500}) {
      std::vector<bool> bits(n);
      for (uint64_t i = 0; i < n; ++i) bits[i] = random() % one_in == 0;
      bits[n - 1] = true;
      const std::vector<uint64_t> chosen = ChosenOf(bits);
      const internal::SelectionMap map(
          *Selection::FromBitmap(n, WordsOf(bits)));
      ASSERT_EQ(map.length(), chosen.size());
      testing::ExpectLaws(map, testing::Range(0, chosen.size(), 3));
      auto backwards = testing::Range(0, chosen.size(), 3);
      std::reverse(backwards.begin(), backwards.end());
      testing::ExpectLaws(map, backwards);
      for (uint64_t i = 0; i < chosen.size(); ++i) {
        const ChildPosition at = testing::ResolveOne(map, i, 5);
        ASSERT_EQ(at.position.index, chosen[i]);
        ASSERT_EQ(at.position.epoch, 5u);
      }
      for (uint64_t i = 0; i < n; ++i) {
        ASSERT_EQ(map.Find(0, {i, 1}).has_value(), bits[i]);
        ASSERT_EQ(map.Find(1, {i, 1}), std::nullopt);
      }
      ASSERT_EQ(map.Find(0, {n, 0}), std::nullopt);
    }
  }
}

TEST(SelectionDeathTest, APlaceThatIsNoneIsTheCallersBug) {
  const Selection selection =
      *Selection::FromIndices(10, std::vector<uint64_t>{1});
  EXPECT_DEATH(selection.Select(1), "1 of 1");
  EXPECT_DEATH(selection.Contains(10), "10 of 10");
  EXPECT_DEATH(selection.CountBelow(11), "11 of 10");
}

}  // namespace
}  // namespace poniente
