// SPDX-License-Identifier: Apache-2.0
#include "poniente/zipped_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "dataset/tree_past.h"
#include "poniente/dataset_tree.h"
#include "poniente/mapped_dataset.h"
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
using testing::kInvalid;
using testing::StatusIs;
using Pair = std::tuple<uint64_t, std::string>;

DatasetPtr<std::string> Texts(uint64_t length) {
  std::vector<std::string> texts;
  for (uint64_t i = 0; i < length; ++i) texts.push_back(std::to_string(i));
  return InMemoryDataset<std::string>::Create(texts, {.name = "texts"});
}

DatasetPtr<uint64_t> Summed(DatasetPtr<std::tuple<uint64_t, uint64_t>> pairs) {
  return Map<uint64_t>("sum", std::move(pairs),
                       [](std::tuple<uint64_t, uint64_t> pair) {
                         return 1000 * std::get<0>(pair) + std::get<1>(pair);
                       });
}

INSTANTIATE_TEST_SUITE_P(
    Zip, DatasetConformanceTest,
    ::testing::Values(
        DatasetCase{"Finite",
                    [] { return Summed(*Zip(Counting(30), Counting(30, 5))); },
                    30},
        DatasetCase{"Endless",
                    [] {
                      return Summed(
                          *Zip(*Repeat(Counting(30)), *Repeat(Counting(7))));
                    },
                    std::nullopt},
        DatasetCase{"OfShuffles",
                    [] {
                      return Summed(
                          *Zip(*Shuffle(Counting(30)), *Shuffle(Counting(30))));
                    },
                    30}),
    testing::CaseName);

TEST(ZipTest, PutsItemsOfOneIndexTogether) {
  const auto both = *Zip(Counting(3, 10), Texts(3));
  EXPECT_THAT(Epoch(both, 0, 3),
              ElementsAre(Pair{10, "0"}, Pair{11, "1"}, Pair{12, "2"}));
  const std::vector<Index> indices = {2, 0, 2};
  EXPECT_THAT(
      both->GetBatchBlocking(indices),
      IsOkAndHolds(ElementsAre(Pair{12, "2"}, Pair{10, "0"}, Pair{12, "2"})));
  const auto three = *Zip(Counting(2), Counting(2, 5), Counting(2, 7));
  EXPECT_EQ(std::get<2>(*three->GetBlocking(1)), 8u);
}

// Both have the seed of the node, so equal shuffles stay together.
TEST(ZipTest, ShufflesOfOneKindAgree) {
  const auto both = *Zip(*Shuffle(Counting(50)), *Shuffle(Texts(50)));
  for (const auto& dataset : {both, both->WithSeed(9)}) {
    for (const auto& [number, text] : Epoch(dataset, 3, 50)) {
      EXPECT_EQ(std::to_string(number), text);
    }
  }
  EXPECT_NE(Epoch(both, 0, 50), Epoch(both->WithSeed(9), 0, 50));
}

TEST(ZipTest, RefusesOtherLengths) {
  EXPECT_THAT(Zip(Counting(3), Texts(4)),
              StatusIs(kInvalid,
                       "zip: '0' has 3 items, '1' has 4; Take() the "
                       "same number of each"));
  EXPECT_THAT(Zip(Texts(4), *Repeat(Counting(3))),
              StatusIs(kInvalid, HasSubstr("'1' is endless")));
  EXPECT_THAT(Zip(DatasetPtr<uint64_t>(), Texts(4)),
              StatusIs(kInvalid, "zip: '0' has no dataset"));
  EXPECT_THAT(Zip(NamedDataset<uint64_t>{"a", Counting(4)},
                  NamedDataset<std::string>{"a", Texts(4)}),
              StatusIs(kInvalid, HasSubstr("two datasets are named 'a'")));
}

