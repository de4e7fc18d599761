// SPDX-License-Identifier: Apache-2.0
// A consumer that is blocked in NextBlocking() makes batches itself, while they
// come from memory. Whoever makes them, they are the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "poniente/byte_reader.h"
#include "poniente/loader.h"
#include "poniente/transforms.h"
#include "tests/support/file_windows.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using testing::FileWindows;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::TempDir;

constexpr uint32_t kWindow = 64;
constexpr uint64_t kBatch = 3;
constexpr uint64_t kSteps = 4000;

class ConsumerFetchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string bytes(kWindow * 1000, '\0');
    std::mt19937_64 random(1);
    for (char& byte : bytes) byte = static_cast<char>(random());
    testing::WriteFile(folder_.path("ids"), bytes);
    auto reader =
        ByteReader::Open({folder_.path("ids")}, {.backend = IoBackend::kMmap});
    ASSERT_THAT(reader, IsOk());
    reader_ = *reader;
  }

  std::unique_ptr<Loader> OpenLoader(uint32_t prefetch) const {
    const auto windows = std::make_shared<FileWindows>(reader_, kWindow);
    ScheduleOptions options;
    options.batch_size = kBatch;
    options.seq_len = kWindow;
    options.steps = kSteps;
    auto shuffled = Shuffle<TokenWindow>(DatasetPtr<TokenWindow>(windows), 7);
    EXPECT_THAT(shuffled, IsOk());
    auto endless = Repeat<TokenWindow>(*shuffled);
    EXPECT_THAT(endless, IsOk());
    LoaderOptions of_loader;
    of_loader.token_type = TokenType::kU8;
    of_loader.prefetch_batches = prefetch;
    auto loader =
        Loader::Create(*endless, *Schedule::Create(options), of_loader);
    EXPECT_THAT(loader, IsOk());
    return *std::move(loader);
  }

  TempDir folder_;
  std::shared_ptr<const ByteReader> reader_;
};

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

// Next() never makes a batch on the caller's thread.
TEST_F(ConsumerFetchTest, BatchesAreThoseThatTheLoadersThreadMakes) {
  for (const uint32_t prefetch : {1u, 2u, 4u, 9u}) {
    SCOPED_TRACE(prefetch);
    const auto loader = OpenLoader(prefetch);
    const auto reference = OpenLoader(4);
    for (uint64_t step = 0; step < kSteps; ++step) {
      const auto batch = loader->NextBlocking();
      ASSERT_THAT(batch, IsOk());
      const auto expected = RunBlocking(reference->Next());
      ASSERT_THAT(expected, IsOk());
      ASSERT_NO_FATAL_FAILURE(ExpectSame(*batch, *expected));
    }
    EXPECT_THAT(
        loader->NextBlocking(),
        testing::StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("ended")));
    const LoaderMetrics metrics = loader->metrics();
    EXPECT_EQ(metrics.steps, kSteps);
    EXPECT_EQ(metrics.batches_fetched, kSteps);
  }
}

TEST_F(ConsumerFetchTest, ASeekFromAnotherThreadDropsWhatTheConsumerMakes) {
  const auto loader = OpenLoader(4);
  const auto reference = OpenLoader(1);
  // Wherever it begins, the consumer does not reach the end, even if the other
  // thread does not get a turn.
  constexpr uint64_t kTaken = 3000;
  static_assert(kTaken < kSteps);
  std::atomic<bool> is_over = false;
  std::thread seeker([&] {
    std::mt19937_64 random(testing::TestSeed(5));
    while (!is_over.load()) {
      EXPECT_THAT(loader->Seek(random() % (kSteps - kTaken)), IsOk());
      std::this_thread::yield();
    }
  });
  std::vector<Batch> kept;
  for (uint64_t i = 0; i < kTaken; ++i) {
    auto batch = loader->NextBlocking();
    ASSERT_THAT(batch, IsOk());
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

TEST_F(ConsumerFetchTest, AClosedLoaderStopsAConsumerThatMakesBatches) {
  for (int i = 0; i < 50; ++i) {
    const auto loader = OpenLoader(4);
    std::atomic<uint64_t> taken = 0;
    std::thread consumer([&] {
      while (true) {
        const auto batch = loader->NextBlocking();
        if (!batch.ok()) {
          EXPECT_THAT(batch,
                      testing::StatusIs(absl::StatusCode::kFailedPrecondition,
                                        HasSubstr("closed")));
          return;
        }
        if (++taken % (kSteps / 2) == 0) {
          EXPECT_THAT(loader->Seek(0), IsOk());
        }
      }
    });
    while (taken.load() < 20u + i) std::this_thread::yield();
    EXPECT_THAT(loader->CloseBlocking(), IsOk());
    EXPECT_EQ(loader->metrics().batches_under_way, 0u);
    consumer.join();
  }
}

// Whoever makes the batches, nothing waits for a disk.
TEST_F(ConsumerFetchTest, ARunFromMemoryIsNotBoundByTheDisk) {
  for (const uint32_t prefetch : {1u, 4u}) {
    const auto loader = OpenLoader(prefetch);
    for (uint64_t step = 0; step < kSteps; ++step) {
      ASSERT_THAT(loader->NextBlocking(), IsOk());
    }
    const LoaderMetrics metrics = loader->metrics();
    EXPECT_NE(FindBottleneck(metrics), Bottleneck::kDisk)
        << MetricsLine(metrics);
    EXPECT_GT(metrics.cpu_seconds, 0);
  }
}

// One thread after the other may be the consumer.
TEST_F(ConsumerFetchTest, ConsumersOnChangingThreadsGoOn) {
  const auto loader = OpenLoader(4);
  uint64_t step = 0;
  for (int i = 0; i < 20; ++i) {
    std::thread([&] {
      for (int j = 0; j < 100; ++j) {
        const auto batch = loader->NextBlocking();
        ASSERT_THAT(batch, IsOk());
        ASSERT_EQ(batch->step(), step++);
      }
    }).join();
  }
}

}  // namespace
}  // namespace poniente
