// SPDX-License-Identifier: Apache-2.0
// The descriptor of a loader is readable exactly while TryNext() has something
// to return.
#include "tests/loader/ready_fd.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "loader/offered_batch.h"
#include "poniente/async_next.h"
#include "tests/loader/open_loader.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

namespace asio = boost::asio;
using ::testing::_;
using testing::CountingWindows;
using testing::ExpectNothing;
using testing::FlakyWindows;
using testing::GatedWindows;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsReadable;
using testing::kLost;
using testing::kSeqLen;
using testing::MakeSchedule;
using testing::Open;
using testing::ReadyFdOf;
using testing::StatusIs;
using testing::TakeError;
using testing::TakeStep;

TEST(ReadyFdTest, IsReadableWhenTheBatchOfTheNextStepIs) {
  const auto gate = std::make_shared<GatedWindows>();
  const auto loader = Open(gate, MakeSchedule(100, 1));
  const int fd = ReadyFdOf(*loader);
  ExpectNothing(*loader, fd);
  gate->Let({0});
  EXPECT_TRUE(IsReadable(fd, kLost));
  EXPECT_EQ(TakeStep(*loader), 0u);
  ExpectNothing(*loader, fd);
  // Those of later steps do not count.
  gate->Let({2, 3});
  while (loader->metrics().batches_ready < 2) std::this_thread::yield();
  ExpectNothing(*loader, fd);
  gate->Let({1});
  EXPECT_TRUE(IsReadable(fd, kLost));
  for (const uint64_t step : {1u, 2u, 3u}) {
    EXPECT_TRUE(IsReadable(fd));
    EXPECT_EQ(TakeStep(*loader), step);
  }
  ExpectNothing(*loader, fd);
}

TEST(ReadyFdTest, ABatchOfSeveralItemsIsReadyWhenItIsComplete) {
  const auto gate = std::make_shared<GatedWindows>();
  const auto loader = Open(gate, MakeSchedule(100, 3));
  const int fd = ReadyFdOf(*loader);
  gate->Let({0, 2});
  EXPECT_FALSE(IsReadable(fd, 5));
  gate->Let({1});
  EXPECT_TRUE(IsReadable(fd, kLost));
  EXPECT_EQ(TakeStep(*loader), 0u);
}

TEST(ReadyFdTest, TheEndOfTheRunStaysReadable) {
  const auto loader = Open(CountingWindows(100, kSeqLen), MakeSchedule(30, 2));
  const int fd = ReadyFdOf(*loader);
  for (uint64_t step = 0; step < 30; ++step) {
    ASSERT_TRUE(IsReadable(fd, kLost));
    ASSERT_EQ(TakeStep(*loader), step);
  }
  // The loader knows the end once it has looked for step 30.
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(IsReadable(fd, i == 0 ? kLost : 0));
    EXPECT_THAT(TakeError(*loader),
                StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("ended")));
  }
}

// The end is known only when the fetch beyond it comes back.
TEST(ReadyFdTest, TheEndOfADatasetThatGrowsIsReadable) {
  InMemoryOptions memory;
  memory.vocabulary = Vocabulary{"modulo", 251};
  const auto growing = InMemoryDataset<TokenWindow>::Growing(memory);
  const auto loader = Open(growing, MakeSchedule(0, 1));
  const int fd = ReadyFdOf(*loader);
  ExpectNothing(*loader, fd);
  EXPECT_THAT(growing->Append({TokenWindow(std::vector<uint32_t>(kSeqLen, 5))}),
              IsOk());
  EXPECT_TRUE(IsReadable(fd, kLost));
  EXPECT_EQ(TakeStep(*loader), 0u);
  ExpectNothing(*loader, fd);
  growing->Finish();
  EXPECT_TRUE(IsReadable(fd, kLost));
  EXPECT_THAT(TakeError(*loader), StatusIs(absl::StatusCode::kOutOfRange, _));
}

TEST(ReadyFdTest, AskingForItStartsThePrefetch) {
  const auto loader = Open(CountingWindows(100, kSeqLen), MakeSchedule(30, 2));
  EXPECT_EQ(loader->metrics().batches_under_way, 0u);
  ReadyFdOf(*loader);
  while (loader->metrics().batches_ready < 4) std::this_thread::yield();
  EXPECT_EQ(loader->next_step(), 0u);
}

