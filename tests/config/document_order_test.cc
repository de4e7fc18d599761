// SPDX-License-Identifier: Apache-2.0
// Sources whose documents have an order (order_documents), beside a list of the
// same documents that is sorted, joined and cut.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "poniente/catalog.h"
#include "poniente/config.h"
#include "poniente/dataset_tree.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/journal.h"
#include "poniente/loader.h"
#include "poniente/run.h"
#include "poniente/run_trace.h"
#include "poniente/score_file.h"
#include "poniente/token_store.h"
#include "poniente/token_store_writer.h"
#include "poniente/transforms.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kInvalid;
using ::testing::StartsWith;
using testing::StatusIs;

constexpr uint64_t kScored = 300;
constexpr uint32_t kScoredWindow = 16;
constexpr uint32_t kScoredTokens = 64;  // of a document

uint64_t ScoredLength(uint64_t document) {
  if (document % 11 == 3) return 0;
  return document % 29 == 0 ? 60 : document * 7919 % 30;
}
float ScoreOf(uint64_t document) {
  return static_cast<float>(document * 37 % 101) / 8;  // with ties
}
uint32_t ScoredId(uint64_t document, uint64_t token) {
  return static_cast<uint32_t>(document * kScoredTokens + token);
}

using ScoredIds = std::vector<uint32_t>;

// The windows of these documents in the order of their scores.
std::vector<ScoredIds> SlowScoredWindows(
    const std::function<bool(uint64_t)>& is_chosen = nullptr,
    bool descends = false) {
  std::vector<uint64_t> documents;
  for (uint64_t d = 0; d < kScored; ++d) {
    if (!is_chosen || is_chosen(d)) documents.push_back(d);
  }
  std::stable_sort(
      documents.begin(), documents.end(), [descends](uint64_t a, uint64_t b) {
        return descends ? ScoreOf(a) > ScoreOf(b) : ScoreOf(a) < ScoreOf(b);
      });
  ScoredIds joined;
  for (const uint64_t d : documents) {
    for (uint64_t t = 0; t < ScoredLength(d); ++t)
      joined.push_back(ScoredId(d, t));
  }
  std::vector<ScoredIds> windows;
  for (size_t at = 0; at + kScoredWindow <= joined.size();
       at += kScoredWindow) {
    const auto begin = joined.begin() + static_cast<ptrdiff_t>(at);
    windows.emplace_back(begin, begin + kScoredWindow);
  }
  return windows;
}

class DocumentOrderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteDocuments("s", 0, kScored);
    WriteDocuments("parts/a", 0, 120);
    WriteDocuments("parts/b", 120, 121);
    WriteDocuments("parts/c", 121, kScored);
    ASSERT_THAT(StoreCatalog::Write(dir_.path("parts")), IsOk());
    std::vector<float> scores;
    for (uint64_t d = 0; d < kScored; ++d) scores.push_back(ScoreOf(d));
    WriteScores("q.f32", scores);
    ASSERT_OK_AND_ASSIGN(const ScoreOrder order,
                         ScoreOrder::FromScores(scores));
    ASSERT_THAT(OrderFile::Write(dir_.path("q.order"), order), IsOk());
    scores.pop_back();
    WriteScores("short.f32", scores);
    testing::WriteFile(dir_.path("raw.bin"), std::string(600, 'r'));
  }

  void WriteDocuments(const std::string& name, uint64_t first, uint64_t end) {
    std::filesystem::create_directories(
        std::filesystem::path(dir_.path(name)).parent_path());
    TokenStoreWriterOptions options;
    options.vocabulary = {"numbers", kScored * kScoredTokens};
    ASSERT_OK_AND_ASSIGN(auto writer,
                         TokenStoreWriter::Create(dir_.path(name), options));
    for (uint64_t d = first; d < end; ++d) {
      ScoredIds ids;
      for (uint64_t t = 0; t < ScoredLength(d); ++t) {
        ids.push_back(ScoredId(d, t));
      }
      ASSERT_THAT(writer->AddDocument(ids, absl::StrCat("d", d)), IsOk());
    }
    ASSERT_THAT(writer->Finish(), IsOk());
  }

  void WriteScores(const std::string& name, const std::vector<float>& scores) {
    std::ofstream(dir_.path(name), std::ios::binary)
        .write(reinterpret_cast<const char*>(scores.data()),
               static_cast<std::streamsize>(4 * scores.size()));
  }

  static std::string Head(const std::string& more = "") {
    return absl::StrCat("[data]\nseed = 7\nbatch_size = 4\nseq_len = ",
                        kScoredWindow, "\n", more);
  }
  absl::StatusOr<Config> Try(const std::string& text) const {
    return Config::Parse(text, "t.toml", dir_.path());
  }
  Config Parsed(const std::string& text) const {
    absl::StatusOr<Config> config = Try(text);
    EXPECT_TRUE(config.ok()) << config.status() << '\n' << text;
    return *std::move(config);
  }

  // The samples that a loader delivers, with their documents checked.
  static std::vector<ScoredIds> Served(const Config& config, uint64_t steps) {
    LoaderOptions options = config.loader_options();
    options.tensors = {BatchTensor::kDocumentIds, BatchTensor::kPositions};
    auto loader = config.OpenLoader(options);
    EXPECT_THAT(loader, IsOk());
    std::vector<ScoredIds> served;
    for (uint64_t step = 0; step < steps; ++step) {
      const auto batch = (*loader)->NextBlocking();
      EXPECT_THAT(batch, IsOk());
      for (size_t i = 0; i < batch->num_samples(); ++i) {
        const auto row = batch->tokens<uint32_t>(i);
        served.emplace_back(row.begin(), row.end());
        const size_t at = i * batch->seq_len();
        int32_t number = 0;
        for (size_t t = 0; t < row.size(); ++t) {
          const bool is_new =
              t > 0 && row[t] / kScoredTokens != row[t - 1] / kScoredTokens;
          if (is_new) ++number;
          EXPECT_EQ(batch->document_ids()[at + t], number);
          const bool begins = t == 0 || is_new;
          EXPECT_EQ(batch->positions()[at + t],
                    begins ? 0 : batch->positions()[at + t - 1] + 1);
        }
      }
    }
    return served;
  }

  // The source alone is read in its order, in each epoch. The run prints as
  // itself.
  void ExpectOrder(const std::string& source,
                   const std::vector<ScoredIds>& windows,
                   const std::string& location = "s") const {
    SCOPED_TRACE(source);
    const uint64_t steps = windows.size() / 2;
    const Config config =
        Parsed(Head(absl::StrCat("steps = ", steps, "\n", source, "\n")));
    EXPECT_EQ(config.sources()[0].location, dir_.path(location));
    const std::vector<ScoredIds> served = Served(config, steps);
    ASSERT_EQ(served.size(), 4 * steps);
    for (size_t i = 0; i < served.size(); ++i) {
      ASSERT_EQ(served[i], windows[i % windows.size()]) << i;
    }
    ASSERT_OK_AND_ASSIGN(const std::string stated, ToToml(config.run()));
    for (const std::string& text : {stated, config.ToToml()}) {
      const Config again = Parsed(text);
      EXPECT_EQ(again.dataset()->fingerprint(),
                config.dataset()->fingerprint());
      EXPECT_EQ(again.ToToml(), config.ToToml());
    }
    ASSERT_OK_AND_ASSIGN(const auto again,
                         ParseRun(stated, "u.toml", dir_.path()));
    EXPECT_TRUE(again == config.run()) << stated;
  }

  testing::TempDir dir_;
};

TEST_F(DocumentOrderTest, TheRootReadsDocumentsByTheirScores) {
  ExpectOrder("path = 's'\norder_documents = { scores = 'q.f32' }",
              SlowScoredWindows());
  ExpectOrder("path = 's'\norder_documents = { table = 'q.order' }",
              SlowScoredWindows());
  ExpectOrder(
      "path = 's'\norder_documents = { scores = 'q.f32', format = 'f32', "
      "direction = 'descending' }",
      SlowScoredWindows(nullptr, true));
  // The defaults of the root and of a mixture leave an order as it is.
  ExpectOrder(
      "path = 's'\nshuffle = true\norder_documents = { scores = 'q.f32' }",
      SlowScoredWindows());
  ExpectOrder(
      "block_size = 1\n[data.mixture.a]\nweight = 1\npath = 's'\n"
      "order_documents = { scores = 'q.f32' }",
      SlowScoredWindows());
}

