// SPDX-License-Identifier: Apache-2.0
// How many batches are fetched ahead if nothing says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "poniente/byte_reader.h"
#include "poniente/in_memory_dataset.h"
#include "poniente/loader.h"
#include "poniente/schedule.h"
#include "tests/support/file_windows.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente {
namespace {

using testing::FileWindows;
using testing::IsOk;
using testing::TempDir;

constexpr uint32_t kWindow = 16;

class DefaultPrefetchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::WriteFile(folder_.path("ids"), std::string(kWindow * 4096, 'a'));
    auto reader = ByteReader::Open({folder_.path("ids")}, {});
    ASSERT_THAT(reader, IsOk());
    files_ = std::make_shared<FileWindows>(*reader, kWindow);
  }

  static uint32_t Of(DatasetPtr<TokenWindow> windows, ScheduleOptions schedule,
                     LoaderOptions options = {}) {
    schedule.seq_len = kWindow;
    options.token_type = TokenType::kU8;
    auto loader = Loader::Create(std::move(windows),
                                 *Schedule::Create(schedule), options);
    EXPECT_THAT(loader, IsOk());
    return loader.ok() ? (*loader)->prefetch_batches() : 0;
  }

  TempDir folder_;
  DatasetPtr<TokenWindow> files_;
};

TEST_F(DefaultPrefetchTest, SmallBatchesOfFilesAreMore) {
  EXPECT_EQ(Of(files_, {.batch_size = 1}), 32u);
  EXPECT_EQ(Of(files_, {.batch_size = 4}), 32u);
  EXPECT_EQ(Of(files_, {.batch_size = 8}), 16u);
  EXPECT_EQ(Of(files_, {.batch_size = 30}), 4u);
  EXPECT_EQ(Of(files_, {.batch_size = 1024}), 4u);
}

TEST_F(DefaultPrefetchTest, TheShareOfTheRankCounts) {
  EXPECT_EQ(Of(files_, {.batch_size = 64}, {.rank = 1, .ranks = 8}), 16u);
  // Ranks without a sample fetch batches, too.
  EXPECT_EQ(Of(files_, {.batch_size = 1}, {.rank = 1, .ranks = 2}), 32u);
}

TEST_F(DefaultPrefetchTest, TheLargestBatchOfTheRunCounts) {
  ScheduleOptions schedule;
  schedule.batch_size = 1;
  schedule.batch_sizes = {{RunPoint::Step(10), 64}};
  EXPECT_EQ(Of(files_, schedule), 4u);
}

TEST_F(DefaultPrefetchTest, ANumberIsTakenAsItIs) {
  EXPECT_EQ(Of(files_, {.batch_size = 1}, {.prefetch_batches = 3}), 3u);
  EXPECT_EQ(Of(files_, {.batch_size = 1024}, {.prefetch_batches = 40}), 40u);
}

TEST_F(DefaultPrefetchTest, OtherDatasetsAreAskedForFour) {
  TokenWindow window;
  window.tokens.resize(kWindow);
  InMemoryOptions options;
  options.vocabulary = Vocabulary{"bytes", 256};
  const auto in_memory = InMemoryDataset<TokenWindow>::Create(
      std::vector<TokenWindow>(8, window), options);
  EXPECT_EQ(Of(in_memory, {.batch_size = 1}), 4u);
}

}  // namespace
}  // namespace poniente
