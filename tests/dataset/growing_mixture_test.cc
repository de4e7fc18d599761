// SPDX-License-Identifier: Apache-2.0
// Mixtures, and nodes above them, whose children still grow: what can be read
// is what the complete dataset has there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "poniente/dataset_tree.h"
#include "poniente/in_memory_dataset.h"
#include "poniente/mixture_dataset.h"
#include "poniente/transforms.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using testing::Counting;
using ::testing::HasSubstr;
using testing::Indices;
using testing::IsOkAndHolds;
using testing::StatusIs;
using Component = MixtureComponent<uint64_t>;
using Memory = InMemoryDataset<uint64_t>;
using Mixture = MixtureDataset<uint64_t>;

// Items first, first + 1, ...: what a part of a tree serves shows where it is.
std::vector<uint64_t> Numbers(uint64_t first, uint64_t count) {
  std::vector<uint64_t> items(count);
  for (uint64_t i = 0; i < count; ++i) items[i] = first + i;
  return items;
}

// The same tree over datasets that are complete, and over some that grow.
struct TreePair {
  DatasetPtr<uint64_t> whole;
  DatasetPtr<uint64_t> growing;
};
struct GrowingSource {
  std::shared_ptr<Memory> dataset;
  uint64_t first;
  uint64_t length;
  uint64_t there = 0;

  bool IsWhole() const { return there == length; }
  void Grow(uint64_t by) {
    if (IsWhole()) return;
    by = std::min(by, length - there);
    EXPECT_TRUE(dataset->Append(Numbers(first + there, by)).ok());
    there += by;
  }
};

class RandomTrees {
 public:
  explicit RandomTrees(uint64_t seed) : random_(seed) {}

  TreePair Make() {
    TreePair root = MakeMixture(Below(2) == 0);
    if (Below(3) != 0) return root;
    const uint64_t taken = 1 + Below(400);
    return {*Take(root.whole, taken), *Take(root.growing, taken)};
  }
  uint64_t Below(uint64_t end) { return random_() % end; }
  std::vector<GrowingSource>& sources() { return sources_; }

 private:
  TreePair MakeLeaf(bool grows) {
    const uint64_t length = 1 + Below(300);
    const uint64_t first = 100000 * ++leaves_;
    const auto whole = Memory::Create(Numbers(first, length));
    if (!grows) return {whole, whole};
    sources_.push_back({Memory::Growing(), first, length});
    return {whole, sources_.back().dataset};
  }

  TreePair MakeMixture(bool has_nested) {
    MixtureOptions options;
    options.block_size = 1 + Below(40);
    options.seed = Below(1000);
    for (uint64_t s = 0; s < Below(3); ++s) {
      MixtureStage stage;
      stage.start = 50 * (s + 1) + Below(50);
      stage.weights = {{"a", 1.0 + static_cast<double>(Below(9))}};
      options.stages.push_back(stage);
    }
    std::vector<Component> whole, growing;
    for (const char* name : {"a", "b", "c"}) {
      const bool grows = Below(3) != 0;
      TreePair leaf =
          has_nested && Below(3) == 0 ? MakeMixture(false) : MakeLeaf(grows);
      const double weight = 1.0 + static_cast<double>(Below(9));
      ShuffleOptions shuffle = Below(4) == 0
                                   ? ShuffleOptions::None()
                                   : ShuffleOptions::Eras(1 + Below(50));
      if (!grows && Below(2) == 0) shuffle = ShuffleOptions::Full();
      if (leaf.whole->IsFinite() && grows && Below(4) == 0) {
        // An order of its own.
        leaf.whole = *EraShuffle(leaf.whole, 7);
        leaf.growing = *EraShuffle(leaf.growing, 7);
      }
      whole.push_back({name, leaf.whole, weight});
      growing.push_back({name, leaf.growing, weight});
      whole.back().shuffle = growing.back().shuffle = shuffle;
    }
    return {*Mixture::Create(std::move(whole), options),
            *Mixture::Create(std::move(growing), options)};
  }

  std::mt19937_64 random_;
  std::vector<GrowingSource> sources_;
  uint64_t leaves_ = 0;
};