// The scores are of the documents of all stores.
TEST_F(DocumentOrderTest, TheStoresOfACatalogueAreOneSource) {
  const std::string order = "order_documents = { scores = 'q.f32' }";
  ExpectOrder("path = 'parts'\n" + order, SlowScoredWindows(), "parts");
  ExpectOrder(
      "path = 'parts'\ndocuments = { scores = 'q.f32', at_least = 4 }\n" +
          order,
      SlowScoredWindows([](uint64_t d) { return ScoreOf(d) >= 4; }), "parts");
}

// Documents of 10 bytes each, of which the last is the end.
TEST_F(DocumentOrderTest, FilesOfOtherProjectsHaveDocumentsToo) {
  std::string bytes;
  std::vector<float> scores;
  for (int d = 0; d < 20; ++d) {
    bytes += std::string(9, static_cast<char>('a' + d)) + "\n";
    scores.push_back(static_cast<float>(-d));
  }
  testing::WriteFile(dir_.path("text.bin"), bytes);
  WriteScores("t.f32", scores);
  const Config config = Parsed(
      "[data]\nbatch_size = 1\nseq_len = 10\nsteps = 20\npath = 'text.bin'\n"
      "dtype = 'u8'\ndocument_end = 10\n"
      "order_documents = { scores = 't.f32' }\n");
  const auto loader = *config.OpenLoader();
  for (char letter = 't'; letter >= 'a'; --letter) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    ScoredIds expected(9, static_cast<uint32_t>(letter));
    expected.push_back(10);
    const auto row = batch.tokens<uint32_t>();
    EXPECT_EQ(ScoredIds(row.begin(), row.end()), expected);
  }
}

TEST_F(DocumentOrderTest, OnlyTheSelectedDocumentsAreInIt) {
  ExpectOrder(
      "path = 's'\norder_documents = { scores = 'q.f32' }\n"
      "documents = { scores = 'q.f32', at_least = 4 }",
      SlowScoredWindows([](uint64_t d) { return ScoreOf(d) >= 4; }));
  const Selection held = *Selection::ByHash(kScored, 0.2, 5);
  ExpectOrder(
      "path = 's'\norder_documents = { table = 'q.order' }\n"
      "hold_out = { documents = 0.2, seed = 5 }",
      SlowScoredWindows([&](uint64_t d) { return !held.Contains(d); }));
  ExpectOrder(
      "path = 's'\norder_documents = { scores = 'q.f32', direction = "
      "'descending' }\nhold_out = { documents = 0.2, seed = 5 }\n"
      "documents = { scores = 'q.f32', at_least = 4, invert = true }",
      SlowScoredWindows(
          [&](uint64_t d) { return !held.Contains(d) && ScoreOf(d) < 4; },
          true));
}

TEST_F(DocumentOrderTest, WhatIsHeldOutIsEvaluated) {
  const Config config = Parsed(
      Head("steps = 9\npath = 's'\norder_documents = { scores = 'q.f32' }\n"
           "hold_out = { documents = 0.3 }\n"
           "[data.eval.held]\nheld_out = true\n"));
  const Selection held = *Selection::ByHash(kScored, 0.3, 0);
  ASSERT_OK_AND_ASSIGN(auto loader, config.OpenEval("held"));
  std::set<uint64_t> documents;
  for (auto batch = loader->NextBlocking(); batch.ok();
       batch = loader->NextBlocking()) {
    for (const uint32_t id : batch->tokens<uint32_t>()) {
      documents.insert(id / kScoredTokens);
      EXPECT_TRUE(held.Contains(id / kScoredTokens));
    }
  }
  EXPECT_GT(documents.size(), 50u);
}

