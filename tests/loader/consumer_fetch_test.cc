// SPDX-License-Identifier: Apache-2.0
// While batches come from memory, a consumer that waits has help: blocked in
// NextBlocking(), it makes batches itself; for a coroutine, or an event loop,
// a second thread does. Whoever makes them, they are the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "poniente/byte_reader.h"
#include "poniente/loader.h"
#include "poniente/mapped_dataset.h"
#include "poniente/transforms.h"
#include "tests/loader/ready_fd.h"
#include "tests/support/file_windows.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"
#include "util/mutex.h"
#include "util/usable_cores.h"

namespace poniente {
namespace {

using internal::Mutex;
using internal::MutexLock;
using testing::FileWindows;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::TempDir;

constexpr uint32_t kWindow = 64;
constexpr uint64_t kSmall = 3;
// 64 KiB, from where on a second thread is told of batches.
constexpr uint64_t kLarge = 1024;
constexpr std::chrono::seconds kLongest{60};

// Which threads have looked where items lie, as they do to make a batch.
class WatchedWindows final : public FileWindows {
 public:
  using FileWindows::FileWindows;

  FileRange Locate(uint64_t item, uint32_t begin,
                   uint32_t count) const override {
    {
      MutexLock lock(&mu_);
      makers_.insert(std::this_thread::get_id());
    }
    return FileWindows::Locate(item, begin, count);
  }
  std::set<std::thread::id> makers() const {
    MutexLock lock(&mu_);
    return makers_;
  }

 private:
  mutable Mutex mu_;
  mutable std::set<std::thread::id> makers_ ABSL_GUARDED_BY(mu_);
};

// How a consumer takes the next batch.
absl::StatusOr<Batch> Block(Loader& loader) { return loader.NextBlocking(); }
absl::StatusOr<Batch> Await(Loader& loader) {
  return RunBlocking(loader.Next());
}
// As an event loop: when the descriptor says so.
absl::StatusOr<Batch> Poll(Loader& loader) {
  const int fd = testing::ReadyFdOf(loader);
  while (testing::IsReadable(fd, testing::kLost)) {
    auto batch = loader.TryNext();
    if (batch.has_value()) return *std::move(batch);
  }
  return absl::DeadlineExceededError("no batch was announced");
}

struct Way {
  std::string name;
  absl::StatusOr<Batch> (*take)(Loader& loader);
  uint64_t batch_size;
  uint64_t steps;
};

class ConsumerFetchTest : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    std::string bytes(kWindow * 1000, '\0');
    std::mt19937_64 random(1);
    for (char& byte : bytes) byte = static_cast<char>(random());
    testing::WriteFile(folder_.path("ids"), bytes);
    auto reader =
        ByteReader::Open({folder_.path("ids")}, {.backend = IoBackend::kMmap});
    ASSERT_THAT(reader, IsOk());
    windows_ = std::make_shared<WatchedWindows>(*reader, kWindow);
    reference_windows_ = std::make_shared<FileWindows>(*reader, kWindow);
  }

  std::unique_ptr<Loader> OpenLoader(
      uint32_t prefetch, LoaderOptions options = LoaderOptions()) const {
    return Open(windows_, prefetch, std::move(options));
  }
  // Makes all batches on its own thread, because a function makes the items.
  std::unique_ptr<Loader> OpenReference() const {
    return Open(Map<TokenWindow>("same", reference_windows_,
                                 [](TokenWindow window) { return window; }),
                4);
  }
  absl::StatusOr<Batch> Take(Loader& loader) const {
    return GetParam().take(loader);
  }
  uint64_t steps() const { return GetParam().steps; }

  std::shared_ptr<const WatchedWindows> windows_;

 private:
  static std::unique_ptr<Loader> Open(DatasetPtr<TokenWindow> windows,
                                      uint32_t prefetch,
                                      LoaderOptions of_loader = {}) {
    ScheduleOptions options;
    options.batch_size = GetParam().batch_size;
    options.seq_len = kWindow;
    options.steps = GetParam().steps;
    auto shuffled = Shuffle<TokenWindow>(std::move(windows), 7);
    EXPECT_THAT(shuffled, IsOk());
    auto endless = Repeat<TokenWindow>(*shuffled);
    EXPECT_THAT(endless, IsOk());
    of_loader.token_type = TokenType::kU8;
    of_loader.prefetch_batches = prefetch;
    auto loader =
        Loader::Create(*endless, *Schedule::Create(options), of_loader);
    EXPECT_THAT(loader, IsOk());
    return *std::move(loader);
  }

