// SPDX-License-Identifier: Apache-2.0
#include "index/permutation/item_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "index/keyed_hash.h"
#include "tests/index/order_specs.h"
#include "tests/support/slow_order.h"
#include "tests/support/status_matchers.h"

namespace poniente::internal {

namespace {

using ::poniente::testing::IsOk;
using ::poniente::testing::IsOkAndHolds;
using ::poniente::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr uint64_t kKey = 42;
constexpr uint64_t kMax = uint64_t{1} << 63;

std::vector<uint64_t> Count(uint64_t begin, uint64_t end) {
  std::vector<uint64_t> numbers;
  for (uint64_t i = begin; i < end; ++i) numbers.push_back(i);
  return numbers;
}

std::vector<uint64_t> InOneCall(const ItemOrder& order,
                                const std::vector<uint64_t>& indices) {
  std::vector<uint64_t> items(indices.size());
  order.Forward(indices, items);
  return items;
}

std::vector<uint64_t> AllItems(uint64_t n, const OrderSpec& spec) {
  return InOneCall(ItemOrder(n, kKey, spec), Count(0, n));
}

std::vector<uint64_t> SlowItems(uint64_t n, const OrderSpec& spec) {
  switch (spec.kind) {
    case ShuffleKind::kNone:
      break;
    case ShuffleKind::kFull:
      return testing::SlowPermutation(n, kKey);
    case ShuffleKind::kEras:
      return testing::SlowEras(n, spec.era_items, kKey);
    case ShuffleKind::kBlocks:
      return testing::SlowBlocks(n, std::min(n, spec.chunk_items),
                                 spec.window_chunks, kKey);
  }
  return Count(0, n);
}

// From the definition of order version 1: changing any reorders every run.
TEST(ItemOrderGoldenTest, ErasOfFour) {
  EXPECT_THAT(AllItems(10, Eras(4)), ElementsAre(1, 3, 2, 0, 5, 4, 6, 7, 9, 8));
}

TEST(ItemOrderGoldenTest, WindowsOfTwoChunksOfThree) {
  EXPECT_THAT(AllItems(10, Blocks(3, 2)),
              ElementsAre(5, 2, 0, 1, 7, 9, 4, 3, 6, 8));
}

TEST(ItemOrderGoldenTest, WindowsOfFourChunksOfSixteen) {
  const ItemOrder order(1000, kKey, Blocks(16, 4));
  EXPECT_THAT(InOneCall(order, Count(0, 6)),
              ElementsAre(761, 752, 164, 95, 87, 754));
  EXPECT_EQ(order.Forward(999), 724u);
  EXPECT_EQ(order.Inverse(0), 393u);
}

class ItemOrderTest : public ::testing::TestWithParam<OrderSpec> {};

constexpr uint64_t kLengths[] = {1,  2,  3,  4,  7,   10,  16,  47,
                                 63, 64, 65, 96, 127, 128, 129, 1000};

TEST_P(ItemOrderTest, IsTheListOfTheDefinition) {
  for (const uint64_t n : kLengths) {
    const ItemOrder order(n, kKey, GetParam());
    const std::vector<uint64_t> items = SlowItems(n, GetParam());
    ASSERT_THAT(InOneCall(order, Count(0, n)), ElementsAreArray(items))
        << "n " << n;
    for (uint64_t i = 0; i < n; ++i) {
      ASSERT_EQ(order.Forward(i), items[i]) << "n " << n << " index " << i;
    }
  }
}

TEST_P(ItemOrderTest, VisitsEveryItemOnceAndFindsItBack) {
  for (uint64_t n = 1; n < 150; ++n) {
    const ItemOrder order(n, kKey, GetParam());
    std::vector<bool> seen(n);
    for (uint64_t i = 0; i < n; ++i) {
      const uint64_t item = order.Forward(i);
      ASSERT_LT(item, n) << "index " << i;
      ASSERT_FALSE(seen[item]) << "n " << n << " item " << item;
      ASSERT_EQ(order.Inverse(item), i) << "n " << n;
      seen[item] = true;
    }
  }
}

TEST_P(ItemOrderTest, IsTheSameHoweverCallsAreCut) {
  const ItemOrder order(1000, kKey, GetParam());
  std::vector<uint64_t> indices = Count(0, 1000);
  KeyStream random(7);
  for (size_t i = 500; i < 1000; ++i) indices[i] = random.Bounded(1000);
  std::vector<uint64_t> one_by_one;
  std::vector<uint64_t> places;
  for (const uint64_t index : indices) {
    one_by_one.push_back(order.Forward(index));
    places.push_back(order.Inverse(index));
  }
  for (const size_t step : {1, 2, 7, 8, 9, 64, 256, 300, 1000}) {
    std::vector<uint64_t> in_place = indices;
    std::vector<uint64_t> apart(indices.size());
    for (size_t at = 0; at < indices.size(); at += step) {
      const size_t count = std::min(step, indices.size() - at);
      const auto part = std::span(in_place).subspan(at, count);
      order.Forward(part, part);
      order.Inverse(std::span(indices).subspan(at, count),
                    std::span(apart).subspan(at, count));
    }
    ASSERT_THAT(in_place, ElementsAreArray(one_by_one)) << "calls of " << step;
    ASSERT_THAT(apart, ElementsAreArray(places)) << "calls of " << step;
  }
}

TEST_P(ItemOrderTest, ACopyIsTheSameOrder) {
  const ItemOrder order(1000, kKey, GetParam());
  ItemOrder copy(3, 1, Full());
  copy = order;
  EXPECT_EQ(copy.length(), 1000u);
  EXPECT_EQ(InOneCall(copy, Count(0, 1000)), InOneCall(order, Count(0, 1000)));
}

// The sizes meet the lengths from below, exactly and from above.
INSTANTIATE_TEST_SUITE_P(Kinds, ItemOrderTest,
                         ::testing::Values(Stored(), Full(), Eras(1), Eras(4),
                                           Eras(16), Eras(64), Eras(65),
                                           Eras(1000), Eras(kMax),
                                           Eras(UINT64_MAX)));
INSTANTIATE_TEST_SUITE_P(
    Blocks, ItemOrderTest,
    ::testing::Values(Blocks(1, 1), Blocks(1, 4), Blocks(1, 2000), Blocks(2, 1),
                      Blocks(3, 2), Blocks(3, 5), Blocks(7, 3), Blocks(16, 1),
                      Blocks(16, 4), Blocks(16, 64), Blocks(64, 1),
                      Blocks(65, 2), Blocks(129, 3), Blocks(1000, 1),
                      Blocks(1001, 7), Blocks(kMax, 3),
                      Blocks(UINT64_MAX, UINT64_MAX), Blocks(3, UINT64_MAX),
                      Blocks(2, kMax), Blocks(4, kMax / 2 + 1)));

struct HugeCase {
  uint64_t length;
  OrderSpec spec;
};

void PrintTo(const HugeCase& c, std::ostream* out) {
  *out << "n " << c.length << ", ";
  PrintTo(c.spec, out);
}

class HugeOrderTest : public ::testing::TestWithParam<HugeCase> {
 protected:
  // Both ends, and in between.
  std::vector<uint64_t> SomeIndices() const {
    const uint64_t n = GetParam().length;
    std::vector<uint64_t> indices = Count(0, 300);
    for (uint64_t i = n - 300; i < n; ++i) indices.push_back(i);
    KeyStream random(3);
    for (int i = 0; i < 300; ++i) indices.push_back(random.Bounded(n));
    return indices;
  }
};

TEST_P(HugeOrderTest, FindsBackWhatItSamples) {
  const auto [n, spec] = GetParam();
  ASSERT_THAT(CheckOrder(spec, n), IsOk());
  const ItemOrder order(n, kKey, spec);
  const std::vector<uint64_t> indices = SomeIndices();
  const std::vector<uint64_t> items = InOneCall(order, indices);
  for (size_t i = 0; i < indices.size(); ++i) {
    ASSERT_LT(items[i], n) << "index " << indices[i];
    ASSERT_EQ(order.Forward(indices[i]), items[i]) << "index " << indices[i];
    ASSERT_EQ(order.Inverse(items[i]), indices[i]);
    const uint64_t place = order.Inverse(indices[i]);
    ASSERT_EQ(order.Forward(place), indices[i]);
  }
}

constexpr uint64_t kHalf = kMax / 2;
INSTANTIATE_TEST_SUITE_P(
    NearTheLimits, HugeOrderTest,
    ::testing::Values(HugeCase{kHalf + 12345, Blocks(4096, 1024)},
                      HugeCase{kHalf - 1, Blocks(255, 1 << 20)},
                      HugeCase{kHalf, Blocks(kHalf - 1, 7)},
                      HugeCase{kHalf, Blocks(kHalf / 2 + 1, 1)},
                      HugeCase{kHalf + 1, Blocks(3, kHalf)},
                      HugeCase{kMax, Blocks(1024, 1024)},
                      HugeCase{kMax, Blocks(1, UINT64_MAX)},
                      HugeCase{kMax, Blocks(UINT64_MAX, UINT64_MAX)},
                      HugeCase{kMax, Blocks(kHalf, 2)},
                      HugeCase{kMax - 2, Blocks(3, 1000)},
                      HugeCase{kMax, Eras(kMax - 1)},
                      HugeCase{kMax, Eras(UINT64_MAX)},
                      HugeCase{kMax - 1, Eras(1000003)}, HugeCase{kMax, Full()},
                      HugeCase{kMax, Stored()}));

// Where the samples of each chunk were seen: by window, how many.
using Windows = std::map<uint64_t, uint64_t>;

std::map<uint64_t, Windows> WindowsOfChunks(uint64_t n, uint64_t chunk,
                                            uint64_t window) {
  const std::vector<uint64_t> items = AllItems(n, Blocks(chunk, window));
  std::map<uint64_t, Windows> seen;
  for (uint64_t x = 0; x < n; ++x) {
    ++seen[items[x] / chunk][x / (window * chunk)];
  }
  return seen;
}

uint64_t Home(const Windows& windows) {
  return std::max_element(
             windows.begin(), windows.end(),
             [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

TEST(ItemOrderLocalityTest, EachChunkIsReadInOneWindowIfAllAreWhole) {
  std::map<uint64_t, uint64_t> chunks_in;
  for (const auto& [chunk, windows] : WindowsOfChunks(12800, 16, 50)) {
    EXPECT_EQ(windows.size(), 1u) << "chunk " << chunk;
    ++chunks_in[Home(windows)];
  }
  EXPECT_EQ(chunks_in.size(), 16u);
  for (const auto& [window, chunks] : chunks_in) EXPECT_EQ(chunks, 50u);
}

TEST(ItemOrderLocalityTest, FewerSamplesThanAChunkHoldsLeaveTheirWindow) {
  uint64_t most = 0;
  for (uint64_t n = 12785; n < 12800; ++n) {
    uint64_t strayed = 0;
    std::map<uint64_t, uint64_t> chunks_in;
    for (const auto& [chunk, windows] : WindowsOfChunks(n, 16, 50)) {
      const uint64_t home = Home(windows);
      ++chunks_in[home];
      for (const auto& [window, samples] : windows) {
        if (window != home) strayed += samples;
      }
    }
    EXPECT_LT(strayed, 16u) << "n " << n;
    for (const auto& [window, chunks] : chunks_in) EXPECT_LE(chunks, 50u);
    most = std::max(most, strayed);
  }
  EXPECT_GT(most, 0u);  // the ragged chunk does not just stay at the end
}

TEST(ItemOrderLocalityTest, AnEraKeepsItsItems) {
  const std::vector<uint64_t> items = AllItems(10000, Eras(1024));
  for (uint64_t x = 0; x < items.size(); ++x) {
    ASSERT_EQ(items[x] / 1024, x / 1024) << "index " << x;
  }
}

TEST(ItemOrderLocalityTest, WholeErasStayAsTheDatasetGrows) {
  const std::vector<uint64_t> longer = AllItems(1000, Eras(100));
  for (const uint64_t n : {100u, 250u, 999u}) {
    const std::vector<uint64_t> items = AllItems(n, Eras(100));
    EXPECT_TRUE(std::equal(items.begin(), items.begin() + n / 100 * 100,
                           longer.begin()));
  }
}

TEST(ItemOrderDeathTest, AnIndexPastTheEndAborts) {
  for (const OrderSpec& spec : {Stored(), Full(), Eras(7), Blocks(3, 2)}) {
    const ItemOrder order(10, kKey, spec);
    EXPECT_DEATH(order.Forward(10), "10 of 10");
    EXPECT_DEATH(order.Inverse(10), "10 of 10");
    EXPECT_DEATH(InOneCall(order, {3, 10}), "10 of 10");
  }
}

TEST(ItemOrderDeathTest, ASizeOfZeroAborts) {
  for (const OrderSpec& spec : {Eras(0), Blocks(0, 1), Blocks(1, 0)}) {
    EXPECT_DEATH(ItemOrder(10, kKey, spec), "check failed");
  }
}

ShuffleOptions ChunksOfTokens(uint64_t tokens) {
  return ShuffleOptions::Blocks({.chunk_tokens = tokens});
}

TEST(ResolveShuffleTest, CountsTheItemsOfAChunk) {
  EXPECT_EQ(ResolveShuffle(ShuffleOptions::Blocks(), 2048)->chunk_items, 256u);
  EXPECT_EQ(ResolveShuffle(ShuffleOptions::Blocks(), 2048)->window_chunks,
            1024u);
  EXPECT_EQ(ResolveShuffle(ChunksOfTokens(1000), 300)->chunk_items, 3u);
  EXPECT_EQ(ResolveShuffle(ChunksOfTokens(1000), 1000)->chunk_items, 1u);
  EXPECT_EQ(ResolveShuffle(ChunksOfTokens(1000), 1001)->chunk_items, 1u);
  EXPECT_THAT(
      ResolveShuffle(
          ShuffleOptions::Blocks({.chunk_items = 5, .window_chunks = 9}), 0),
      IsOkAndHolds(Blocks(5, 9)));
}

TEST(ResolveShuffleTest, TheOtherKindsNeedNoChunks) {
  EXPECT_THAT(ResolveShuffle(ShuffleOptions(), 0), IsOkAndHolds(Full()));
  EXPECT_THAT(ResolveShuffle(ShuffleOptions::Full(), 0), IsOkAndHolds(Full()));
  EXPECT_THAT(ResolveShuffle(ShuffleOptions::None(), 0),
              IsOkAndHolds(Stored()));
  EXPECT_THAT(ResolveShuffle(ShuffleOptions::Eras(7), 0),
              IsOkAndHolds(Eras(7)));
}

struct BadOptions {
  ShuffleOptions options;
  std::vector<std::string> words;
};

TEST(ResolveShuffleTest, RefusesWhatMakesNoSenseAndSaysWhatWould) {
  const std::vector<BadOptions> bad = {
      {ShuffleOptions::Eras(0), {"era_items", "at least 1"}},
      {ChunksOfTokens(0), {"chunk_tokens", "at least 1"}},
      {ChunksOfTokens(77), {"chunk_tokens 77 ", "state chunk_items instead"}},
      {ShuffleOptions::Blocks(),
       {"chunk_tokens 524288 (the default)", "state chunk_items instead"}},
      {ShuffleOptions::Blocks({.chunk_items = 0}),
       {"chunk_items", "at least 1"}},
      {ShuffleOptions::Blocks({.chunk_items = 4, .window_chunks = 0}),
       {"window_chunks", "at least 1"}},
      {ShuffleOptions::Blocks({.chunk_tokens = 8, .chunk_items = 4}),
       {"chunk_items 4", "chunk_tokens 8", "leave one of them out"}},
  };
  for (const BadOptions& c : bad) {
    for (const std::string& word : c.words) {
      EXPECT_THAT(
          ResolveShuffle(c.options, /*item_tokens=*/0),
          StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(word)));
    }
  }
}

TEST(CheckOrderTest, RefusesMoreThanCanBeNumbered) {
  EXPECT_THAT(CheckOrder(Blocks(kMax, kMax), 0), IsOk());
  EXPECT_THAT(CheckOrder(Blocks(3, 1), kMax),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("9223372036854775808 items in chunks of "
                                       "3 "),
                             HasSubstr("Take() at most 2^62"))));
  for (const OrderSpec& spec : {Full(), Eras(7), Blocks(1, 1)}) {
    EXPECT_THAT(CheckOrder(spec, kMax), IsOk());
    EXPECT_THAT(
        CheckOrder(spec, kMax + 1),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("only 2^63")));
  }
}

TEST(OrderFingerprintTest, CoversTheKindAndItsSizes) {
  std::set<uint64_t> prints;
  const std::vector<OrderSpec> specs = {
      Stored(),     Full(),       Eras(7),      Eras(8),
      Blocks(7, 1), Blocks(1, 7), Blocks(8, 1), Blocks(7, 2)};
  for (const OrderSpec& spec : specs) prints.insert(OrderFingerprint(spec));
  EXPECT_EQ(prints.size(), specs.size());
  EXPECT_EQ(OrderFingerprint(Full()), 0u);
}

}  // namespace
}  // namespace poniente::internal
