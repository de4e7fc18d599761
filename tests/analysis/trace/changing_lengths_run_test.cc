// SPDX-License-Identifier: Apache-2.0
// Runs whose sequence length changes, of packed documents: from their
// description to batches, and to what plan, show, find and states say of them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "poniente/config.h"
#include "poniente/diff.h"
#include "poniente/extend/item_sets.h"
#include "poniente/journal.h"
#include "poniente/loader.h"
#include "poniente/packing.h"
#include "poniente/plan.h"
#include "poniente/run.h"
#include "poniente/trace.h"
#include "tests/analysis/trace/document_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using poniente::testing::IsOk;
using poniente::testing::kInvalid;
using poniente::testing::OpenRun;
using poniente::testing::StatusIs;
using poniente::testing::TempDir;
using poniente::testing::WriteDocuments;
using ::testing::AllOf;
using ::testing::HasSubstr;

class ChangingLengthsRunTest : public ::testing::Test {
 protected:
  ChangingLengthsRunTest() {
    std::mt19937_64 random(poniente::testing::TestSeed(47));
    Write("a", 150, random);
    Write("b", 90, random);
    Write("c", 60, random);
  }

  void Write(const std::string& name, int documents, std::mt19937_64& random) {
    std::vector<std::vector<uint32_t>> written;
    for (int d = 0; d < documents; ++d) {
      std::vector<uint32_t>& ids = written.emplace_back(
          random() % 5 == 0 ? random() % 80 : random() % 20);
      for (uint32_t& id : ids) id = static_cast<uint32_t>(random() % 250);
      tokens_[name].insert(tokens_[name].end(), ids.begin(), ids.end());
    }
    num_documents_[name] = static_cast<uint64_t>(documents);
    WriteDocuments(folder_, name, written);
  }

  absl::StatusOr<Config> Parse(const std::string& data,
                               const std::string& stages = kStages,
                               const std::string& runtime = "") const {
    return OpenRun(folder_,
                   absl::StrCat("[data]\nbatch_size = 6\nseq_len = 32\n"
                                "max_seq_len = 64\nsteps = 90\nseed = 9\n",
                                data, "\n", stages, "\n[runtime]\n", runtime));
  }

  // Every step: what is shown lies in the documents, nothing comes twice in an
  // epoch, and a search finds the same samples.
  void ExpectRun(const Config& config) const;
  void ExpectBatches(const Config& config) const;

  static constexpr char kStages[] =
      "[[data.seq_lens]]\nstart_step = 13\nseq_len = 16\n"
      "[[data.seq_lens]]\nstart_step = 40\nseq_len = 64\n"
      "[[data.seq_lens]]\nstart_step = 64\nseq_len = 32\n"
      "[[data.batch_sizes]]\nstart_step = 20\nbatch_size = 4\n";
  const std::string single_ =
      "path = 'a'\npack_documents = { chunk_documents = 12, "
      "shuffle_chunks = 2 }\n";
  // Packed sources, one of them below another mixture, and one that is cut.
  const std::string mixture_ =
      "pack_documents = { chunk_documents = 12, shuffle_chunks = 2 }\n"
      "block_size = 6\n"
      "[data.mixture.a]\nweight = 0.5\npath = 'a'\n"
      "[data.mixture.plain]\nweight = 0.2\npath = 'b'\n"
      "pack_documents = false\n"
      "[data.mixture.rest]\nweight = 0.3\n"
      "block_size = 4\nmixture = { b = { path = 'b', weight = 1.0, "
      "pack_documents = "
      "{ chunk_documents = 20, align = 4 } }, "
      "deep = { weight = 2.0, block_size = 1, mixture = { "
      "c = { path = 'c', weight = 1.0 }, a = { path = 'a', weight = 0.5 } } } "
      "}\n";

  TempDir folder_;
  std::map<std::string, std::vector<uint32_t>> tokens_;  // of the stores
  std::map<std::string, uint64_t> num_documents_;
};

