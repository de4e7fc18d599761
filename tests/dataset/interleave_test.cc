// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "dataset/tree_past.h"
#include "poniente/dataset_tree.h"
#include "poniente/transforms.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/dataset_conformance.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

namespace asio = boost::asio;
using testing::Counting;
using testing::DatasetCase;
using testing::DatasetConformanceTest;
using ::testing::ElementsAre;
using testing::Epoch;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::StatusIs;

DatasetPtr<uint64_t> InTurn(uint64_t block) {
  return *Interleave<uint64_t>({{"", Counting(3)},
                                {"", Counting(0)},
                                {"", Counting(5, 100)},
                                {"", Counting(2, 200)}},
                               block);
}

INSTANTIATE_TEST_SUITE_P(
    Interleave, DatasetConformanceTest,
    ::testing::Values(DatasetCase{"Finite", [] { return InTurn(1); }, 10},
                      DatasetCase{"Blocks", [] { return InTurn(2); }, 10},
                      DatasetCase{"Endless",
                                  [] {
                                    return *Interleave<uint64_t>(
                                        {{"a", *Shuffle(Counting(9))},
                                         {"b", *Repeat(Counting(5))}},
                                        3);
                                  },
                                  std::nullopt},
                      DatasetCase{"BelowAShuffle",
                                  [] { return *Shuffle(InTurn(2)); }, 10}),
    testing::CaseName);

TEST(InterleaveTest, TakesABlockOfEachInTurn) {
  EXPECT_THAT(Epoch(InTurn(1), 0, 10),
              ElementsAre(0, 100, 200, 1, 101, 201, 2, 102, 103, 104));
  EXPECT_THAT(Epoch(InTurn(2), 0, 10),
              ElementsAre(0, 1, 100, 101, 200, 201, 2, 102, 103, 104));
}

TEST(InterleaveTest, OrderOfDeclarationAndBlocksAreInTheFingerprint) {
  const auto make = [](std::string a, std::string b, uint64_t block) {
    return (*Interleave<uint64_t>({{a, Counting(3)}, {b, Counting(3)}}, block))
        ->fingerprint();
  };
  EXPECT_EQ(make("a", "b", 2), make("a", "b", 2));
  EXPECT_NE(make("a", "b", 2), make("b", "a", 2));
  EXPECT_NE(make("a", "b", 2), make("a", "b", 3));
  EXPECT_NE(make("a", "b", 1),
            (*Concat<uint64_t>({{"a", Counting(3)}, {"b", Counting(3)}}))
                ->fingerprint());
}

TEST(InterleaveTest, ItemsAreTracedToTheirLeaves) {
  const auto dataset = InTurn(2);
  const DatasetTree tree(*dataset);
  const std::vector<uint64_t> items = Epoch(dataset, 0, 10);
  for (uint64_t i = 0; i < 10; ++i) {
    const Position position = {.index = i};
    LeafPosition leaf;
    ASSERT_THAT(tree.Resolve(std::span(&position, 1), std::span(&leaf, 1)),
                IsOk());
    const uint64_t first[] = {0, 0, 100, 200};
    EXPECT_EQ(first[leaf.leaf] + leaf.position.index, items[i]);
    EXPECT_THAT(tree.Find(leaf), IsOkAndHolds(position));
  }
  EXPECT_EQ(tree.leaves()[2].path, "2");
}

// The first child is far ahead; what is missing is the second one's.
TEST(InterleaveTest, WaitsForTheChildThatHoldsUpTheRound) {
  const auto ahead = InMemoryDataset<uint64_t>::Growing();
  const auto behind = InMemoryDataset<uint64_t>::Growing();
  const auto both = *Interleave<uint64_t>({{"a", ahead}, {"b", behind}}, 2);
  EXPECT_THAT(ahead->Append({0, 1, 2, 3, 4, 5}), IsOk());
  EXPECT_THAT(behind->Append({10}), IsOk());
  EXPECT_EQ(both->length_now(), LengthState::Growing(0));
  asio::io_context context{1};
  absl::StatusOr<uint64_t> item = absl::UnknownError("not yet");
  asio::co_spawn(
      context, both->Get(3),
      [&](std::exception_ptr, absl::StatusOr<uint64_t> i) { item = i; });
  context.poll();
  EXPECT_FALSE(item.ok());
  EXPECT_THAT(behind->Append({11}), IsOk());
  context.poll();
  EXPECT_THAT(item, IsOkAndHolds(11));
  EXPECT_EQ(both->length_now(), LengthState::Growing(4));
  behind->Finish();
  EXPECT_EQ(both->length_now(), LengthState::Growing(8));  // and no blocks of b
  ahead->Finish();
  EXPECT_EQ(both->length_now(), LengthState::Final(8));
}

TEST(InterleaveTest, RefusesAnEmptyBlock) {
  EXPECT_THAT(Interleave<uint64_t>({{"a", Counting(3)}}, 0),
              StatusIs(testing::kInvalid,
                       HasSubstr("interleave: block_items must be from 1")));
}

TEST(InterleaveTest, ThePastHasTheRoundsThatWereRead) {
  const auto endless = *Interleave<uint64_t>(
      {{"a", *Repeat(Counting(9, 0, "a"))}, {"b", *Repeat(Counting(5))}}, 3);
  const internal::TreePast past = internal::PastOf(*endless, 3);
  EXPECT_EQ(past, internal::PastOf(*endless, 3));
  EXPECT_EQ(past.sources.size(), 2u);
  EXPECT_NE(past.structure,
            internal::PastOf(
                *(*Interleave<uint64_t>({{"a", *Repeat(Counting(9, 0, "a"))},
                                         {"b", *Repeat(Counting(5))}},
                                        2)),
                3)
                .structure);
}

}  // namespace
}  // namespace poniente