TEST_F(DocumentOrderTest, WindowsAreFilteredSlicedAndOrderedAfterwards) {
  std::vector<ScoredIds> windows = SlowScoredWindows();
  std::vector<float> scores;
  for (size_t w = 0; w < windows.size(); ++w) {
    scores.push_back(static_cast<float>(w * 7 % 10));
  }
  WriteScores("w.f32", scores);
  const std::string source =
      "path = 's'\norder_documents = { scores = 'q.f32' }\n";
  std::vector<ScoredIds> chosen;
  for (size_t w = 0; w < windows.size(); ++w) {
    if (scores[w] >= 3) chosen.push_back(windows[w]);
  }
  ExpectOrder(source + "filter = { scores = 'w.f32', at_least = 3 }", chosen);
  chosen.resize(40);
  ExpectOrder(source + "filter = { scores = 'w.f32', at_least = 3 }\ntake = 40",
              chosen);
  std::vector<size_t> by_score(windows.size());
  for (size_t w = 0; w < by_score.size(); ++w) by_score[w] = w;
  std::stable_sort(by_score.begin(), by_score.end(),
                   [&](size_t a, size_t b) { return scores[a] < scores[b]; });
  std::vector<ScoredIds> ordered;
  for (const size_t w : by_score) ordered.push_back(windows[w]);
  ExpectOrder(source + "order = { scores = 'w.f32' }", ordered);
}

TEST_F(DocumentOrderTest, BucketsOfWindowsAreShuffledInEachEpoch) {
  const std::vector<ScoredIds> windows = SlowScoredWindows();
  const uint64_t count = windows.size();
  for (const auto& [key, bucket] :
       {std::pair(std::string("bucket_items = 20"), uint64_t{20}),
        {"buckets = 3", (count - 1) / 3 + 1},
        {"buckets = 1", count},
        {"bucket_items = 1000000", count}}) {
    SCOPED_TRACE(key);
    const uint64_t steps = count / 4 * 2;
    const Config config =
        Parsed(Head(absl::StrCat("steps = ", steps,
                                 "\npath = 's'\norder_documents = { "
                                 "scores = 'q.f32', ",
                                 key, " }\n")));
    const std::vector<ScoredIds> served = Served(config, steps);
    for (uint64_t begin = 0; begin < count; begin += bucket) {
      const uint64_t end = std::min(begin + bucket, count);
      const auto part = [&](const std::vector<ScoredIds>& of, uint64_t from) {
        return std::vector<ScoredIds>(
            of.begin() + static_cast<ptrdiff_t>(from + begin),
            of.begin() + static_cast<ptrdiff_t>(from + end));
      };
      if (count + end > served.size()) break;
      const std::vector<ScoredIds> stored = part(windows, 0);
      const std::vector<ScoredIds> first = part(served, 0);
      const std::vector<ScoredIds> second = part(served, count);
      EXPECT_THAT(first, ::testing::UnorderedElementsAreArray(stored));
      EXPECT_THAT(second, ::testing::UnorderedElementsAreArray(stored));
      if (end - begin < 10) continue;
      EXPECT_NE(first, stored);
      EXPECT_NE(first, second);
    }
    EXPECT_EQ(Parsed(config.ToToml()).dataset()->fingerprint(),
              config.dataset()->fingerprint());
  }
  // A golden order: the first bucket of the root in both epochs.
  const Config config = Parsed(
      Head("steps = 200\npath = 's'\norder_documents = { scores = 'q.f32', "
           "bucket_items = 12 }\n"));
  const RunTrace trace(*config.dataset(), config.schedule());
  std::vector<uint64_t> items;
  for (uint64_t step = 0; step < 200; ++step) {
    ASSERT_OK_AND_ASSIGN(const auto samples, trace.Resolve(step));
    for (const SampleOrigin& sample : samples) items.push_back(sample.item);
  }
  const auto from = [&](uint64_t first) {
    const auto begin = items.begin() + static_cast<ptrdiff_t>(first);
    return std::vector<uint64_t>(begin, begin + 12);
  };
  EXPECT_THAT(from(0), ElementsAre(10, 6, 0, 3, 5, 9, 1, 11, 4, 7, 2, 8));
  EXPECT_THAT(from(count), ElementsAre(4, 1, 8, 5, 11, 0, 7, 2, 6, 3, 9, 10));
  // A bucket of one window is shuffled with nothing.
  ExpectOrder(
      "path = 's'\norder_documents = { scores = 'q.f32', bucket_items = 1 }",
      windows);
}

