// SPDX-License-Identifier: Apache-2.0
// Which chunks of packed documents are in memory, and what goes wrong when one
// is made.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "poniente/extend/piecewise_items.h"
#include "poniente/packing.h"
#include "tests/store/packing/lengths_source.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::LengthsSource;
using testing::StatusIs;

absl::StatusOr<bool> FindSquaredLengths(const DatasetNode& windows,
                                        uint64_t window, bool may_read) {
  const Position position = {.index = window};
  uint64_t squares = 0;
  return PackedItemsOf(windows)->FindSquaredLengths(
      std::span(&position, 1), may_read, std::span(&squares, 1));
}

bool HasSquaredLengths(const DatasetNode& windows, uint64_t window) {
  const auto found = FindSquaredLengths(windows, window, /*may_read=*/false);
  EXPECT_THAT(found, IsOk());
  return *found;
}

// What is not in memory is not read by calls that must not wait.
TEST(LiveChunksTest, OnlyChunksInUseAreInMemory) {
  const auto source =
      std::make_shared<LengthsSource>(std::vector<uint64_t>(1000, 10));
  PackingOptions options;
  options.chunk_documents = 50;  // 20 chunks of 13 windows
  options.shuffle_chunks = 2;
  ASSERT_OK_AND_ASSIGN(const auto windows, source->PackedWindows(40, options));
  EXPECT_EQ(source->reads, 20);
  const PiecewiseItems& pieces = *PiecesOf(*windows);
  std::vector<ItemPiece> found;
  EXPECT_FALSE(pieces.HasPiecesInMemory({3, 0}));
  EXPECT_THAT(pieces.FindInMemory({3, 0}, &found), IsOkAndHolds(false));
  EXPECT_EQ(source->reads, 20);
  // In order, each chunk is made once in an epoch.
  for (uint64_t w = 0; w < 260; ++w) {
    EXPECT_THAT(pieces.Pieces({w, 0}), IsOk());
  }
  EXPECT_EQ(source->reads, 20 + 2 * 20);
  // Its items are found there, too.
  EXPECT_THAT(pieces.ItemsIn(0, 0), IsOk());
  EXPECT_LE(source->reads, 20 + 2 * 21);
}

// One source at several places of a mixture: each place has its own order.
TEST(LiveChunksTest, EachSeedHasItsChunksInMemory) {
  const auto source =
      std::make_shared<LengthsSource>(std::vector<uint64_t>(4000, 10));
  PackingOptions options;
  options.chunk_documents = 50;  // 80 chunks of 13 windows
  options.shuffle_chunks = 2;
  ASSERT_OK_AND_ASSIGN(const auto windows, source->PackedWindows(40, options));
  std::vector<DatasetPtr<TokenWindow>> places;
  for (uint64_t seed = 1; seed < 6; ++seed) {
    places.push_back(windows->WithSeed(seed));
  }
  source->reads = 0;
  for (uint64_t w = 0; w < 80 * 13; ++w) {
    for (const auto& place : places) {
      ASSERT_THAT(PiecesOf(*place)->Pieces({w, 0}), IsOk());
    }
  }
  // No place makes a chunk more than once.
  EXPECT_LE(source->reads, 5 * 80 * 2);
}

// Windows of several lengths: chunks of a length that is no longer read make
// room for those of another.
TEST(LiveChunksTest, SeveralLengthsShareTheMemory) {
  const auto source =
      std::make_shared<LengthsSource>(std::vector<uint64_t>(1000, 10));
  PackingOptions options;
  options.chunk_documents = 50;  // 20 chunks of 13 and 7 windows
  options.shuffle_chunks = 2;
  const uint64_t lengths[] = {40, 80};
  ASSERT_OK_AND_ASSIGN(const auto windows,
                       source->PackedWindowsOfEach(lengths, options));
  EXPECT_EQ(source->reads, 2 * 20);
  source->reads = 0;
  const PiecewiseItems& of_40 = *PiecesOf(*windows[0]);
  const PiecewiseItems& of_80 = *PiecesOf(*windows[1]);
  // The same chunk in both lengths: two packings.
  ASSERT_OK_AND_ASSIGN(const auto short_items, of_40.ItemsIn(70, 0));
  ASSERT_OK_AND_ASSIGN(const auto long_items, of_80.ItemsIn(70, 0));
  EXPECT_EQ(source->reads, 2 * 2);
  EXPECT_TRUE(HasSquaredLengths(*windows[0], short_items[0].item));
  EXPECT_TRUE(HasSquaredLengths(*windows[1], long_items[0].item));
  // Four other chunks.
  for (uint64_t chunk = 10; chunk < 14; ++chunk) {
    EXPECT_THAT(of_80.ItemsIn(50 * chunk, 0), IsOk());
  }
  EXPECT_EQ(source->reads, 6 * 2);
  EXPECT_FALSE(HasSquaredLengths(*windows[0], short_items[0].item));
  EXPECT_FALSE(HasSquaredLengths(*windows[1], long_items[0].item));
}

