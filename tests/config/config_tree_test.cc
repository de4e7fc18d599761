// SPDX-License-Identifier: Apache-2.0
// What TOML says is what C++ builds.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "poniente/config.h"
#include "poniente/flat_mixture.h"
#include "poniente/mixture_dataset.h"
#include "poniente/run_trace.h"
#include "poniente/token_source.h"
#include "poniente/token_store.h"
#include "poniente/transforms.h"
#include "tests/config/small_stores.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::SmallStores;
using testing::StatusIs;

using Tokens = DatasetPtr<TokenWindow>;

class ConfigTreeTest : public SmallStores {
 protected:
  absl::StatusOr<Config> TryParse(const std::string& text) {
    return Config::Parse(text, "t.toml", dir_.path());
  }
  Config Parse(const std::string& text) {
    auto config = TryParse(text);
    EXPECT_THAT(config, IsOk()) << text;
    return *std::move(config);
  }
  // A run of windows of 20 tokens.
  Config ParseData(const std::string& rest) {
    return Parse(
        "[data]\nseed = 3\nsteps = 30\nbatch_size = 8\nseq_len = 20\n" + rest);
  }
  Tokens Store(const std::string& name, uint64_t length = 20) {
    return TokenStore::Open(dir_.path(name)).value()->Windows(length).value();
  }
  void WriteFloats(const std::string& name, const std::vector<float>& scores) {
    std::ofstream(dir_.path(name), std::ios::binary)
        .write(reinterpret_cast<const char*>(scores.data()),
               static_cast<std::streamsize>(4 * scores.size()));
  }
  // Scores of the 500 windows of store "a".
  std::vector<float> Scores() {
    std::vector<float> scores(500);
    for (size_t i = 0; i < 500; ++i) scores[i] = float(i * 7919 % 500) / 500;
    WriteFloats("a.f32", scores);
    return scores;
  }
};

// The path and item of each sample of the run, and its part.
std::vector<std::string> TraceOf(const Config& config) {
  std::vector<std::string> lines;
  const RunTrace trace(*config.dataset(), config.schedule());
  for (uint64_t step = 0; config.schedule().Has(step) && step < 3000; ++step) {
    const auto samples = trace.Resolve(step);
    if (absl::IsOutOfRange(samples.status())) break;
    EXPECT_THAT(samples, IsOk());
    if (!samples.ok()) break;
    for (const SampleOrigin& sample : *samples) {
      lines.push_back(absl::StrCat(step, " ", sample.path, " ", sample.item,
                                   " ", sample.epoch, " ", sample.token_begin,
                                   "..", sample.token_end));
    }
  }
  return lines;
}

MATCHER_P(IsTheTree, expected, "has the fingerprint of the tree in C++") {
  return arg.dataset()->fingerprint() == expected->WithSeed(3)->fingerprint();
}

TEST_F(ConfigTreeTest, ModifiersAreTheCombinatorsFromTheInsideOut) {
  const std::vector<float> scores = Scores();
  WriteFloats("b.f32", std::vector<float>(250, 1));
  ASSERT_OK_AND_ASSIGN(const Selection half, Selection::AtLeast(scores, 0.5f));
  ASSERT_OK_AND_ASSIGN(const ScoreOrder order,
                       ScoreOrder::FromScores(std::vector<float>(250, 1)));
  ASSERT_OK_AND_ASSIGN(Tokens tree, Filter(Store("a"), half));
  ASSERT_OK_AND_ASSIGN(tree, Order(tree, order, {.bucket_items = 50}));
  ASSERT_OK_AND_ASSIGN(tree, Slice(tree, 10, 240));
  ASSERT_OK_AND_ASSIGN(tree, Take(tree, 200));
  ASSERT_OK_AND_ASSIGN(tree, Repeat(tree, 2));
  EXPECT_THAT(ParseData("path = 'a'\nrepeat = 2\ntake = 200\n"
                        "slice = [10, 240]\n"
                        "order = { scores = 'b.f32', bucket_items = 50 }\n"
                        "filter = { scores = 'a.f32', at_least = 0.5 }\n"),
              IsTheTree(tree));
}

TEST_F(ConfigTreeTest, FiltersAreTheSelectionsOfTheirFiles) {
  Scores();
  const auto is = [&](const std::string& filter, const Selection& selection) {
    const Tokens tree = Filter(Store("a"), selection).value();
    EXPECT_THAT(
        ParseData("path = 'a'\nshuffle = false\nfilter = { " + filter + " }\n"),
        IsTheTree(tree))
        << filter;
  };
  std::vector<uint64_t> all(200);
  for (size_t i = 0; i < all.size(); ++i) all[i] = i * 2 + 1;
  std::ofstream(dir_.path("i"), std::ios::binary)
      .write(reinterpret_cast<const char*>(all.data()), 1600);
  std::vector<uint64_t> words(8, 0x5555555555555555);
  words[7] &= (uint64_t{1} << 52) - 1;
  std::ofstream(dir_.path("bits"), std::ios::binary)
      .write(reinterpret_cast<const char*>(words.data()), 64);
  is("indices = 'i'", Selection::FromIndices(500, all).value());
  is("bitmap = 'bits'", Selection::FromBitmap(500, words).value());
  is("fraction = 0.5, seed = 9", Selection::ByHash(500, 0.5, 9).value());
  is("fraction = 0.2, invert = true",
     Selection::ByHash(500, 0.2, 0).value().Complement().value());
}