  TempDir folder_;
  DatasetPtr<TokenWindow> reference_windows_;
};

INSTANTIATE_TEST_SUITE_P(
    Ways, ConsumerFetchTest,
    ::testing::Values(Way{"blocked", Block, kSmall, 4000},
                      Way{"blocked_large", Block, kLarge, 120},
                      Way{"awaited", Await, kSmall, 1000},
                      Way{"awaited_large", Await, kLarge, 120},
                      Way{"polled", Poll, kSmall, 1000},
                      Way{"polled_large", Poll, kLarge, 120}),
    [](const auto& way) { return way.param.name; });

void ExpectSame(const Batch& batch, const Batch& expected) {
  ASSERT_EQ(batch.step(), expected.step());
  ASSERT_EQ(batch.num_samples(), expected.num_samples());
  for (size_t i = 0; i < batch.num_samples(); ++i) {
    ASSERT_EQ(batch.provenance(i), expected.provenance(i));
  }
  const auto ids = batch.tokens<uint8_t>();
  const auto wanted = expected.tokens<uint8_t>();
  ASSERT_TRUE(std::equal(ids.begin(), ids.end(), wanted.begin(), wanted.end()));
}

TEST_P(ConsumerFetchTest, BatchesAreThoseThatTheLoadersThreadMakes) {
  for (const uint32_t prefetch : {1u, 2u, 4u, 9u}) {
    SCOPED_TRACE(prefetch);
    const auto loader = OpenLoader(prefetch);
    const auto reference = OpenReference();
    for (uint64_t step = 0; step < steps(); ++step) {
      const auto batch = Take(*loader);
      ASSERT_THAT(batch, IsOk());
      const auto expected = RunBlocking(reference->Next());
      ASSERT_THAT(expected, IsOk());
      ASSERT_NO_FATAL_FAILURE(ExpectSame(*batch, *expected));
    }
    EXPECT_THAT(Take(*loader), testing::StatusIs(absl::StatusCode::kOutOfRange,
                                                 HasSubstr("ended")));
    const LoaderMetrics metrics = loader->metrics();
    EXPECT_EQ(metrics.steps, steps());
    EXPECT_EQ(metrics.batches_fetched, steps());
  }
}

// A second thread helps a consumer whose own has other work, if batches are
// large enough to be worth it.
TEST_P(ConsumerFetchTest, WhoMakesBatches) {
  const std::thread::id consumer = std::this_thread::get_id();
  const bool is_blocked = GetParam().take == &Block;
  const bool has_helper = !is_blocked && GetParam().batch_size == kLarge &&
                          internal::UsableCores() > 1;
  const size_t num_makers = is_blocked || has_helper ? 2 : 1;
  const auto loader = OpenLoader(4);
  const auto give_up = std::chrono::steady_clock::now() + kLongest;
  do {  // until the second has had a turn on a busy machine
    ASSERT_THAT(loader->Seek(0), IsOk());
    for (uint64_t step = 0; step < steps(); ++step) {
      ASSERT_THAT(Take(*loader), IsOk());
    }
  } while (windows_->makers().size() < num_makers &&
           std::chrono::steady_clock::now() < give_up);
  const std::set<std::thread::id> makers = windows_->makers();
  EXPECT_EQ(makers.size(), num_makers);
  EXPECT_EQ(makers.contains(consumer), is_blocked);
}

