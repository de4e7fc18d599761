// SPDX-License-Identifier: Apache-2.0
// Literals from the definition of order version 1: changing one reorders every
// run ever resumed.
#include "index/keyed_hash.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <type_traits>

namespace poniente::internal {
namespace {

template <class Word>
concept IsWord = requires(KeyHash hash, Word word) {
  hash.Add(word);
};

// A tag is one word, a name several: a literal could be meant as either.
static_assert(IsWord<uint64_t> && IsWord<Tag> && IsWord<std::string_view> &&
              IsWord<std::string>);
static_assert(!IsWord<const char*> && !IsWord<char[5]> && !IsWord<double>);
static_assert(!std::is_convertible_v<const char (&)[5], Tag>);
static_assert(kBlockTag.word() == 0x636f6c62);

TEST(KeyedHashTest, StreamGivesTheWordsOfOrderVersion1) {
  KeyStream stream(42);
  EXPECT_EQ(stream.Next(), 0x63f4054dde37fb65);
  EXPECT_EQ(stream.Next(), 0x217afd0942281e42);
  EXPECT_EQ(stream.Next(), 0x9814d2acf5cc8f51);
}

TEST(KeyedHashTest, DerivesTheKeysOfOrderVersion1) {
  const std::string books = "books";
  EXPECT_EQ(Derive(42, 7, 1, 2), 0x611ac7fc64bd47a7);
  EXPECT_EQ(Derive(42, kNameTag, books), 0x8ae49f1eaae73980);
  EXPECT_EQ(Derive(42, kBlockTag, 0), 0xe9999b0371f7547a);
  EXPECT_EQ(Derive(42, kEpochTag, books, 1), 0x474ed8eab0d7d058);
  EXPECT_EQ(Derive(42, kFlatTag, 0), 0x0821c66a33f55611);
}

TEST(KeyedHashTest, ChildSeedsAreTheNameKeys) {
  EXPECT_EQ(ChildSeed(42, "books"), 0x8ae49f1eaae73980);
  EXPECT_EQ(ChildSeed(42, "wikipedia"), 0x485bf685ac4cb4a6);
  EXPECT_EQ(ChildSeed(42, ""), 0xe2c1ee774ed2118f);
}

TEST(KeyedHashTest, ANameIsItsPaddedWordsAndItsLength) {
  EXPECT_EQ(ChildSeed(42, "wikipedia"),
            Derive(42, kNameTag, 0x69646570696b6977, 0x61, 9));
  EXPECT_EQ(ChildSeed(42, "wikipedi"),
            Derive(42, kNameTag, 0x69646570696b6977, 8));
  EXPECT_EQ(ChildSeed(42, ""), Derive(42, kNameTag, 0));
}

TEST(KeyedHashTest, NamesAreBytesOfAnyValue) {
  EXPECT_EQ(ChildSeed(1, "\xff"), Derive(1, kNameTag, 0xff, 1));
  EXPECT_NE(ChildSeed(1, std::string("a\0", 2)), ChildSeed(1, "a"));
}

TEST(KeyedHashTest, SeedAndEpochDoNotAddUp) {
  std::set<uint64_t> keys;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    for (uint64_t epoch = 0; epoch < 100; ++epoch) {
      keys.insert(Derive(seed, kShuffleTag, epoch));
    }
  }
  EXPECT_EQ(keys.size(), 10000u);
}

TEST(KeyedHashTest, BoundedIsFairWhereTwoToTheSixtyFourIsNotAMultiple) {
  // Three quarters of 2^64: without a second try multiples of 3 would come
  // twice as often as other values.
  KeyStream stream(7);
  int multiples = 0;
  for (int i = 0; i < 30000; ++i) {
    multiples += stream.Bounded(0xc000000000000000) % 3 == 0;
  }
  EXPECT_NEAR(multiples, 10000, 5 * 82);  // 5 standard deviations.
}

}  // namespace
}  // namespace poniente::internal