TEST_F(ConfigTreeTest, ShufflesStandWhereTheyCan) {
  const BlockShuffleOptions blocks{.chunk_tokens = 200, .window_chunks = 4};
  const Tokens a = Store("a");
  EXPECT_THAT(ParseData("path = 'a'\n"), IsTheTree(Shuffle(a).value()));
  EXPECT_THAT(ParseData("path = 'a'\nera_shuffle = 40\n"),
              IsTheTree(EraShuffle(a, 40).value()));
  EXPECT_THAT(ParseData("path = 'a'\nblock_shuffle = { chunk_tokens = 200, "
                        "window_chunks = 4 }\n"),
              IsTheTree(BlockShuffle(a, blocks).value()));
  FlatMixtureOptions in_flat;
  in_flat.shuffle = ShuffleOptions::Blocks(blocks);
  EXPECT_THAT(ParseData("flat = { a = { path = 'a' }, c = { path = 'c' } }\n"
                        "block_shuffle = { chunk_tokens = 200, "
                        "window_chunks = 4 }\n"),
              IsTheTree(FlatMixture<TokenWindow>::Create(
                            {{"a", a}, {"c", Store("c")}}, in_flat)
                            .value()));
  std::vector<MixtureComponent<TokenWindow>> components(2);
  components[0] = {"a", a, 1, ShuffleOptions::Blocks(blocks), std::nullopt};
  components[1] = {"c", Store("c"), 2, ShuffleOptions::Eras(10), 900};
  MixtureOptions options;
  EXPECT_THAT(
      ParseData("[data.mixture]\n"
                "a = { path = 'a', weight = 1, block_shuffle = { chunk_tokens "
                "= 200, window_chunks = 4 } }\n"
                "c = { path = 'c', weight = 2, era_shuffle = 10, max_epochs = "
                "900 }\n"),
      IsTheTree(
          MixtureDataset<TokenWindow>::Create(components, options).value()));
  EXPECT_THAT(ParseData("concat = [ { path = 'a', shuffle = true }, { path = "
                        "'c' } ]\nshuffle = false\n"),
              IsTheTree(Concat<TokenWindow>(
                            {{"0", Shuffle(a).value()}, {"1", Store("c")}})
                            .value()));
}

TEST_F(ConfigTreeTest, WhatHasAnOrderIsNotShuffledAgain) {
  const auto refused = [&](const std::string& node, const std::string& why) {
    EXPECT_THAT(
        TryParse("[data]\nsteps = 3\nbatch_size = 8\nseq_len = 20\n" + node),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)))
        << node;
  };
  refused("flat = { a = { path = 'a' } }\nshuffle = false\n",
          "t.toml:6:11: data.shuffle cannot be false: flat shuffles");
  refused("mixture = { a = { path = 'a', weight = 1 } }\nshuffle = false\n",
          "data.shuffle cannot be false: a mixture has an order");
  refused("mixture = { a = { path = 'a', weight = 1 } }\nera_shuffle = 4\n",
          "data.era_shuffle is not allowed here: a mixture");
  refused("concat = [ { flat = { a = { path = 'a' } } } ]\nera_shuffle = 4\n",
          "t.toml:1:1: data: has an order of its own");
  refused("path = 'a'\nshuffle = true\nera_shuffle = 4\n",
          "data.era_shuffle cannot be combined with shuffle");
}

TEST_F(ConfigTreeTest, MixturesHaveRulesAndStops) {
  std::vector<MixtureComponent<TokenWindow>> components(2);
  components[0] = {"a", Store("a"), 0.5};
  components[1] = {"c", Store("c"), -INFINITY};
  MixtureOptions options;
  options.weight_rule = WeightRule::kScores;
  options.temperature = 0.5;
  options.block_size = 16;
  components[1].weight = -1.5;
  EXPECT_THAT(
      ParseData("weight_rule = 'scores'\ntemperature = 0.5\nblock_size = 16\n"
                "[data.mixture]\na = { path = 'a', weight = 0.5 }\n"
                "c = { path = 'c', weight = -1.5 }\n"),
      IsTheTree(
          MixtureDataset<TokenWindow>::Create(components, options).value()));
  components[0].weight = 1;
  components[1].weight = 2;
  options.weight_rule = WeightRule::kSizeProportional;
  options.temperature = INFINITY;
  options.stop_rule = StopRule::kFirstExhausted;
  EXPECT_THAT(
      ParseData("weight_rule = 'sizes'\ntemperature = inf\nblock_size = 16\n"
                "stop = 'first_exhausted'\n"
                "[data.mixture]\na = { path = 'a', weight = 1 }\n"
                "c = { path = 'c', weight = 2 }\n"),
      IsTheTree(
          MixtureDataset<TokenWindow>::Create(components, options).value()));
}

// By sizes, w x items: 500 items of a, 150 of c.
TEST_F(ConfigTreeTest, SharesBySizeAreThoseOfTheStores) {
  const Config config = ParseData(
      "weight_rule = 'sizes'\n[data.mixture]\na = { path = 'a', weight = 1 }\n"
      "c = { path = 'c', weight = 2 }\n");
  EXPECT_THAT(config.schedule().At(0).weights,
              ::testing::ElementsAre(::testing::DoubleNear(500. / 800, 1e-12),
                                     ::testing::DoubleNear(300. / 800, 1e-12)));
}

