// SPDX-License-Identifier: Apache-2.0
#include "poniente/batch_mapped_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "poniente/dataset_tree.h"
#include "poniente/transforms.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/dataset_conformance.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

namespace asio = boost::asio;
using testing::Counting;
using testing::DatasetCase;
using testing::DatasetConformanceTest;
using ::testing::ElementsAre;
using testing::Epoch;
using ::testing::HasSubstr;
using testing::Indices;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::kInvalid;
using testing::StatusIs;
using Items = std::vector<uint64_t>;

// Each item and the sum of its group.
Items WithSum(Items group) {
  const uint64_t sum = std::accumulate(group.begin(), group.end(), uint64_t{0});
  for (uint64_t& item : group) item = 1000 * item + sum;
  return group;
}

// The first and the last.
Items Ends(Items group) { return {group.front(), group.back()}; }

DatasetPtr<uint64_t> Sums(DatasetPtr<uint64_t> dataset, uint64_t group) {
  return *MapBatches<uint64_t>("sums", std::move(dataset),
                               {.group_items = group}, WithSum);
}
DatasetPtr<uint64_t> EndsOf(DatasetPtr<uint64_t> dataset, uint64_t group) {
  return *MapBatches<uint64_t>("ends", std::move(dataset),
                               {.group_items = group, .made_items = 2}, Ends);
}

INSTANTIATE_TEST_SUITE_P(
    MapBatches, DatasetConformanceTest,
    ::testing::Values(
        DatasetCase{"AsMany", [] { return Sums(Counting(30), 4); }, 30},
        DatasetCase{"Fewer", [] { return EndsOf(Counting(30), 4); }, 16},
        DatasetCase{"More", [] { return EndsOf(Counting(30), 1); }, 60},
        DatasetCase{"Empty", [] { return Sums(Counting(0), 4); }, 0},
        DatasetCase{"Endless", [] { return EndsOf(*Repeat(Counting(30)), 4); },
                    std::nullopt},
        DatasetCase{"OverShuffle",
                    [] { return Sums(*Shuffle(Counting(30)), 7); }, 30},
        DatasetCase{"BelowShuffle",
                    [] { return *Shuffle(Sums(Counting(30), 7)); }, 30}),
    testing::CaseName);

TEST(MapBatchesTest, GroupsAreConsecutiveItemsFromTheFirstOn) {
  EXPECT_THAT(Epoch(Sums(Counting(5), 2), 0, 5),
              ElementsAre(1, 1001, 2005, 3005, 4004));
  EXPECT_THAT(Epoch(EndsOf(Counting(7), 3), 0, 6),
              ElementsAre(0, 2, 3, 5, 6, 6));
}

// Whatever is asked for: an item is that of the groups of the whole epoch.
TEST(MapBatchesTest, ItemsDoNotDependOnTheRequest) {
  std::mt19937_64 random(testing::TestSeed(1));
  for (int trial = 0; trial < 200; ++trial) {
    const uint64_t length = 1 + random() % 40;
    const uint64_t group = 1 + random() % 9;
    const uint64_t epoch = random() % 3;
    const auto shuffled = *Shuffle(Counting(length), 7);
    const Items below = Epoch(shuffled, epoch, length);
    Items expected;
    for (size_t at = 0; at < length; at += group) {
      const size_t end = std::min<size_t>(length, at + group);
      const Items made =
          WithSum(Items(below.begin() + at, below.begin() + end));
      expected.insert(expected.end(), made.begin(), made.end());
    }
    std::vector<Position> positions(random() % 20);
    for (Position& position : positions) {
      position = {.index = random() % length, .epoch = epoch};
    }
    const auto items = RunBlocking(Sums(shuffled, group)->GetAt(positions));
    ASSERT_THAT(items, IsOk());
    for (size_t i = 0; i < positions.size(); ++i) {
      ASSERT_EQ((*items)[i], expected[positions[i].index]) << "trial " << trial;
    }
  }
}

TEST(MapBatchesTest, AGroupIsMadeOnceForARequest) {
  std::atomic<int> calls = 0;
  const auto counted = *MapBatches<uint64_t>(
      "counted", Counting(12), {.group_items = 4}, [&calls](Items group) {
        ++calls;
        return group;
      });
  const Items indices = {0, 3, 1, 5};
  EXPECT_THAT(counted->GetBatchBlocking(indices),
              IsOkAndHolds(ElementsAre(0, 3, 1, 5)));
  EXPECT_EQ(calls, 2);
}

