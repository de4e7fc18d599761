// SPDX-License-Identifier: Apache-2.0
#include "analysis/trace/read_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "index/keyed_hash.h"
#include "poniente/mixture_dataset.h"
#include "poniente/plan.h"
#include "poniente/token_store.h"
#include "poniente/transforms.h"
#include "tests/analysis/declared_run.h"
#include "tests/config/small_stores.h"
#include "tests/support/status_matchers.h"

namespace poniente::internal {
namespace {

using poniente::testing::Declared;
using poniente::testing::DeclaredRun;
using poniente::testing::MakeRun;
using poniente::testing::SmallStores;
using poniente::testing::StatusIs;
using poniente::testing::StoreToken;
using ::testing::HasSubstr;

// Two sources of 100 and 37 items, lengths 16, then 4; steps of 6 samples.
DeclaredRun CutRun() {
  ScheduleOptions options;
  options.steps = 200;
  options.batch_size = 6;
  options.seq_len = 16;
  options.seq_lens = {{RunPoint::Step(40), 4}};
  options.mixture.seed = 3;
  const Schedule schedule = *Schedule::Create(options);
  return MakeRun(*MixtureDataset<TokenWindow>::Create(
                     {{"a", Declared(100, 16), 2}, {"b", Declared(37, 16), 1}},
                     schedule.mixture_options()),
                 options);
}

TEST(ReadTraceTest, ReadsWhatTheRunResolvesTo) {
  const DeclaredRun run = CutRun();
  ASSERT_OK_AND_ASSIGN(const auto reads,
                       RunReads::Create(*run.root, run.schedule, run.sources,
                                        100, /*rank=*/1, /*ranks=*/4));
  ASSERT_OK_AND_ASSIGN(const ReadTrace trace, reads->AsConfigured());
  const RunTrace resolved(*run.root, run.schedule);
  ASSERT_EQ(trace.step_ends.size(), 100u);
  size_t next = 0;
  for (uint64_t step = 0; step < 100; ++step) {
    ASSERT_OK_AND_ASSIGN(const auto origins, resolved.Resolve(step, 1, 4));
    for (const SampleOrigin& origin : origins) {
      const ReadSpan& read = trace.reads[next++];
      EXPECT_EQ(read.leaf, origin.leaf);
      EXPECT_EQ(read.epoch, origin.epoch);
      EXPECT_EQ(read.file, origin.leaf);
      EXPECT_EQ(read.begin, 2 * (16 * origin.item + origin.token_begin));
      EXPECT_EQ(read.end, 2 * (16 * origin.item + origin.token_end));
    }
    ASSERT_EQ(trace.step_ends[step], next);
  }
}

TEST(ReadTraceTest, KnowsWhatIsReadLater) {
  const DeclaredRun run = CutRun();
  for (const uint64_t steps : {1, 7, 30, 55, 190}) {
    const auto rank = static_cast<uint32_t>(steps % 2);
    ASSERT_OK_AND_ASSIGN(
        const auto reads,
        RunReads::Create(*run.root, run.schedule, run.sources, steps, rank, 2));
    ASSERT_OK_AND_ASSIGN(const ReadTrace trace, reads->AsConfigured());
    std::set<std::tuple<uint32_t, Index, uint64_t>> later;
    const RunTrace resolved(*run.root, run.schedule);
    for (uint64_t step = steps; step < 200; ++step) {
      ASSERT_OK_AND_ASSIGN(const auto origins, resolved.Resolve(step, rank, 2));
      for (const SampleOrigin& origin : origins) {
        later.emplace(origin.leaf, origin.item, origin.epoch);
      }
    }
    for (uint32_t leaf = 0; leaf < 2; ++leaf) {
      for (Index item = 0; item < reads->Items(leaf); ++item) {
        for (uint64_t epoch = 0; epoch < 4; ++epoch) {
          ASSERT_OK_AND_ASSIGN(const bool is_later,
                               trace.is_read_later(leaf, item, epoch));
          EXPECT_EQ(is_later, later.contains({leaf, item, epoch}))
              << leaf << " " << item << " " << epoch << " after " << steps;
        }
      }
    }
  }
}

TEST(ReadTraceTest, AnotherOrderIsTheLibrarysOwn) {
  ScheduleOptions options;
  options.batch_size = 5;
  options.seq_len = 8;
  const DeclaredRun run = MakeRun(Declared(103, 8), options);
  ASSERT_OK_AND_ASSIGN(
      const auto reads,
      RunReads::Create(*run.root, run.schedule, run.sources, 1000));
  EXPECT_EQ(reads->steps(), 21u);  // all there are
  BlockShuffleOptions blocks;
  blocks.chunk_items = 4;
  blocks.window_chunks = 3;
  for (const ShuffleOptions& order :
       {ShuffleOptions::Full(), ShuffleOptions::Blocks(blocks)}) {
    ASSERT_OK_AND_ASSIGN(const ReadTrace trace, reads->InOrder(order));
    ASSERT_OK_AND_ASSIGN(
        const auto shuffled,
        internal::Shuffled(order, run.root, ChildSeed(0, run.sources[0].path)));
    const DatasetTree tree(*shuffled);
    ASSERT_EQ(trace.reads.size(), 103u);
    for (Index i = 0; i < 103; ++i) {
      const Position position = {.index = i};
      LeafPosition item;
      ASSERT_TRUE(tree.Resolve({&position, 1}, {&item, 1}).ok());
      EXPECT_EQ(trace.reads[i].item, item.position.index);
      EXPECT_EQ(trace.reads[i].begin, 16 * item.position.index);
    }
  }
}

TEST(ReadTraceTest, AnotherOrderComesToAllItsItems) {
  ScheduleOptions options;
  options.batch_size = 5;
  options.seq_len = 8;
  const DeclaredRun run = MakeRun(Declared(103, 8), options);
  for (const uint64_t steps : {1, 8, 20}) {
    ASSERT_OK_AND_ASSIGN(
        const auto reads,
        RunReads::Create(*run.root, run.schedule, run.sources, steps));
    ASSERT_OK_AND_ASSIGN(const ReadTrace trace,
                         reads->InOrder(ShuffleOptions::Full()));
    std::set<Index> read;
    for (const ReadSpan& span : trace.reads) read.insert(span.item);
    ASSERT_EQ(read.size(), 5 * steps);
    for (Index item = 0; item < 103; ++item) {
      ASSERT_OK_AND_ASSIGN(const bool is_later,
                           trace.is_read_later(0, item, 0));
      EXPECT_EQ(is_later, !read.contains(item)) << item << " after " << steps;
    }
  }
}

TEST(ReadTraceTest, AnotherOrderServesEachPartOfAPassOnce) {
  const DeclaredRun run = CutRun();
  ASSERT_OK_AND_ASSIGN(
      const auto reads,
      RunReads::Create(*run.root, run.schedule, run.sources, 150));
  ASSERT_OK_AND_ASSIGN(const ReadTrace as_it_is, reads->AsConfigured());
  ASSERT_OK_AND_ASSIGN(const ReadTrace full,
                       reads->InOrder(ShuffleOptions::Full()));
  ASSERT_EQ(full.reads.size(), as_it_is.reads.size());
  // The parts of an item stay those of one item.
  std::map<std::tuple<uint32_t, uint64_t, Index>, Index> stands_for;
  std::set<std::tuple<uint32_t, uint64_t, Index>> taken;
  for (size_t i = 0; i < full.reads.size(); ++i) {
    const ReadSpan& before = as_it_is.reads[i];
    const ReadSpan& after = full.reads[i];
    ASSERT_EQ(before.leaf, after.leaf);
    ASSERT_EQ(before.epoch, after.epoch);
    EXPECT_EQ(before.begin % 32, after.begin % 32);
    EXPECT_EQ(before.end - before.begin, after.end - after.begin);
    const auto [at, is_new] = stands_for.emplace(
        std::tuple(before.leaf, before.epoch, before.item), after.item);
    EXPECT_EQ(at->second, after.item);
    if (is_new) {
      EXPECT_TRUE(taken.emplace(after.leaf, after.epoch, after.item).second);
    }
  }
}

// What the vocabulary needs, as a plan takes it to be.
TEST(ReadTraceTest, WithoutAStoreTheVocabularyDecidesTheWidth) {
  const std::vector<std::pair<std::optional<Vocabulary>, uint64_t>> widths = {
      {std::nullopt, 4},
      {Vocabulary{"v", 256}, 1},
      {Vocabulary{"v", 257}, 2},
      {Vocabulary{"v", 65537}, 4}};
  ScheduleOptions options;
  options.steps = 5;
  options.batch_size = 6;
  options.seq_len = 16;
  for (const auto& [vocabulary, width] : widths) {
    const DeclaredRun run =
        MakeRun(*DeclaredWindows("d", 1600, 16, vocabulary), options);
    ASSERT_OK_AND_ASSIGN(
        const auto reads,
        RunReads::Create(*run.root, run.schedule, run.sources, 5));
    EXPECT_EQ(reads->files()[0].bytes, 1600 * width);
    ASSERT_OK_AND_ASSIGN(const ReadTrace trace, reads->AsConfigured());
    EXPECT_EQ(trace.reads[7].end, 16 * width * (trace.reads[7].item + 1));
    ASSERT_OK_AND_ASSIGN(
        const PlannedRun plan,
        MakePlan(*run.root, run.schedule, run.sources, LastBatch::kKeep, 5));
    EXPECT_EQ(plan.sources[0].token_bytes, width);
  }
}

TEST(ReadTraceTest, TooMuchIsRefused) {
  ScheduleOptions options;
  options.batch_size = 1 << 20;
  options.seq_len = 8;
  const DeclaredRun run = MakeRun(Declared(uint64_t{1} << 40, 8), options);
  EXPECT_THAT(
      RunReads::Create(*run.root, run.schedule, run.sources, 3).status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("3 steps have 3145728 samples")));
  const DeclaredRun vast = MakeRun(Declared(uint64_t{1} << 60, 8), options);
  EXPECT_THAT(
      RunReads::Create(*vast.root, vast.schedule, vast.sources, 1).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("too many")));
}