TEST_F(ConfigTreeTest, ANodeThatIsUsedIsTheNodeItself) {
  const std::string used =
      "[data.nodes]\nx = { path = 'a', take = 90 }\n"
      "y = { flat = { one = { use = 'x' }, two = { path = 'c' } } }\n"
      "[data.mixture]\nm = { use = 'y', weight = 1 }\n"
      "n = { use = 'x', weight = 2, slice = [0, 50] }\n";
  const std::string spelt =
      "[data.mixture]\nm = { weight = 1, flat = { one = { path = 'a', take = "
      "90 }, two = { path = 'c' } } }\n"
      "n = { weight = 2, slice = [0, 50], concat = [ { path = 'a', take = 90, "
      "name = 'n' } ] }\n";
  const Config config = ParseData(used);
  std::set<std::string> paths;
  for (const ConfigSource& source : config.sources()) paths.insert(source.path);
  EXPECT_THAT(paths, ::testing::ElementsAre("m/one", "m/two", "n"));
  std::vector<std::string> expected = TraceOf(ParseData(spelt));
  for (std::string& line : expected) {
    const size_t at = line.find("n/n");
    if (at != std::string::npos) line.erase(at, 2);
  }
  EXPECT_EQ(TraceOf(config), expected);
}

TEST_F(ConfigTreeTest, TheOrderOfDeclarationChangesNoToken) {
  const std::string head =
      "[data]\nseed = 3\nsteps = 60\nbatch_size = 8\nseq_len = 20\n"
      "[[data.stages]]\nstart_step = 30\nweights = { a = 1, f = 4, m = 1 }\n"
      "ramp_steps = 10\nramp_blocks = 1\n";
  const std::string a = "a = { path = 'a', weight = 2 }\n";
  const std::string f =
      "f = { weight = 1, flat = { b = { path = 'b' }, c = { path = 'c' } } }\n";
  const std::string f2 =
      "f = { weight = 1, flat = { c = { path = 'c' }, b = { path = 'b' } } }\n";
  const std::string m =
      "m = { weight = 1, mixture = { c = { path = 'c', weight = 1 }, b = { "
      "path = 'b', weight = 3 } } }\n";
  const std::string m2 =
      "m = { weight = 1, mixture = { b = { path = 'b', weight = 3 }, c = { "
      "path = 'c', weight = 1 } } }\n";
  const std::vector<std::string> trace =
      TraceOf(Parse(head + "[data.mixture]\n" + a + f + m));
  EXPECT_EQ(trace.size(), 480u);
  EXPECT_EQ(TraceOf(Parse(head + "[data.mixture]\n" + m2 + f2 + a)), trace);
}

TEST_F(ConfigTreeTest, ANumberOfTokensStandsForAStoreOfThatSize) {
  const Config config = ParseData(
      "[data.mixture]\na = { tokens = 10000, weight = 1 }\n"
      "c = { tokens = 3e3, weight = 1 }\n");
  EXPECT_EQ(TraceOf(config),
            TraceOf(ParseData("[data.mixture]\na = { path = 'a', weight = 1 }\n"
                              "c = { path = 'c', weight = 1 }\n")));
  EXPECT_THAT(
      config.OpenLoader(),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("a, c"), HasSubstr("number of tokens"))));
  EXPECT_EQ(config.vocabulary().tokenizer, "");
}

TEST_F(ConfigTreeTest, TwoTokenizersAreRefusedWithBothNames) {
  EXPECT_THAT(
      TryParse("[data]\nsteps = 3\nbatch_size = 8\nseq_len = 20\n"
               "[data.mixture]\n"
               "a = { tokens = 900, tokenizer = 'x', vocab_size = 9, weight = "
               "1 }\n"
               "b = { tokens = 900, tokenizer = 'y', vocab_size = 9, weight = "
               "1 }\n"),
      StatusIs(
          absl::StatusCode::kInvalidArgument,
          AllOf(HasSubstr("t.toml:"), HasSubstr("'x'"), HasSubstr("'y'"))));
}

TEST_F(ConfigTreeTest, StagesCanBePlacedInEveryWay) {
  const auto starts = [&](const std::string& second, const std::string& run) {
    const Config config =
        Parse("[data]\nbatch_size = 10\nseq_len = 20\npath = 'a'\n" + run +
              "\n[[data.stages]]\n" + second + "\nname = 's'\n");
    return config.schedule().stages().back().start_step;
  };
  const std::string steps = "steps = 400";
  EXPECT_EQ(starts("start_step = 100", steps), 100u);
  EXPECT_EQ(starts("start_step = -100", steps), 300u);
  EXPECT_EQ(starts("start_sample = 1000", steps), 100u);
  EXPECT_EQ(starts("start_sample = 1001", steps), 101u);
  EXPECT_EQ(starts("start_sample = -10", steps), 399u);
  EXPECT_EQ(starts("start_token = 20_000", steps), 100u);
  EXPECT_EQ(starts("start_token = -20_000", steps), 300u);
  EXPECT_EQ(starts("start_share = 0.25", steps), 100u);
  EXPECT_EQ(starts("start_share = 0.25", "total_tokens = 80e3"), 100u);
}

TEST_F(ConfigTreeTest, SharesOfStagesAreTheirLengths) {
  const Config config = Parse(
      "[data]\nsteps = 1000\nbatch_size = 4\nseq_len = 20\npath = 'a'\n"
      "stages = [ { name = 'x', share = 0.3333333 }, { name = 'y', share = "
      "0.3333333 }, { name = 'z', share = 0.3333333 } ]\n");
  std::vector<uint64_t> starts;
  for (const PlannedStage& stage : config.schedule().stages()) {
    starts.push_back(stage.start_step);
  }
  EXPECT_THAT(starts, ::testing::ElementsAre(0, 333, 667));
}

