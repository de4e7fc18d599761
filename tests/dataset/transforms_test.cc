// SPDX-License-Identifier: Apache-2.0
#include "poniente/transforms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "tests/support/counting_dataset.h"
#include "tests/support/dataset_conformance.h"
#include "tests/support/slow_permutation.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

namespace asio = boost::asio;
using testing::Counting;
using testing::DatasetCase;
using testing::DatasetConformanceTest;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using testing::Epoch;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::StatusIs;

DatasetPtr<uint64_t> ThreeParts() {
  return *Concat<uint64_t>(
      {{"", Counting(3, 0)}, {"", Counting(0)}, {"", Counting(2, 100)}});
}

INSTANTIATE_TEST_SUITE_P(
    IndexDatasets, DatasetConformanceTest,
    ::testing::Values(
        DatasetCase{"Concat", ThreeParts, 5},
        DatasetCase{"Slice", [] { return *Slice(Counting(100), 10, 37); }, 27},
        DatasetCase{"SliceCutAtTheEnd",
                    [] { return *Slice(Counting(20), 15, 99); }, 5},
        DatasetCase{"SliceOfNothing", [] { return *Slice(Counting(5), 7, 9); },
                    0},
        DatasetCase{"Take", [] { return *Take(Counting(100), 3); }, 3},
        DatasetCase{"Repeat", [] { return *Repeat(Counting(7), 3); }, 21},
        DatasetCase{"RepeatEndlessly", [] { return *Repeat(Counting(7)); },
                    std::nullopt},
        DatasetCase{"Shuffle", [] { return *Shuffle(Counting(1000)); }, 1000},
        DatasetCase{"ShuffleOfTen", [] { return *Shuffle(Counting(10)); }, 10},
        DatasetCase{"Nested",
                    [] {
                      return *Shuffle(
                          *Concat<uint64_t>({{"a", *Take(Counting(50), 40)},
                                             {"b", *Shuffle(Counting(77))}}));
                    },
                    117}),
    testing::CaseName);

TEST(ConcatTest, GoesThroughTheChildrenInDeclaredOrder) {
  EXPECT_THAT(Epoch(ThreeParts(), 0, 5), ElementsAre(0, 1, 2, 100, 101));
}

TEST(ConcatTest, ServesWhatIsReadableOfGrowingChildren) {
  const auto growing = InMemoryDataset<uint64_t>::Growing();
  const auto all =
      *Concat<uint64_t>({{"", Counting(2)}, {"", growing}, {"", Counting(1)}});
  EXPECT_EQ(all->CurrentLength(), 2u);
  EXPECT_THAT(growing->Append({50}), IsOk());
  EXPECT_EQ(all->CurrentLength(), 3u);
  EXPECT_THAT(all->GetBlocking(2), IsOkAndHolds(50));
  asio::io_context context{1};
  absl::StatusOr<uint64_t> last = absl::UnknownError("not yet");
  asio::co_spawn(
      context, all->Get(4),
      [&](std::exception_ptr, absl::StatusOr<uint64_t> i) { last = i; });
  context.poll();
  EXPECT_THAT(growing->Append({51}), IsOk());
  context.poll();
  EXPECT_FALSE(last.ok());
  growing->Finish();
  context.run();
  EXPECT_THAT(last, IsOkAndHolds(0));
  EXPECT_THAT(RunBlocking(all->FinalLength()), IsOkAndHolds(5));
}

TEST(TakeTest, IsFinalAsSoonAsEnoughHasGrown) {
  const auto growing = InMemoryDataset<uint64_t>::Growing();
  const auto three = *Take<uint64_t>(growing, 3);
  EXPECT_EQ(three->length_now(), LengthState::Growing(0));
  EXPECT_THAT(growing->Append({5, 6, 7, 8}), IsOk());
  EXPECT_EQ(three->length_now(), LengthState::Final(3));
  EXPECT_THAT(Epoch<uint64_t>(three, 0, 3), ElementsAre(5, 6, 7));
}

TEST(TakeTest, OfAnEndlessDatasetGoesOnInTheNextEpoch) {
  const auto endless = *Repeat(Counting(7));
  const auto five = *Take(endless, 5);
  EXPECT_THAT(Epoch(five, 0, 5), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(Epoch(five, 1, 5), ElementsAre(5, 6, 0, 1, 2));
  EXPECT_THAT(Epoch(*Slice(endless, 2, 4), 1, 2), ElementsAre(4, 5));
}

TEST(SliceTest, RefusesAnEndBeforeTheBeginning) {
  EXPECT_THAT(Slice(Counting(10), 5, 4),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("begin 5 lies behind end 4")));
}