TEST(MapBatchesTest, ItemsMayBeMovableOnly) {
  const auto boxes = *MapBatches<std::unique_ptr<uint64_t>>(
      "box", Counting(10), {.group_items = 4}, [](Items group) {
        std::vector<std::unique_ptr<uint64_t>> made;
        for (const uint64_t item : group) {
          made.push_back(std::make_unique<uint64_t>(item));
        }
        return made;
      });
  const Items indices = {5, 5, 4, 5};
  const auto made = boxes->GetBatchBlocking(indices);
  ASSERT_THAT(made, IsOk());
  for (size_t i = 0; i < indices.size(); ++i)
    EXPECT_EQ(*(*made)[i], indices[i]);
}

TEST(MapBatchesTest, ErrorsSayWhichGroup) {
  const auto picky =
      *MapBatches<uint64_t>("picky", Counting(14), {.group_items = 4},
                            [](Items group) -> absl::StatusOr<Items> {
                              if (group.front() == 4)
                                return absl::DataLossError("bad");
                              if (group.front() == 8)
                                throw std::runtime_error("boom");
                              if (group.front() == 12) group.pop_back();
                              return group;
                            });
  EXPECT_THAT(picky->GetBlocking(0), IsOkAndHolds(0));
  EXPECT_THAT(picky->GetBlocking(5),
              StatusIs(testing::kDataLoss,
                       "dataset 'picky' group 1 (items 4 to 7) epoch 0: bad"));
  EXPECT_THAT(
      picky->GetBlocking(11),
      StatusIs(absl::StatusCode::kInternal,
               "dataset 'picky' group 2 (items 8 to 11) epoch 0: boom"));
  EXPECT_THAT(picky->GetBlocking(12),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("group 3 (items 12 to 13) epoch 0: the "
                                 "function made 1 items, it must make 2, as "
                                 "many as it gets")));
  EXPECT_THAT(EndsOf(Counting(5), 2)->GetBlocking(4), IsOkAndHolds(4));
}

TEST(MapBatchesTest, WaitsForWholeGroups) {
  const auto growing = InMemoryDataset<uint64_t>::Growing();
  const auto sums = Sums(growing, 3);
  EXPECT_THAT(growing->Append({1, 2}), IsOk());
  EXPECT_EQ(sums->length_now(), LengthState::Growing(0));
  asio::io_context context{1};
  absl::StatusOr<uint64_t> item = absl::UnknownError("not yet");
  asio::co_spawn(
      context, sums->Get(0),
      [&](std::exception_ptr, absl::StatusOr<uint64_t> i) { item = i; });
  context.poll();
  EXPECT_FALSE(item.ok());
  EXPECT_THAT(growing->Append({3, 4}), IsOk());
  context.run();
  EXPECT_THAT(item, IsOkAndHolds(1006));
  EXPECT_EQ(sums->length_now(), LengthState::Growing(3));
  growing->Finish();
  EXPECT_EQ(sums->length_now(), LengthState::Final(4));
  EXPECT_THAT(sums->GetBlocking(3), IsOkAndHolds(4004));
}

TEST(MapBatchesTest, AnItemIsTracedToItsGroup) {
  const auto ends = EndsOf(Counting(10), 4);
  const DatasetTree tree(*ends);
  EXPECT_FALSE(tree.leaves()[0].is_plain);
  const auto found = tree.FindParts(0, 5, 2);
  ASSERT_THAT(found, IsOk());
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].position, (Position{.index = 2, .epoch = 2}));
  EXPECT_EQ((*found)[1].position, (Position{.index = 3, .epoch = 2}));
}

TEST(MapBatchesTest, NameAndGroupsAreInTheFingerprint) {
  const auto print = [](std::string name, MapBatchesOptions options) {
    return (*MapBatches<uint64_t>(name, Counting(10), options, WithSum))
        ->fingerprint();
  };
  const uint64_t base = print("a", {.group_items = 4});
  EXPECT_EQ(base, print("a", {.group_items = 4, .parallel = 3}));
  EXPECT_NE(base, print("b", {.group_items = 4}));
  EXPECT_NE(base, print("a", {.group_items = 5}));
  EXPECT_NE(base, print("a", {.group_items = 4, .made_items = 4}));
}

TEST(MapBatchesTest, RefusesGroupsWithoutItems) {
  EXPECT_THAT(MapBatches<uint64_t>("a", Counting(10), {}, WithSum),
              StatusIs(kInvalid, HasSubstr("group_items must be from 1")));
  EXPECT_THAT(MapBatches<uint64_t>("a", DatasetPtr<uint64_t>(),
                                   {.group_items = 1}, WithSum),
              StatusIs(kInvalid, HasSubstr("no dataset")));
}

}  // namespace
}  // namespace poniente