TEST(ReadyFdTest, TryNextAloneStartsThePrefetchToo) {
  const auto gate = std::make_shared<GatedWindows>();
  const auto loader = Open(gate, MakeSchedule(100, 1));
  EXPECT_FALSE(loader->TryNext().has_value());
  gate->Let({0});
  while (loader->metrics().batches_ready == 0) std::this_thread::yield();
  EXPECT_EQ(TakeStep(*loader), 0u);
}

TEST(ReadyFdTest, IsOneDescriptorThatTheLoaderOwns) {
  auto loader = Open(CountingWindows(100, kSeqLen), MakeSchedule(30, 2));
  ASSERT_THAT(loader->NextBlocking(), IsOk());  // its thread has started
  const size_t before = testing::OpenDescriptors();
  const int fd = ReadyFdOf(*loader);
  EXPECT_EQ(ReadyFdOf(*loader), fd);
  EXPECT_EQ(testing::OpenDescriptors(), before + 1);
  EXPECT_EQ(::fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  EXPECT_EQ(::fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
  loader.reset();
  EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
}

TEST(ReadyFdTest, ALoaderThatIsDestroyedLeavesTheEpollThatWatchesIt) {
  const int loop = ::epoll_create1(EPOLL_CLOEXEC);
  for (int round = 0; round < 50; ++round) {
    auto loader = Open(CountingWindows(100, kSeqLen), MakeSchedule(30, 2));
    const int fd = ReadyFdOf(*loader);
    epoll_event event = {.events = EPOLLIN, .data = {.fd = fd}};
    ASSERT_EQ(::epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event), 0);
    if (round % 2 == 0) {
      ASSERT_EQ(::epoll_wait(loop, &event, 1, kLost), 1);
    }
    loader.reset();
    EXPECT_EQ(::epoll_wait(loop, &event, 1, 0), 0);
  }
  ::close(loop);
}

// Without a call of the consumer.
TEST(ReadyFdTest, AnErrorIsReadableAndTheStepIsReadAgain) {
  const auto loader =
      Open(FlakyWindows(4, 2, "no such shard"), MakeSchedule(30, 2));
  const int fd = ReadyFdOf(*loader);
  for (const uint64_t step : {0u, 1u}) {
    ASSERT_TRUE(IsReadable(fd, kLost));
    ASSERT_EQ(TakeStep(*loader), step);
  }
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(IsReadable(fd, kLost));
    EXPECT_THAT(TakeError(*loader), StatusIs(absl::StatusCode::kUnavailable,
                                             HasSubstr("step 2, rank 0")));
    EXPECT_EQ(loader->next_step(), 2u);
  }
  ASSERT_TRUE(IsReadable(fd, kLost));
  EXPECT_EQ(TakeStep(*loader), 2u);
}

TEST(ReadyFdTest, FollowsASeek) {
  const auto gate = std::make_shared<GatedWindows>();
  gate->Let({0, 1, 2, 3, 4});
  const auto loader = Open(gate, MakeSchedule(100, 1));
  const int fd = ReadyFdOf(*loader);
  EXPECT_TRUE(IsReadable(fd, kLost));
  EXPECT_THAT(loader->Seek(50), IsOk());
  ExpectNothing(*loader, fd);
  EXPECT_THAT(loader->Seek(3), IsOk());
  EXPECT_TRUE(IsReadable(fd, kLost));
  EXPECT_EQ(TakeStep(*loader), 3u);
  // Past the end, where nothing is read, and back.
  EXPECT_THAT(loader->Seek(100), IsOk());
  EXPECT_TRUE(IsReadable(fd));
  EXPECT_THAT(TakeError(*loader), StatusIs(absl::StatusCode::kOutOfRange, _));
  EXPECT_THAT(loader->Seek(60), IsOk());
  ExpectNothing(*loader, fd);
  gate->Let({60});
  EXPECT_TRUE(IsReadable(fd, kLost));
  EXPECT_EQ(TakeStep(*loader), 60u);
}

