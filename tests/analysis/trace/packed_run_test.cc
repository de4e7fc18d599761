// SPDX-License-Identifier: Apache-2.0
// Runs of packed documents, from their description to what plan, show and find
// say of them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "analysis/trace/read_trace.h"
#include "poniente/config.h"
#include "poniente/diff.h"
#include "poniente/packing.h"
#include "poniente/plan.h"
#include "poniente/run.h"
#include "poniente/token_store_writer.h"
#include "poniente/trace.h"
#include "tests/analysis/trace/document_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using poniente::testing::IsOk;
using poniente::testing::IsOkAndHolds;
using poniente::testing::kInvalid;
using poniente::testing::OpenRun;
using poniente::testing::StatusIs;
using poniente::testing::TempDir;
using poniente::testing::WriteDocuments;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class PackedRunTest : public ::testing::Test {
 protected:
  PackedRunTest() {
    std::mt19937_64 random(poniente::testing::TestSeed(31));
    Write("a", 150, random);
    Write("b", 90, random);
  }

  void Write(const std::string& name, int documents, std::mt19937_64& random) {
    std::vector<std::vector<uint32_t>> written;
    for (int d = 0; d < documents; ++d) {
      const size_t tokens = random() % 5 == 0 ? random() % 80 : random() % 20;
      written.emplace_back(tokens, static_cast<uint32_t>(d % 250));
    }
    WriteDocuments(folder_, name, written);
  }

  absl::StatusOr<Config> Parse(const std::string& data,
                               const std::string& runtime = "") const {
    return OpenRun(folder_, absl::StrCat("[data]\nbatch_size = 6\nseq_len = "
                                         "32\nsteps = 60\n",
                                         data, "\n[runtime]\n", runtime));
  }

  const std::string mixture_ =
      "seed = 9\npack_documents = true\n"
      "[data.mixture.a]\nweight = 0.6\npath = 'a'\n"
      "[data.mixture.rest]\nweight = 0.4\n"
      "flat = { b = { path = 'b', pack_documents = { align = 4 } }, "
      "c = { path = 'a', pack_documents = false } }\n";
  // The same, by chunks.
  const std::string chunks_ = absl::StrReplaceAll(
      mixture_,
      {{"pack_documents = true",
        "pack_documents = { chunk_documents = 20, shuffle_chunks = 2 }"},
       {"align = 4", "align = 4, chunk_documents = 35"}});

  static void ExpectShownIsFound(const Config& config);
  void ExpectEvenWork(const std::string& data) const;

  TempDir folder_;
};

// Whether the source at `path` of the configuration is packed.
bool IsPacked(const Config& config, const std::string& path) {
  const DatasetTree tree(*config.dataset());
  for (const TreeLeaf& leaf : tree.leaves()) {
    if (leaf.path == path) return PackedItemsOf(*leaf.node) != nullptr;
  }
  ADD_FAILURE() << path;
  return false;
}

TEST_F(PackedRunTest, TheInnermostNodeDecides) {
  ASSERT_OK_AND_ASSIGN(const Config config, Parse(mixture_));
  EXPECT_TRUE(IsPacked(config, "a"));
  EXPECT_TRUE(IsPacked(config, "rest/b"));
  EXPECT_FALSE(IsPacked(config, "rest/c"));
  EXPECT_EQ(config.sources()[0].location, folder_.path("a"));
  ASSERT_NE(config.sources()[0].data, nullptr);
}

TEST_F(PackedRunTest, AsTomlAndInCpp) {
  ASSERT_OK_AND_ASSIGN(const Config config, Parse(mixture_));
  poniente::Run run = {.seed = 9, .batch_size = 6, .seq_len = 32, .steps = 60};
  run.folder = folder_.path();
  run.data = Mixture({{"a", 0.6, Source("a")},
                      {"rest", 0.4,
                       Flat({{"b", Source("b").PackDocuments({.align = 4})},
                             {"c", Source("a")}})}})
                 .PackDocuments();
  run.data.children[1].children[1].pack_documents =
      NodePacking{.is_packed = false};
  ASSERT_OK_AND_ASSIGN(const Config created, Config::Create(run));
  EXPECT_EQ(created.dataset()->fingerprint(), config.dataset()->fingerprint());
  ASSERT_OK_AND_ASSIGN(const std::string text, ToToml(run));
  ASSERT_OK_AND_ASSIGN(const poniente::Run again,
                       ParseRun(text, "run.toml", folder_.path()));
  EXPECT_TRUE(again.data == run.data) << text;
  EXPECT_EQ(ToToml(again).value_or(""), text);
  // All values stated, as `config --toml` prints them.
  ASSERT_OK_AND_ASSIGN(
      const poniente::Run resolved,
      ParseRun(config.ToToml(), "resolved.toml", folder_.path()));
  ASSERT_OK_AND_ASSIGN(const Config opened, Config::Create(resolved));
  EXPECT_EQ(opened.dataset()->fingerprint(), config.dataset()->fingerprint());
}

