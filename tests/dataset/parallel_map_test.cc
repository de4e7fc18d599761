// SPDX-License-Identifier: Apache-2.0
// Map() on several threads: the same items and errors as on one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "poniente/batch_mapped_dataset.h"
#include "poniente/mapped_dataset.h"
#include "poniente/transforms.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/dataset_conformance.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

namespace asio = boost::asio;
using testing::Counting;
using testing::DatasetCase;
using testing::DatasetConformanceTest;
using testing::Indices;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::StatusIs;

uint64_t Cube(uint64_t x) { return x * x * x; }

DatasetPtr<uint64_t> Cubes(uint64_t items, uint32_t threads) {
  return Map<uint64_t>("cube", *Shuffle(Counting(items), 3), Cube,
                       {.parallel = threads});
}

INSTANTIATE_TEST_SUITE_P(
    ParallelMap, DatasetConformanceTest,
    ::testing::Values(DatasetCase{"OfThreeThreads",
                                  [] { return Cubes(300, 3); }, 300},
                      DatasetCase{"OfBatches",
                                  [] {
                                    return *MapBatches<uint64_t>(
                                        "sums", Counting(301),
                                        {.group_items = 7, .parallel = 3},
                                        [](std::vector<uint64_t> group) {
                                          for (uint64_t& item : group)
                                            item += group.back();
                                          return group;
                                        });
                                  },
                                  301}),
    testing::CaseName);

TEST(ParallelMapTest, ItemsAndFingerprintAreThoseOfOneThread) {
  const auto one = Cubes(500, 1);
  const auto expected = *one->GetBatchBlocking(Indices(0, 500));
  for (const uint32_t threads : {0, 2, 3, 16}) {
    const auto several = Cubes(500, threads);
    EXPECT_THAT(several->GetBatchBlocking(Indices(0, 500)),
                IsOkAndHolds(expected))
        << threads << " threads";
    EXPECT_EQ(several->fingerprint(), one->fingerprint());
  }
}

TEST(ParallelMapTest, NoMoreThanAThousandThreadsAreAllowed) {
  const auto refused =
      StatusIs(testing::kInvalid,
               "dataset 'cube': parallel must be at most 1024, got 1025");
  const auto cubes = Cubes(10, 1025);
  EXPECT_THAT(cubes->GetBlocking(3), refused);
  EXPECT_THAT(cubes->WithSeed(5)->GetBatchBlocking(Indices(0, 2)), refused);
  const auto same = [](std::vector<uint64_t> group) { return group; };
  EXPECT_THAT(MapBatches<uint64_t>("cube", Counting(10),
                                   {.group_items = 2, .parallel = 1025}, same),
              refused);
  EXPECT_THAT(MapBatches<uint64_t>("cube", Counting(10),
                                   {.group_items = 2, .parallel = 1024}, same),
              IsOk());
}

TEST(ParallelMapTest, RunsOnSoManyThreadsAtOnce) {
  std::atomic<int> inside = 0;
  std::mutex mu;
  std::set<std::thread::id> threads;
  // Each waits until the others are there, too.
  const auto meeting =
      Map<uint64_t>("meeting", Counting(3),
                    [&](uint64_t x) {
                      {
                        std::lock_guard lock(mu);
                        threads.insert(std::this_thread::get_id());
                      }
                      ++inside;
                      while (inside < 3) std::this_thread::yield();
                      return x;
                    },
                    {.parallel = 3});
  EXPECT_THAT(meeting->GetBatchBlocking(Indices(0, 3)), IsOk());
  EXPECT_EQ(threads.size(), 3u);
  EXPECT_FALSE(threads.contains(std::this_thread::get_id()));
}

TEST(ParallelMapTest, TheErrorIsAlwaysThatOfTheFirstItem) {
  const auto picky = Map<uint64_t>(
      "picky", Counting(200),
      [](uint64_t x) -> absl::StatusOr<uint64_t> {
        // The later ones are quicker.
        if (x == 60) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        if (x == 60) throw std::runtime_error("boom");
        if (x > 60 && x < 70) return absl::DataLossError("later");
        return x;
      },
      {.parallel = 4});
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(picky->GetBatchBlocking(Indices(0, 200)),
                StatusIs(absl::StatusCode::kInternal,
                         "dataset 'picky' item 60 epoch 0: boom"));
  }
  EXPECT_THAT(picky->GetBatchBlocking(Indices(0, 60)), IsOk());
}

TEST(ParallelMapTest, ItemsMayBeMovableOnlyOrBits) {
  const auto odd =
      Map<bool>("odd", Counting(100), [](uint64_t x) { return x % 2 == 1; },
                {.parallel = 2});
  const auto bits = *odd->GetBatchBlocking(Indices(0, 100));
  for (size_t i = 0; i < 100; ++i) EXPECT_EQ(bits[i], i % 2 == 1);
  const auto boxes = Map<std::unique_ptr<uint64_t>>(
      "box", Counting(100),
      [](uint64_t x) { return std::make_unique<uint64_t>(x); },
      {.parallel = 2});
  const auto made = *boxes->GetBatchBlocking(Indices(0, 100));
  for (size_t i = 0; i < 100; ++i) EXPECT_EQ(*made[i], i);
}