TEST(ReadyFdTest, FollowsAResume) {
  const auto gate = std::make_shared<GatedWindows>();
  gate->Let({0});
  const auto loader = Open(gate, MakeSchedule(100, 1));
  const int fd = ReadyFdOf(*loader);
  EXPECT_TRUE(IsReadable(fd, kLost));
  ASSERT_OK_AND_ASSIGN(const std::string later, loader->State(7));
  EXPECT_THAT(loader->Resume(later), IsOk());
  ExpectNothing(*loader, fd);
  gate->Let({7});
  EXPECT_TRUE(IsReadable(fd, kLost));
  EXPECT_EQ(TakeStep(*loader), 7u);
}

TEST(ReadyFdTest, AClosedLoaderIsReadableForEver) {
  const auto gate = std::make_shared<GatedWindows>();
  const auto loader = Open(gate, MakeSchedule(100, 1));
  const auto other = Open(gate, MakeSchedule(100, 1));
  const int fd = ReadyFdOf(*loader);
  ExpectNothing(*loader, fd);
  EXPECT_THAT(loader->CloseBlocking(), IsOk());
  EXPECT_THAT(other->CloseBlocking(), IsOk());
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(IsReadable(fd));
    EXPECT_THAT(
        TakeError(*loader),
        StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("closed")));
  }
  EXPECT_TRUE(IsReadable(ReadyFdOf(*other)));
}

TEST(ReadyFdTest, TooManyHeldBatchesAreAnErrorThatIsReadable) {
  const auto gate = std::make_shared<GatedWindows>();
  gate->Let({0, 1});
  LoaderOptions options;
  options.max_held = 1;
  const auto loader = Open(gate, MakeSchedule(100, 1), options);
  const int fd = ReadyFdOf(*loader);
  std::vector<Batch> kept;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(IsReadable(fd, kLost));
    kept.push_back(**loader->TryNext());
  }
  EXPECT_TRUE(IsReadable(fd));
  EXPECT_THAT(TakeError(*loader), StatusIs(absl::StatusCode::kResourceExhausted,
                                           HasSubstr("holds 2")));
  EXPECT_TRUE(IsReadable(fd));
  kept.pop_back();
  ExpectNothing(*loader, fd);
  gate->Let({2});
  EXPECT_TRUE(IsReadable(fd, kLost));
  EXPECT_EQ(TakeStep(*loader), 2u);
}

TEST(ReadyFdTest, AnotherThreadReleasesWhatTheLoaderWaitsFor) {
  LoaderOptions options;
  options.max_held = 1;
  options.waits_for_held = true;
  const auto loader =
      Open(CountingWindows(100, kSeqLen), MakeSchedule(30, 2), options);
  const int fd = ReadyFdOf(*loader);
  std::vector<Batch> kept;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(IsReadable(fd, kLost));
    kept.push_back(**loader->TryNext());
  }
  while (loader->metrics().batches_ready == 0) std::this_thread::yield();
  ExpectNothing(*loader, fd);
  std::thread worker([&kept] { kept.pop_back(); });
  EXPECT_TRUE(IsReadable(fd, kLost));
  worker.join();
  EXPECT_EQ(TakeStep(*loader), 2u);
}

TEST(ReadyFdTest, CloseEndsAWaitForHeldBatches) {
  LoaderOptions options;
  options.max_held = 0;
  options.waits_for_held = true;
  const auto loader =
      Open(CountingWindows(100, kSeqLen), MakeSchedule(30, 2), options);
  const int fd = ReadyFdOf(*loader);
  ASSERT_OK_AND_ASSIGN(const Batch held, loader->NextBlocking());
  while (loader->metrics().batches_under_way > 0) std::this_thread::yield();
  ExpectNothing(*loader, fd);
  EXPECT_THAT(loader->CloseBlocking(), IsOk());
  EXPECT_TRUE(IsReadable(fd));
  EXPECT_THAT(TakeError(*loader),
              StatusIs(absl::StatusCode::kFailedPrecondition, _));
}