TEST(RepeatTest, EachPassIsAnEpochWithAnOrderOfItsOwn) {
  const auto once = *Shuffle(Counting(100), 7);
  const auto thrice = *Repeat(once, 3);
  const std::vector<uint64_t> all = Epoch(thrice, 0, 300);
  for (uint64_t pass = 0; pass < 3; ++pass) {
    const std::vector<uint64_t> part(all.begin() + 100 * pass,
                                     all.begin() + 100 * (pass + 1));
    EXPECT_EQ(part, testing::SlowPermutation(
                        100, testing::SlowEpochKey(7, "shuf", pass)));
  }
}

TEST(RepeatTest, RefusesWhatCannotBeRepeated) {
  EXPECT_THAT(Repeat(*Repeat(Counting(7))),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("endless already")));
  EXPECT_THAT(Repeat(Counting(0)),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
}

TEST(RepeatTest, EndlessRepetitionKeepsTheFingerprint) {
  const auto once = *Shuffle(Counting(100), 7);
  EXPECT_EQ((*Repeat(once))->fingerprint(), once->fingerprint());
  EXPECT_NE((*Repeat(once, 2))->fingerprint(), once->fingerprint());
}

TEST(ShuffleTest, OrderIsTheSlowPermutationOfEachEpoch) {
  for (const uint64_t n : {1u, 2u, 10u, 64u, 65u, 1000u, 4097u}) {
    const auto shuffled = *Shuffle(Counting(n), 42);
    for (const uint64_t epoch : {0, 1, 2}) {
      EXPECT_EQ(
          Epoch(shuffled, epoch, n),
          testing::SlowPermutation(n, testing::SlowEpochKey(42, "shuf", epoch)))
          << "n " << n << " epoch " << epoch;
    }
  }
}

TEST(ShuffleTest, AStatedSeedStaysAnInheritedOneFollowsTheParent) {
  const auto stated = *Shuffle(Counting(100), 42);
  EXPECT_EQ(Epoch<uint64_t>(stated->WithSeed(9), 0, 100),
            Epoch(stated, 0, 100));
  // The only child of a shuffle has the empty name.
  const auto inner = *Shuffle(Counting(100));
  const auto outer = *Shuffle(inner, 42);
  const auto below = testing::SlowPermutation(
      100, testing::SlowEpochKey(testing::SlowChildSeed(42, ""), "shuf", 0));
  const auto above =
      testing::SlowPermutation(100, testing::SlowEpochKey(42, "shuf", 0));
  std::vector<uint64_t> expected;
  for (const uint64_t place : above) expected.push_back(below[place]);
  EXPECT_EQ(Epoch(outer, 0, 100), expected);
}

TEST(ShuffleTest, WaitsForTheFinalLength) {
  const auto growing = InMemoryDataset<uint64_t>::Growing();
  const auto shuffled = *Shuffle<uint64_t>(growing, 1);
  EXPECT_THAT(growing->Append({1, 2, 3}), IsOk());
  EXPECT_EQ(shuffled->CurrentLength(), 0u);
  EXPECT_EQ(shuffled->map(), nullptr);
  growing->Finish();
  EXPECT_EQ(shuffled->CurrentLength(), 3u);
  EXPECT_THAT(Epoch<uint64_t>(shuffled, 0, 3),
              ::testing::UnorderedElementsAre(1, 2, 3));
}

TEST(ShuffleTest, RefusesAnEndlessDataset) {
  EXPECT_THAT(
      Shuffle(*Repeat(Counting(7))),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("endless")));
}

TEST(IndexMapDatasetTest, ErrorsCarryTheNamesOnTheWay) {
  const auto cut = *Take(Counting(5), 5);
  const auto all = *Concat<uint64_t>({{"books", cut}, {"web", Counting(5)}});
  EXPECT_THAT(all->GetBlocking(10),
              StatusIs(absl::StatusCode::kOutOfRange,
                       "index 10 of 'concat', which has 10 items"));
}

}  // namespace
}  // namespace poniente
