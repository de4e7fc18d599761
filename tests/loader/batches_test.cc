// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <iterator>
#include <ranges>
#include <vector>

#include "poniente/async_next.h"
#include "tests/loader/open_loader.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

namespace asio = boost::asio;
using testing::CountingWindows;
using ::testing::ElementsAre;
using testing::FlakyWindows;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kSeqLen;
using testing::MakeSchedule;
using testing::Open;
using testing::StatusIs;

static_assert(std::input_iterator<Batches::Iterator>);
static_assert(std::ranges::input_range<Batches>);
static_assert(std::ranges::view<Batches>);
static_assert(!std::ranges::forward_range<Batches>);

std::unique_ptr<Loader> Steps(uint64_t steps, LoaderOptions options = {}) {
  return Open(CountingWindows(100, kSeqLen), MakeSchedule(steps, 2), options);
}

TEST(BatchesTest, TheLoopEndsAtTheEndOfTheRun) {
  const auto loader = Steps(5);
  std::vector<uint64_t> steps;
  for (absl::StatusOr<Batch>& batch : Batches(*loader)) {
    ASSERT_THAT(batch, IsOk());
    EXPECT_EQ(loader->next_step(), batch->step() + 1)
        << "a checkpoint in the body";
    steps.push_back(batch->step());
  }
  EXPECT_THAT(steps, ElementsAre(0, 1, 2, 3, 4));
  for (absl::StatusOr<Batch>& batch : Batches(*loader)) {
    FAIL() << batch.status();
  }
}

TEST(BatchesTest, AnotherLoopGoesOnWhereABreakLeft) {
  const auto loader = Steps(5);
  Batches batches(*loader);
  std::vector<uint64_t> steps;
  const auto loop = [&](uint64_t last) {
    for (absl::StatusOr<Batch>& batch : batches) {
      steps.push_back(batch->step());
      if (batch->step() == last) break;
    }
  };
  loop(1);
  EXPECT_EQ(loader->next_step(), 2u);
  loop(3);
  loop(9);
  EXPECT_THAT(steps, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(loader->Seek(4), IsOk());
  loop(9);
  EXPECT_THAT(steps, ElementsAre(0, 1, 2, 3, 4, 4));
}

TEST(BatchesTest, TakesNoMoreThanIsAskedFor) {
  const auto loader = Steps(0);
  std::vector<uint64_t> steps;
  for (absl::StatusOr<Batch>& batch : Batches(*loader) | std::views::take(3)) {
    steps.push_back(batch->step());
  }
  EXPECT_THAT(steps, ElementsAre(0, 1, 2));
  EXPECT_EQ(loader->next_step(), 3u);
  Batches unused(*loader);
  const auto first = unused.begin();
  EXPECT_EQ(loader->next_step(), 3u);
  EXPECT_EQ((*first)->step(), 3u);
  EXPECT_EQ((*first)->step(), 3u);
}

TEST(BatchesTest, AnErrorIsAnElementAndTheNextOneIsAnotherTry) {
  const auto flaky = FlakyWindows(2, 2, "Input/output error");
  const auto loader = Open(flaky, MakeSchedule(3, 2));
  std::vector<uint64_t> steps;
  int errors = 0;
  for (absl::StatusOr<Batch>& batch : Batches(*loader)) {
    if (batch.ok()) {
      steps.push_back(batch->step());
      continue;
    }
    EXPECT_THAT(batch, StatusIs(absl::StatusCode::kUnavailable,
                                HasSubstr("step 1, rank 0: ")));
    ++errors;
  }
  EXPECT_THAT(steps, ElementsAre(0, 1, 2));
  EXPECT_EQ(errors, 2);
}

TEST(BatchesTest, AClosedLoaderIsAnErrorNotTheEnd) {
  const auto loader = Steps(5);
  int seen = 0;
  for (absl::StatusOr<Batch>& batch : Batches(*loader)) {
    if (++seen == 1) {
      EXPECT_THAT(loader->CloseBlocking(), IsOk());
      continue;
    }
    EXPECT_THAT(batch, StatusIs(absl::StatusCode::kFailedPrecondition,
                                HasSubstr("closed")));
    break;
  }
  EXPECT_EQ(seen, 2);
}

TEST(BatchesTest, LetsGoOfTheBatchBeforeItAsksForTheNext) {
  LoaderOptions options;
  options.max_held = 0;
  options.prefetch_batches = 1;
  const auto loader = Steps(20, options);
  uint64_t steps = 0;
  for (absl::StatusOr<Batch>& batch : Batches(*loader)) {
    ASSERT_THAT(batch, IsOk());
    ++steps;
  }
  EXPECT_EQ(steps, 20u);
}

TEST(BatchesTest, WhoKeepsTooManyIsToldAndMayLetThemGo) {
  LoaderOptions options;
  options.max_held = 1;
  const auto loader = Steps(5, options);
  std::vector<Batch> kept;
  uint64_t steps = 0;
  int told = 0;
  for (absl::StatusOr<Batch>& batch : Batches(*loader)) {
    if (!batch.ok()) {
      EXPECT_THAT(batch,
                  StatusIs(absl::StatusCode::kResourceExhausted, ::testing::_));
      EXPECT_EQ(kept.size(), 2u);
      kept.clear();
      ++told;
      continue;
    }
    EXPECT_EQ(batch->step(), steps++);
    kept.push_back(*std::move(batch));
  }
  EXPECT_EQ(steps, 5u);
  EXPECT_EQ(told, 2);
}

TEST(BatchesTest, AnotherNextUnderWayIsAnError) {
  const auto growing = InMemoryDataset<TokenWindow>::Growing();
  const auto loader = Open(growing, MakeSchedule(0, 1));
  asio::io_context context{1};
  asio::co_spawn(context, loader->Next(),
                 [](std::exception_ptr, absl::StatusOr<Batch>) {});
  context.poll();
  EXPECT_THAT(*Batches(*loader).begin(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("another Next()")));
}

}  // namespace
}  // namespace poniente