void ChangingLengthsRunTest::ExpectRun(const Config& config) const {
  const TracedRun run(config);
  std::map<std::pair<std::string, uint64_t>, std::vector<uint64_t>> shown;
  std::map<std::string, std::set<uint32_t>> lengths;
  std::map<std::string, std::string> stores;  // by path
  for (uint64_t step = 0; step < 90; ++step) {
    ASSERT_OK_AND_ASSIGN(const TracedStep traced, run.Show(step));
    for (const TracedSample& sample : traced.samples) {
      const std::string& path = sample.origin.path;
      uint64_t tokens = 0;
      for (const TracedDocument& document : sample.documents) {
        tokens += document.tokens;
        if (document.is_padding()) continue;
        shown[{path, document.number}].push_back(sample.origin.sample);
      }
      EXPECT_EQ(tokens, traced.plan.seq_len) << step << ' ' << path;
      lengths[path].insert(traced.plan.seq_len);
      stores[path] = path == "plain" ? "b" : sample.source;
    }
  }
  std::set<uint32_t> of_run;
  for (const Stretch& stretch : config.schedule().stretches()) {
    of_run.insert(stretch.seq_len);
  }
  for (const auto& [path, of_path] : lengths) {
    EXPECT_GT(2 * of_path.size(), of_run.size()) << path;
    for (uint64_t d = 0; d < num_documents_.at(stores.at(path)); ++d) {
      ASSERT_OK_AND_ASSIGN(const auto found, run.FindDocument(path, d, {}));
      std::vector<uint64_t> samples;
      for (const TracedReading& reading : found) {
        samples.push_back(reading.reading.sample);
      }
      samples.erase(std::unique(samples.begin(), samples.end()), samples.end());
      std::vector<uint64_t>& expected = shown[{path, d}];
      expected.erase(std::unique(expected.begin(), expected.end()),
                     expected.end());
      ASSERT_EQ(samples, expected) << path << ' ' << d;
    }
  }
}

// Tokens and tensors of all batches, from the pieces that are shown.
void ChangingLengthsRunTest::ExpectBatches(const Config& config) const {
  const TracedRun run(config);
  ASSERT_OK_AND_ASSIGN(const auto loader, config.OpenLoader());
  uint32_t capacity = 0;
  // (path, epoch, token): nothing is served twice.
  std::set<std::tuple<std::string, uint64_t, uint64_t>> served;
  for (uint64_t step = 0; step < 90; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    ASSERT_OK_AND_ASSIGN(const TracedStep shown, run.Show(step));
    const uint32_t seq_len = shown.plan.seq_len;
    const size_t samples = shown.samples.size();
    ASSERT_EQ(batch.plan().seq_len, seq_len);
    ASSERT_EQ(batch.tokens<int32_t>().size(), samples * seq_len);
    // No more than tokens.
    capacity = std::max(capacity, batch.max_documents());
    EXPECT_EQ(batch.max_documents(), std::min(capacity, seq_len));
    EXPECT_EQ(batch.cu_seqlens().back(),
              static_cast<int32_t>(samples * seq_len));
    for (size_t i = 0; i < shown.samples.size(); ++i) {
      const TracedSample& sample = shown.samples[i];
      const std::string& path = sample.origin.path;
      if (path == "plain") continue;
      size_t at = i * seq_len;
      for (const TracedDocument& document : sample.documents) {
        for (uint64_t t = 0; t < document.tokens; ++t, ++at) {
          const auto id = static_cast<uint32_t>(batch.tokens<int32_t>()[at]);
          if (document.is_padding()) {
            ASSERT_EQ(id, 256);
            continue;
          }
          const uint64_t place = document.first_token + t;
          ASSERT_EQ(id, tokens_.at(sample.source)[place]);
          ASSERT_TRUE(served.insert({path, sample.origin.epoch, place}).second)
              << path << ' ' << document.number;
        }
      }
    }
  }
}

constexpr char kTensors[] =
    "token_type = 'i32'\ntensors = ['labels', 'cu_seqlens', "
    "'document_counts', 'max_seqlens', 'document_ids']\n";

TEST_F(ChangingLengthsRunTest, ASourceByItself) {
  ASSERT_OK_AND_ASSIGN(const Config config, Parse(single_, kStages, kTensors));
  ExpectRun(config);
  ExpectBatches(config);
}

TEST_F(ChangingLengthsRunTest, SourcesInMixtures) {
  ASSERT_OK_AND_ASSIGN(const Config config, Parse(mixture_, kStages, kTensors));
  ExpectRun(config);
  ExpectBatches(config);
}