TEST(ZipTest, ServesWhatAllHaveAndWaitsForTheRest) {
  const auto numbers = InMemoryDataset<uint64_t>::Growing();
  const auto texts = InMemoryDataset<std::string>::Growing();
  const auto both =
      *Zip(DatasetPtr<uint64_t>(numbers), DatasetPtr<std::string>(texts));
  EXPECT_THAT(numbers->Append({1, 2, 3}), IsOk());
  EXPECT_THAT(texts->Append({"a"}), IsOk());
  EXPECT_EQ(both->length_now(), LengthState::Growing(1));
  asio::io_context context{1};
  absl::StatusOr<Pair> item = absl::UnknownError("not yet");
  asio::co_spawn(context, both->Get(2),
                 [&](std::exception_ptr, absl::StatusOr<Pair> i) { item = i; });
  context.poll();
  EXPECT_FALSE(item.ok());
  EXPECT_THAT(texts->Append({"b", "c"}), IsOk());
  context.run();
  EXPECT_THAT(item, IsOkAndHolds(Pair(3, "c")));
  texts->Finish();
  EXPECT_EQ(both->length_now(), LengthState::Growing(3));
  numbers->Finish();
  EXPECT_EQ(both->length_now(), LengthState::Final(3));
  EXPECT_THAT(RunBlocking(both->FinalLength()), IsOkAndHolds(3));
}

TEST(ZipTest, LengthsThatTurnOutToDifferAreAnErrorBeyondTheShorter) {
  const auto numbers = InMemoryDataset<uint64_t>::Growing();
  const auto both = *Zip(DatasetPtr<uint64_t>(numbers), Texts(2));
  EXPECT_THAT(numbers->Append({1, 2, 3}), IsOk());
  numbers->Finish();
  EXPECT_THAT(both->GetBlocking(1), IsOk());
  const std::string message =
      "zip: '1' has 2 items, '0' has 3; Take() the same number of each";
  EXPECT_THAT(both->GetBlocking(2), StatusIs(kInvalid, message));
  EXPECT_THAT(RunBlocking(both->FinalLength()), StatusIs(kInvalid, message));
}

TEST(ZipTest, ErrorsNameTheChild) {
  const auto picky = Map<uint64_t>("picky", Counting(3),
                                   [](uint64_t x) -> absl::StatusOr<uint64_t> {
                                     if (x == 1)
                                       return absl::DataLossError("bad");
                                     return x;
                                   });
  const auto both = *Zip(NamedDataset<std::string>{"text", Texts(3)},
                         NamedDataset<uint64_t>{"label", picky});
  EXPECT_THAT(both->GetBlocking(1),
              StatusIs(testing::kDataLoss,
                       "label: dataset 'picky' item 1 epoch 0: bad"));
  const std::vector<Position> part = {{.index = 0, .part_length = 1}};
  EXPECT_THAT(RunBlocking(both->GetAt(part)),
              StatusIs(kInvalid, HasSubstr("whole items only")));
}

TEST(ZipTest, ItemsAreTracedToTheFirstAndFoundByAll) {
  const auto both = *Shuffle(*Zip(NamedDataset<std::string>{"text", Texts(9)},
                                  NamedDataset<uint64_t>{"label", Counting(9)}),
                             3);
  const DatasetTree tree(*both);
  ASSERT_EQ(tree.leaves().size(), 2u);
  EXPECT_EQ(tree.leaves()[1].path, "label");
  for (uint64_t i = 0; i < 9; ++i) {
    const Position position = {.index = i};
    LeafPosition found;
    ASSERT_THAT(tree.Resolve(std::span(&position, 1), std::span(&found, 1)),
                IsOk());
    EXPECT_EQ(found.leaf, 0u);
    EXPECT_EQ(std::get<1>(*both->GetBlocking(i)), found.position.index);
    for (const uint32_t leaf : {0, 1}) {
      found.leaf = leaf;
      EXPECT_THAT(tree.Find(found), IsOkAndHolds(position));
    }
  }
  EXPECT_EQ(internal::PastOf(*both, 5).sources.size(), 2u);
}

TEST(ZipTest, NamesAndOrderAreInTheFingerprint) {
  const auto print = [](std::string a, std::string b) {
    return (*Zip(NamedDataset<uint64_t>{a, Counting(9)},
                 NamedDataset<uint64_t>{b, Counting(9)}))
        ->fingerprint();
  };
  EXPECT_EQ(print("a", "b"), print("a", "b"));
  EXPECT_NE(print("a", "b"), print("b", "a"));
}

}  // namespace
}  // namespace poniente
