// SPDX-License-Identifier: Apache-2.0
// EraShuffle() and BlockShuffle().
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <set>

#include "poniente/mapped_dataset.h"
#include "poniente/mixture_dataset.h"
#include "poniente/transforms.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/dataset_conformance.h"
#include "tests/support/slow_order.h"
#include "tests/support/status_matchers.h"
#include "tests/support/tokens_dataset.h"

namespace poniente {
namespace {

namespace asio = boost::asio;
using ::testing::AllOf;
using testing::Counting;
using testing::DatasetCase;
using testing::DatasetConformanceTest;
using ::testing::ElementsAre;
using testing::Epoch;
using ::testing::HasSubstr;
using testing::Indices;
using testing::IsOk;
using testing::SlowEpochKey;
using testing::StatusIs;
using testing::TokensDataset;

BlockShuffleOptions ChunksOf(uint64_t items, uint64_t window) {
  return {.chunk_items = items, .window_chunks = window};
}

INSTANTIATE_TEST_SUITE_P(
    LocalShuffles, DatasetConformanceTest,
    ::testing::Values(
        DatasetCase{"Eras", [] { return *EraShuffle(Counting(1000), 64); },
                    1000},
        DatasetCase{"ErasLongerThanTheDataset",
                    [] { return *EraShuffle(Counting(10), UINT64_MAX); }, 10},
        DatasetCase{"ErasOfNothing", [] { return *EraShuffle(Counting(0), 5); },
                    0},
        DatasetCase{"ErasWithoutEnd",
                    [] { return *EraShuffle(*Repeat(Counting(7)), 100); },
                    std::nullopt},
        DatasetCase{
            "Blocks",
            [] { return *BlockShuffle(Counting(1003), ChunksOf(16, 4)); },
            1003},
        DatasetCase{"BlocksLongerThanTheDataset",
                    [] {
                      return *BlockShuffle(Counting(10),
                                           ChunksOf(UINT64_MAX, UINT64_MAX));
                    },
                    10},
        DatasetCase{"BlocksOfNothing",
                    [] { return *BlockShuffle(Counting(0), ChunksOf(3, 2)); },
                    0},
        DatasetCase{
            "Nested",
            [] {
              return *BlockShuffle(
                  *Concat<uint64_t>(
                      {{"a", *EraShuffle(Counting(40), 7)},
                       {"b", *BlockShuffle(Counting(77), ChunksOf(4, 3))}}),
                  ChunksOf(10, 2));
            },
            117}),
    testing::CaseName);

TEST(EraShuffleTest, OrderIsTheSlowOneOfEachEpoch) {
  for (const uint64_t n : {1u, 10u, 64u, 1000u}) {
    for (const uint64_t era : {1u, 4u, 64u, 100u, 5000u}) {
      const auto shuffled = *EraShuffle(Counting(n), era, 42);
      for (const uint64_t epoch : {0, 1, 2}) {
        EXPECT_EQ(Epoch(shuffled, epoch, n),
                  testing::SlowEras(n, era, SlowEpochKey(42, "shuf", epoch)))
            << "n " << n << " era " << era << " epoch " << epoch;
      }
    }
  }
}

TEST(EraShuffleTest, ServesTheWholeErasOfAGrowingDataset) {
  const auto growing = InMemoryDataset<uint64_t>::Growing();
  const auto shuffled = *EraShuffle<uint64_t>(growing, 4, 42);
  const auto whole = testing::SlowEras(10, 4, SlowEpochKey(42, "shuf", 0));
  EXPECT_EQ(shuffled->length_now(), LengthState::Growing(0));
  EXPECT_THAT(growing->Append({0, 1, 2}), IsOk());
  EXPECT_EQ(shuffled->length_now(), LengthState::Growing(0));
  EXPECT_THAT(growing->Append({3, 4}), IsOk());
  ASSERT_EQ(shuffled->length_now(), LengthState::Growing(4));
  EXPECT_THAT(Epoch(shuffled, 0, 4),
              ElementsAre(whole[0], whole[1], whole[2], whole[3]));
  EXPECT_THAT(growing->Append({5, 6, 7, 8, 9}), IsOk());
  EXPECT_EQ(shuffled->length_now(), LengthState::Growing(8));
  growing->Finish();
  EXPECT_EQ(shuffled->length_now(), LengthState::Final(10));
  EXPECT_EQ(Epoch(shuffled, 0, 10), whole);
}

TEST(EraShuffleTest, AReaderWaitsForTheEraNotForTheEnd) {
  const auto growing = InMemoryDataset<uint64_t>::Growing();
  const auto shuffled = *EraShuffle<uint64_t>(growing, 4, 42);
  asio::io_context context{1};
  absl::StatusOr<uint64_t> fifth = absl::UnknownError("not yet");
  asio::co_spawn(
      context, shuffled->Get(5),
      [&](std::exception_ptr, absl::StatusOr<uint64_t> i) { fifth = i; });
  for (uint64_t i = 0; i < 7; ++i) {
    EXPECT_THAT(growing->Append({i}), IsOk());
    context.poll();
    EXPECT_FALSE(fifth.ok()) << "after " << i + 1;
  }
  EXPECT_THAT(growing->Append({7}), IsOk());
  context.poll();
  ASSERT_THAT(fifth, IsOk());
  EXPECT_EQ(*fifth, testing::SlowEras(8, 4, SlowEpochKey(42, "shuf", 0))[5]);
}

TEST(EraShuffleTest, AnEndlessDatasetHasWholeErasForEver) {
  const auto endless = *Repeat(Counting(7));
  const auto shuffled = *EraShuffle(endless, 5, 42);
  EXPECT_FALSE(shuffled->IsFinite());
  std::vector<uint64_t> expected;
  for (const uint64_t place :
       testing::SlowEras(1000, 5, SlowEpochKey(42, "shuf", 0))) {
    expected.push_back(place % 7);
  }
  EXPECT_EQ(Epoch(shuffled, 0, 1000), expected);
  const std::vector<Index> last =
      Indices((uint64_t{1} << 62) - 100, uint64_t{1} << 62);
  ASSERT_OK_AND_ASSIGN(const auto items, shuffled->GetBatchBlocking(last));
  EXPECT_EQ(items.size(), 100u);
}

TEST(EraShuffleTest, OfAnEndlessMixtureIsEndlessBeforeItCanBeRead) {
  const auto growing = InMemoryDataset<uint64_t>::Growing();
  const auto mixture = *MixtureDataset<uint64_t>::Create({{"a", growing}});
  const auto shuffled = *EraShuffle(mixture, 16, 42);
  EXPECT_FALSE(shuffled->IsFinite());
  EXPECT_EQ(shuffled->map(), nullptr);
  EXPECT_THAT(growing->Append({1, 2, 3}), IsOk());
  growing->Finish();
  EXPECT_FALSE(shuffled->IsFinite());
  EXPECT_EQ(Epoch(shuffled, 0, 50).size(), 50u);
}

TEST(EraShuffleTest, RefusesErasOfNothing) {
  EXPECT_THAT(EraShuffle(Counting(7), 0),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "era_shuffle: era_items must be at least 1, got 0"));
}

TEST(BlockShuffleTest, OrderIsTheSlowOneOfEachEpoch) {
  for (const uint64_t n : {17u, 64u, 1000u, 1024u}) {
    for (const uint64_t window : {1u, 4u, 1000u}) {
      const auto shuffled =
          *BlockShuffle(Counting(n), ChunksOf(16, window), 42);
      for (const uint64_t epoch : {0, 1, 2}) {
        EXPECT_EQ(
            Epoch(shuffled, epoch, n),
            testing::SlowBlocks(n, 16, window, SlowEpochKey(42, "shuf", epoch)))
            << "n " << n << " window " << window << " epoch " << epoch;
      }
    }
  }
}

TEST(BlockShuffleTest, ChunksInTokensAreCountedInItems) {
  const auto tokens = TokensDataset::Create(1000, /*item_tokens=*/64);
  const auto by_tokens =
      *BlockShuffle(tokens, {.chunk_tokens = 1087, .window_chunks = 4}, 42);
  const auto by_items = *BlockShuffle(tokens, ChunksOf(16, 4), 42);
  EXPECT_EQ(Epoch(by_tokens, 0, 1000), Epoch(by_items, 0, 1000));
  EXPECT_EQ(by_tokens->fingerprint(), by_items->fingerprint());
  EXPECT_EQ((*BlockShuffle(tokens, {}, 42))->fingerprint(),
            (*BlockShuffle(tokens, ChunksOf(8192, 1024), 42))->fingerprint());
}

TEST(BlockShuffleTest, WaitsForTheFinalLength) {
  const auto growing = InMemoryDataset<uint64_t>::Growing();
  const auto shuffled = *BlockShuffle<uint64_t>(growing, ChunksOf(1, 1), 1);
  EXPECT_THAT(growing->Append({1, 2, 3}), IsOk());
  EXPECT_EQ(shuffled->length_now(), LengthState::Growing(0));
  growing->Finish();
  EXPECT_EQ(shuffled->length_now(), LengthState::Final(3));
}

TEST(BlockShuffleTest, RefusesAnEndlessDatasetAndNamesTheWayOut) {
  EXPECT_THAT(BlockShuffle(*Repeat(Counting(7)), ChunksOf(1, 1)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("block_shuffle: "), HasSubstr("endless"),
                             HasSubstr("Take()"), HasSubstr("EraShuffle()"))));
}

