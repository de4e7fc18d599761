// SPDX-License-Identifier: Apache-2.0
#include "poniente/dataset_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "poniente/flat_mixture.h"
#include "poniente/mapped_dataset.h"
#include "poniente/mixture_dataset.h"
#include "poniente/transforms.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using testing::Counting;
using ::testing::ElementsAre;
using testing::Indices;
using testing::StatusIs;

// Item i of leaf l is l * 10000 + i.
DatasetPtr<uint64_t> ThreeLevels() {
  const auto prose = *FlatMixture<uint64_t>::Create(
      {{"words", Counting(70, 0)}, {"fortunes", Counting(300, 10000)}});
  const auto notes = *MixtureDataset<uint64_t>::Create(
      {{"old", Counting(20, 20000), 1}, {"new", Counting(33, 30000), 2}});
  MixtureOptions options;
  options.block_size = 64;
  options.seed = 7;
  options.stages = {{500, {{"prose", 0.2}, {"code", 3}}}};
  return *MixtureDataset<uint64_t>::Create(
      {{"prose", prose, 1},
       {"notes", *Take(notes, 40), 1},
       {"code",
        *Concat<uint64_t>(
            {{"c", Counting(11, 40000)}, {"cc", Counting(6, 50000)}}),
        1}},
      options);
}

TEST(DatasetTreeTest, NamesItsLeavesInDeclaredOrder) {
  const auto root = ThreeLevels();
  const DatasetTree tree(*root);
  std::vector<std::string> paths;
  for (const TreeLeaf& leaf : tree.leaves()) paths.push_back(leaf.path);
  EXPECT_THAT(paths, ElementsAre("prose/words", "prose/fortunes", "notes/old",
                                 "notes/new", "code/c", "code/cc"));
}

TEST(DatasetTreeTest, ResolvesToTheItemsThatAreRead) {
  const auto root = ThreeLevels();
  const DatasetTree tree(*root);
  const auto items = *root->GetBatchBlocking(Indices(0, 2000));
  std::vector<Position> positions(2000);
  for (uint64_t i = 0; i < 2000; ++i) positions[i].index = i;
  std::vector<LeafPosition> leaves(2000);
  ASSERT_TRUE(tree.Resolve(positions, leaves).ok());
  for (uint64_t i = 0; i < 2000; ++i) {
    ASSERT_EQ(leaves[i].leaf * 10000 + leaves[i].position.index, items[i])
        << "sample " << i;
  }
}

TEST(DatasetTreeTest, FindsTheSampleThatReadsAnItem) {
  const auto root = ThreeLevels();
  const DatasetTree tree(*root);
  std::vector<Position> positions(3000);
  for (uint64_t i = 0; i < 3000; ++i) positions[i].index = i;
  std::vector<LeafPosition> leaves(3000);
  ASSERT_TRUE(tree.Resolve(positions, leaves).ok());
  for (uint64_t i = 0; i < 3000; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto found, tree.Find(leaves[i]));
    ASSERT_TRUE(found.has_value()) << "sample " << i;
    ASSERT_EQ(found->index, i);
  }
}

TEST(DatasetTreeTest, AnItemThatIsNeverReadIsNotFound) {
  const auto cut = *Take(Counting(10), 5);
  const auto root = *FlatMixture<uint64_t>::Create({{"a", cut}});
  const DatasetTree tree(*root);
  EXPECT_EQ(*tree.Find({0, {.index = 7}}), std::nullopt);
  EXPECT_EQ(*tree.Find({0, {.index = 10}}), std::nullopt);
  EXPECT_NE(*tree.Find({0, {.index = 4}}), std::nullopt);
}

TEST(DatasetTreeTest, PassesThroughMapsAndSaysSo) {
  const auto doubled =
      Map<uint64_t>("double", Counting(10), [](uint64_t x) { return 2 * x; });
  const auto root = *FlatMixture<uint64_t>::Create(
      {{"doubled", doubled}, {"plain", Counting(10)}});
  const DatasetTree tree(*root);
  EXPECT_FALSE(tree.leaves()[0].is_plain);
  EXPECT_TRUE(tree.leaves()[1].is_plain);
  std::vector<Position> positions = {{.index = 3}};
  std::vector<LeafPosition> leaves(1);
  ASSERT_TRUE(tree.Resolve(positions, leaves).ok());
  EXPECT_EQ(**tree.Find(leaves[0]), positions[0]);
}

TEST(DatasetTreeTest, WaitsForNothingButSaysThatAnOrderIsNotKnownYet) {
  const auto growing = InMemoryDataset<uint64_t>::Growing();
  const auto root = *Shuffle<uint64_t>(growing);
  const DatasetTree tree(*root);
  std::vector<Position> positions(1);
  std::vector<LeafPosition> leaves(1);
  EXPECT_THAT(tree.Resolve(positions, leaves),
              StatusIs(absl::StatusCode::kFailedPrecondition, ::testing::_));
}

TEST(DatasetTreeTest, PastTheEndIsOutOfRange) {
  const auto root = *FlatMixture<uint64_t>::Create({{"a", Counting(10)}});
  const DatasetTree tree(*root);
  std::vector<Position> positions = {{.index = 10}};
  std::vector<LeafPosition> leaves(1);
  EXPECT_THAT(tree.Resolve(positions, leaves),
              StatusIs(absl::StatusCode::kOutOfRange, ::testing::_));
}

}  // namespace
}  // namespace poniente