// 15 lengths, each 6 steps.
TEST_F(ChangingLengthsRunTest, ARampOfLengths) {
  std::string stages;
  for (int i = 1; i < 15; ++i) {
    absl::StrAppend(&stages, "[[data.seq_lens]]\nstart_step = ", 6 * i,
                    "\nseq_len = ", i == 7 ? 64 : 4 + 4 * i, "\n");
  }
  for (const std::string& data : {single_, mixture_}) {
    ASSERT_OK_AND_ASSIGN(const Config config, Parse(data, stages, kTensors));
    ExpectRun(config);
    ExpectBatches(config);
  }
}

// Another threshold begins a new epoch, another length does not.
TEST_F(ChangingLengthsRunTest, ThresholdsAndLengths) {
  std::vector<float> scores(150);
  for (size_t i = 0; i < scores.size(); ++i) {
    scores[i] = static_cast<float>(i * 7 % 10) / 10;
  }
  std::ofstream(folder_.path("a.f32"), std::ios::binary)
      .write(reinterpret_cast<const char*>(scores.data()),
             static_cast<std::streamsize>(4 * scores.size()));
  const std::string data =
      "pack_documents = { chunk_documents = 12, shuffle_chunks = 2 }\n"
      "block_size = 6\n"
      "[data.mixture.a]\nweight = 0.5\npath = 'a'\n"
      "documents = { scores = 'a.f32', at_least = 0.1 }\n"
      "[data.mixture.b]\nweight = 0.5\npath = 'b'\n";
  const std::string stages = absl::StrCat(
      kStages,
      "[[data.stages]]\nstart_step = 30\nthresholds = { a = 0.5 }\n"
      "[[data.stages]]\nstart_step = 64\nthresholds = { a = 0.3 }\n");
  ASSERT_OK_AND_ASSIGN(const Config config, Parse(data, stages, kTensors));
  ExpectBatches(config);
  const TracedRun run(config);
  std::map<uint64_t, std::set<uint64_t>> epochs;  // of a, by part of the run
  for (uint64_t step = 0; step < 90; ++step) {
    ASSERT_OK_AND_ASSIGN(const TracedStep traced, run.Show(step));
    const float least = step < 30 ? 0.1f : step < 64 ? 0.5f : 0.3f;
    const uint64_t part = step < 13   ? 0
                          : step < 30 ? 1
                          : step < 40 ? 2
                          : step < 64 ? 3
                                      : 4;
    for (const TracedSample& sample : traced.samples) {
      if (sample.source != "a") continue;
      epochs[part].insert(sample.origin.epoch);
      for (const TracedDocument& document : sample.documents) {
        if (document.is_padding()) continue;
        EXPECT_GE(scores[document.number], least) << step;
      }
    }
  }
  const auto last = [&](uint64_t part) { return *epochs[part].rbegin(); };
  const auto first = [&](uint64_t part) { return *epochs[part].begin(); };
  EXPECT_LE(first(1), last(0) + 1);
  EXPECT_EQ(first(2), last(1) + 1);
  EXPECT_LE(first(3), last(2) + 1);
  EXPECT_EQ(first(4), last(3) + 1);
}

// A mixture that ends, and weights by sizes.
TEST_F(ChangingLengthsRunTest, EndsAndSizes) {
  const std::string sources =
      "pack_documents = { chunk_documents = 12, shuffle_chunks = 2 }\n"
      "block_size = 2\n"
      "[data.mixture.a]\nweight = 1.0\npath = 'a'\nmax_epochs = 2\n"
      "[data.mixture.b]\nweight = 1.0\npath = 'b'\n";
  ASSERT_OK_AND_ASSIGN(
      const Config config,
      Parse("weight_rule = 'sizes'\n" + sources,
            "[[data.seq_lens]]\nstart_step = 4\nseq_len = 64\n", kTensors));
  const auto loader = config.OpenLoader();
  // The run of 90 steps is longer than two epochs.
  EXPECT_THAT(loader, StatusIs(kInvalid, HasSubstr("max_epochs")));
  const auto by_weights = Parse(
      sources, "[[data.seq_lens]]\nstart_step = 4\nseq_len = 64\n", kTensors);
  ASSERT_THAT(by_weights, IsOk());
  const DatasetTree tree(*by_weights->dataset());
  const uint64_t end = by_weights->dataset()->length_now().readable;
  std::set<uint64_t> epochs;
  for (uint64_t k = 0; k < end; ++k) {
    const Position position = {.index = k};
    LeafPosition item;
    ASSERT_THAT(tree.Resolve({&position, 1}, {&item, 1}), IsOk());
    if (tree.leaves()[item.leaf].path != "a") continue;
    epochs.insert(item.position.epoch);
    EXPECT_EQ(tree.leaves()[item.leaf].node->item_tokens(), k < 24 ? 32 : 64);
  }
  EXPECT_EQ(epochs, (std::set<uint64_t>{0, 1}));
  EXPECT_THAT(
      Parse("weight_rule = 'sizes'\n" + sources + "pack_documents = false\n"),
      StatusIs(kInvalid, AllOf(HasSubstr("counts windows"),
                               HasSubstr("32 tokens in packed"))));
}

