// SPDX-License-Identifier: Apache-2.0
#include "poniente/in_memory_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <thread>

#include "tests/support/counting_dataset.h"
#include "tests/support/dataset_conformance.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

namespace asio = boost::asio;
using testing::DatasetCase;
using testing::DatasetConformanceTest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::StatusIs;

INSTANTIATE_TEST_SUITE_P(
    InMemory, DatasetConformanceTest,
    ::testing::Values(
        DatasetCase{"Complete", [] { return testing::Counting(50); }, 50},
        DatasetCase{"Empty", [] { return testing::Counting(0); }, 0}),
    testing::CaseName);

TEST(InMemoryDatasetTest, GivesItsItems) {
  const auto dataset = InMemoryDataset<std::string>::Create({"a", "b", "c"});
  const std::vector<Index> indices = {2, 0, 2};
  EXPECT_THAT(dataset->GetBatchBlocking(indices),
              IsOkAndHolds(ElementsAre("c", "a", "c")));
}

TEST(InMemoryDatasetTest, ItemsMayBeBits) {
  const auto bits =
      InMemoryDataset<bool>::Create({true, false, false, true, true, false});
  const std::vector<Index> indices = {0, 1, 2, 3, 4, 5, 0};
  EXPECT_THAT(bits->GetBatchBlocking(indices),
              IsOkAndHolds(std::vector<bool>{1, 0, 0, 1, 1, 0, 1}));
  const auto growing = InMemoryDataset<bool>::Growing();
  EXPECT_THAT(growing->Append({false, true}), IsOk());
  EXPECT_THAT(growing->GetBlocking(1), IsOkAndHolds(true));
  growing->Finish();
  EXPECT_THAT(growing->GetBlocking(0), IsOkAndHolds(false));
}

TEST(InMemoryDatasetTest, AReaderWaitsForItemsWithoutPolling) {
  const auto growing = InMemoryDataset<int>::Growing();
  asio::io_context context{1};
  absl::StatusOr<int> got = absl::UnknownError("not yet");
  asio::co_spawn(context, growing->Get(1),
                 [&](std::exception_ptr, absl::StatusOr<int> item) {
                   got = std::move(item);
                 });
  context.poll();
  EXPECT_THAT(growing->Append({10}), IsOk());
  context.poll();
  EXPECT_FALSE(got.ok());
  EXPECT_EQ(context.poll(), 0u) << "the reader polls";
  EXPECT_THAT(growing->Append({20, 30}), IsOk());
  context.poll();
  EXPECT_THAT(got, IsOkAndHolds(20));
}

TEST(InMemoryDatasetTest, FinishingEndsTheWaitOfWhoAsksForMore) {
  const auto growing = InMemoryDataset<int>::Growing();
  asio::io_context context{1};
  absl::StatusOr<int> got = 0;
  absl::StatusOr<uint64_t> length = absl::UnknownError("not yet");
  asio::co_spawn(context, growing->Get(1),
                 [&](std::exception_ptr, absl::StatusOr<int> i) { got = i; });
  asio::co_spawn(
      context, growing->FinalLength(),
      [&](std::exception_ptr, absl::StatusOr<uint64_t> l) { length = l; });
  context.poll();
  EXPECT_THAT(growing->Append({10}), IsOk());
  context.poll();
  EXPECT_FALSE(length.ok());
  growing->Finish();
  context.run();
  EXPECT_THAT(got, StatusIs(absl::StatusCode::kOutOfRange,
                            HasSubstr("index 1 of 'memory', which has 1")));
  EXPECT_THAT(length, IsOkAndHolds(1));
  EXPECT_THAT(
      growing->Append({20}),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("finished")));
}

TEST(InMemoryDatasetTest, ACancelledWaitEnds) {
  const auto growing = InMemoryDataset<int>::Growing();
  asio::io_context context{1};
  asio::cancellation_signal cancel;
  absl::StatusOr<int> got = 0;
  asio::co_spawn(context, growing->Get(0),
                 asio::bind_cancellation_slot(
                     cancel.slot(), [&](std::exception_ptr,
                                        absl::StatusOr<int> i) { got = i; }));
  context.poll();
  cancel.emit(asio::cancellation_type::terminal);
  context.run();
  EXPECT_THAT(got, StatusIs(absl::StatusCode::kCancelled, ::testing::_));
}

TEST(InMemoryDatasetTest, ManyThreadsAppendWhileOthersRead) {
  const auto growing = InMemoryDataset<int>::Growing();
  std::thread writer([&] {
    for (int i = 0; i < 2000; ++i) EXPECT_THAT(growing->Append({i}), IsOk());
    growing->Finish();
  });
  std::thread reader([&] {
    for (uint64_t i = 0; i < 2000; ++i) {
      EXPECT_THAT(growing->GetBlocking(i), IsOkAndHolds(static_cast<int>(i)));
    }
  });
  EXPECT_THAT(RunBlocking(growing->FinalLength()), IsOkAndHolds(2000));
  writer.join();
  reader.join();
}

TEST(InMemoryDatasetTest, GivesPartsOfTokenWindows) {
  const auto windows = testing::CountingWindows(3, 10);
  const std::vector<Position> positions = {{2, 0, 3, 4}};
  ASSERT_OK_AND_ASSIGN(const auto items,
                       RunBlocking(windows->GetAt(positions)));
  EXPECT_THAT(items[0].tokens, ElementsAre(23, 24, 25, 26));
  const std::vector<Position> beyond = {{2, 0, 8, 4}};
  EXPECT_THAT(
      RunBlocking(windows->GetAt(beyond)),
      StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("tokens 8 to 12")));
}

}  // namespace
}  // namespace poniente
