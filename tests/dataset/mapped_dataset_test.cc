// SPDX-License-Identifier: Apache-2.0
#include "poniente/mapped_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <stdexcept>

#include "poniente/cached_dataset.h"
#include "poniente/transforms.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/dataset_conformance.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using testing::Counting;
using testing::DatasetCase;
using testing::DatasetConformanceTest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::StatusIs;

uint64_t Square(uint64_t x) { return x * x; }

INSTANTIATE_TEST_SUITE_P(
    Map, DatasetConformanceTest,
    ::testing::Values(
        DatasetCase{
            "Finite",
            [] { return Map<uint64_t>("square", Counting(30), Square); }, 30},
        DatasetCase{"Endless",
                    [] {
                      return Map<uint64_t>("square", *Repeat(Counting(30)),
                                           Square);
                    },
                    std::nullopt},
        DatasetCase{"OverShuffle",
                    [] {
                      return Map<uint64_t>("square", *Shuffle(Counting(30)),
                                           Square);
                    },
                    30}),
    testing::CaseName);

TEST(MapTest, ChangesTheTypeOfTheItems) {
  const auto texts = Map<std::string>(
      "text", Counting(20), [](uint64_t x) { return std::to_string(x); });
  const std::vector<Index> indices = {7, 7, 19};
  EXPECT_THAT(texts->GetBatchBlocking(indices),
              IsOkAndHolds(ElementsAre("7", "7", "19")));
}

// A batch may be cut in any way: the items are the same.
TEST(MapTest, ItemsDoNotDependOnTheRequest) {
  const auto squares =
      Map<uint64_t>("square", *Shuffle(Counting(100), 3), Square);
  const auto together = *squares->GetBatchBlocking(testing::Indices(0, 100));
  for (const uint64_t size : {1, 7, 33}) {
    std::vector<uint64_t> pieces;
    for (uint64_t begin = 0; begin < 100; begin += size) {
      const auto piece = *squares->GetBatchBlocking(
          testing::Indices(begin, std::min<uint64_t>(100, begin + size)));
      pieces.insert(pieces.end(), piece.begin(), piece.end());
    }
    EXPECT_EQ(pieces, together) << "cut by " << size;
  }
}

TEST(MapTest, ErrorsAndExceptionsOfTheFunctionArriveAsStatus) {
  const auto picky = Map<uint64_t>(
      "picky", Counting(3), [](uint64_t x) -> absl::StatusOr<uint64_t> {
        if (x == 1) return absl::DataLossError("item 1 is bad");
        if (x == 2) throw std::runtime_error("boom");
        return x;
      });
  EXPECT_THAT(picky->GetBlocking(0), IsOkAndHolds(0));
  EXPECT_THAT(picky->GetBlocking(1),
              StatusIs(absl::StatusCode::kDataLoss,
                       "dataset 'picky' item 1 epoch 0: item 1 is bad"));
  EXPECT_THAT(picky->GetBlocking(2),
              StatusIs(absl::StatusCode::kInternal,
                       "dataset 'picky' item 2 epoch 0: boom"));
}

TEST(MapTest, CancelledOfTheFunctionIsAnErrorOfItsItem) {
  const auto picky = Map<uint64_t>(
      "picky", Counting(3), [](uint64_t x) -> absl::StatusOr<uint64_t> {
        if (x == 1) return absl::CancelledError("the database went away");
        if (x == 2) {
          throw boost::system::system_error(
              boost::asio::error::operation_aborted, "connect");
        }
        return x;
      });
  EXPECT_THAT(picky->GetBlocking(1),
              StatusIs(absl::StatusCode::kInternal,
                       "dataset 'picky' item 1 epoch 0: the function returned "
                       "CANCELLED: the database went away"));
  EXPECT_THAT(picky->GetBlocking(2),
              StatusIs(absl::StatusCode::kInternal,
                       ::testing::StartsWith(
                           "dataset 'picky' item 2 epoch 0: connect")));
}

TEST(MapTest, OfNoDatasetIsNone) {
  const auto none = Map<uint64_t>("square", DatasetPtr<uint64_t>(), Square);
  EXPECT_EQ(none, nullptr);
  EXPECT_THAT(Shuffle(none), StatusIs(testing::kInvalid, ::testing::_));
}

// A part of an item is a part of what the function makes of the whole item.
TEST(MapTest, TheFunctionGetsWholeItems) {
  const auto reverse = [](TokenWindow window) {
    std::reverse(window.tokens.begin(), window.tokens.end());
    return window;
  };
  std::vector<Position> parts(3);
  parts[0].index = 1;
  parts[1].index = 2;
  parts[1].part_length = 3;
  parts[2].index = 2;
  parts[2].part_begin = 6;
  parts[2].part_length = 2;
  for (const uint32_t threads : {1, 2}) {
    const auto mapped =
        Map<TokenWindow>("reverse", testing::CountingWindows(4, 8), reverse,
                         {.parallel = threads});
    const auto items = RunBlocking(mapped->GetAt(parts));
    ASSERT_THAT(items, IsOk());
    EXPECT_THAT((*items)[0].tokens, ElementsAre(15, 14, 13, 12, 11, 10, 9, 8));
    EXPECT_THAT((*items)[1].tokens, ElementsAre(23, 22, 21));
    EXPECT_THAT((*items)[2].tokens, ElementsAre(17, 16));
    const auto kept = *Cache(mapped, {.max_items = 10});
    EXPECT_THAT(RunBlocking(kept->GetAt(parts)), IsOkAndHolds(*items));
  }
}

TEST(MapTest, SaysThatItMakesItems) {
  const auto squares = Map<uint64_t>("square", Counting(3), Square);
  EXPECT_TRUE(squares->makes_items());
  ASSERT_NE(squares->map(), nullptr);
  EXPECT_EQ(squares->map()->length(), 3u);
  EXPECT_FALSE(squares->has_order());
  EXPECT_TRUE(
      Map<uint64_t>("square", *Shuffle(Counting(3)), Square)->has_order());
}

TEST(MapTest, TheNameIsPartOfTheFingerprint) {
  EXPECT_NE(Map<uint64_t>("square", Counting(3), Square)->fingerprint(),
            Map<uint64_t>("square 2", Counting(3), Square)->fingerprint());
}

}  // namespace
}  // namespace poniente