// A run of one length, below max_seq_len.
TEST_F(ChangingLengthsRunTest, BeforeTheChangeTheRunIsThatOfOneLength) {
  for (const std::string& data : {single_, mixture_}) {
    ASSERT_OK_AND_ASSIGN(const Config changes, Parse(data));
    ASSERT_OK_AND_ASSIGN(
        const Config one,
        Parse(data, "[[data.batch_sizes]]\nstart_step = 20\nbatch_size = 4\n"));
    const auto a = changes.OpenLoader().value();
    const auto b = one.OpenLoader().value();
    // The change ends the block that it begins in: of the mixture below, too.
    const uint64_t steps = data == single_ ? 13 : 10;
    for (uint64_t step = 0; step < steps; ++step) {
      ASSERT_OK_AND_ASSIGN(const Batch x, a->NextBlocking());
      ASSERT_OK_AND_ASSIGN(const Batch y, b->NextBlocking());
      ASSERT_THAT(x.tokens<uint32_t>(),
                  ::testing::ElementsAreArray(y.tokens<uint32_t>()))
          << step;
    }
    // A stopped run of one length goes on with others.
    for (const uint64_t step : {uint64_t{1}, uint64_t{7}, steps - 1}) {
      ASSERT_OK_AND_ASSIGN(const std::string state, b->State(step));
      EXPECT_THAT(a->Resume(state), IsOk()) << data;
      EXPECT_EQ(a->next_step(), step);
    }
    ASSERT_OK_AND_ASSIGN(const std::string late, b->State(14));
    EXPECT_THAT(a->Resume(late), StatusIs(absl::StatusCode::kFailedPrecondition,
                                          HasSubstr("seq_len 16")));
  }
}

// Other ranks, from any step on.
TEST_F(ChangingLengthsRunTest, RanksAndRestarts) {
  ASSERT_OK_AND_ASSIGN(const Config config, Parse(mixture_));
  const auto alone = config.OpenLoader().value();
  std::vector<std::vector<uint32_t>> steps;
  for (int step = 0; step < 90; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, alone->NextBlocking());
    const auto tokens = batch.tokens<uint32_t>();
    steps.emplace_back(tokens.begin(), tokens.end());
  }
  LoaderOptions options = config.loader_options();
  for (const uint64_t start : {5, 13, 39, 40, 70}) {
    options.start_step = start;
    options.ranks = 1 + static_cast<uint32_t>(start % 3);
    std::vector<std::unique_ptr<Loader>> ranks;
    for (options.rank = 0; options.rank < options.ranks; ++options.rank) {
      ASSERT_OK_AND_ASSIGN(const Config again, Parse(mixture_));
      ranks.push_back(again.OpenLoader(options).value());
    }
    for (size_t step = start; step < std::min<size_t>(start + 30, 90); ++step) {
      std::vector<uint32_t> tokens;
      for (const auto& rank : ranks) {
        ASSERT_OK_AND_ASSIGN(const Batch share, rank->NextBlocking());
        const auto some = share.tokens<uint32_t>();
        tokens.insert(tokens.end(), some.begin(), some.end());
      }
      ASSERT_EQ(tokens, steps[step]) << start << ' ' << step;
    }
  }
  for (const uint64_t step : {5, 13, 39, 40, 41, 70, 90}) {
    ASSERT_OK_AND_ASSIGN(const std::string state, alone->State(step));
    ASSERT_OK_AND_ASSIGN(const Config again, Parse(mixture_));
    const auto resumed = again.OpenLoader().value();
    ASSERT_THAT(resumed->Resume(state), IsOk());
    if (step == 90) continue;
    ASSERT_OK_AND_ASSIGN(const Batch batch, resumed->NextBlocking());
    EXPECT_THAT(batch.tokens<uint32_t>(),
                ::testing::ElementsAreArray(steps[step]));
  }
}

