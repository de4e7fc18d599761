// SPDX-License-Identifier: Apache-2.0
// The ring among coroutines, contexts and threads.
#include "io/uring/uring_ring.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <optional>
#include <random>
#include <thread>

#include "io/read_plan.h"
#include "poniente/byte_reader.h"
#include "tests/io/needs_uring.h"
#include "tests/io/proven_file.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

namespace asio = boost::asio;
using ::poniente::testing::DropFromCache;
using ::poniente::testing::IsOk;
using ::poniente::testing::TempDir;
using ::poniente::testing::Windows;

constexpr std::byte kRingCanary{0};  // no proven byte is zero

// Reads `batches` batches of 64 random windows, each checked.
Task<> ReadManyBatches(std::shared_ptr<const ByteReader> reader, uint64_t seed,
                       int batches) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < batches; ++i) {
    if (random() % 4 == 0) DropFromCache(reader->path(0));
    absl::Status status = co_await testing::ReadRandomWindows(*reader, &random);
    if (!status.ok()) co_return status;
  }
  co_return absl::OkStatus();
}

// How the coroutines of a test ended.
class Endings {
 public:
  auto Handler() {
    return [this](std::exception_ptr thrown, absl::Status status) {
      ++ended_;
      if (thrown || !status.ok()) {
        ++failed_;
        ADD_FAILURE() << status;
      }
    };
  }
  int ended() const { return ended_; }
  int failed() const { return failed_; }

 private:
  std::atomic<int> ended_ = 0;
  std::atomic<int> failed_ = 0;
};

class UringRingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PONIENTE_NEEDS_URING();
    testing::WriteProvenFile(dir_.path("0"), 0, 1 << 20);
    testing::WriteProvenFile(dir_.path("1"), 1, 100'000);
    auto reader = ByteReader::Open({dir_.path("0"), dir_.path("1")},
                                   {IoBackend::kBuffered});
    ASSERT_THAT(reader, IsOk());
    reader_ = *reader;
  }
  // 64 windows of which the disk has to bring some.
  Windows ColdWindows() {
    DropFromCache(dir_.path("0"));
    Windows windows;
    for (uint64_t i = 0; i < 64; ++i) {
      windows.Add(*reader_, 0, (i * 37 % 64) * 16'000, 8192, 0);
    }
    return windows;
  }

  TempDir dir_;
  std::shared_ptr<const ByteReader> reader_;
};

TEST_F(UringRingTest, ABatchOf64IsAShortSubmissionAndALongOne) {
  const Windows windows = ColdWindows();
  ASSERT_THAT(testing::ReadInNewContext(windows.requests()), IsOk());
  EXPECT_EQ(reader_->counters().Total().submissions, 2);
  ASSERT_THAT(testing::ReadInNewContext(windows.requests()), IsOk());
  EXPECT_EQ(reader_->counters().Total().submissions, 4);
}

