// SPDX-License-Identifier: Apache-2.0
#include "tests/support/dataset_conformance.h"

#include <gmock/gmock.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"

namespace poniente::testing {

namespace asio = boost::asio;

TEST_P(DatasetConformanceTest, LengthsAgree) {
  const auto dataset = GetParam().make();
  EXPECT_EQ(dataset->IsFinite(), GetParam().length.has_value());
  EXPECT_EQ(dataset->CurrentLength(), GetParam().length);
  if (GetParam().length.has_value()) {
    EXPECT_THAT(RunBlocking(dataset->FinalLength()),
                IsOkAndHolds(*GetParam().length));
    EXPECT_THAT(RunBlocking(dataset->WaitForLength(UINT64_MAX)),
                IsOkAndHolds(*GetParam().length));
  } else {
    EXPECT_THAT(RunBlocking(dataset->FinalLength()),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         ::testing::HasSubstr("endless")));
  }
}

TEST_P(DatasetConformanceTest, AnEmptyRequestGivesNothing) {
  EXPECT_THAT(GetParam().make()->GetBatchBlocking({}),
              IsOkAndHolds(::testing::IsEmpty()));
}

TEST_P(DatasetConformanceTest, AnswersInRequestOrderWithDuplicates) {
  const auto dataset = GetParam().make();
  if (readable() == 0) return;  // PastTheEndIsOutOfRange says the rest
  std::vector<uint64_t> one_by_one;
  for (uint64_t i = 0; i < readable(); ++i) {
    ASSERT_OK_AND_ASSIGN(const uint64_t item, dataset->GetBlocking(i));
    one_by_one.push_back(item);
  }
  std::vector<uint64_t> indices;
  for (uint64_t i = 0; i < 3 * readable(); ++i) {
    indices.push_back(i * 7919 % readable());
  }
  ASSERT_OK_AND_ASSIGN(const auto items, dataset->GetBatchBlocking(indices));
  ASSERT_EQ(items.size(), indices.size());
  for (size_t i = 0; i < items.size(); ++i) {
    ASSERT_EQ(items[i], one_by_one[indices[i]]) << "index " << indices[i];
  }
}

TEST_P(DatasetConformanceTest, PastTheEndIsOutOfRange) {
  const auto dataset = GetParam().make();
  const uint64_t end = GetParam().length.value_or(uint64_t{1} << 62);
  for (const uint64_t index : {end, end + 1, UINT64_MAX}) {
    EXPECT_THAT(dataset->GetBlocking(index),
                StatusIs(absl::StatusCode::kOutOfRange,
                         ::testing::HasSubstr(std::to_string(index))));
  }
}

TEST_P(DatasetConformanceTest, ReseedingBackGivesTheSameOrder) {
  const auto dataset = GetParam().make();
  const auto first = dataset->WithSeed(5);
  const auto again = dataset->WithSeed(6)->WithSeed(5);
  EXPECT_EQ(first->fingerprint(), again->fingerprint());
  EXPECT_EQ(*first->GetBatchBlocking(Indices(0, readable())),
            *again->GetBatchBlocking(Indices(0, readable())));
}

TEST_P(DatasetConformanceTest, ManyCallersOnManyThreadsAgree) {
  const auto dataset = GetParam().make();
  const std::vector<uint64_t> indices = Indices(0, readable());
  const auto expected = dataset->GetBatchBlocking(indices);
  ASSERT_THAT(expected, IsOk());
  asio::thread_pool pool(3);
  std::atomic<int> equal = 0;
  for (int i = 0; i < 10; ++i) {
    asio::co_spawn(
        pool, dataset->GetBatch(indices),
        [&](std::exception_ptr, absl::StatusOr<std::vector<uint64_t>> items) {
          if (items.ok() && *items == *expected) ++equal;
        });
  }
  pool.join();
  EXPECT_EQ(equal, 10);
}

TEST_P(DatasetConformanceTest, ACancelledCallEnds) {
  const auto dataset = GetParam().make();
  const std::vector<uint64_t> indices = Indices(0, readable());
  asio::io_context context{1};
  asio::cancellation_signal cancel;
  bool ended = false;
  asio::co_spawn(context, dataset->GetBatch(indices),
                 asio::bind_cancellation_slot(
                     cancel.slot(), [&](std::exception_ptr,
                                        absl::StatusOr<std::vector<uint64_t>>) {
                       ended = true;
                     }));
  context.poll_one();
  cancel.emit(asio::cancellation_type::terminal);
  context.run();
  EXPECT_TRUE(ended);
}

}  // namespace poniente::testing