TEST_F(PackedRunTest, EveryOptionThroughTomlAndBack) {
  PackingOptions options;
  options.long_documents = LongDocuments::kTruncateLeft;
  options.end_of_document = EndOfDocument::kDrop;
  options.align = 8;
  options.max_documents = 5;
  options.overlap = 1;
  options.parts = 16;
  options.shuffle = false;
  options.chunk_documents = 40;
  options.shuffle_chunks = 3;
  options.index_file = "order.bin";
  poniente::Run run = {.batch_size = 2, .seq_len = 32, .steps = 5};
  run.folder = folder_.path();
  run.data = Source("a").PackDocuments(options);
  ASSERT_OK_AND_ASSIGN(const std::string text, ToToml(run));
  ASSERT_OK_AND_ASSIGN(const poniente::Run again,
                       ParseRun(text, "run.toml", folder_.path()));
  ASSERT_TRUE(again.data.pack_documents.has_value()) << text;
  EXPECT_EQ(again.data.pack_documents->options, options) << text;
  EXPECT_THAT(Config::Create(again),
              StatusIs(kInvalid, HasSubstr("end-of-document id 256")));
  run.data.pack_documents->options.end_of_document = EndOfDocument::kKeep;
  EXPECT_THAT(Config::Create(run), IsOk());
  EXPECT_EQ(::access(folder_.path("order.bin").c_str(), R_OK), 0);
  run.data = Source("a").PackDocuments().PackDocuments(options);
  EXPECT_THAT(Config::Create(run),
              StatusIs(kInvalid, HasSubstr("PackDocuments() twice")));
}

TEST_F(PackedRunTest, KempnerForgesForm) {
  const std::string datasets =
      "dataset_path = 'a'\npack_sequences = true\n[train]\nbatch_size = 6\n"
      "seq_len = 32\nmax_steps = 60\n";
  const auto run =
      ParseRun(absl::StrCat("[data]\n", datasets), "run.toml", folder_.path());
  ASSERT_THAT(run, IsOk());
  ASSERT_OK_AND_ASSIGN(const Config config, Config::Create(*run));
  EXPECT_TRUE(IsPacked(config, "a"));
  poniente::testing::WriteFile(folder_.path("raw.bin"),
                               std::string(4096, '\1'));
  const auto raw = ParseRun(
      "[data]\npack_sequences = true\n[[data.datasets]]\npath = 'raw.bin'\n"
      "dtype = 'u16'\n[train]\nbatch_size = 6\nseq_len = 32\nmax_steps = 60\n",
      "run.toml", folder_.path());
  ASSERT_THAT(raw, IsOk());
  EXPECT_THAT(Config::Create(*raw),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("run.toml:3:"), HasSubstr("raw.bin"),
                             HasSubstr("state its end-of-document id"))));
}

// Padding is warned of with its cause; not that of a last window alone.
TEST_F(PackedRunTest, MuchPaddingIsWarnedOf) {
  const auto warnings = [&](const std::string& options) {
    const auto config =
        Parse(absl::StrCat("path = 'a'\npack_documents = { ", options, " }"));
    EXPECT_THAT(config, IsOk()) << options;
    return config.ok() ? config->warnings() : std::vector<std::string>();
  };
  EXPECT_THAT(warnings(""), IsEmpty());
  EXPECT_THAT(
      warnings("align = 16"),
      ElementsAre(AllOf(
          HasSubstr("run.toml:1:1: data: "),
          HasSubstr("% of its windows of 32 tokens is"),
          HasSubstr("is padding; try a smaller align (now 16), or, if"))));
  EXPECT_THAT(
      warnings("max_documents = 1"),
      ElementsAre(HasSubstr("try a larger max_documents (now 1), or, if")));
  // Three chunks for each window.
  EXPECT_THAT(
      warnings("chunk_documents = 2, align = 2"),
      ElementsAre(AllOf(HasSubstr("try larger chunk_documents (now 2), or a "),
                        HasSubstr("smaller align (now 2), or, if"))));
  // No two of them fit into a window.
  WriteDocuments(folder_, "gaps", {40, std::vector<uint32_t>(20, 1)});
  ASSERT_OK_AND_ASSIGN(const Config gaps,
                       Parse("path = 'gaps'\npack_documents = true"));
  EXPECT_THAT(gaps.warnings(),
              ElementsAre(HasSubstr("is padding, because no document fits")));
  // A single window, nearly empty.
  WriteDocuments(folder_, "little", {2, std::vector<uint32_t>(2, 1)});
  ASSERT_OK_AND_ASSIGN(const Config little,
                       Parse("path = 'little'\npack_documents = true"));
  EXPECT_THAT(little.warnings(), IsEmpty());
}