TEST_F(DocumentOrderTest, IsTheTreeOfTheCombinators) {
  const auto store = *TokenStore::Open(dir_.path("s"));
  const ScoreOrder order = *OrderFile::Open(dir_.path("q.order"));
  const Selection documents = *Selection::ByHash(kScored, 0.7, 3);
  ASSERT_OK_AND_ASSIGN(auto tree,
                       store->Windows(kScoredWindow, order, documents));
  const uint64_t items = *tree->CurrentLength();
  ASSERT_OK_AND_ASSIGN(
      tree, Filter(std::move(tree), *Selection::ByHash(items, 0.9, 0)));
  ASSERT_OK_AND_ASSIGN(tree, Slice(std::move(tree), 5, 100));
  ASSERT_OK_AND_ASSIGN(tree, Take(std::move(tree), 60));
  ASSERT_OK_AND_ASSIGN(tree, EraShuffle(std::move(tree), 15));
  ASSERT_OK_AND_ASSIGN(tree, Repeat(std::move(tree), 2));
  const Config config =
      Parsed(Head("path = 's'\nrepeat = 2\ntake = 60\nslice = [5, 100]\n"
                  "filter = { fraction = 0.9 }\n"
                  "documents = { fraction = 0.7, seed = 3 }\n"
                  "order_documents = { table = 'q.order', buckets = 4 }\n"));
  EXPECT_EQ(config.dataset()->fingerprint(), tree->WithSeed(7)->fingerprint());
}

TEST_F(DocumentOrderTest, DocumentsAreFoundWhereTheyAreServed) {
  const std::string source =
      "path = \"s\", order_documents = { scores = 'q.f32', bucket_items = 9 }";
  const Config config = Parsed(
      Head(absl::StrCat("steps = 90\n[data.mixture]\na = { weight = 3, ",
                        source, " }\nb = { weight = 1, path = 's' }\n")));
  const RunTrace trace(*config.dataset(), config.schedule());
  const DatasetTree tree(*config.dataset());
  const PiecewiseItems& leaf = *PiecesOf(*tree.leaves()[0].node);
  // show: the tokens of each sample, by the pieces of its window; and find.
  const std::vector<ScoredIds> served = Served(config, 90);
  for (uint64_t step = 0; step < 90; ++step) {
    ASSERT_OK_AND_ASSIGN(const auto samples, trace.Resolve(step));
    for (const SampleOrigin& sample : samples) {
      if (sample.path != "a") continue;
      const ScoredIds& ids = served[sample.sample];
      size_t at = 0;
      ASSERT_OK_AND_ASSIGN(const auto pieces,
                           leaf.Pieces({.index = sample.item}));
      for (const ItemPiece& piece : pieces) {
        ASSERT_OK_AND_ASSIGN(const auto uses, leaf.ItemsOf(piece.document));
        EXPECT_THAT(uses, ::testing::Contains(PieceOfItem{
                              sample.item, static_cast<uint32_t>(at),
                              piece.begin, piece.end}));
        for (uint64_t t = piece.begin; t < piece.end; ++t, ++at) {
          ASSERT_EQ(ids[at] / kScoredTokens, piece.document);
        }
      }
      ASSERT_EQ(at, ids.size());
      ASSERT_OK_AND_ASSIGN(const auto found,
                           trace.Find("a", sample.item, step, step + 1));
      EXPECT_TRUE(
          std::any_of(found.begin(), found.end(), [&](const Reading& reading) {
            return reading.sample == sample.sample;
          }));
    }
  }
}