TEST(BlockShuffleTest, RefusesChunksOfTokensWhereItemsHaveNoLength) {
  const auto mixed = *Concat<uint64_t>(
      {{"", TokensDataset::Create(5, 64)}, {"", TokensDataset::Create(5, 65)}});
  for (const auto& dataset : {Counting(7), mixed}) {
    EXPECT_THAT(BlockShuffle(dataset, {.chunk_tokens = 77}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("block_shuffle: chunk_tokens 77 "),
                               HasSubstr("state chunk_items instead"))));
    EXPECT_THAT(BlockShuffle(dataset),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("chunk_tokens 524288 (the default)")));
  }
}

TEST(BlockShuffleTest, RefusesNoDataset) {
  EXPECT_THAT(BlockShuffle<uint64_t>(nullptr),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("has no dataset")));
}

TEST(LocalShufflesTest, HaveAnOrderOfTheirOwn) {
  EXPECT_TRUE((*EraShuffle(Counting(7), 2))->has_order());
  EXPECT_TRUE((*BlockShuffle(Counting(7), ChunksOf(2, 2)))->has_order());
}

TEST(LocalShufflesTest, AStatedSeedStaysAnInheritedOneFollowsTheParent) {
  for (const auto& [stated, inherited] :
       {std::pair{*EraShuffle(Counting(100), 30, 42),
                  *EraShuffle(Counting(100), 30)},
        std::pair{*BlockShuffle(Counting(100), ChunksOf(5, 6), 42),
                  *BlockShuffle(Counting(100), ChunksOf(5, 6))}}) {
    const std::vector<uint64_t> order = Epoch(stated, 0, 100);
    EXPECT_EQ(Epoch(stated->WithSeed(9), 0, 100), order);
    EXPECT_NE(Epoch(inherited->WithSeed(9), 0, 100), order);
    EXPECT_EQ(Epoch(inherited->WithSeed(42), 0, 100), order);
  }
}

