// SPDX-License-Identifier: Apache-2.0
// async_next() in stackful coroutines, which need Boost.Context.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/spawn.hpp>
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
using testing::kSeqLen;
using testing::MakeSchedule;
using testing::Open;

TEST(AsyncNextYieldTest, GivesEachBatchToTheCoroutine) {
  const auto loader = Open(CountingWindows(100, kSeqLen), MakeSchedule(3, 2));
  asio::io_context context{1};
  std::vector<uint64_t> steps;
  absl::Status end;
  asio::spawn(
      context,
      [&](asio::yield_context yield) {
        while (true) {
          const absl::StatusOr<Batch> batch = async_next(*loader, yield);
          EXPECT_TRUE(context.get_executor().running_in_this_thread());
          end = batch.status();
          if (!batch.ok()) return;
          steps.push_back(batch->step());
        }
      },
      asio::detached);
  context.run();
  EXPECT_THAT(steps, ElementsAre(0, 1, 2));
  EXPECT_TRUE(absl::IsOutOfRange(end)) << end;
}

TEST(AsyncNextYieldTest, AContextThatDiesLosesNoBatch) {
  const auto data = InMemoryDataset<TokenWindow>::Growing();
  const auto loader = Open(data, MakeSchedule(0, 1));
  {
    asio::io_context context{1};
    asio::spawn(
        context,
        [&](asio::yield_context yield) {
          (void)async_next(*loader, yield);
          ADD_FAILURE() << "went on in a dead context";
        },
        asio::detached);
    context.poll();
  }
  ASSERT_TRUE(
      data->Append({TokenWindow(std::vector<uint32_t>(kSeqLen, 5))}).ok());
  EXPECT_EQ(loader->NextBlocking()->step(), 0u);
}

}  // namespace
}  // namespace poniente