// So that each learns what of it is cached.
TEST_F(UringRingTest, EachReaderOfABatchHasItsShortSubmission) {
  ASSERT_OK_AND_ASSIGN(
      const auto other,
      ByteReader::Open({reader_->path(0)}, {.backend = IoBackend::kBuffered}));
  Windows windows;
  for (uint64_t i = 0; i < 32; ++i) {
    windows.Add(*reader_, 0, i * 16'000, 777, 0);
    windows.Add(*other, 0, i * 16'000, 777, 0);
  }
  ASSERT_THAT(testing::ReadInNewContext(windows.requests()), IsOk());
  EXPECT_EQ(windows.FirstWrongByte(), "");
  EXPECT_EQ(reader_->counters().Total().submissions, 2);
  EXPECT_EQ(other->counters().Total().submissions, 2);
}

// Where a file system has none (tmpfs), io_uring reads on threads of its own.
bool HasNowaitReads(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY);
  char byte;
  const iovec into = {&byte, 1};
  const bool has = ::preadv2(fd, &into, 1, 0, RWF_NOWAIT) == 1;
  ::close(fd);
  return has;
}

TEST_F(UringRingTest, CachedReadsCompleteAtSubmitWithoutASuspension) {
  const Windows windows = ColdWindows();
  ASSERT_THAT(testing::Read(windows), IsOk());
  if (!HasNowaitReads(dir_.path("0"))) {
    GTEST_SKIP() << "preadv2(RWF_NOWAIT): the file system does not know it";
  }
  const uint64_t hits = reader_->counters().Total().hits_at_submit;
  asio::io_context context;
  bool done = false;
  asio::co_spawn(context, ReadBatch(windows.requests()),
                 [&done](std::exception_ptr, absl::Status) { done = true; });
  // One handler starts the coroutine, one reports its end: a suspension in
  // between would take a third.
  EXPECT_LE(context.poll(), 2);
  EXPECT_TRUE(done);
  EXPECT_EQ(reader_->counters().Total().hits_at_submit - hits, 64);
}

TEST_F(UringRingTest, ColdReadsSuspendOnce) {
  const Windows windows = ColdWindows();
  asio::io_context context;
  bool done = false;
  asio::co_spawn(context, ReadBatch(windows.requests()),
                 [&done](std::exception_ptr, absl::Status) { done = true; });
  context.poll();
  if (done) GTEST_SKIP() << "the file system kept the file in memory";
  context.run();
  EXPECT_TRUE(done);
  EXPECT_EQ(windows.FirstWrongByte(), "");
}

TEST_F(UringRingTest, RunReturnsOnceNothingIsInFlight) {
  asio::io_context context;
  Endings endings;
  for (int i = 0; i < 20; ++i) {
    const Windows windows = ColdWindows();
    asio::co_spawn(context, ReadBatch(windows.requests()), endings.Handler());
    context.restart();
    context.run();  // hangs if the eventfd stays armed, returns early if not
    EXPECT_EQ(endings.ended(), i + 1);
  }
}

TEST_F(UringRingTest, ManyCoroutinesShareOneContext) {
  asio::io_context context;
  Endings endings;
  const uint64_t seed = testing::TestSeed(1);
  for (uint64_t i = 0; i < 60; ++i) {
    asio::co_spawn(context, ReadManyBatches(reader_, seed + i, 8),
                   endings.Handler());
  }
  context.run();
  EXPECT_EQ(endings.ended(), 60);
  EXPECT_EQ(reader_->counters().Total().requests, 60 * 8 * 64);
}

TEST_F(UringRingTest, TwoContextsInTwoThreadsHaveARingEach) {
  const uint64_t seed = testing::TestSeed(2);
  Endings endings;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      asio::io_context context(1);
      for (uint64_t i = 0; i < 10; ++i) {
        asio::co_spawn(context,
                       ReadManyBatches(reader_, seed + 100 * t + i, 10),
                       endings.Handler());
      }
      context.run();
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(endings.ended(), 20);
  EXPECT_EQ(reader_->counters().Total().requests, 20 * 10 * 64);
}

TEST_F(UringRingTest, ThreeThreadsMayRunOneContext) {
  asio::io_context context;
  Endings endings;
  const uint64_t seed = testing::TestSeed(3);
  for (uint64_t i = 0; i < 30; ++i) {
    asio::co_spawn(context, ReadManyBatches(reader_, seed + i, 10),
                   endings.Handler());
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&context] { context.run(); });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(endings.ended(), 30);
  EXPECT_EQ(reader_->counters().Total().requests, 30 * 10 * 64);
}

TEST_F(UringRingTest, WorksOnAThreadPoolAndOnAStrand) {
  asio::thread_pool pool(2);
  Endings endings;
  for (uint64_t i = 0; i < 10; ++i) {
    asio::co_spawn(pool, ReadManyBatches(reader_, i, 5), endings.Handler());
    asio::co_spawn(asio::make_strand(pool), ReadManyBatches(reader_, 50 + i, 5),
                   endings.Handler());
  }
  pool.join();
  EXPECT_EQ(endings.ended(), 20);
  EXPECT_EQ(reader_->counters().Total().requests, 20 * 5 * 64);
}

// The kernel fails what a thread that ends has in flight: ECANCELED, EFAULT.
TEST_F(UringRingTest, ReadsOutliveTheThreadThatSubmittedThem) {
  asio::io_context context;
  Endings endings;
  for (int i = 0; i < 30; ++i) {
    const Windows windows = ColdWindows();
    asio::co_spawn(context, ReadBatch(windows.requests()), endings.Handler());
    std::thread([&context] { context.run_one(); }).join();
    context.restart();
    context.run();
    EXPECT_EQ(endings.ended(), i + 1);
    EXPECT_EQ(windows.FirstWrongByte(), "");
  }
}