// Weights that are changed while the run goes on.
TEST_F(ChangingLengthsRunTest, SteeredWeights) {
  const std::string sources =
      "pack_documents = { chunk_documents = 12, shuffle_chunks = 2 }\n"
      "block_size = 6\n"
      "[data.mixture.a]\nweight = 0.5\npath = 'a'\n"
      "[data.mixture.b]\nweight = 0.5\npath = 'b'\n";
  ASSERT_OK_AND_ASSIGN(const Config config, Parse(sources));
  const auto loader = config.OpenLoader().value();
  std::map<std::string, uint64_t> samples;
  std::set<std::tuple<std::string, uint64_t, uint32_t, uint64_t>> served;
  for (uint64_t step = 0; step < 90; ++step) {
    if (step == 5) {
      ASSERT_THAT(loader->Steer(RunChange::Weights({{"a", 9}, {"b", 1}})),
                  IsOk());
    }
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    for (size_t i = 0; i < batch.num_samples(); ++i) {
      const SampleProvenance& from = batch.provenance(i);
      const TreeLeaf& leaf = loader->tree().leaves()[from.source];
      EXPECT_EQ(leaf.node->item_tokens(), batch.plan().seq_len);
      ++samples[leaf.path];
      EXPECT_TRUE(served.insert({leaf.path, from.epoch, from.source, from.item})
                      .second);
    }
  }
  EXPECT_GT(samples["a"], 5 * samples["b"]);

  // A mixture below would reach another sample when the length changes.
  ASSERT_OK_AND_ASSIGN(const Config nested, Parse(mixture_));
  const auto other = nested.OpenLoader().value();
  for (uint64_t step = 0; step < 70; ++step) {
    if (step == 5) {
      EXPECT_THAT(other->Steer(RunChange::Weights({{"a", 9}, {"rest", 1}})),
                  StatusIs(kInvalid, HasSubstr("while the run goes on")));
    }
    ASSERT_THAT(other->NextBlocking(), IsOk());
  }
  EXPECT_THAT(other->Steer(RunChange::Weights({{"a", 9}, {"rest", 1}})),
              IsOk());
  for (uint64_t step = 70; step < 90; ++step) {
    ASSERT_THAT(other->NextBlocking(), IsOk());
  }
}

TEST_F(ChangingLengthsRunTest, PlanCountsWhatIsLeftOut) {
  for (const std::string& data : {single_, mixture_}) {
    ASSERT_OK_AND_ASSIGN(const Config config, Parse(data));
    ASSERT_OK_AND_ASSIGN(const PlannedRun plan, MakePlan(config));
    // For each leaf: what comes behind its last window, up to the end of the
    // shuffle window. (Views follow one another, so only the last epoch of each
    // is not whole; the last view's rest is not left out.)
    const DatasetTree tree(*config.dataset());
    std::map<std::string, double> tokens;
    std::map<std::string, double> samples;
    std::map<uint32_t, Position> last;  // by leaf, in epochs before items
    const uint64_t end = config.schedule().samples();
    for (uint64_t k = 0; k < end; ++k) {
      const Position position = {.index = k};
      LeafPosition item;
      ASSERT_THAT(tree.Resolve({&position, 1}, {&item, 1}), IsOk());
      samples[tree.leaves()[item.leaf].path] += 1;
      Position& at = last[item.leaf];
      if (std::pair(at.epoch, at.index) <=
          std::pair(item.position.epoch, item.position.index)) {
        at = item.position;
      }
    }
    for (const auto& [number, at] : last) {
      const DatasetNode& leaf = *tree.leaves()[number].node;
      const auto sets = leaf.item_sets();
      const bool is_last =
          leaf.item_tokens() == 32 && tree.leaves()[number].path != "plain" &&
          std::any_of(last.begin(), last.end(), [&](const auto& other) {
            return other.first < number && tree.leaves()[other.first].path ==
                                               tree.leaves()[number].path;
          });
      if (sets == nullptr || is_last) continue;
      const uint64_t behind =
          sets->FirstOf(at.epoch, sets->SetOf(at.epoch, at.index) + 1);
      tokens[tree.leaves()[number].path] +=
          static_cast<double>(behind - at.index - 1) * leaf.item_tokens();
    }
    double all = 0;
    for (const PlannedRunSource& source : plan.sources) {
      if (!source.is_leaf) continue;
      const std::string path = source.path;
      EXPECT_EQ(source.total_samples(), samples[path]) << path;
      if (path == "plain") continue;
      EXPECT_EQ(source.skipped_tokens, tokens[path]) << path;
      EXPECT_EQ(source.skipped_documents > 0, source.skipped_tokens > 0);
      EXPECT_EQ(source.packing->window_tokens, 32);
      // The other lengths are there, too: each packs all documents anew.
      ASSERT_FALSE(source.other_packings.empty()) << path;
      uint64_t before = 0;
      for (const PackingSummary& other : source.other_packings) {
        EXPECT_GT(other.window_tokens, before);
        before = other.window_tokens;
        EXPECT_NE(other.window_tokens, 32);
        EXPECT_EQ(other.documents, source.packing->documents);
        EXPECT_EQ(other.tokens, source.packing->tokens);
        EXPECT_GE(other.windows * other.window_tokens, other.tokens);
      }
      EXPECT_EQ(source.epoch_tokens, source.packing->windows * 32);
      EXPECT_TRUE(source.epochs.has_value());
      all += source.skipped_tokens;
    }
    EXPECT_GT(all, 0);
  }
}