TEST_F(PackedRunTest, MistakesNameTheirPlace) {
  const auto refused = [](auto... parts) {
    return StatusIs(kInvalid, AllOf(HasSubstr(parts)...));
  };
  EXPECT_THAT(Parse("path = 'a'\npack_documents = { align = 5 }"),
              refused("run.toml:6", "must divide the window", "got 5"));
  EXPECT_THAT(Parse("path = 'a'\npack_documents = { parts = 300 }"),
              refused("run.toml:6", "parts"));
  EXPECT_THAT(Parse("path = 'a'\npack_documents = { long_documents = 'cut' }"),
              refused("long_documents", "truncate_left", "cut"));
  EXPECT_THAT(Parse("path = 'a'\npack_documents = { alig = 5 }"),
              refused("alig", "did you mean 'align'"));
  EXPECT_THAT(Parse("path = 'a'\noverlap = 1\npack_documents = true"),
              refused("overlap", "cannot be combined with pack_documents"));
  EXPECT_THAT(Parse("tokens = 90000\npack_documents = true"),
              refused("is not for a source without files (tokens"));
  EXPECT_THAT(Parse("pack_documents = true\nflat.a.tokens = 90000"),
              refused("pack_documents = false"));
  EXPECT_THAT(Parse("pack_documents = { index_file = 'x' }\nflat.a.path = 'a'"),
              refused("index_file", "a file of its own"));
  EXPECT_THAT(
      Parse("path = 'a'\npack_documents = { long_documents = 'refuse' }"),
      refused("longer than a window"));
  EXPECT_THAT(Parse("path = 'a'\npack_documents = { end_of_document = 1 }"),
              refused("end_of_document"));
  EXPECT_THAT(Parse("path = 'a'\npack_documents = { shuffle_chunks = 2 }"),
              refused("run.toml:6", "shuffle_chunks", "only with"));
  EXPECT_THAT(Parse("path = 'a'\npack_documents = { chunk_documents = 9, "
                    "shuffle_chunks = 0 }"),
              refused("shuffle_chunks", "65536"));
  PackingOptions options;
  options.shuffle_chunks = 2;
  poniente::Run run = {.batch_size = 2, .seq_len = 32, .steps = 5};
  run.folder = folder_.path();
  run.data = Source("a").PackDocuments(options);
  EXPECT_THAT(Config::Create(run), refused("no chunk_documents"));
}

// A source of fewer tokens than a window fills one.
TEST_F(PackedRunTest, AShortSource) {
  TokenStoreWriterOptions options;
  options.vocabulary = {"bytes", 257};
  auto writer = *TokenStoreWriter::Create(folder_.path("short"), options);
  ASSERT_THAT(writer->AddDocument(std::vector<uint32_t>(5, 7), "x"), IsOk());
  ASSERT_THAT(writer->Finish(), IsOk());
  EXPECT_THAT(Parse("path = 'short'"), StatusIs(kInvalid, HasSubstr("longer")));
  ASSERT_OK_AND_ASSIGN(const Config config,
                       Parse("path = 'short'\npack_documents = true"));
  ASSERT_OK_AND_ASSIGN(const TokenWindow window,
                       config.dataset()->GetBlocking(0));
  EXPECT_EQ(window.tokens.size(), 32);
}