TEST_F(ConfigTreeTest, AStageAtTheStartSaysTheComponentsWeights) {
  const Config config = ParseData(
      "[data.mixture]\na = { path = 'a' }\nc = { path = 'c', weight = 5 }\n"
      "[[data.stages]]\nstart_step = 0\nname = 'one'\n"
      "weights = { a = 3, c = 1 }\n"
      "[[data.stages]]\nstart_step = 20\nweights = { a = 1 }\n");
  EXPECT_THAT(config.schedule().At(0).weights,
              ::testing::ElementsAre(0.75, 0.25));
  EXPECT_EQ(config.schedule().At(0).stage_name, "one");
  EXPECT_THAT(config.schedule().At(20).weights,
              ::testing::ElementsAre(0.5, 0.5));
}

TEST_F(ConfigTreeTest, StagesSayEverythingThatAScheduleHas) {
  const Config config = Parse(R"([data]
steps = 100
batch_size = 8
seq_len = 10
block_size = 8
max_seq_len = 40
trim = true
temperature = 2.0
mixture = { a = { path = 'a', weight = 4 }, c = { path = 'c', weight = 1 } }
[[data.stages]]
start_step = 50
name = "s"
lr_scale = 0.5
lr_scale_end = 0.1
batch_size = 16
seq_len = 20
weights = { a = 1, c = 9 }
temperature = 1.0
ramp_samples = 64
ramp_blocks = 1
numbers = { rope = 5e5 }
[[data.batch_sizes]]
start_step = 80
batch_size = 4
[[data.seq_lens]]
start_step = 90
seq_len = 40
)");
  const Schedule& schedule = config.schedule();
  EXPECT_EQ(schedule.max_seq_len(), 40u);
  EXPECT_THAT(schedule.At(0).weights,
              ::testing::ElementsAre(::testing::DoubleNear(2. / 3, 1e-12),
                                     ::testing::DoubleNear(1. / 3, 1e-12)));
  const StepPlan at = schedule.At(75);
  EXPECT_EQ(at.stage_name, "s");
  EXPECT_EQ(at.batch_size, 16u);
  EXPECT_EQ(at.seq_len, 20u);
  EXPECT_NEAR(at.lr_scale, 0.3, 1e-12);
  EXPECT_EQ(at.numbers.at("rope"), 5e5);
  EXPECT_NEAR(at.weights[0], 0.1, 1e-12);
  EXPECT_EQ(schedule.stages()[1].ramp_samples, 64u);
  EXPECT_EQ(schedule.stages()[1].ramp_blocks, 1u);
  EXPECT_EQ(schedule.At(80).batch_size, 4u);
  EXPECT_EQ(schedule.At(90).seq_len, 40u);
  // trim: the beginnings of windows.
  const RunTrace trace(*config.dataset(), schedule);
  ASSERT_OK_AND_ASSIGN(const auto samples, trace.Resolve(3));
  for (const SampleOrigin& sample : samples) {
    EXPECT_EQ(sample.token_begin, 0u);
    EXPECT_EQ(sample.token_end, 10u);
  }
}

TEST_F(ConfigTreeTest, ARootThatIsNoMixtureIsCut) {
  const Config config = Parse(
      "[data]\nsteps = 300\nbatch_size = 8\nseq_len = 10\nmax_seq_len = 20\n"
      "path = 'a'\n[[data.seq_lens]]\nstart_step = 100\nseq_len = 20\n");
  const std::vector<std::string> trace = TraceOf(config);
  ASSERT_EQ(trace.size(), 2400u);
  // 1000 half windows in the first epoch, none twice.
  EXPECT_EQ(std::set<std::string>(trace.begin(), trace.end()).size(), 2400u);
  EXPECT_THAT(trace[0],
              ::testing::AnyOf(HasSubstr("0..10"), HasSubstr("10..20")));
  EXPECT_THAT(trace[2000], HasSubstr("0..20"));
}

// A length that changes later is none of the past, whatever the root is.
TEST_F(ConfigTreeTest, ALaterLengthLeavesThePastAsItWas) {
  for (const std::string root :
       {"flat = { a = { path = 'a' }, b = { path = 'b' } }",
        "flat = { a = { path = 'a', take = 20 }, b = { shuffle = true, path = "
        "'b' } }",
        "concat = [{ name = 'a', path = 'a' }, { name = 'b', path = 'b' }]",
        "path = 'a'", "path = 'a'\nshuffle = false",
        "path = 'a'\ntake = 77\nblock_shuffle = { chunk_items = 4, "
        "window_chunks = 2 }",
        "path = 'a'\nera_shuffle = 16"}) {
    const std::string text =
        "[data]\nseed = 42\nsteps = 100\nbatch_size = 4\nseq_len = 20\n" +
        root + "\n";
    const Config whole = Parse(text);
    for (const char* const later :
         {"[[data.stages]]\nstart_step = 50\nseq_len = 10\n",
          "[[data.seq_lens]]\nstart_step = 50\nseq_len = 7\n"}) {
      const Config changed = Parse(text + later);
      std::vector<std::string> expected = TraceOf(whole);
      std::vector<std::string> trace = TraceOf(changed);
      ASSERT_EQ(trace.size(), 400u) << root;
      expected.resize(200);
      trace.resize(200);
      EXPECT_EQ(trace, expected) << root << later;
      // So a run may get it while it lasts, until it has come.
      for (const uint64_t step : {0, 1, 49, 50}) {
        const auto before = *whole.OpenLoader();
        ASSERT_THAT(before->Seek(step), IsOk());
        EXPECT_THAT((*changed.OpenLoader())->Resume(before->State()), IsOk())
            << root << later << step;
      }
      const auto behind = *whole.OpenLoader();
      ASSERT_THAT(behind->Seek(51), IsOk());
      EXPECT_THAT(
          (*changed.OpenLoader())->Resume(behind->State()),
          StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("length")))
          << root << later;
    }
  }
}