// What can be read now is what the complete tree has there, both ways.
void ExpectPrefix(const TreePair& tree, uint64_t end) {
  const auto read = tree.growing->GetBatchBlocking(Indices(0, end));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, *tree.whole->GetBatchBlocking(Indices(0, end)));
  const DatasetTree whole(*tree.whole), growing(*tree.growing);
  std::vector<Position> positions(end);
  for (uint64_t i = 0; i < end; ++i) positions[i].index = i;
  std::vector<LeafPosition> there(end), here(end);
  ASSERT_TRUE(whole.Resolve(positions, there).ok());
  ASSERT_TRUE(growing.Resolve(positions, here).ok());
  for (uint64_t i = 0; i < end; ++i) {
    EXPECT_EQ(here[i].leaf, there[i].leaf) << i;
    EXPECT_EQ(here[i].position, there[i].position) << i;
    const auto found = growing.Find(here[i]);
    ASSERT_TRUE(found.ok()) << found.status();
    ASSERT_TRUE(found->has_value()) << i;
    EXPECT_EQ((*found)->index, i);
  }
}

TEST(GrowingMixtureTest, IsThePrefixOfTheCompleteOne) {
  uint64_t read_early = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    RandomTrees trees(::testing::UnitTest::GetInstance()->random_seed() * 1000 +
                      seed);
    const TreePair tree = trees.Make();
    uint64_t before = 0;
    const auto is_whole = [&] {
      return std::all_of(
          trees.sources().begin(), trees.sources().end(),
          [](const GrowingSource& source) { return source.IsWhole(); });
    };
    while (!is_whole()) {
      for (GrowingSource& source : trees.sources()) {
        source.Grow(trees.Below(60));
        if (source.IsWhole() && trees.Below(2) == 0) source.dataset->Finish();
      }
      const LengthState now = tree.growing->length_now();
      if (now.is_final) break;
      EXPECT_GE(now.readable, before);
      before = now.readable;
      ExpectPrefix(tree, std::min<uint64_t>(before, 500));
    }
    read_early += before;
    for (GrowingSource& source : trees.sources()) source.dataset->Finish();
    const LengthState now = tree.growing->length_now();
    EXPECT_TRUE(now.is_final);
    EXPECT_EQ(now, tree.whole->length_now());
    ExpectPrefix(tree, std::min<uint64_t>(now.readable, 700));
    EXPECT_EQ(tree.growing->fingerprint(), tree.whole->fingerprint());
  }
  EXPECT_GT(read_early, 5000u);
}

TEST(GrowingMixtureTest, ReadsAsSoonAsTheItemsAreThere) {
  const auto growing = Memory::Growing();
  MixtureOptions options;
  options.block_size = 8;
  const auto mixture = *Mixture::Create(
      {{"a", growing, 1, ShuffleOptions::Eras(4)}, {"b", Counting(5, 1000), 1}},
      options);
  EXPECT_FALSE(mixture->IsFinite());
  EXPECT_EQ(mixture->length_now().readable, 0u);
  ASSERT_TRUE(growing->Append(Numbers(0, 3)).ok());
  EXPECT_EQ(mixture->length_now().readable, 0u);  // no whole era
  ASSERT_TRUE(growing->Append(Numbers(3, 2)).ok());
  EXPECT_EQ(mixture->length_now().readable, 8u);  // draws 0 to 3 of "a"
  EXPECT_THAT(RunBlocking(mixture->WaitForLength(8)), IsOkAndHolds(8u));
  std::thread later([&] { EXPECT_TRUE(growing->Append(Numbers(5, 3)).ok()); });
  EXPECT_THAT(RunBlocking(mixture->WaitForLength(9)), IsOkAndHolds(16u));
  later.join();
  growing->Finish();
  EXPECT_EQ(mixture->length_now(), LengthState::Endless());
}

TEST(GrowingMixtureTest, WaitsForTheChildThatLimitsIt) {
  const auto fast = Memory::Growing();
  const auto slow = Memory::Growing();
  MixtureOptions options;
  options.block_size = 4;
  const auto none = ShuffleOptions::None();
  const auto mixture = *Mixture::Create(
      {{"fast", fast, 1, none}, {"slow", slow, 1, none}}, options);
  ASSERT_TRUE(fast->Append(Numbers(0, 100)).ok());
  ASSERT_TRUE(slow->Append(Numbers(0, 2)).ok());
  EXPECT_EQ(mixture->length_now().readable, 4u);
  std::thread later([&] { EXPECT_TRUE(slow->Append(Numbers(2, 2)).ok()); });
  EXPECT_THAT(RunBlocking(mixture->WaitForLength(8)), IsOkAndHolds(8u));
  later.join();
}

