// SPDX-License-Identifier: Apache-2.0
#include "index/maps/flat_map.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "poniente/permutation.h"
#include "tests/index/map_laws.h"
#include "tests/index/order_specs.h"
#include "tests/support/status_matchers.h"

namespace poniente::internal {
namespace {

using ::poniente::testing::StatusIs;
using ::testing::HasSubstr;
using testing::Range;
using testing::Resolve;
using testing::ResolveOne;

struct Child {
  std::string name;
  uint64_t length;
};

absl::StatusOr<std::unique_ptr<FlatMap>> MakeFlat(
    const std::vector<Child>& children, uint64_t seed = 42,
    const OrderSpec& spec = {}) {
  std::vector<uint64_t> lengths;
  std::vector<std::string> names;
  for (const Child& child : children) {
    lengths.push_back(child.length);
    names.push_back(child.name);
  }
  return FlatMap::Create(lengths, names, seed, spec);
}

// Declared out of order; canonical: a, b, c, d, e.
const std::vector<Child> kChildren = {
    {"c", 7}, {"a", 0}, {"e", 65536}, {"b", 1}, {"d", 1000}};

TEST(FlatMapTest, VisitsEveryItemOncePerEpoch) {
  ASSERT_OK_AND_ASSIGN(const auto map, MakeFlat(kChildren));
  ASSERT_EQ(map->length(), 66544u);
  std::vector<uint64_t> last_epoch;
  for (uint64_t epoch = 0; epoch < 2; ++epoch) {
    std::set<std::pair<uint32_t, uint64_t>> seen;
    for (const auto& item : Resolve(*map, Range(0, 66544, epoch))) {
      ASSERT_LT(item.position.index, kChildren[item.child].length);
      ASSERT_EQ(item.position.epoch, epoch);
      ASSERT_TRUE(seen.emplace(item.child, item.position.index).second);
    }
    ASSERT_EQ(seen.size(), 66544u);
  }
}

TEST(FlatMapTest, IsAListInCanonicalOrderShuffled) {
  ASSERT_OK_AND_ASSIGN(const auto map, MakeFlat(kChildren));
  std::vector<ChildPosition> list;
  for (const uint32_t child : {1, 3, 0, 4, 2}) {
    for (uint64_t i = 0; i < kChildren[child].length; ++i) {
      list.push_back({child, {i, 0}});
    }
  }
  // The key of (seed 42, "flat", epoch 0), from the definition.
  const Permutation shuffle(list.size(), 0x0821c66a33f55611);
  for (uint64_t i = 0; i < list.size(); i += 7) {
    ASSERT_EQ(ResolveOne(*map, i), list[shuffle.Forward(i)]) << "i=" << i;
  }
}

TEST(FlatMapTest, TheOrderOfDeclarationChangesNothing) {
  std::vector<Child> reversed(kChildren.rbegin(), kChildren.rend());
  ASSERT_OK_AND_ASSIGN(const auto map, MakeFlat(kChildren));
  ASSERT_OK_AND_ASSIGN(const auto other, MakeFlat(reversed));
  for (uint64_t i = 0; i < 5000; ++i) {
    const ChildPosition a = ResolveOne(*map, i, 3);
    const ChildPosition b = ResolveOne(*other, i, 3);
    ASSERT_EQ(kChildren[a.child].name, reversed[b.child].name);
    ASSERT_EQ(a.position, b.position);
  }
}

TEST(FlatMapTest, KeepsTheLawsFromAnyRestart) {
  ASSERT_OK_AND_ASSIGN(const auto map, MakeFlat(kChildren));
  testing::ExpectLaws(*map, Range(66000, 66544, 1));
  auto positions = Range(0, 300, 0);
  for (const Position& position : Range(0, 99, 5))
    positions.push_back(position);
  testing::ExpectLaws(*map, positions);
}

TEST(FlatMapTest, FindsOnlyWhatItHolds) {
  ASSERT_OK_AND_ASSIGN(const auto map, MakeFlat(kChildren));
  EXPECT_EQ(map->Find(1, {0, 0}), std::nullopt);
  EXPECT_EQ(map->Find(0, {7, 0}), std::nullopt);
  EXPECT_EQ(map->Find(5, {0, 0}), std::nullopt);
}

TEST(FlatMapTest, RefusesWhatCannotBeShuffled) {
  EXPECT_THAT(MakeFlat({{"a", 0}, {"b", 0}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("none of the 2 children has any items")));
  EXPECT_FALSE(MakeFlat({}).ok());
  EXPECT_THAT(
      MakeFlat({{"a", 1}, {"a", 2}}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("named 'a'")));
  EXPECT_THAT(MakeFlat({{"a", uint64_t{1} << 63}, {"b", 1}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("more than 2^63")));
}

class FlatKindsTest : public ::testing::TestWithParam<OrderSpec> {};

TEST_P(FlatKindsTest, IsAListInCanonicalOrderOrderedByKind) {
  ASSERT_OK_AND_ASSIGN(const auto map, MakeFlat(kChildren, 42, GetParam()));
  // The key of (seed 42, "flat", epoch 0), from the definition.
  const ItemOrder order(66544, 0x0821c66a33f55611, GetParam());
  for (uint64_t i = 0; i < 66544; i += 7) {
    const uint64_t place = order.Forward(i);
    const ChildPosition expected =
        place == 0     ? ChildPosition{3, {0, 0}}
        : place < 8    ? ChildPosition{0, {place - 1, 0}}
        : place < 1008 ? ChildPosition{4, {place - 8, 0}}
                       : ChildPosition{2, {place - 1008, 0}};
    ASSERT_EQ(ResolveOne(*map, i), expected) << "i=" << i;
  }
}

TEST_P(FlatKindsTest, KeepsTheLawsFromAnyRestart) {
  ASSERT_OK_AND_ASSIGN(const auto map, MakeFlat(kChildren, 42, GetParam()));
  testing::ExpectLaws(*map, Range(66000, 66544, 1));
  auto positions = Range(0, 300, 0);
  for (const Position& position : Range(0, 99, 5))
    positions.push_back(position);
  testing::ExpectLaws(*map, positions);
}

INSTANTIATE_TEST_SUITE_P(Kinds, FlatKindsTest,
                         ::testing::Values(Stored(), Full(), Eras(5000),
                                           Blocks(100, 64)));

TEST(FlatMapTest, RefusesWhatCannotBePaddedToWholeChunks) {
  EXPECT_THAT(
      MakeFlat({{"a", uint64_t{1} << 62}, {"b", uint64_t{1} << 62}}, 1,
               Blocks(3, 1)),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("chunks of 3")));
}

}  // namespace
}  // namespace poniente::internal