TEST_F(UringRingTest, CancellationWaitsForTheKernel) {
  int in_flight = 0;
  for (int round = 0; round < 30; ++round) {
    Windows windows = ColdWindows();
    asio::io_context context;
    asio::cancellation_signal signal;
    std::optional<absl::Status> result;
    asio::co_spawn(context, ReadBatch(windows.requests()),
                   asio::bind_cancellation_slot(
                       signal.slot(),
                       [&result](std::exception_ptr thrown, absl::Status s) {
                         result = thrown ? absl::InternalError("threw") : s;
                       }));
    context.poll();
    const auto wanted =
        result ? absl::StatusCode::kOk : absl::StatusCode::kCancelled;
    if (!result) ++in_flight;
    signal.emit(asio::cancellation_type::terminal);
    context.run();
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->code(), wanted) << *result;
    // It has waited for all of them, so none can come later.
    EXPECT_EQ(windows.FirstWrongByte(), "");
    windows.Fill(kRingCanary);
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    ASSERT_TRUE(windows.AllBytesAre(kRingCanary)) << "round " << round;
  }
  if (in_flight == 0) GTEST_SKIP() << "the file never left the memory";
}

Task<> CancelThenRead(asio::cancellation_signal* signal,
                      std::span<const ReadRequest> requests) {
  co_await asio::this_coro::throw_if_cancelled(false);
  signal->emit(asio::cancellation_type::terminal);
  auto executor = co_await asio::this_coro::executor;
  co_await asio::post(executor, asio::use_awaitable);
  absl::Status status = co_await ReadBatch(requests);
  co_return status;
}

TEST_F(UringRingTest, ACancelledCoroutineStartsNoRead) {
  asio::io_context context;
  asio::cancellation_signal signal;
  const Windows windows = ColdWindows();
  absl::Status result;
  asio::co_spawn(
      context, CancelThenRead(&signal, windows.requests()),
      asio::bind_cancellation_slot(
          signal.slot(), [&result](std::exception_ptr thrown, absl::Status s) {
            result = thrown ? absl::InternalError("threw") : s;
          }));
  context.run();
  EXPECT_EQ(result.code(), absl::StatusCode::kCancelled) << result;
  EXPECT_EQ(reader_->counters().Total().requests, 0);
}

TEST_F(UringRingTest, AContextMayDieWithReadsInFlight) {
  int in_flight = 0;
  for (int round = 0; round < 30; ++round) {
    Windows windows = ColdWindows();
    {
      asio::io_context context;
      bool done = false;
      asio::co_spawn(
          context, ReadBatch(windows.requests()),
          [&done](std::exception_ptr, absl::Status) { done = true; });
      context.poll();
      if (!done) ++in_flight;
    }
    // The end of the context has waited for every read.
    EXPECT_EQ(windows.FirstWrongByte(), "");
    windows.Fill(kRingCanary);
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    ASSERT_TRUE(windows.AllBytesAre(kRingCanary)) << "round " << round;
  }
  if (in_flight == 0) GTEST_SKIP() << "the file never left the memory";
}

TEST_F(UringRingTest, ABatchThatIsUnwoundWaitsForTheKernel) {
  for (int round = 0; round < 10; ++round) {
    Windows windows = ColdWindows();
    asio::io_context context;
    internal::UringRing& ring = internal::UringRing::Of(context.get_executor());
    const auto sorted = internal::SortRequests(windows.requests());
    std::span<const internal::OrderedRequest> rest = sorted;
    internal::ReadPlan plan;
    ASSERT_THAT(plan.TakeFrom(&rest), IsOk());
    {
      internal::UringBatch batch(&ring, plan.ring());
      batch.Start();
    }
    EXPECT_EQ(windows.FirstWrongByte(), "");
    EXPECT_EQ(context.run(), 0);
  }
}

TEST_F(UringRingTest, ManyBatchesAndTheReaderMayDieWithTheContext) {
  for (int round = 0; round < 10; ++round) {
    asio::io_context context;
    DropFromCache(dir_.path("0"));
    auto own = ByteReader::Open({dir_.path("0")}, {IoBackend::kBuffered});
    ASSERT_THAT(own, IsOk());
    // Each coroutine owns its buffers and shares the reader. 40 * 64 reads are
    // more than the ring takes at once.
    for (uint64_t i = 0; i < 40; ++i) {
      asio::co_spawn(context, ReadManyBatches(*own, i, 3),
                     [](std::exception_ptr, absl::Status) {});
    }
    own->reset();
    for (int i = 0; i < 45 + round; ++i) context.poll_one();
  }
}

TEST_F(UringRingTest, AThreadPoolMayDieWithReadsInFlight) {
  for (int round = 0; round < 10; ++round) {
    asio::thread_pool pool(2);
    for (uint64_t i = 0; i < 10; ++i) {
      asio::co_spawn(pool, ReadManyBatches(reader_, i, 100),
                     [](std::exception_ptr, absl::Status) {});
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(round));
    pool.stop();
  }
}

}  // namespace
}  // namespace poniente