// Each length has a file of its own.
TEST(LiveChunksTest, IndexFilesOfSeveralLengths) {
  const testing::TempDir folder;
  const auto source =
      std::make_shared<LengthsSource>(std::vector<uint64_t>(1000, 10));
  PackingOptions options;
  options.chunk_documents = 50;
  options.index_file = folder.path("chunks");
  const uint64_t lengths[] = {40, 80};
  ASSERT_THAT(source->PackedWindowsOfEach(lengths, options), IsOk());
  EXPECT_EQ(source->reads, 2 * 20);
  EXPECT_EQ(::access(folder.path("chunks").c_str(), R_OK), -1);
  EXPECT_EQ(::access(folder.path("chunks-40").c_str(), R_OK), 0);
  EXPECT_EQ(::access(folder.path("chunks-80").c_str(), R_OK), 0);
  ASSERT_THAT(source->PackedWindowsOfEach(lengths, options), IsOk());
  EXPECT_EQ(source->reads, 2 * 20);
}

TEST(LiveChunksTest, ManyThreadsMakeAChunkOnce) {
  const auto source =
      std::make_shared<LengthsSource>(std::vector<uint64_t>(4000, 10));
  PackingOptions options;
  options.chunk_documents = 2000;
  ASSERT_OK_AND_ASSIGN(const auto windows, source->PackedWindows(40, options));
  EXPECT_EQ(source->reads, 2);
  const uint64_t count = windows->length_now().readable;
  std::vector<std::jthread> threads;
  std::atomic<uint64_t> good = 0;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t w = t % 2; w < count; w += 2) {
        good += PiecesOf(*windows)->Pieces({w, w % 3}).ok();
      }
    });
  }
  threads.clear();
  EXPECT_EQ(good, 2 * count);
  EXPECT_EQ(source->reads, 2 + 2 * 2);
}

TEST(LiveChunksTest, ErrorsOfReadsAreReturnedAndTriedAgain) {
  const auto source =
      std::make_shared<LengthsSource>(std::vector<uint64_t>(100, 10));
  PackingOptions options;
  options.chunk_documents = 10;
  source->fails_at = 50;
  EXPECT_THAT(source->PackedWindows(40, options),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("unreadable")));
  source->fails_at = UINT64_MAX;
  ASSERT_OK_AND_ASSIGN(const auto windows, source->PackedWindows(40, options));
  source->fails_at = 0;
  EXPECT_THAT(PiecesOf(*windows)->Pieces({0, 0}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("unreadable")));
  EXPECT_THAT(FindSquaredLengths(*windows, 0, /*may_read=*/true),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("unreadable")));
  source->fails_at = UINT64_MAX;
  EXPECT_THAT(PiecesOf(*windows)->Pieces({0, 0}), IsOk());
  EXPECT_THAT(FindSquaredLengths(*windows, 0, /*may_read=*/true), IsOk());
}

TEST(LiveChunksTest, LengthsThatChangedAreAnError) {
  const auto source =
      std::make_shared<LengthsSource>(std::vector<uint64_t>(100, 10));
  PackingOptions options;
  options.chunk_documents = 10;
  ASSERT_OK_AND_ASSIGN(const auto windows, source->PackedWindows(40, options));
  source->SetLengths(std::vector<uint64_t>(100, 20));
  EXPECT_THAT(PiecesOf(*windows)->Pieces({0, 0}),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("windows"), HasSubstr("was changed"))));
}

TEST(LiveChunksTest, ChunksThatAreTooSmall) {
  const auto source =
      std::make_shared<LengthsSource>(std::vector<uint64_t>((1 << 24) + 1, 0));
  PackingOptions options;
  options.chunk_documents = 1;
  EXPECT_THAT(source->PackedWindows(40, options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("at most 16777216"),
                             HasSubstr("at least 2 documents"))));
  options.chunk_documents = 10;
  options.shuffle_chunks = 0;
  EXPECT_THAT(source->PackedWindows(40, options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("shuffle_chunks")));
}

}  // namespace
}  // namespace poniente