TEST_P(ConsumerFetchTest, ASeekFromAnotherThreadDropsWhatHelpersMake) {
  const auto loader = OpenLoader(4);
  const auto reference = OpenReference();
  // Wherever it begins, the consumer does not reach the end, even if the other
  // thread does not get a turn.
  const uint64_t taken = steps() / 4 * 3;
  std::atomic<bool> is_over = false;
  std::atomic<uint64_t> received = 0;
  std::thread seeker([&] {
    std::mt19937_64 random(testing::TestSeed(5));
    while (!is_over.load()) {
      const uint64_t before = received.load();
      EXPECT_THAT(loader->Seek(random() % (steps() - taken)), IsOk());
      // Every other time at once; else there might never be a batch.
      const bool waits = random() % 2 == 0;
      do {
        std::this_thread::yield();
      } while (waits && received.load() == before && !is_over.load());
    }
  });
  std::vector<Batch> kept;
  for (uint64_t i = 0; i < taken; ++i) {
    auto batch = Take(*loader);
    ASSERT_THAT(batch, IsOk());
    ++received;
    if (i % 50 == 0) kept.push_back(*std::move(batch));
    if (kept.size() < 2) continue;
    for (const Batch& one : kept) {
      ASSERT_THAT(reference->Seek(one.step()), IsOk());
      const auto expected = RunBlocking(reference->Next());
      ASSERT_THAT(expected, IsOk());
      ASSERT_NO_FATAL_FAILURE(ExpectSame(one, *expected));
    }
    kept.clear();
  }
  is_over = true;
  seeker.join();
}

TEST_P(ConsumerFetchTest, AClosedLoaderStopsItsConsumerAndHelpers) {
  for (int i = 0; i < 50; ++i) {
    const auto loader = OpenLoader(4);
    std::atomic<uint64_t> taken = 0;
    std::thread consumer([&] {
      while (true) {
        const auto batch = Take(*loader);
        if (!batch.ok()) {
          EXPECT_THAT(batch,
                      testing::StatusIs(absl::StatusCode::kFailedPrecondition,
                                        HasSubstr("closed")));
          return;
        }
        // Else it would come to the run's end; closed, it goes nowhere.
        if (++taken % (steps() / 2) == 0) loader->Seek(0).IgnoreError();
      }
    });
    while (taken.load() < 20u + i) std::this_thread::yield();
    EXPECT_THAT(loader->CloseBlocking(), IsOk());
    EXPECT_EQ(loader->metrics().batches_under_way, 0u);
    consumer.join();
  }
}

TEST_P(ConsumerFetchTest, ALoaderMayGoWhileHelpersMakeBatches) {
  for (uint64_t i = 0; i < 100; ++i) {
    std::unique_ptr<Loader> loader = OpenLoader(4);
    std::optional<Batch> kept;
    for (uint64_t step = 0; step < 10 + i % 30; ++step) {
      auto batch = Take(*loader);
      ASSERT_THAT(batch, IsOk());
      kept = *std::move(batch);
    }
    std::ignore = loader->TryNext();  // calls for help
    loader = nullptr;
    EXPECT_EQ(kept->step(), 9 + i % 30);
  }
}

// One batch in hand, and one slot for the next: what a change makes stale does
// not keep it.
TEST_P(ConsumerFetchTest, AChangeFindsASlotForItsFirstBatch) {
  LoaderOptions options;
  options.max_held = 0;
  const auto loader = OpenLoader(1, options);
  for (uint64_t step = 0; step < steps(); ++step) {
    const auto batch = Take(*loader);
    ASSERT_THAT(batch, IsOk());
    ASSERT_EQ(batch->step(), step);
    if (step % 2 != 0) {
      ASSERT_THAT(loader->Seek(step + 1), IsOk());
    }
  }
}

// Whoever makes the batches, nothing waits for a disk.
TEST_P(ConsumerFetchTest, ARunFromMemoryIsNotBoundByTheDisk) {
  for (const uint32_t prefetch : {1u, 4u}) {
    const auto loader = OpenLoader(prefetch);
    for (uint64_t step = 0; step < steps(); ++step) {
      ASSERT_THAT(Take(*loader), IsOk());
    }
    const LoaderMetrics metrics = loader->metrics();
    EXPECT_NE(FindBottleneck(metrics), Bottleneck::kDisk)
        << MetricsLine(metrics);
    EXPECT_GT(metrics.cpu_seconds, 0);
  }
}

// One thread after the other may be the consumer.
TEST_P(ConsumerFetchTest, ConsumersOnChangingThreadsGoOn) {
  const auto loader = OpenLoader(4);
  uint64_t step = 0;
  for (int i = 0; i < 20; ++i) {
    std::thread([&] {
      for (uint64_t j = 0; j < steps() / 40; ++j) {
        const auto batch = Take(*loader);
        ASSERT_THAT(batch, IsOk());
        ASSERT_EQ(batch->step(), step++);
      }
    }).join();
  }
}

}  // namespace
}  // namespace poniente