// Thresholds of documents change by stage; the order stays that of the scores.
TEST_F(DocumentOrderTest, StagesMayChooseOtherDocuments) {
  const Config config = Parsed(Head(
      "steps = 40\nblock_size = 1\n[data.mixture.a]\nweight = 1\npath = 's'\n"
      "order_documents = { scores = 'q.f32' }\n"
      "documents = { scores = 'q.f32', at_least = 0 }\n"
      "[[data.stages]]\nstart_step = 20\nthresholds = { a = 6 }\n"));
  const std::vector<ScoredIds> served = Served(config, 40);
  const std::vector<ScoredIds> all = SlowScoredWindows();
  const std::vector<ScoredIds> best =
      SlowScoredWindows([](uint64_t d) { return ScoreOf(d) >= 6; });
  for (size_t i = 0; i < 80; ++i) ASSERT_EQ(served[i], all[i % all.size()]);
  for (size_t i = 80; i < 160; ++i) {
    ASSERT_EQ(served[i], best[(i - 80) % best.size()]) << i;
  }
}

// Samples that grow are parts of the same windows, as without an order.
TEST_F(DocumentOrderTest, ShorterSamplesArePartsOfTheWindows) {
  const Config config = Parsed(
      "[data]\nseed = 7\nbatch_size = 4\nseq_len = 8\nsteps = 60\n"
      "group_items = 8\npath = 's'\n"
      "order_documents = { scores = 'q.f32' }\n"
      "[[data.seq_lens]]\nstart_step = 30\nseq_len = 16\n");
  const std::vector<ScoredIds> windows = SlowScoredWindows();
  const RunTrace trace(*config.dataset(), config.schedule());
  std::vector<ScoredIds> served;
  for (const ScoredIds& ids : Served(config, 60)) served.push_back(ids);
  for (uint64_t step = 0; step < 60; ++step) {
    ASSERT_OK_AND_ASSIGN(const auto samples, trace.Resolve(step));
    for (const SampleOrigin& sample : samples) {
      const ScoredIds& window = windows[sample.item];
      EXPECT_EQ(served[sample.sample],
                ScoredIds(window.begin() + sample.token_begin,
                          window.begin() + sample.token_end));
      // Parts of 8 windows are shuffled together.
      if (step < 30) {
        EXPECT_EQ(sample.item / 8, sample.sample / 16);
      }
    }
  }
}

// Half of the windows are left, in their order.
TEST_F(DocumentOrderTest, ABudgetCutsTheWindows) {
  const std::string source =
      "path = 's'\norder_documents = { scores = 'q.f32' }\n";
  const Config config = Parsed(Head(
      "steps = 40\nbudget = { experiment = 1000, target = 2000 }\n" + source));
  const std::vector<ScoredIds> windows = SlowScoredWindows();
  const uint64_t half = windows.size() / 2;
  size_t last = 0;
  const std::vector<ScoredIds> served = Served(config, 20);
  std::set<ScoredIds> seen;
  for (size_t i = 0; i < std::min<size_t>(half, served.size()); ++i) {
    const auto at = std::find(windows.begin(), windows.end(), served[i]);
    ASSERT_NE(at, windows.end());
    const auto place = static_cast<size_t>(at - windows.begin());
    EXPECT_TRUE(i == 0 || place > last) << i;
    last = place;
    EXPECT_TRUE(seen.insert(served[i]).second);
  }
}