// What a step shows is what a search for its documents finds, in every epoch.
void PackedRunTest::ExpectShownIsFound(const Config& config) {
  const TracedRun run(config);
  // (path, document) -> samples that hold a part of it
  std::map<std::pair<std::string, uint64_t>, std::vector<uint64_t>> shown;
  uint64_t epochs = 0;
  for (uint64_t step = 0; step < 60; ++step) {
    ASSERT_OK_AND_ASSIGN(const TracedStep traced, run.Show(step));
    for (const TracedSample& sample : traced.samples) {
      epochs = std::max(epochs, sample.origin.epoch + 1);
      uint64_t tokens = 0;
      std::vector<uint64_t> documents;
      for (const TracedDocument& document : sample.documents) {
        tokens += document.tokens;
        if (document.is_padding()) continue;
        documents.push_back(document.number);
        EXPECT_THAT(document.name, HasSubstr(absl::StrCat(document.number)));
      }
      EXPECT_EQ(tokens, 32);
      std::sort(documents.begin(), documents.end());
      documents.erase(std::unique(documents.begin(), documents.end()),
                      documents.end());
      for (const uint64_t document : documents) {
        shown[{sample.origin.path, document}].push_back(sample.origin.sample);
      }
    }
  }
  EXPECT_GE(epochs, 3);
  for (const auto& [path, documents] :
       {std::pair("a", 150), std::pair("rest/b", 90),
        std::pair("rest/c", 150)}) {
    for (uint64_t d = 0; d < static_cast<uint64_t>(documents); ++d) {
      ASSERT_OK_AND_ASSIGN(const auto found, run.FindDocument(path, d, {}));
      std::vector<uint64_t> samples;
      for (const TracedReading& reading : found) {
        samples.push_back(reading.reading.sample);
      }
      samples.erase(std::unique(samples.begin(), samples.end()), samples.end());
      ASSERT_EQ(samples, (shown[{path, d}])) << path << ' ' << d;
    }
  }
}

TEST_F(PackedRunTest, FindAfterShowIsTheIdentity) {
  ASSERT_OK_AND_ASSIGN(const Config config, Parse(mixture_));
  ExpectShownIsFound(config);
}

TEST_F(PackedRunTest, FindAfterShowIsTheIdentityWithChunks) {
  ASSERT_OK_AND_ASSIGN(const Config config, Parse(chunks_));
  ExpectShownIsFound(config);
}

// A source of very many epochs below a shuffle: those are searched that the
// samples read.
TEST_F(PackedRunTest, FindAfterShowIsTheIdentityInFewOfManyEpochs) {
  ASSERT_OK_AND_ASSIGN(
      const Config config,
      Parse("seed = 9\nblock_size = 2\nmixture.b = { path = 'b', weight = 1, "
            "pack_documents = true, repeat = 10_000_000 }\n"));
  const TracedRun run(config);
  ASSERT_OK_AND_ASSIGN(const TracedStep step, run.Show(3));
  size_t found_here = 0;
  for (uint64_t d = 0; d < 90; ++d) {
    ASSERT_OK_AND_ASSIGN(const auto found,
                         run.FindDocument("b", d, StepRange{3, 4}));
    found_here += found.size();
  }
  size_t shown = 0;
  for (const TracedSample& sample : step.samples) {
    for (const TracedDocument& document : sample.documents) {
      shown += !document.is_padding();
    }
  }
  EXPECT_GT(shown, 0u);
  EXPECT_EQ(found_here, shown);
}

TEST_F(PackedRunTest, PlanSaysWhatPackingDoes) {
  ASSERT_OK_AND_ASSIGN(const Config config, Parse(mixture_));
  ASSERT_OK_AND_ASSIGN(const PlannedRun plan, MakePlan(config));
  size_t packed = 0;
  for (const PlannedRunSource& source : plan.sources) {
    if (!source.packing.has_value()) continue;
    ++packed;
    EXPECT_EQ(source.packing->windows, source.length) << source.path;
    EXPECT_EQ(source.packing->tokens, source.stored_tokens);
    EXPECT_EQ(source.left_over_tokens, 0);
    EXPECT_EQ(source.packing->chunks, 0);
  }
  EXPECT_EQ(packed, 2);
  ASSERT_OK_AND_ASSIGN(const Config by_chunks, Parse(chunks_));
  ASSERT_OK_AND_ASSIGN(const PlannedRun other, MakePlan(by_chunks));
  EXPECT_EQ(other.sources[0].packing->chunks, 8);
  EXPECT_EQ(other.sources[0].packing->windows, other.sources[0].length);
}