// A component of weight 0 limits nothing, but its end is waited for. Where the
// wait would not suspend, what is posted would never run.
TEST(GrowingMixtureTest, WaitsForAComponentThatIsNeverDrawn) {
  const auto complete = Memory::Growing();
  ASSERT_TRUE(complete->Append(Numbers(0, 8)).ok());
  complete->Finish();
  const auto never = Memory::Growing();
  ASSERT_TRUE(never->Append(Numbers(50, 8)).ok());
  MixtureOptions options;
  options.block_size = 4;
  const auto none = ShuffleOptions::None();
  const auto mixture = *Mixture::Create(
      {{"drawn", complete, 1, none}, {"never", never, 0, none}}, options);
  const auto taken = *Take(mixture, 3);
  const std::vector<Index> first = {0, 1, 2};
  std::vector<uint64_t> items;
  boost::asio::io_context context;
  boost::asio::co_spawn(
      context, taken->GetBatch(first),
      [&](std::exception_ptr, absl::StatusOr<std::vector<uint64_t>> read) {
        EXPECT_TRUE(read.ok()) << read.status();
        if (read.ok()) items = *std::move(read);
      });
  boost::asio::post(context, [&] { never->Finish(); });
  context.run();
  EXPECT_EQ(items.size(), 3u);
  EXPECT_THAT(RunBlocking(taken->GetBatch(first)), IsOkAndHolds(items));
}

TEST(GrowingMixtureTest, OfFullShufflesWaitsForTheEnd) {
  const auto growing = Memory::Growing();
  MixtureOptions options;
  options.block_size = 4;
  const auto mixture = *Mixture::Create({{"a", growing, 1}}, options);
  ASSERT_TRUE(growing->Append(Numbers(0, 100)).ok());
  EXPECT_EQ(mixture->map(), nullptr);
  EXPECT_EQ(mixture->length_now().readable, 0u);
  std::thread later([&] { growing->Finish(); });
  EXPECT_TRUE(RunBlocking(mixture->WaitForLength(1)).ok());
  later.join();
}

// A dataset of a user who forgot WaitForLength().
class DoesNotWait final : public AsyncDataset<uint64_t> {
 public:
  std::string name() const override { return "mine"; }
  LengthState length_now() const override { return LengthState::Growing(10); }
  uint64_t fingerprint() const override { return 1; }
  Task<std::vector<uint64_t>> GetBatch(
      std::span<const Index> indices) const override {
    co_return std::vector<uint64_t>(indices.size());
  }
};

TEST(GrowingMixtureTest, AComponentThatDoesNotWaitIsAnErrorAndNoEndlessLoop) {
  const auto mine = std::make_shared<DoesNotWait>();
  const auto mixture = *Mixture::Create(
      {Component{"mine", mine, 1}, Component{"other", Counting(10), 1}},
      {.block_size = 4});
  const auto refused = StatusIs(
      absl::StatusCode::kUnimplemented,
      HasSubstr("dataset 'mine' has 10 items and grows, but does not override "
                "WaitForLength(), which must wait until there are"));
  EXPECT_THAT(RunBlocking(mixture->WaitForLength(100)), refused);
  EXPECT_THAT(RunBlocking(mine->FinalLength()), refused);
}

TEST(GrowingRepeatTest, ReadsTheFirstPassAsItGrows) {
  const auto growing = Memory::Growing();
  const auto twice = *Repeat<uint64_t>(growing, 2);
  const auto endless = *Repeat<uint64_t>(growing);
  ASSERT_TRUE(growing->Append(Numbers(0, 3)).ok());
  EXPECT_EQ(twice->length_now(), LengthState::Growing(3));
  EXPECT_EQ(endless->length_now().readable, 3u);
  EXPECT_FALSE(endless->IsFinite());
  EXPECT_THAT(endless->GetBlocking(2), IsOkAndHolds(2u));
  growing->Finish();
  EXPECT_EQ(twice->length_now(), LengthState::Final(6));
  EXPECT_EQ(endless->length_now(), LengthState::Endless());
  EXPECT_THAT(endless->GetBlocking(4), IsOkAndHolds(1u));
}

}  // namespace
}  // namespace poniente