TEST_F(DocumentOrderTest, DroppedDocumentsAreServedNoMore) {
  const std::string text = Head(
      "steps = 60\njournal = 'run.journal'\nblock_size = 1\n"
      "[data.mixture.a]\nweight = 1\npath = 's'\n"
      "order_documents = { scores = 'q.f32' }\n");
  for (const std::string& more :
       {std::string(), std::string("take = 150\n"),
        std::string("filter = { fraction = 0.8 }\n")}) {
    SCOPED_TRACE(more);
    std::filesystem::remove(dir_.path("run.journal"));
    const Config config = Parsed(text + more);
    const auto loader = *config.OpenLoader();
    const auto drops = [](uint64_t d) {
      return (d >= 100 && d < 160) || (d >= 10 && d < 12);
    };
    ASSERT_OK_AND_ASSIGN(
        const uint64_t from,
        loader->Steer(RunChange::DropDocuments("a", {{100, 160}}, "request")));
    ASSERT_OK_AND_ASSIGN(
        const uint64_t again,
        loader->Steer(RunChange::DropDocuments("a", {{10, 12}}, "request")));
    uint64_t others = 0;
    for (uint64_t step = 0; step < 60; ++step) {
      ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
      if (step < std::max(from, again)) continue;
      for (const uint32_t id : batch.tokens<uint32_t>()) {
        ASSERT_FALSE(drops(id / kScoredTokens)) << id / kScoredTokens;
        ++others;
      }
    }
    EXPECT_GT(others, 1000u);
  }
}

TEST_F(DocumentOrderTest, AComponentIsSplitIntoPartsOfItsWindows) {
  const std::string source =
      "path = 's', order_documents = { scores = 'q.f32' }";
  const Config config = Parsed(Head(absl::StrCat(
      "steps = 300\njournal = 'run.journal'\nblock_size = 8\n[data.mixture]\n"
      "a = { weight = 1, ",
      source, ", take = 200 }\n")));
  const auto loader = *config.OpenLoader();
  for (int step = 0; step < 5; ++step) {
    ASSERT_THAT(loader->NextBlocking(), IsOk());
  }
  const auto part = [&](const char* filter) {
    return absl::StrCat("{ weight = 1, concat = [{ ", source,
                        ", take = 200 }], filter = { fraction = 0.5", filter,
                        " } }");
  };
  ASSERT_THAT(loader->Steer(RunChange::Split(
                  "a", {{"x", part("")}, {"y", part(", invert = true")}})),
              IsOk());
  std::vector<ScoredIds> windows = SlowScoredWindows();
  windows.resize(200);
  std::set<ScoredIds> read;
  while (loader->next_step() < 300) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    for (size_t i = 0; i < batch.num_samples(); ++i) {
      const auto row = batch.tokens<uint32_t>(i);
      read.insert(ScoredIds(row.begin(), row.end()));
    }
  }
  EXPECT_EQ(read, std::set<ScoredIds>(windows.begin(), windows.end()));
}

TEST_F(DocumentOrderTest, CppDescribesTheSame) {
  poniente::Run run = {
      .seed = 7, .batch_size = 4, .seq_len = kScoredWindow, .steps = 9};
  run.folder = dir_.path();
  NodeOrder order;
  order.path = "q.f32";
  order.direction = ScoreDirection::kDescending;
  order.buckets = 4;
  run.data =
      Source("s").Documents(Score("q.f32") >= 2).OrderDocuments(order).Take(30);
  ASSERT_OK_AND_ASSIGN(const std::string text, ToToml(run));
  EXPECT_THAT(text, HasSubstr("order_documents = { scores = \"q.f32\", "
                              "direction = \"descending\", buckets = 4 }\n"));
  ASSERT_OK_AND_ASSIGN(const auto again, ParseRun(text, "t", dir_.path()));
  EXPECT_TRUE(again == run);
  ASSERT_OK_AND_ASSIGN(const Config config, Config::Create(run));
  EXPECT_EQ(Parsed(text).dataset()->fingerprint(),
            config.dataset()->fingerprint());
  EXPECT_THAT(Parsed(text).ToToml(), HasSubstr("format = \"auto\""));
  poniente::Run other = run;
  other.data.order_documents->buckets = 5;
  EXPECT_FALSE(other == run);
  other.data = Source("s").Filter(Fraction(0.5)).OrderDocuments(order);
  EXPECT_THAT(Config::Create(other),
              StatusIs(kInvalid,
                       HasSubstr("data states OrderDocuments() after Filter(), "
                                 "but it is applied before")));
  other.data = Source("s").OrderDocuments(order).OrderDocuments(order);
  EXPECT_THAT(Config::Create(other),
              StatusIs(kInvalid, HasSubstr("OrderDocuments() twice")));
  other.data = Declared(1000).OrderDocuments(order);
  EXPECT_THAT(Config::Create(other),
              StatusIs(kInvalid, HasSubstr("data.order_documents is not for a "
                                           "source without files")));
  order.direction = static_cast<ScoreDirection>(9);
  other.data = Source("s").OrderDocuments(order);
  EXPECT_THAT(ToToml(other),
              StatusIs(kInvalid, HasSubstr("has ScoreDirection 9")));
}

