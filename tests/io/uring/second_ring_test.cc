// SPDX-License-Identifier: Apache-2.0
// Half of a cold batch on the second ring: the same bytes, whatever happens.
#include "io/uring/second_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cerrno>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "io/files/fault_hooks.h"
#include "io/read_plan.h"
#include "poniente/byte_reader.h"
#include "tests/io/cold_ring.h"
#include "tests/io/needs_uring.h"
#include "tests/io/proven_file.h"
#include "tests/support/one_core.h"
#include "tests/support/quiet_fork.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"
#include "util/usable_cores.h"

namespace poniente {
namespace {

namespace asio = boost::asio;
using internal::SecondBatch;
using internal::SecondRing;
using internal::SystemCall;
using internal::UsableCores;
using ::poniente::testing::ColdRingOf;
using ::poniente::testing::DropFromCache;
using ::poniente::testing::IsOk;
using ::poniente::testing::SubmittingThreads;
using ::poniente::testing::Windows;

class SecondRingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PONIENTE_NEEDS_URING();
    if (UsableCores() < 2) {
      GTEST_SKIP() << "one processor: there is never a second ring";
    }
    testing::WriteProvenFile(path(), 0, 1 << 20);
    ASSERT_OK_AND_ASSIGN(reader_, Open(IoBackend::kBuffered));
  }
  std::string path() const { return dir_.path("0"); }
  absl::StatusOr<std::shared_ptr<const ByteReader>> Open(IoBackend backend) {
    return ByteReader::Open({path()}, {.backend = backend});
  }
  static Windows WindowsOf(const ByteReader& reader, uint64_t count) {
    Windows windows;
    for (uint64_t i = 0; i < count; ++i) {
      windows.Add(reader, 0, (i * 37 % 64) * 16'384, 8192, 0);
    }
    return windows;
  }
  Windows ColdWindows() {
    DropFromCache(path());
    return WindowsOf(*reader_, 64);
  }
  // What is to be read for windows, without reading it.
  class Planned {
   public:
    explicit Planned(const Windows& windows) : Planned(windows.requests()) {}
    explicit Planned(std::span<const ReadRequest> requests)
        : sorted_(internal::SortRequests(requests)) {
      std::span<const internal::OrderedRequest> rest = sorted_;
      EXPECT_THAT(plan_.TakeFrom(&rest), IsOk());
    }
    std::span<internal::PendingRead> reads() { return plan_.ring(); }

   private:
    std::vector<internal::OrderedRequest> sorted_;
    internal::ReadPlan plan_;
  };

  testing::TempDir dir_;
  std::shared_ptr<const ByteReader> reader_;
};

TEST_F(SecondRingTest, MakesHalfOfTheReadsOfColdFiles) {
  const Windows windows = ColdWindows();
  Planned planned(windows);
  asio::io_context context;
  SecondRing& ring = SecondRing::Of(context.get_executor());
  EXPECT_EQ(ring.ShareOf(planned.reads()), 0) << "nothing is known yet";
  ring.Learn({.known_reads = 8, .known = 0, .all = 0});
  EXPECT_EQ(ring.ShareOf(planned.reads()), 0) << "8 reads tell too little";
  ring.Learn({.known_reads = 8, .known = 1, .all = 1});
  EXPECT_EQ(ring.ShareOf(planned.reads()), 32);
  ring.Learn({.known_reads = 0, .known = 0, .all = 0});
  EXPECT_EQ(ring.ShareOf(planned.reads()), 32);
  ring.Learn({.known_reads = 100, .known = 100, .all = 100});
  EXPECT_EQ(ring.ShareOf(planned.reads()), 0) << "the page cache has them";
}

TEST_F(SecondRingTest, LeavesSmallBatchesToTheFirst) {
  asio::io_context context;
  SecondRing& ring = ColdRingOf(&context);
  EXPECT_EQ(ring.ShareOf({}), 0);
  const Windows small = WindowsOf(*reader_, 15);
  EXPECT_EQ(ring.ShareOf(Planned(small).reads()), 0);
  const Windows larger = WindowsOf(*reader_, 17);
  EXPECT_EQ(ring.ShareOf(Planned(larger).reads()), 8);
}

TEST_F(SecondRingTest, LeavesReadsPastTheCacheToTheFirst) {
  ASSERT_OK_AND_ASSIGN(const auto direct, Open(IoBackend::kDirect));
  if (!direct->fallback_reason().empty()) {
    GTEST_SKIP() << direct->fallback_reason();
  }
  asio::io_context context;
  SecondRing& ring = ColdRingOf(&context);
  const auto is_buffered = [](const internal::PendingRead& read) {
    return read.backend() == IoBackend::kBuffered;
  };
  // Into memory whose alignment reads past the cache accept.
  ASSERT_OK_AND_ASSIGN(const ReadBuffer memory,
                       ReadBuffer::Allocate(64 * 8192));
  std::vector<ReadRequest> requests;
  for (uint64_t i = 0; i < 64; ++i) {
    const ByteReader* const reader = i < 32 ? direct.get() : reader_.get();
    requests.push_back(
        {reader, 0, i * 16'384, memory.bytes().subspan(i * 8192, 8192)});
  }
  Planned planned(requests);
  const auto reads = planned.reads();
  ASSERT_EQ(std::count_if(reads.begin(), reads.end(), is_buffered), 32);
  const auto shared = reads.last(ring.ShareOf(reads));
  EXPECT_EQ(std::count_if(shared.begin(), shared.end(), is_buffered), 16);
  // The readers are in the order of their addresses.
  EXPECT_EQ(shared.size(), is_buffered(reads.back()) ? 16 : 48);
  const std::span<const ReadRequest> all = requests;
  Planned past(all.first(32));
  EXPECT_EQ(ring.ShareOf(past.reads()), 0);
}

TEST_F(SecondRingTest, BothThreadsReadAColdBatch) {
  asio::io_context context;
  for (int i = 0; i < 10; ++i) {
    ColdRingOf(&context);
    const Windows windows = ColdWindows();
    SubmittingThreads threads;
    {
      const internal::ScopedFaultHooks scope(&threads);
      ASSERT_THAT(testing::ReadIn(&context, windows.requests()), IsOk());
    }
    EXPECT_EQ(windows.FirstWrongByte(), "");
    EXPECT_GT(threads.own_calls(), 0);
    EXPECT_GT(threads.others_calls(), 0);
  }
  EXPECT_EQ(reader_->counters().Total().requests, 640);
  EXPECT_EQ(reader_->counters().Total().bytes_read, 640 * 8192);
}

// What the second ring refuses, the first one reads, and it is not asked again.
TEST_F(SecondRingTest, FailuresOfTheSecondRingAreNotSeen) {
  for (const SystemCall call :
       {SystemCall::kUringEnter, SystemCall::kRegisterFile}) {
    asio::io_context context;
    ColdRingOf(&context);
    SubmittingThreads threads(call);
    const internal::ScopedFaultHooks scope(&threads);
    for (int i = 0; i < 5; ++i) {
      const Windows windows = ColdWindows();
      ASSERT_THAT(testing::ReadIn(&context, windows.requests()), IsOk());
      EXPECT_EQ(windows.FirstWrongByte(), "");
      ColdRingOf(&context);
    }
    EXPECT_EQ(reader_->fallback_reason(), "");
    if (call == SystemCall::kUringEnter) {
      EXPECT_EQ(threads.others_calls(), 1);
    }
  }
}

// Fails the creation of every ring but the first.
class FirstRingOnly final : public internal::FaultHooks {
 public:
  explicit FirstRingOnly(SystemCall failing) : failing_(failing) {}
  int Error(SystemCall call) override {
    return call == failing_ && made_++ > 0 ? ENOMEM : 0;
  }

 private:
  const SystemCall failing_;
  std::atomic<int> made_ = 0;
};

TEST_F(SecondRingTest, ReadsWhereThereCanBeNoSecondRing) {
  for (const SystemCall call : {SystemCall::kUringSetup, SystemCall::kEventfd,
                                SystemCall::kRegisterEventfd}) {
    FirstRingOnly first(call);
    const internal::ScopedFaultHooks scope(&first);
    asio::io_context context;
    const Windows one = WindowsOf(*reader_, 1);  // makes the first ring
    ASSERT_THAT(testing::ReadIn(&context, one.requests()), IsOk());
    SecondRing& ring = ColdRingOf(&context);
    const Windows windows = ColdWindows();
    ASSERT_THAT(testing::ReadIn(&context, windows.requests()), IsOk());
    EXPECT_EQ(windows.FirstWrongByte(), "");
    EXPECT_EQ(ring.ShareOf(Planned(windows).reads()), 0);
    EXPECT_EQ(reader_->fallback_reason(), "");
  }
}

TEST_F(SecondRingTest, ErrorsOfItsReadsAreThoseOfTheBatch) {
  // The last windows are the second ring's, and the file has lost them.
  ASSERT_EQ(::truncate(path().c_str(), 900'000), 0);
  asio::io_context context;
  ColdRingOf(&context);
  const Windows windows = WindowsOf(*reader_, 64);
  const absl::Status status = testing::ReadIn(&context, windows.requests());
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()),
              ::testing::HasSubstr("the file ends at 900000"));
}

TEST_F(SecondRingTest, ABatchThatIsDroppedWaitsForTheSecondRing) {
  for (int round = 0; round < 20; ++round) {
    const Windows windows = ColdWindows();
    Planned planned(windows);
    asio::io_context context;
    SecondRing& ring = ColdRingOf(&context);
    { const SecondBatch batch(&ring, planned.reads()); }
    EXPECT_EQ(windows.FirstWrongByte(), "");
    EXPECT_EQ(context.run(), 0);
  }
}

TEST_F(SecondRingTest, NoReadsNeedNoThread) {
  asio::io_context context;
  SecondRing& ring = SecondRing::Of(context.get_executor());
  const SecondBatch batch(&ring, {});
  EXPECT_TRUE(batch.IsDone());
}

// Reads `batches` batches of 64 random windows, each checked.
Task<> ReadMany(std::shared_ptr<const ByteReader> reader, SecondRing* ring,
                uint64_t seed, int batches) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < batches; ++i) {
    if (random() % 4 == 0) DropFromCache(reader->path(0));
    if (random() % 2 == 0) {
      testing::MakeCold(ring);
    }
    absl::Status status = co_await testing::ReadRandomWindows(*reader, &random);
    if (!status.ok()) co_return status;
  }
  co_return absl::OkStatus();
}

TEST_F(SecondRingTest, ManyCoroutinesOfManyThreadsShareIt) {
  const uint64_t seed = testing::TestSeed(1);
  std::atomic<int> ended = 0;
  {
    asio::thread_pool pool(3);
    SecondRing& ring = ColdRingOf(&pool);
    for (uint64_t i = 0; i < 30; ++i) {
      asio::co_spawn(pool, ReadMany(reader_, &ring, seed + i, 10),
                     [&ended](std::exception_ptr thrown, absl::Status status) {
                       EXPECT_FALSE(thrown);
                       EXPECT_THAT(status, IsOk());
                       ++ended;
                     });
    }
    pool.join();
  }
  EXPECT_EQ(ended, 30);
  EXPECT_EQ(reader_->counters().Total().requests, 30 * 10 * 64);
}

TEST_F(SecondRingTest, AContextMayDieWhileBothRingsRead) {
  for (int round = 0; round < 20; ++round) {
    asio::thread_pool pool(2);
    SecondRing& ring = ColdRingOf(&pool);
    for (uint64_t i = 0; i < 10; ++i) {
      asio::co_spawn(pool, ReadMany(reader_, &ring, i, 100),
                     [](std::exception_ptr, absl::Status) {});
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(round));
    pool.stop();
  }
}

// Returns how many calls other threads make while a cold batch is read.
int OthersCalls(const Windows& windows) {
  asio::io_context context;
  ColdRingOf(&context);
  SubmittingThreads threads;
  const internal::ScopedFaultHooks scope(&threads);
  EXPECT_THAT(testing::ReadIn(&context, windows.requests()), IsOk());
  EXPECT_EQ(windows.FirstWrongByte(), "");
  return threads.others_calls();
}

TEST_F(SecondRingTest, AForkedChildReadsAlone) {
  auto context = std::make_unique<asio::io_context>();
  ColdRingOf(context.get());
  const Windows windows = ColdWindows();
  ASSERT_THAT(testing::ReadIn(context.get(), windows.requests()), IsOk());
  SecondRing& ring = ColdRingOf(context.get());
  Planned planned(windows);
  ASSERT_EQ(ring.ShareOf(planned.reads()), 32);
  const pid_t child = testing::QuietFork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool is_alone = ring.ShareOf(planned.reads()) == 0;
    context.reset();  // must not wait for the parent's thread
    // A context of its own has its own thread. (TSan ends a child that starts
    // one.)
#ifdef __SANITIZE_THREAD__
    const bool has_own = true;
#else
    const bool has_own = OthersCalls(windows) > 0;
#endif
    ::_exit(is_alone && has_own ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(SecondRingTest, IsNotUsedOnOneCore) {
  {
    const testing::OneCore bound;
    EXPECT_EQ(OthersCalls(ColdWindows()), 0);
  }
  EXPECT_GT(OthersCalls(ColdWindows()), 0);
}

TEST_F(SecondRingTest, TheProcessHasAsManyAsCores) {
  std::vector<std::unique_ptr<asio::io_context>> contexts;
  for (unsigned i = 0; i < UsableCores(); ++i) {
    contexts.push_back(std::make_unique<asio::io_context>());
    ColdRingOf(contexts.back().get());
    const Windows windows = ColdWindows();
    ASSERT_THAT(testing::ReadIn(contexts.back().get(), windows.requests()),
                IsOk());
  }
  EXPECT_EQ(OthersCalls(ColdWindows()), 0);
  contexts.clear();
  EXPECT_GT(OthersCalls(ColdWindows()), 0);
}

}  // namespace
}  // namespace poniente