TEST_F(ConfigTreeTest, ThresholdsChangeWithStages) {
  const std::vector<float> scores = Scores();
  const Config config = Parse(
      "[data]\nsteps = 200\nbatch_size = 10\nseq_len = 20\nblock_size = 10\n"
      "[data.mixture]\n"
      "a = { path = 'a', weight = 1, filter = { scores = 'a.f32', at_least = "
      "0.5 } }\n"
      "c = { path = 'c', weight = 1 }\n"
      "[[data.stages]]\nstart_step = 100\nthresholds = { a = 0.9 }\n");
  const RunTrace trace(*config.dataset(), config.schedule());
  std::map<bool, float> least = {{false, 9}, {true, 9}};
  for (uint64_t step = 0; step < 200; ++step) {
    ASSERT_OK_AND_ASSIGN(const auto samples, trace.Resolve(step));
    for (const SampleOrigin& sample : samples) {
      if (sample.path != "a") continue;
      float& now = least[step >= 100];
      now = std::min(now, scores[sample.item]);
    }
  }
  EXPECT_NEAR(least[false], 0.5, 0.01);
  EXPECT_NEAR(least[true], 0.9, 1e-6);
}

// A stage of a nested mixture begins with the run's step: from there on, and
// not before, it draws as the stage says.
TEST_F(ConfigTreeTest, NestedStagesCanGoByTheRunsSteps) {
  for (const char* start :
       {"start_step = 120", "start_step = -80", "start_token = 24_000"}) {
    const Config config = Parse(absl::StrCat(
        "[data]\nsteps = 200\nbatch_size = 10\nseq_len = 20\nblock_size = 10\n"
        "[data.mixture]\na = { path = 'a', weight = 1 }\n"
        "[data.mixture.m]\nweight = 1\nblock_size = 10\n"
        "mixture = { c = { path = 'c', weight = 1 }, n = { weight = 1, "
        "block_size = 1, mixture = { x = { path = 'a', weight = 1 }, y = { "
        "path = 'c', weight = 0 } }, stages = [ { ",
        start, ", weights = { x = 0, y = 1 } } ] } }\n"));
    const RunTrace trace(*config.dataset(), config.schedule());
    uint64_t early = 0;
    uint64_t late = 0;
    for (uint64_t step = 0; step < 200; ++step) {
      ASSERT_OK_AND_ASSIGN(const auto samples, trace.Resolve(step));
      for (const SampleOrigin& sample : samples) {
        early += step < 120 && sample.path == "m/n/y";
        late += step >= 120 && sample.path == "m/n/x";
      }
    }
    // Blocks that the boundary cuts deal a sample or two to its other side.
    EXPECT_LE(early, 3u) << start;
    EXPECT_LE(late, 3u) << start;
  }
}

TEST_F(ConfigTreeTest, NestedStagesBelowAShuffleCannotGoByTheRun) {
  EXPECT_THAT(
      TryParse("[data]\nsteps = 9\nbatch_size = 8\nseq_len = 20\n"
               "[data.flat.m]\ntake = 50\nmixture = { a = { path = 'a', weight "
               "= 1 } }\nstages = [ { start_step = 5 } ]\n"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("t.toml:8:12: data.flat.m.stages[0]"),
                     HasSubstr("state start_sample"))));
}

TEST_F(ConfigTreeTest, ARunThatAMixtureEndsIsNotProlonged) {
  const Config config = ParseData(
      "stop = 'first_exhausted'\nblock_size = 10\n[data.mixture]\n"
      "b = { path = 'b', weight = 1 }\nc = { path = 'c', weight = 1 }\n");
  // 38 windows of b: the blocks of 5 of each before the 39th.
  EXPECT_EQ(config.dataset()->CurrentLength(), 70u);
  const Config limited = ParseData(
      "block_size = 10\n[data.mixture]\nb = { path = 'b', weight = 1, "
      "max_epochs = 2 }\nc = { path = 'c', weight = 1 }\n");
  EXPECT_EQ(limited.dataset()->CurrentLength(), 150u);
}

TEST_F(ConfigTreeTest, AFileInTheWorkingDirectoryCanBePrinted) {
  const auto config = Config::Parse(
      "[data]\nsteps = 3\nbatch_size = 1\nseq_len = 4\ntokens = 99\n", "t.toml",
      "");
  ASSERT_THAT(config, IsOk());
  EXPECT_THAT(config->ToToml(), HasSubstr("tokens = 99"));
  const std::string before = std::filesystem::current_path();
  std::filesystem::current_path(dir_.path());
  const auto stored = Config::Parse(
      "[data]\nsteps = 3\nbatch_size = 1\nseq_len = 20\npath = 'a'\n", "t.toml",
      "");
  ASSERT_THAT(stored, IsOk());
  EXPECT_THAT(stored->ToToml(),
              HasSubstr("path = \"" + std::filesystem::current_path().string() +
                        "/a\""));
  std::filesystem::current_path(before);
}