TEST(ReadyFdTest, ANextInProgressIsTheOnlyOne) {
  const auto gate = std::make_shared<GatedWindows>();
  const auto loader = Open(gate, MakeSchedule(100, 1));
  const int fd = ReadyFdOf(*loader);
  asio::io_context context{1};
  uint64_t got = UINT64_MAX;
  async_next(*loader,
             asio::bind_executor(context, [&got](absl::StatusOr<Batch> batch) {
               ASSERT_THAT(batch, IsOk());
               got = batch->step();
             }));
  EXPECT_THAT(TakeError(*loader),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("another Next()")));
  gate->Let({0});
  context.run();
  EXPECT_EQ(got, 0u);
  ExpectNothing(*loader, fd);
}

// Cancelled after so many turns of its executor, an operation has received the
// batch or leaves it to TryNext().
TEST(ReadyFdTest, ABatchOfACancelledNextStaysReadable) {
  int cancelled = 0;
  for (int turns = 0; turns < 8; ++turns) {
    const auto gate = std::make_shared<GatedWindows>();
    gate->Let({0, 1});
    const auto loader = Open(gate, MakeSchedule(30, 1));
    const int fd = ReadyFdOf(*loader);
    while (loader->metrics().batches_ready < 2) std::this_thread::yield();
    asio::io_context context{1};
    asio::cancellation_signal cancel;
    absl::Status got = absl::UnknownError("never called");
    async_next(*loader,
               asio::bind_cancellation_slot(
                   cancel.slot(),
                   asio::bind_executor(
                       context, [&got](const absl::StatusOr<Batch>& batch) {
                         got = batch.status();
                       })));
    for (int i = 0; i < turns; ++i) context.poll_one();
    cancel.emit(asio::cancellation_type::terminal);
    context.run();
    if (!got.ok()) {
      ++cancelled;
      EXPECT_THAT(got, StatusIs(absl::StatusCode::kCancelled, _));
    }
    EXPECT_TRUE(IsReadable(fd));
    EXPECT_EQ(TakeStep(*loader), got.ok() ? 1u : 0u);
  }
  EXPECT_GT(cancelled, 0);
  EXPECT_LT(cancelled, 8);
}

// A Next() has the batch, and gives it up after the following one has come.
TEST(ReadyFdTest, ABatchThatIsTakenBackIsReadableAgain) {
  const auto gate = std::make_shared<GatedWindows>();
  gate->Let({0});
  const auto loader = Open(gate, MakeSchedule(30, 1));
  const int fd = ReadyFdOf(*loader);
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<internal::OfferedBatch> offered,
                       RunBlocking(internal::BeginNext(*loader)));
  gate->Let({1});
  while (loader->metrics().batches_fetched < 2) std::this_thread::yield();
  EXPECT_FALSE(IsReadable(fd));
  offered.reset();
  for (const uint64_t step : {0u, 1u}) {
    EXPECT_TRUE(IsReadable(fd));
    EXPECT_EQ(TakeStep(*loader), step);
  }
}

// If the consumer has asked for it: otherwise it may have been busy.
TEST(ReadyFdTest, TheMetricsCountTheWaitAfterATryNextThatFoundNothing) {
  const auto gate = std::make_shared<GatedWindows>();
  const auto loader = Open(gate, MakeSchedule(100, 1));
  const int fd = ReadyFdOf(*loader);
  gate->Let({0});
  ASSERT_TRUE(IsReadable(fd, kLost));
  EXPECT_EQ(TakeStep(*loader), 0u);
  for (int i = 0; i < 2; ++i) {  // the wait begins with the first
    EXPECT_FALSE(loader->TryNext().has_value());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_GE(loader->metrics().waiting_seconds, 0.019);
  gate->Let({1});
  ASSERT_TRUE(IsReadable(fd, kLost));
  EXPECT_EQ(TakeStep(*loader), 1u);
  const LoaderMetrics metrics = loader->metrics();
  EXPECT_EQ(metrics.stalls, 1u);
  EXPECT_GE(metrics.stall_seconds, 0.019);
  EXPECT_LT(metrics.consumer_seconds, 0.019);
}

}  // namespace
}  // namespace poniente