// All ranks of a step together serve the samples that are shown, whatever their
// number, also after a restart.
TEST_F(PackedRunTest, ChunksOnAnyNumberOfRanks) {
  ASSERT_OK_AND_ASSIGN(const Config config, Parse(chunks_));
  const auto alone = config.OpenLoader().value();
  std::vector<std::vector<uint32_t>> steps;
  for (int step = 0; step < 60; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, alone->NextBlocking());
    const auto tokens = batch.tokens<uint32_t>();
    steps.emplace_back(tokens.begin(), tokens.end());
  }
  EXPECT_NE(steps[0], steps[1]);
  LoaderOptions options = config.loader_options();
  options.start_step = 17;
  for (options.ranks = 2; options.ranks < 5; ++options.ranks) {
    std::vector<std::unique_ptr<Loader>> ranks;
    for (options.rank = 0; options.rank < options.ranks; ++options.rank) {
      // Another process has its own chunks in memory.
      ASSERT_OK_AND_ASSIGN(const Config again, Parse(chunks_));
      ranks.push_back(again.OpenLoader(options).value());
    }
    for (size_t step = 17; step < 60; ++step) {
      std::vector<uint32_t> tokens;
      for (const auto& rank : ranks) {
        ASSERT_OK_AND_ASSIGN(const Batch share, rank->NextBlocking());
        const auto some = share.tokens<uint32_t>();
        tokens.insert(tokens.end(), some.begin(), some.end());
      }
      ASSERT_EQ(tokens, steps[step]) << options.ranks << ' ' << step;
    }
  }
}

// Ranks with even work: `show`, `find` and loaders agree.
void PackedRunTest::ExpectEvenWork(const std::string& data) const {
  ASSERT_OK_AND_ASSIGN(const Config config,
                       Parse(data, "even_work = true\nlinear_cost = 7\n"));
  EXPECT_TRUE(config.loader_options().sharing.even_work);
  EXPECT_EQ(config.loader_options().sharing.linear_cost, 7);
  ASSERT_OK_AND_ASSIGN(const Config without, Parse(data));
  const TracedRun run(config);
  ASSERT_OK_AND_ASSIGN(const RunDiff diff,
                       DiffRuns(TracedRun(without), run, 1000));
  EXPECT_EQ(diff.compared.first, std::nullopt);
  ASSERT_EQ(diff.differences.size(), 2);
  EXPECT_EQ(diff.differences[0].what, "runtime.even_work");

  constexpr uint32_t kRanks = 4;
  uint64_t moved = 0;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    ASSERT_OK_AND_ASSIGN(const auto loader,
                         OpenLoader(config.run(), {rank, kRanks}));
    ASSERT_OK_AND_ASSIGN(
        const auto reads,
        RunReads::Create(*config.dataset(), config.schedule(), config.sources(),
                         8, rank, kRanks, config.loader_options().sharing));
    uint64_t samples = 0;
    for (uint64_t step = 0; step < 8; ++step) {
      ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
      ASSERT_OK_AND_ASSIGN(const TracedStep shown,
                           run.Show(step, rank, kRanks));
      ASSERT_EQ(shown.samples.size(), batch.num_samples());
      for (size_t i = 0; i < batch.num_samples(); ++i) {
        EXPECT_EQ(shown.samples[i].origin.sample, batch.provenance(i).sample);
        EXPECT_EQ(shown.samples[i].origin.item, batch.provenance(i).item);
        const BatchShare share = RankShare(6, rank, kRanks);
        moved += batch.provenance(i).sample != step * 6 + share.begin + i;
      }
      samples += batch.num_samples();
    }
    EXPECT_EQ(reads->samples(), samples);
  }
  EXPECT_GT(moved, 0);
}

TEST_F(PackedRunTest, EvenWorkIsShownAsItIsServed) {
  ExpectEvenWork(mixture_);
  ExpectEvenWork(chunks_);
}

TEST_F(PackedRunTest, BatchesOfALoader) {
  ASSERT_OK_AND_ASSIGN(
      const Config config,
      Parse(mixture_,
            "token_type = 'i32'\ntensors = ['labels', 'cu_seqlens', "
            "'document_counts', 'max_seqlens']\n"
            "loss_across_documents = true\nmax_documents = 40\n"
            "restart_positions = false\n"));
  const DocumentRules& rules = config.loader_options().documents;
  EXPECT_TRUE(rules.loss_across);
  EXPECT_FALSE(rules.restart_positions);
  EXPECT_EQ(rules.max_documents, 40);
  ASSERT_OK_AND_ASSIGN(const auto loader, config.OpenLoader());
  ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
  EXPECT_EQ(batch.cu_seqlens().back(), 6 * 32);
  EXPECT_EQ(batch.max_documents(), 32);  // no more than tokens
}

}  // namespace
}  // namespace poniente::internal