TEST_F(ConfigTreeTest, WeightsOfANodeThatIsUsedCanFollowFromTheFirstStage) {
  const Config config = ParseData(
      "use = 'm'\nnodes = { m = { mixture = { a = { path = 'a' }, c = { path = "
      "'c' } } } }\n[[data.stages]]\nstart_step = 0\nweights = { a = 1, c = 3 "
      "}\n");
  EXPECT_THAT(config.schedule().At(0).weights,
              ::testing::ElementsAre(0.25, 0.75));
}

// What only the whole schedule knows is said where the stage stands.
TEST_F(ConfigTreeTest, StagesThatDoNotFitTheRunAreNamedByTheirPlace) {
  const auto refused = [&](const std::string& stages, const std::string& why) {
    EXPECT_THAT(TryParse("[data]\nsteps = 100\nbatch_size = 4\nseq_len = "
                         "20\npath = 'a'\nstages = [ " +
                         stages + " ]\n"),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)))
        << stages;
  };
  refused("{ start_step = 5 }, { start_sample = 800 }",
          "t.toml:6:32: data.stages[1]: stage 1 starts at sample 800, but the "
          "run ends after 100 steps");
  refused("{ start_step = 60 }, { start_step = -50 }",
          "t.toml:6:33: data.stages[1]: stage 1 starts at step -50 (step 50, "
          "sample 200), which is in no later step than stage 0 at step 60 "
          "(sample 240)");
  refused("{ start_step = 60 }, { start_sample = 280 }, { start_step = 50 }",
          "t.toml:6:72: data.stages[2].start_step must be at least 61");
  refused("{ start_share = 1.0 }",
          "data.stages[0].start_share must be at least 0 and below 1, got 1");
}

// In the unit of the file, at the place of the stage.
TEST_F(ConfigTreeTest, ErrorsOfStagesSayWhatTheFileSays) {
  const auto refused = [&](const std::string& text, const std::string& why) {
    EXPECT_THAT(TryParse(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)));
  };
  const std::string head =
      "[data]\nsteps = 100000\nbatch_size = 8\nseq_len = 20\n";
  refused(head +
              "block_size = 1\nmixture = { a = { tokens = 900, weight = 1 } }\n"
              "[[data.stages]]\nstart_step = 20\nramp_steps = 9000\n"
              "ramp_blocks = 1\n",
          "t.toml:7:1: data.stages[0]: stage 0 at step 20 (sample 160): a ramp "
          "of 9000 steps (72000 samples) in steps of 1 blocks");
  const std::string nested =
      head +
      "block_size = 8\n[data.mixture]\na = { tokens = 900, weight = 1 }\n"
      "[data.mixture.m]\nweight = 1\nblock_size = 1\n"
      "mixture = { c = { tokens = 900, weight = 1 } }\n"
      "[[data.mixture.m.stages]]\nname = 'late'\nramp_samples = 70000\n"
      "ramp_blocks = 1\n";
  refused(nested + "start_step = 100\n",
          "t.toml:12:1: data.mixture.m.stages[0]: stage 0 ('late') at step 100 "
          "(sample 400 of this mixture): a ramp of 70000 samples");
  refused(nested + "start_sample = 400\n",
          "t.toml:12:1: data.mixture.m.stages[0]: stage 0 ('late') at sample "
          "400: a ramp of 70000 samples");
  refused(head +
              "[data.mixture]\na = { tokens = 900, weight = 1 }\n"
              "m = { weight = 0, mixture = { c = { tokens = 900, weight = 1 } "
              "}, stages = [ { start_step = 5 } ] }\n"
              "[[data.stages]]\nstart_step = 50\nweights = { m = 1 }\n",
          "data.mixture.m.stages[0]: starts at step 5, before anything is "
          "drawn from this mixture");
}

// All of them, each at its place; what is not smooth is only warned of.
TEST_F(ConfigTreeTest, RampsThatJumpAreNamed) {
  const auto run = [](const std::string& ramp_a, const std::string& ramp_b) {
    return absl::StrCat(
        "[data]\nsteps = 1000\nbatch_size = 8\nseq_len = 20\nblock_size = "
        "512\n[data.mixture]\na = { tokens = 90000, weight = 1 }\n"
        "b = { tokens = 90000, weight = 1 }\n"
        "[[data.stages]]\nstart_step = 200\nweights = { a = 3 }\n",
        ramp_a, "\n[[data.stages]]\nname = 'late'\nstart_step = 600\n", ramp_b,
        "\n");
  };
  const auto short_ones = TryParse(run("ramp_steps = 20", "ramp_samples = 8"));
  EXPECT_THAT(
      short_ones,
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("t.toml:9:1: data.stages[0]: stage 0 at step "
                               "200 (sample 1600): a ramp of 20 steps (160 "
                               "samples) is shorter than a block of 512"),
                     HasSubstr("\nt.toml:13:1: data.stages[1]: stage 1 "
                               "('late') at step 600 (sample 4800): a ramp of "
                               "8 samples is shorter"))));
  // Of many, only the first have their place.
  std::string many = run("ramp_samples = 8", "ramp_samples = 8");
  for (int step = 601; step < 612; ++step) {
    absl::StrAppend(&many, "[[data.stages]]\nstart_step = ", step,
                    "\nramp_samples = 8\n");
  }
  EXPECT_THAT(
      TryParse(many).status().message(),
      AllOf(HasSubstr("\n  and "), ::testing::Not(HasSubstr("data:   and"))));
  // They are told together with the errors of components, and of a ramp in
  // which nothing changes, nothing is.
  const std::string wrong =
      absl::StrReplaceAll(run("ramp_steps = 20", ""),
                          {{"b = { tokens = 90000",
                            "b = { path = 'b', filter = { scores = 'x.f32', "
                            "at_least = 1 }"}});
  EXPECT_THAT(
      TryParse(wrong),
      StatusIs(absl::StatusCode::kNotFound,
               AllOf(HasSubstr("x.f32"),
                     HasSubstr("t.toml:9:1: data.stages[0]: stage 0 at"))));
  const auto still = TryParse(run("", "ramp_steps = 100\nweights = { a = 3 }"));
  ASSERT_THAT(still, IsOk());
  EXPECT_THAT(still->warnings(), ::testing::IsEmpty());
  const auto coarse = TryParse(run("ramp_steps = 100", "ramp_steps = 300"));
  ASSERT_THAT(coarse, IsOk());
  EXPECT_THAT(
      coarse->warnings(),
      ElementsAre(AllOf(
          HasSubstr("t.toml:9:1: data.stages[0]: stage 0 at step 200"),
          HasSubstr("changes the shares in 3 jumps"),
          HasSubstr("between blocks of 512 samples; for a new run, block_size "
                    "= 50 makes it smooth"))));
  const auto meant =
      TryParse(run("ramp_steps = 100\nramp_blocks = 1", "ramp_steps = 300"));
  ASSERT_THAT(meant, IsOk());
  EXPECT_THAT(meant->warnings(), ::testing::IsEmpty());
}