class ReadTraceOfStoresTest : public SmallStores {
 protected:
  // The tokens of a read of store `number`, whose tokens are `width` bytes.
  static std::vector<uint32_t> TokensOf(const ReadSpan& read, uint64_t number,
                                        uint64_t width) {
    std::vector<uint32_t> tokens;
    for (uint64_t at = read.begin; at < read.end; at += width) {
      tokens.push_back(StoreToken(number, at / width));
    }
    return tokens;
  }
};

TEST_F(ReadTraceOfStoresTest, ReadsAreWhereTheTokensLie) {
  ASSERT_OK_AND_ASSIGN(
      const Config config,
      Config::Parse("[data]\nseq_len = 20\nbatch_size = 7\nsteps = 40\n"
                    "mixture.a = { weight = 1, path = 'a' }\n"
                    "mixture.b = { weight = 1, path = 'b' }\n"
                    "mixture.again = { weight = 1, path = 'a' }\n",
                    "t.toml", dir_.path()));
  ASSERT_OK_AND_ASSIGN(const auto reads,
                       RunReads::Create(*config.dataset(), config.schedule(),
                                        config.sources(), 40));
  EXPECT_EQ(reads->files().size(),
            2u);  // 'a' is one, however often it is named
  EXPECT_EQ(reads->files()[0].bytes % 4096, 0u);
  ASSERT_OK_AND_ASSIGN(const ReadTrace trace, reads->AsConfigured());
  ASSERT_EQ(trace.reads.size(), 280u);
  for (uint64_t i = 0; i < 280; ++i) {
    const ReadSpan& read = trace.reads[i];
    const bool is_b = config.sources()[read.leaf].path == "b";
    ASSERT_OK_AND_ASSIGN(const TokenWindow window,
                         config.dataset()->GetBlocking(i));
    EXPECT_EQ(TokensOf(read, is_b ? 1 : 0, is_b ? 1 : 2), window.tokens);
  }
}