TEST_F(DocumentOrderTest, ErrorsSayWhereAndWhat) {
  const std::string order = "order_documents = { scores = 'q.f32' }\n";
  const auto error = [&](const std::string& source) {
    const absl::StatusOr<Config> config = Try(Head("steps = 9\n" + source));
    EXPECT_FALSE(config.ok()) << source;
    EXPECT_EQ(config.status().message().find('\n'), std::string::npos)
        << config.status();
    return std::string(config.status().message());
  };
  const auto at = [](const std::string& place) {
    return StartsWith("t.toml:" + place);
  };
  EXPECT_THAT(error("tokens = 1000\n" + order),
              AllOf(at("7:19: data.order_documents is not for a source without "
                       "files (tokens"),
                    HasSubstr("leave it out")));
  EXPECT_THAT(error("concat = [{ path = 's' }]\n" + order),
              at("7:19: data.order_documents is allowed only with path or "
                 "hf_name: state it for the source"));
  for (const char* const key : {"overlap = 1\n", "across_shards = true\n"}) {
    EXPECT_THAT(
        error("path = 's'\n" + order + key),
        AllOf(at("8:"), HasSubstr("cannot be combined with order_documents")));
  }
  EXPECT_THAT(error("path = 's'\n" + order + "pack_documents = true\n"),
              AllOf(at("7:19: data.order_documents"),
                    HasSubstr("cannot be combined with pack_documents")));
  EXPECT_THAT(error("pack_documents = true\n[data.mixture.a]\nweight = 1\n"
                    "path = 's'\n" +
                    order),
              AllOf(at("10:19: data.mixture.a.order_documents"),
                    HasSubstr("cannot be combined with pack_documents"),
                    HasSubstr("pack_documents = false")));
  EXPECT_THAT(error("path = 's'\n" + order + "era_shuffle = 10\n"),
              AllOf(at("8:15: data.era_shuffle"), HasSubstr("bucket_items")));
  EXPECT_THAT(error("path = 's'\n" + order + "block_shuffle = true\n"),
              at("8:17: data.block_shuffle"));
  EXPECT_THAT(error("path = 's'\n" + order + "hold_out = { windows = 0.1 }\n"),
              AllOf(at("8:12: data.hold_out"),
                    HasSubstr("cannot hold out windows where documents have an "
                              "order (order_documents): hold out documents")));
  EXPECT_THAT(error("path = 's'\norder = { scores = 'q.f32' }\n"
                    "order_documents = { scores = 'q.f32', buckets = 2 }\n"),
              AllOf(at("7:9: data.order cannot be combined with buckets of "
                       "order_documents"),
                    HasSubstr("state bucket_items or buckets in order")));
  EXPECT_THAT(error("path = 's'\norder_documents = { scores = 'short.f32' }\n"),
              AllOf(at("7:19: data.order_documents: the order is of 299 items"),
                    HasSubstr("has 300 documents; make the order anew")));
  EXPECT_THAT(error("path = 's'\norder_documents = { scores = 'none.f32' }\n"),
              AllOf(at("7:19: data.order_documents"), HasSubstr("none.f32")));
  EXPECT_THAT(error("path = 's'\norder_documents = { direction = "
                    "'ascending' }\n"),
              at("7:19: data.order_documents needs one of scores or table"));
  EXPECT_THAT(
      error("path = 'raw.bin'\ndtype = 'u8'\n" + order),
      AllOf(at("8:19: data.order_documents"),
            HasSubstr("where its documents end is not known, so none can be "
                      "ordered; state its end-of-document id")));
}

}  // namespace
}  // namespace poniente