TEST_F(ChangingLengthsRunTest, DiffFindsTheFirstOtherStep) {
  ASSERT_OK_AND_ASSIGN(const Config config, Parse(mixture_));
  const std::string later =
      absl::StrReplaceAll(kStages, {{"start_step = 40", "start_step = 41"}});
  ASSERT_OK_AND_ASSIGN(const Config other, Parse(mixture_, later));
  ASSERT_OK_AND_ASSIGN(const RunDiff same,
                       DiffRuns(TracedRun(config), TracedRun(config), 1000));
  EXPECT_TRUE(same.differences.empty());
  EXPECT_EQ(same.compared.first, std::nullopt);
  ASSERT_OK_AND_ASSIGN(const RunDiff diff,
                       DiffRuns(TracedRun(config), TracedRun(other), 1000));
  ASSERT_TRUE(diff.compared.first.has_value());
  // Blocks that the change ends are others.
  EXPECT_GE(diff.compared.first->step, 36);
  EXPECT_LE(diff.compared.first->step, 40);
}

TEST_F(ChangingLengthsRunTest, WhatCannotChangeSaysWhyAndWhatToDo) {
  const auto refused = [](auto... parts) {
    return StatusIs(kInvalid, AllOf(HasSubstr(parts)...));
  };
  EXPECT_THAT(Parse("path = 'a'\npack_documents = true"),
              refused("run.toml:8", "pack them by chunks",
                      "32 tokens at first, then 16"));
  const std::string chunks =
      "pack_documents = { chunk_documents = 12 }\nmixture = { ";
  const std::string a = "a = { weight = 1.0, path = 'a' }";
  EXPECT_THAT(Parse("pack_documents = { chunk_documents = 12 }\n"
                    "flat = { a = { path = 'a' }, b = { path = 'b' } }"),
              refused("order of its own", "make it a mixture"));
  EXPECT_THAT(Parse(chunks + "a = { weight = 1.0, path = 'a', take = 5 } }"),
              refused("run.toml:8:17", "(take)", "select documents"));
  EXPECT_THAT(
      Parse(chunks + a +
            ", m = { weight = 1.0, mixture = { b = { weight = 1.0, "
            "path = 'b' }, "
            "c = { weight = 1.0, path = 'c', pack_documents = false } } } }"),
      refused("m has sources that are packed and others"));
  EXPECT_THAT(Parse(chunks + a +
                    ", m = { weight = 1.0, stop = 'first_exhausted', mixture = "
                    "{ b = { weight = 1.0, path = 'b' } } } }"),
              refused("ends (stop)", "root's mixture"));
  EXPECT_THAT(
      Parse(chunks + a +
            ", m = { weight = 1.0, mixture = { b = { weight = 1.0, path = 'b', "
            "max_epochs = 2 } } } }"),
      refused("max_epochs below another mixture"));
}

}  // namespace
}  // namespace poniente::internal