TEST_F(ReadTraceOfStoresTest, PiecesOfDocumentsAreReadsOfTheirOwn) {
  TokenStoreWriterOptions options;
  options.vocabulary = {"proof", 250};
  options.token_type = TokenType::kU16;
  ASSERT_OK_AND_ASSIGN(auto writer,
                       TokenStoreWriter::Create(dir_.path("docs"), options));
  uint64_t token = 0;
  for (int document = 0; document < 60; ++document) {
    std::vector<uint32_t> ids(5 + document % 3);
    for (uint32_t& id : ids) id = StoreToken(9, token++);
    ASSERT_TRUE(writer->AddDocument(ids, std::to_string(document)).ok());
  }
  ASSERT_TRUE(writer->Finish().ok());
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(dir_.path("docs")));
  // Neighbours, and documents that stand alone.
  ASSERT_OK_AND_ASSIGN(const Selection selection,
                       Selection::FromIndices(
                           60, std::vector<uint64_t>{1, 2, 3, 10, 20, 21, 40}));
  ASSERT_OK_AND_ASSIGN(const auto windows, store->Windows(8, selection));
  ScheduleOptions schedule;
  schedule.batch_size = 2;
  schedule.seq_len = 8;
  ASSERT_OK_AND_ASSIGN(
      const auto reads,
      RunReads::Create(*windows, *Schedule::Create(schedule),
                       {{"docs", store->path(), store->num_tokens(), store}},
                       100));
  ASSERT_OK_AND_ASSIGN(const ReadTrace trace, reads->AsConfigured());
  std::map<Index, std::vector<uint32_t>> read_of;
  for (size_t i = 0; i < trace.reads.size(); ++i) {
    const ReadSpan& read = trace.reads[i];
    ASSERT_LT(read.begin, read.end);
    const bool is_first = i == 0 || trace.reads[i - 1].item != read.item;
    EXPECT_TRUE(is_first || trace.reads[i - 1].end < read.begin);
    const auto tokens = TokensOf(read, 9, 2);
    read_of[read.item].insert(read_of[read.item].end(), tokens.begin(),
                              tokens.end());
  }
  // Two windows to a chunk, said in tokens or in items.
  const auto block_order = [&](const BlockShuffleOptions& blocks) {
    std::vector<Index> order;
    const auto in_order = reads->InOrder(ShuffleOptions::Blocks(blocks));
    EXPECT_TRUE(in_order.ok()) << in_order.status();
    if (!in_order.ok()) return order;
    for (const ReadSpan& read : in_order->reads) order.push_back(read.item);
    return order;
  };
  EXPECT_EQ(block_order({.chunk_tokens = 17, .window_chunks = 1}),
            block_order({.chunk_items = 2, .window_chunks = 1}));
  EXPECT_EQ(read_of.size(), windows->length_now().readable);
  EXPECT_GT(trace.reads.size(), read_of.size());
  for (const auto& [item, tokens] : read_of) {
    ASSERT_OK_AND_ASSIGN(const TokenWindow window, windows->GetBlocking(item));
    EXPECT_EQ(tokens, window.tokens);
  }
}