TEST(LocalShufflesTest, TheFingerprintCoversKindSizesAndSeed) {
  const auto data = Counting(100);
  const std::vector<DatasetPtr<uint64_t>> nodes = {
      data,
      *Shuffle(data, 1),
      *EraShuffle(data, 30, 1),
      *EraShuffle(data, 31, 1),
      *EraShuffle(data, 30, 2),
      *BlockShuffle(data, ChunksOf(30, 1), 1),
      *BlockShuffle(data, ChunksOf(31, 1), 1),
      *BlockShuffle(data, ChunksOf(30, 2), 1),
      *BlockShuffle(data, ChunksOf(30, 1), 2)};
  std::set<uint64_t> prints;
  for (const auto& node : nodes) prints.insert(node->fingerprint());
  EXPECT_EQ(prints.size(), nodes.size());
}

TEST(ItemTokensTest, AreTheChildrensIfTheyAgree) {
  const auto tokens = TokensDataset::Create(10, 64);
  EXPECT_EQ(tokens->item_tokens(), 64u);
  EXPECT_EQ((*EraShuffle(*Take(tokens, 3), 2))->item_tokens(), 64u);
  EXPECT_EQ((*Concat<uint64_t>({{"", tokens}, {"", tokens}}))->item_tokens(),
            64u);
  EXPECT_EQ(
      (*Concat<uint64_t>({{"", tokens}, {"", Counting(1)}}))->item_tokens(),
      0u);
  EXPECT_EQ((*Concat<uint64_t>({}))->item_tokens(), 0u);
  const auto mapped =
      Map<uint64_t>("same", tokens, [](uint64_t i) { return i; });
  EXPECT_EQ(mapped->item_tokens(), 0u);
}

}  // namespace
}  // namespace poniente