// A function that waits until it may go on.
class Gate {
 public:
  uint64_t Pass(uint64_t x) {
    ++entered;
    while (!is_open) std::this_thread::yield();
    ++passed;
    return x;
  }

  std::atomic<bool> is_open = false;
  std::atomic<int> entered = 0;
  std::atomic<int> passed = 0;
};

TEST(ParallelMapTest, ACancelledRequestEndsAfterTheCallsInProgress) {
  Gate gate;
  const auto slow = Map<uint64_t>("slow", Counting(100),
                                  [&gate](uint64_t x) { return gate.Pass(x); },
                                  {.parallel = 2});
  const std::vector<uint64_t> indices = Indices(0, 100);
  asio::io_context context{1};
  asio::cancellation_signal cancel;
  absl::Status ended = absl::UnknownError("not yet");
  asio::co_spawn(
      context, slow->GetBatch(indices),
      asio::bind_cancellation_slot(
          cancel.slot(), [&](std::exception_ptr thrown,
                             absl::StatusOr<std::vector<uint64_t>> items) {
            ended =
                thrown ? internal::StatusFromException(thrown) : items.status();
          }));
  while (gate.entered < 2) context.poll();
  cancel.emit(asio::cancellation_type::terminal);
  for (int i = 0; i < 100; ++i) context.poll();
  EXPECT_THAT(ended, StatusIs(absl::StatusCode::kUnknown, "not yet"));
  gate.is_open = true;
  context.run();
  EXPECT_THAT(ended, StatusIs(absl::StatusCode::kCancelled, ::testing::_));
  EXPECT_EQ(gate.passed, gate.entered);
  EXPECT_LT(gate.entered, 100);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Sanitizers take more address space than any limit that is worth a test.
TEST(ParallelMapTest, WhereThereAreFewThreadsTheseDo) {
  const auto map_in_little_space = [] {
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    // Room for a few stacks of 8 MiB.
    const rlim_t space = pages * ::sysconf(_SC_PAGESIZE) + (100 << 20);
    const rlimit limit = {space, space};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(2);
    const auto cubes = Cubes(1000, 64);
    for (int i = 0; i < 3; ++i) {
      const auto items = cubes->GetBatchBlocking(Indices(0, 1000));
      if (!items.ok() || items->size() != 1000) std::_Exit(3);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(map_in_little_space(), ::testing::ExitedWithCode(0), "");
}
#endif

TEST(ParallelMapTest, ItsContextMayBeDestroyedWhileItWorks) {
  Gate gate;
  std::vector<uint64_t> indices = Indices(0, 100);
  auto slow = Map<uint64_t>("slow", Counting(100),
                            [&gate](uint64_t x) { return gate.Pass(x); },
                            {.parallel = 2});
  {
    asio::io_context context{1};
    asio::co_spawn(
        context, slow->GetBatch(indices),
        [](std::exception_ptr, absl::StatusOr<std::vector<uint64_t>>) {
          FAIL() << "it cannot have ended";
        });
    while (gate.entered < 2) context.poll();
  }
  gate.is_open = true;
  slow.reset();  // waits for the calls
  EXPECT_EQ(gate.passed, gate.entered);
}

TEST(ParallelMapTest, ManyRequestsShareTheThreads) {
  const auto cubes = Cubes(2000, 3);
  const auto expected = *Cubes(2000, 1)->GetBatchBlocking(Indices(0, 2000));
  asio::thread_pool pool(3);
  std::atomic<int> equal = 0;
  std::vector<std::vector<uint64_t>> parts;
  for (uint64_t i = 0; i < 100; ++i) {
    parts.push_back(Indices(20 * i, 20 * i + 20));
  }
  for (const auto& part : parts) {
    asio::co_spawn(
        pool, cubes->GetBatch(part),
        [&](std::exception_ptr, absl::StatusOr<std::vector<uint64_t>> items) {
          const auto begin = expected.begin() + static_cast<ptrdiff_t>(part[0]);
          if (items.ok() && std::equal(items->begin(), items->end(), begin)) {
            ++equal;
          }
        });
  }
  pool.join();
  EXPECT_EQ(equal, 100);
}

TEST(ParallelMapTest, CopiesWithOtherSeedsShareFunctionAndThreads) {
  auto cubes =
      Map<uint64_t>("cube", *Shuffle(Counting(50)), Cube, {.parallel = 2});
  const auto reseeded = cubes->WithSeed(5);
  EXPECT_NE(reseeded, cubes);
  cubes.reset();
  const auto expected = Map<uint64_t>("cube", *Shuffle(Counting(50)), Cube);
  EXPECT_EQ(*reseeded->GetBatchBlocking(Indices(0, 50)),
            *expected->WithSeed(5)->GetBatchBlocking(Indices(0, 50)));
}

}  // namespace
}  // namespace poniente