// All of them at once, each at its place and once; of evaluations, too.
TEST_F(ConfigTreeTest, ErrorsOfAllNodesAreTold) {
  const std::string text = R"([data]
steps = 10
batch_size = 2
seq_len = 20
[data.mixture]
a = { path = 'a', weight = 1, filter = { scores = 'x.f32', at_least = 1 } }
b = { path = 'b', weight = 1 }
[data.mixture.m]
weight = 1
[data.mixture.m.flat]
c = { path = 'c' }
d = { path = 'a', filter = { scores = 'y.f32', at_least = 1 } }
)";
  const auto lines = [](const absl::Status& status) {
    return std::vector<std::string>(
        absl::StrSplit(std::string(status.message()), '\n'));
  };
  EXPECT_THAT(lines(TryParse(text).status()),
              ElementsAre(AllOf(HasSubstr("t.toml:6:40: data.mixture.a.filter"),
                                HasSubstr("x.f32")),
                          AllOf(HasSubstr("t.toml:12:"), HasSubstr("y.f32"))));
  const std::string good =
      "[data]\nsteps = 10\nbatch_size = 2\nseq_len = 20\n"
      "path = 'a'\n";
  EXPECT_THAT(
      lines(TryParse(good +
                     "[data.eval.e]\npath = 'b'\nfilter = { scores = "
                     "'x.f32', at_least = 1 }\n[data.eval.f]\npath = "
                     "'b'\nfilter = { scores = 'y.f32', at_least = 1 }\n")
                .status()),
      ElementsAre(AllOf(HasSubstr("data.eval.e"), HasSubstr("x.f32")),
                  AllOf(HasSubstr("data.eval.f"), HasSubstr("y.f32"))));
}

// A store that is missing hides no error of the schedule, of other nodes, of a
// node above it, or of evaluations.
TEST_F(ConfigTreeTest, ErrorsOfEveryKindAreToldTogether) {
  const std::string text = R"([data]
steps = 10
batch_size = 2
seq_len = 20
[data.mixture.m]
weight = 1
flat = { a = { path = 'a' }, b = { path = 'missing' } }
[data.mixture.n]
weight = 1
path = 'b'
filter = { scores = 'x.f32', at_least = 1 }
[data.eval.e]
path = 'gone'
[data.eval.f]
path = 'missing'
)";
  const auto lines = [](const absl::Status& status) {
    return std::vector<std::string>(
        absl::StrSplit(std::string(status.message()), '\n'));
  };
  EXPECT_THAT(
      lines(TryParse(text).status()),
      ElementsAre(
          AllOf(HasSubstr("data.mixture.m.flat.b"), HasSubstr("missing")),
          AllOf(HasSubstr("data.mixture.n.filter"), HasSubstr("x.f32")),
          AllOf(HasSubstr("data.eval.e"), HasSubstr("gone")),
          AllOf(HasSubstr("data.eval.f"), HasSubstr("missing"))));
  const std::string late =
      "[[data.batch_sizes]]\nstart_sample = 8\nbatch_size = 3\n"
      "[[data.batch_sizes]]\nstart_step = 4\nbatch_size = 4\n[data.eval.e]";
  EXPECT_THAT(
      lines(TryParse(absl::StrReplaceAll(text, {{"[data.eval.e]", late}}))
                .status()),
      ElementsAre(HasSubstr("missing"), HasSubstr("data.batch_sizes[1]"),
                  HasSubstr("gone"), HasSubstr("data.eval.f")));
}

