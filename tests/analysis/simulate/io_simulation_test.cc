// SPDX-License-Identifier: Apache-2.0
#include "analysis/simulate/io_simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "poniente/mixture_dataset.h"
#include "poniente/transforms.h"
#include "tests/analysis/declared_run.h"
#include "tests/analysis/lru_cache.h"
#include "tests/support/status_matchers.h"

namespace poniente::internal {
namespace {

using poniente::testing::Declared;
using poniente::testing::DeclaredRun;
using poniente::testing::LruCache;
using poniente::testing::MakeRun;
using poniente::testing::StatusIs;
using ::testing::HasSubstr;

using ChunkName = std::pair<uint32_t, uint64_t>;  // file, number

// What batch after batch asks for: each chunk once, with the passes it is of.
struct Asked {
  ChunkName chunk;
  uint64_t bytes;
  std::vector<uint64_t> epochs;
};

std::vector<std::vector<Asked>> AskedBy(const RunReads& reads,
                                        const ReadTrace& trace,
                                        uint64_t chunk_bytes) {
  std::vector<std::vector<Asked>> batches;
  size_t next = 0;
  for (const size_t end : trace.step_ends) {
    std::vector<Asked>& batch = batches.emplace_back();
    for (; next < end; ++next) {
      const ReadSpan& read = trace.reads[next];
      for (uint64_t byte = read.begin; byte < read.end; ++byte) {
        const ChunkName chunk = {read.file, byte / chunk_bytes};
        const auto at =
            std::find_if(batch.begin(), batch.end(),
                         [&](const Asked& a) { return a.chunk == chunk; });
        if (at != batch.end()) {
          at->epochs.push_back(read.epoch);
          continue;
        }
        const uint64_t begin = chunk.second * chunk_bytes;
        batch.push_back(
            {chunk,
             std::min(chunk_bytes, reads.files()[read.file].bytes - begin),
             {read.epoch}});
      }
    }
  }
  return batches;
}

// Bytes that a cache does not have; only those of a second time in a pass, if
// `again`.
uint64_t Fetched(const std::vector<std::vector<Asked>>& batches, uint64_t room,
                 bool again = false) {
  LruCache<ChunkName> cache(room);
  std::set<std::pair<ChunkName, uint64_t>> passes;
  uint64_t fetched = 0;
  for (const auto& batch : batches) {
    for (const Asked& asked : batch) {
      const bool is_again = passes.contains({asked.chunk, asked.epochs[0]});
      for (const uint64_t epoch : asked.epochs) {
        passes.emplace(asked.chunk, epoch);
      }
      if (!cache.Use(asked.chunk, asked.bytes) && (is_again || !again)) {
        fetched += asked.bytes;
      }
    }
  }
  return fetched;
}

// Of the bytes of the chunks that each pass touches.
double UsedShare(const RunReads& reads, const ReadTrace& trace,
                 uint64_t chunk_bytes) {
  std::set<std::pair<ChunkName, uint64_t>> passes;
  double used = 0;
  double bytes = 0;
  for (const auto& batch : AskedBy(reads, trace, chunk_bytes)) {
    for (const Asked& asked : batch) {
      for (const uint64_t epoch : asked.epochs) {
        used += 1;  // an epoch for each byte
        if (passes.emplace(asked.chunk, epoch).second) {
          bytes += static_cast<double>(asked.bytes);
        }
      }
    }
  }
  return used / bytes;
}

// Of two sources with several passes over one of them, and two lengths.
DeclaredRun MixedRun() {
  ScheduleOptions options;
  options.steps = 90;
  options.batch_size = 9;
  options.seq_len = 16;
  options.seq_lens = {{RunPoint::Step(30), 8}};
  options.mixture.seed = 3;
  const Schedule schedule = *Schedule::Create(options);
  return MakeRun(*MixtureDataset<TokenWindow>::Create(
                     {{"a", Declared(500, 16), 2}, {"b", Declared(37, 16), 1}},
                     schedule.mixture_options()),
                 options);
}

TEST(IoSimulationTest, AgreesWithCachesThatAreRun) {
  const DeclaredRun run = MixedRun();
  for (const uint32_t ranks : {1u, 2u}) {
    ASSERT_OK_AND_ASSIGN(const auto reads,
                         RunReads::Create(*run.root, run.schedule, run.sources,
                                          80, ranks - 1, ranks));
    ASSERT_OK_AND_ASSIGN(const ReadTrace trace, reads->AsConfigured());
    // Chunks of less than a sample, of some, not aligned to any, of the most.
    for (const uint64_t chunk_bytes : {8, 100, 512, 4096}) {
      const std::vector<uint64_t> rooms = {0, 99, 600, 3000, 9000, 1 << 20};
      ASSERT_OK_AND_ASSIGN(const ChunkLocality found,
                           SimulateChunks(*reads, trace, chunk_bytes, rooms));
      const auto batches = AskedBy(*reads, trace, chunk_bytes);
      uint64_t asked = 0;
      uint64_t most = 0;
      std::map<ChunkName, uint64_t> touched;
      for (const auto& batch : batches) {
        asked += batch.size();
        most = std::max<uint64_t>(most, batch.size());
        for (const Asked& a : batch) touched[a.chunk] = a.bytes;
      }
      uint64_t touched_bytes = 0;
      for (const auto& [chunk, bytes] : touched) touched_bytes += bytes;
      EXPECT_EQ(found.asked_chunks, asked);
      EXPECT_EQ(found.most_chunks_in_batch, most);
      EXPECT_EQ(found.touched_chunks, touched.size());
      EXPECT_EQ(found.touched_bytes, touched_bytes);
      EXPECT_EQ(found.fetched_bytes_without_cache, Fetched(batches, 0));
      EXPECT_DOUBLE_EQ(found.used_share, UsedShare(*reads, trace, chunk_bytes));
      for (size_t i = 0; i < rooms.size(); ++i) {
        EXPECT_EQ(found.fetched_bytes[i], Fetched(batches, rooms[i]))
            << chunk_bytes << " bytes, room " << rooms[i];
      }
    }
  }
}

// One source of 4096 items of 64 bytes, read once in steps of 16.
DeclaredRun OnePass(DatasetPtr<TokenWindow> root) {
  ScheduleOptions options;
  options.batch_size = 16;
  options.seq_len = 32;
  return MakeRun(std::move(root), options);
}

DatasetPtr<TokenWindow> BlockShuffled() {
  BlockShuffleOptions blocks;
  blocks.chunk_items = 16;  // 1024 bytes
  blocks.window_chunks = 8;
  return *BlockShuffle(Declared(4096, 32), blocks, 5);
}

TEST(IoSimulationTest, TheCacheNeededFetchesChunksOnce) {
  for (const auto& root : {*Shuffle(Declared(4096, 32), 5), BlockShuffled()}) {
    const DeclaredRun run = OnePass(root);
    ASSERT_OK_AND_ASSIGN(
        const auto reads,
        RunReads::Create(*run.root, run.schedule, run.sources, 1000));
    ASSERT_OK_AND_ASSIGN(const ReadTrace trace, reads->AsConfigured());
    for (const uint64_t chunk_bytes : {256, 1024, 8192}) {
      ASSERT_OK_AND_ASSIGN(const ChunkLocality found,
                           SimulateChunks(*reads, trace, chunk_bytes, {}));
      EXPECT_FALSE(found.is_at_least);
      EXPECT_DOUBLE_EQ(found.used_share, 1);
      const auto batches = AskedBy(*reads, trace, chunk_bytes);
      const uint64_t allowed = found.touched_bytes / 20;
      const uint64_t needed = found.cache_needed_bytes;
      EXPECT_LE(Fetched(batches, needed, true), allowed);
      EXPECT_GT(Fetched(batches, needed - needed / 100 - chunk_bytes, true),
                allowed);
    }
  }
}

TEST(IoSimulationTest, NothingNeedsToBeKeptOfAnOrderThatGoesThrough) {
  const DeclaredRun run = OnePass(Declared(4096, 32));
  for (const uint64_t steps : {3, 100, 256}) {
    ASSERT_OK_AND_ASSIGN(
        const auto reads,
        RunReads::Create(*run.root, run.schedule, run.sources, steps));
    ASSERT_OK_AND_ASSIGN(const ReadTrace trace, reads->AsConfigured());
    ASSERT_OK_AND_ASSIGN(const ChunkLocality found,
                         SimulateChunks(*reads, trace, 1024, {}));
    EXPECT_EQ(found.cache_needed_bytes, 0u);  // a batch is a chunk
    EXPECT_EQ(found.fetched_bytes_without_cache, 1024 * steps);
  }
}

TEST(IoSimulationTest, AnotherPassMayFetchAgain) {
  const DeclaredRun run = OnePass(*Repeat(Declared(256, 32), 5));
  ASSERT_OK_AND_ASSIGN(
      const auto reads,
      RunReads::Create(*run.root, run.schedule, run.sources, 1000));
  ASSERT_EQ(reads->steps(), 5u * 16);
  ASSERT_OK_AND_ASSIGN(const ReadTrace trace, reads->AsConfigured());
  ASSERT_OK_AND_ASSIGN(const ChunkLocality found,
                       SimulateChunks(*reads, trace, 1024, {}));
  EXPECT_EQ(found.touched_bytes, 256u * 64);
  EXPECT_EQ(found.fetched_bytes_without_cache, 5u * 256 * 64);
  EXPECT_EQ(found.cache_needed_bytes, 0u);
  EXPECT_DOUBLE_EQ(found.used_share, 1);
}

TEST(IoSimulationTest, APartOfAPassTellsOfTheRest) {
  const DeclaredRun full = OnePass(*Shuffle(Declared(4096, 32), 5));
  ASSERT_OK_AND_ASSIGN(
      const auto full_reads,
      RunReads::Create(*full.root, full.schedule, full.sources, 16));
  ASSERT_OK_AND_ASSIGN(const ReadTrace full_trace, full_reads->AsConfigured());
  ASSERT_OK_AND_ASSIGN(const ChunkLocality of_full,
                       SimulateChunks(*full_reads, full_trace, 1024, {}));
  // Nearly all that was touched will be asked for again.
  EXPECT_TRUE(of_full.is_at_least);
  EXPECT_GE(of_full.cache_needed_bytes, of_full.touched_bytes * 9 / 10);

  // A sixteenth of the pass, two windows of 8 KiB.
  const DeclaredRun block = OnePass(BlockShuffled());
  ASSERT_OK_AND_ASSIGN(
      const auto block_reads,
      RunReads::Create(*block.root, block.schedule, block.sources, 20));
  ASSERT_OK_AND_ASSIGN(const ReadTrace block_trace,
                       block_reads->AsConfigured());
  ASSERT_OK_AND_ASSIGN(const ChunkLocality of_block,
                       SimulateChunks(*block_reads, block_trace, 1024, {}));
  EXPECT_GE(of_block.cache_needed_bytes, 7u << 10);
  EXPECT_LE(of_block.cache_needed_bytes, 9u << 10);
}

TEST(IoSimulationTest, ComparesTheOrders) {
  const DeclaredRun run = OnePass(Declared(4096, 32));
  ASSERT_OK_AND_ASSIGN(
      const auto reads,
      RunReads::Create(*run.root, run.schedule, run.sources, 1000));
  IoSimulationOptions options;
  options.chunk_bytes = {1024};
  options.cache_bytes = {16 << 10};
  options.blocks.chunk_items = 16;
  options.blocks.window_chunks = 8;
  ASSERT_OK_AND_ASSIGN(const IoSimulation found, SimulateIo(*reads, options));
  EXPECT_EQ(found.used_bytes, 4096u * 64);
  ASSERT_EQ(found.orders.size(), 3u);
  // As stored, each chunk once; shuffled, about as often as it has items; block
  // by block, once as the window fits the cache.
  EXPECT_EQ(found.orders[0].chunks[0].fetched_bytes[0], found.used_bytes);
  EXPECT_GT(found.orders[1].chunks[0].fetched_bytes[0], 12 * found.used_bytes);
  EXPECT_EQ(found.orders[2].chunks[0].fetched_bytes[0], found.used_bytes);
}

TEST(IoSimulationTest, AnOrderThatCannotBeIsLeftOut) {
  const DeclaredRun run = OnePass(Declared(4096, 32));
  ASSERT_OK_AND_ASSIGN(
      const auto reads,
      RunReads::Create(*run.root, run.schedule, run.sources, 10));
  IoSimulationOptions options;
  options.blocks.chunk_items = 0;
  ASSERT_OK_AND_ASSIGN(const IoSimulation found, SimulateIo(*reads, options));
  EXPECT_EQ(found.used_bytes, 10u * 16 * 64);
  ASSERT_EQ(found.orders.size(), 2u);
  EXPECT_EQ(found.orders[1].order, "full_shuffle");
  ASSERT_EQ(found.left_out.size(), 1u);
  EXPECT_EQ(found.left_out[0].order, "block_shuffle");
  EXPECT_THAT(found.left_out[0].status.message(), HasSubstr("chunk_items"));
}

TEST(IoSimulationTest, TooManyChunksAreRefused) {
  ScheduleOptions schedule;
  schedule.batch_size = 64;
  schedule.seq_len = 1 << 20;
  const DeclaredRun run = MakeRun(Declared(1 << 20, 1 << 20), schedule);
  ASSERT_OK_AND_ASSIGN(
      const auto reads,
      RunReads::Create(*run.root, run.schedule, run.sources, 100));
  ASSERT_OK_AND_ASSIGN(const ReadTrace trace, reads->AsConfigured());
  EXPECT_THAT(SimulateChunks(*reads, trace, 512, {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("take fewer steps or larger chunks")));
}

}  // namespace
}  // namespace poniente::internal