// The loader reads the mask of each window with its tokens.
TEST_F(ReadTraceOfStoresTest, LossMasksAreReadToo) {
  TokenStoreWriterOptions options;
  options.vocabulary = {"proof", 250};
  options.token_type = TokenType::kU16;
  ASSERT_OK_AND_ASSIGN(auto writer,
                       TokenStoreWriter::Create(dir_.path("chat"), options));
  for (int document = 0; document < 50; ++document) {
    ASSERT_TRUE(writer
                    ->AddDocument(std::vector<uint32_t>(16, 1), "",
                                  std::vector<uint8_t>(16, document % 2))
                    .ok());
  }
  ASSERT_TRUE(writer->Finish().ok());
  ASSERT_OK_AND_ASSIGN(
      const Config config,
      Config::Parse("[data]\nseq_len = 8\nbatch_size = 4\nsteps = 10\n"
                    "path = 'chat'\n",
                    "t.toml", dir_.path()));
  ASSERT_OK_AND_ASSIGN(const auto reads,
                       RunReads::Create(*config.dataset(), config.schedule(),
                                        config.sources(), 10));
  ASSERT_EQ(reads->files().size(), 2u);
  ASSERT_OK_AND_ASSIGN(const ReadTrace trace, reads->AsConfigured());
  ASSERT_EQ(trace.reads.size(), 2u * 40);
  for (size_t i = 0; i < trace.reads.size(); i += 2) {
    const ReadSpan& tokens = trace.reads[i];
    const ReadSpan& mask = trace.reads[i + 1];
    EXPECT_EQ(tokens.file, 0u);
    EXPECT_EQ(tokens.begin, 16 * tokens.item);
    EXPECT_EQ(tokens.end, 16 * tokens.item + 16);
    EXPECT_EQ(mask.file, 1u);
    EXPECT_EQ(mask.item, tokens.item);
    EXPECT_EQ(mask.begin, tokens.item);
    EXPECT_EQ(mask.end, tokens.item + 1);
  }
}

}  // namespace
}  // namespace poniente::internal