// Of every kind of key.
TEST_F(ConfigTreeTest, WhatIsPrintedIsTheSameRun) {
  Scores();
  WriteFloats("c.f32", std::vector<float>(150, 2));
  const std::vector<std::string> texts = {
      R"([data]
seed = 11
total_tokens = 60_000
batch_size = 8
seq_len = 10
max_seq_len = 20
shares_of = "tokens"
block_size = 16
last_batch = "drop"
[data.nodes]
"we ird" = { path = 'a', filter = { scores = 'a.f32', at_least = 0.25 } }
both = { concat = [ { use = 'we ird' }, { path = 'c', name = 'c"c' } ] }
[data.mixture]
a = { use = 'we ird', shuffle = false, max_epochs = 400 }
"b.b" = { path = 'a', era_shuffle = 10, weight = 1, filter = { scores = 'a.f32', at_least = 0.5 } }
f = { weight = 2, seed = 5, flat = { x = { use = 'both', slice = [1, 300] }, y = { path = 'b', repeat = 2 } }, block_shuffle = { chunk_items = 3, window_chunks = 7 } }
[data.mixture.m]
weight = 1.5
temperature = 3
loss_weight = 0.5
mixture = { c = { path = 'c', weight = 1, block_shuffle = true }, d = { path = 'c', weight = 2, order = { scores = 'c.f32', direction = 'descending', buckets = 4 } } }
stages = [ { start_token = 30_000, weights = { c = 0 }, ramp_samples = 64, ramp_blocks = 1 } ]
[[data.stages]]
start_step = 0
weights = { a = 1, "b.b" = 3 }
lr_scale_end = 0.5
[[data.stages]]
start_share = 0.3
ramp_share = 0.1
ramp_blocks = 1
ramp_centred = true
temperature = 2
weights = { a = 2 }
numbers = { x = 1e-9 }
[[data.stages]]
start_token = -13_111
thresholds = { "b.b" = 0.75 }
seq_len = 20
[[data.batch_sizes]]
start_share = 0.5
batch_size = 16
[runtime]
io = "pread"
tensors = ["positions"]
cache_bytes = 77
)",
      "[data]\nbatch_size = 8\nseq_len = "
      "20\nsteps = 40\ntake = 100\nuse = "
      "'x'\nnodes = { x = { path = 'a', "
      "slice = [0, 300], shuffle = true } }\n"};
  for (const std::string& text : texts) {
    const Config config = Parse(text);
    const std::string printed = config.ToToml();
    const auto again = Config::Parse(printed, "printed.toml", "/nowhere");
    ASSERT_THAT(again, IsOk()) << printed;
    EXPECT_EQ(again->dataset()->fingerprint(), config.dataset()->fingerprint())
        << printed;
    EXPECT_EQ(TraceOf(*again), TraceOf(config)) << printed;
    for (uint64_t step = 0; step < config.schedule().steps(); ++step) {
      const StepPlan a = config.schedule().At(step);
      const StepPlan b = again->schedule().At(step);
      EXPECT_EQ(a.lr_scale, b.lr_scale);
      EXPECT_EQ(a.weights, b.weights);
      EXPECT_EQ(a.numbers, b.numbers);
    }
    EXPECT_EQ(again->loader_options().loss_weights,
              config.loader_options().loss_weights);
    EXPECT_EQ(again->loader_options().tensors, config.loader_options().tensors);
    EXPECT_EQ(again->ToToml(), printed);
  }
}

TEST_F(ConfigTreeTest, AnErrorOfAChangeOfSizeNamesItsLine) {
  constexpr char kRun[] =
      "[data]\nsteps = 30\nbatch_size = 8\nseq_len = 10\npath = 'a'\n";
  EXPECT_THAT(Config::Parse(absl::StrCat(kRun,
                                         "[[data.batch_sizes]]\n"
                                         "start_sample = 40\nbatch_size = 4\n"
                                         "[[data.batch_sizes]]\n"
                                         "start_step = 3\nbatch_size = 4\n"),
                            "t.toml", dir_.path()),
              StatusIs(testing::kInvalid,
                       ::testing::StartsWith(
                           "t.toml:9:1: data.batch_sizes[1]: batch_sizes[1] "
                           "(batch_size 4) starts at step 3 ")));
  EXPECT_THAT(Config::Parse(absl::StrCat(kRun,
                                         "[[data.seq_lens]]\n"
                                         "start_token = 9999\nseq_len = 20\n"),
                            "t.toml", dir_.path()),
              StatusIs(testing::kInvalid,
                       ::testing::StartsWith(
                           "t.toml:6:1: data.seq_lens[0]: seq_lens[0] "
                           "(seq_len 20) starts at token 9999")));
}

TEST_F(ConfigTreeTest, SourcesOfOnePathThatAreFilledInTheMiddleAreNamed) {
  const std::string sizes =
      "[data]\nsteps = 30\nbatch_size = 8\nseq_len = 20\n";
  const std::string fim =
      "fill_in_the_middle = { prefix = 1, middle = 2, suffix = 3 }";
  EXPECT_THAT(
      TryParse(sizes + "[data.mixture]\n\"x/y\" = { weight = 1, path = 'a', " +
               fim + " }\nx = { weight = 1, flat = { y = { path = 'c', " + fim +
               " } } }\n"),
      StatusIs(testing::kInvalid,
               AllOf(::testing::StartsWith("t.toml:7:"),
                     HasSubstr(": data.mixture.x.flat.y.fill_in_the_middle: "
                               "fill_in_the_middle is stated twice for 'x/y', "
                               "also at t.toml:6:"),
                     HasSubstr("rename one of them"))));
  // Stated once, for both.
  EXPECT_THAT(
      TryParse(sizes + fim +
               "\n[data.mixture]\n\"x/y\" = { weight = 1, path = 'a' }\n"
               "x = { weight = 1, flat = { y = { path = 'c' } } }\n"),
      StatusIs(testing::kInvalid,
               AllOf(::testing::StartsWith("t.toml:5:"),
                     HasSubstr("twice for 'x/y': two sources have this path"),
                     ::testing::Not(HasSubstr("also at")))));
}

}  // namespace
}  // namespace poniente
