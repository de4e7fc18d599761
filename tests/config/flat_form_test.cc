// SPDX-License-Identifier: Apache-2.0
// KempnerForge's form of [data], read unchanged.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "poniente/config.h"
#include "poniente/run_trace.h"
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

// All tables that its trainer knows.
constexpr char kFile[] = R"(
[model]
dim = 512
[train]
batch_size = 2
seq_len = 20
max_steps = 120
grad_accum_steps = 2
seed = 7
compile_model = true
[optimizer]
betas = [0.9, 0.95]
[distributed]
dp_shard = 2
tp = 1
[data]
tokenizer_path = "meta-llama/Llama-3.1-8B"
file_pattern = "*.npy"
num_workers = 4
pin_memory = true
prefetch_factor = 2
pack_sequences = false
mix_temperature = 2.0
anneal_start_step = 0
[[data.datasets]]
path = "a"
weight = 9.0
[[data.datasets]]
name = "sea"
path = "./c/"
hf_config = ""
[[data.phases]]
start_step = 33
dataset_weights = { sea = 4.0 }
lr_scale = 0.5
[[data.phases]]
start_step = 66
dataset_weights = { a = 0.0 }
)";

class FlatFormTest : public SmallStores {
 protected:
  absl::StatusOr<Config> Parse(const std::string& text) {
    return Config::Parse(text, "t.toml", dir_.path());
  }
  absl::StatusOr<Config> ParseChanged(const std::string& from,
                                      const std::string& to) {
    const std::string text = absl::StrReplaceAll(kFile, {{from, to}});
    EXPECT_NE(text, kFile) << from;
    return Parse(text);
  }
};

std::vector<std::string> TraceOfFlatForm(const Config& config) {
  std::vector<std::string> lines;
  const RunTrace trace(*config.dataset(), config.schedule());
  for (uint64_t step = 0; config.schedule().Has(step); ++step) {
    const auto samples = trace.Resolve(step);
    EXPECT_THAT(samples, IsOk());
    for (const SampleOrigin& sample : *samples) {
      lines.push_back(absl::StrCat(sample.path, " ", sample.item));
    }
  }
  return lines;
}

TEST_F(FlatFormTest, IsAMixtureWithStages) {
  ASSERT_OK_AND_ASSIGN(const Config config, Parse(kFile));
  ASSERT_OK_AND_ASSIGN(const Config same, Parse(R"([data]
seed = 7
steps = 120
batch_size = 8
seq_len = 20
temperature = 2.0
mixture = { a = { path = 'a', weight = 9 }, sea = { path = 'c', weight = 1 } }
[[data.stages]]
start_step = 33
weights = { a = 9, sea = 4 }
lr_scale = 0.5
[[data.stages]]
start_step = 66
weights = { a = 0, sea = 1 }
)"));
  EXPECT_EQ(config.dataset()->fingerprint(), same.dataset()->fingerprint());
  EXPECT_EQ(TraceOfFlatForm(config), TraceOfFlatForm(same));
  EXPECT_THAT(config.schedule().At(0).weights,
              ElementsAre(::testing::DoubleNear(0.75, 1e-12),
                          ::testing::DoubleNear(0.25, 1e-12)));
  EXPECT_EQ(config.schedule().At(33).lr_scale, 0.5);
  EXPECT_EQ(config.schedule().At(66).lr_scale, 1);
  EXPECT_THAT(config.warnings(), ::testing::IsEmpty());
  EXPECT_THAT(config.OpenLoader(), IsOk());
}

// Three samples into an epoch or not: the phase's step is the step.
TEST_F(FlatFormTest, PhasesTakeEffectAtTheirVeryStep) {
  ASSERT_OK_AND_ASSIGN(const Config config, Parse(kFile));
  const RunTrace trace(*config.dataset(), config.schedule());
  const auto draws_a = [&trace](uint64_t step) {
    const auto samples = trace.Resolve(step);
    return std::any_of(samples->begin(), samples->end(),
                       [](const auto& sample) { return sample.path == "a"; });
  };
  EXPECT_TRUE(draws_a(64) || draws_a(65));
  for (uint64_t step = 66; step < 120; ++step) EXPECT_FALSE(draws_a(step));
}

TEST_F(FlatFormTest, AMovedDirectoryChangesNoToken) {
  std::filesystem::create_directories(dir_.path("elsewhere"));
  std::filesystem::rename(dir_.path("a"), dir_.path("elsewhere/a"));
  ASSERT_OK_AND_ASSIGN(const Config moved,
                       ParseChanged("path = \"a\"", "path = \"elsewhere/a/\""));
  std::filesystem::rename(dir_.path("elsewhere/a"), dir_.path("a"));
  ASSERT_OK_AND_ASSIGN(const Config config, Parse(kFile));
  EXPECT_EQ(TraceOfFlatForm(moved), TraceOfFlatForm(config));
  EXPECT_EQ(moved.dataset()->fingerprint(), config.dataset()->fingerprint());
}

TEST_F(FlatFormTest, TheAnnealingShortcutIsOnePhase) {
  const std::string head =
      "[data]\nseed = 7\nsteps = 60\nbatch_size = 8\nseq_len = 20\n"
      "datasets = [ { path = 'a', weight = 0.7 }, { path = 'c', weight = 0.3 } "
      "]\n";
  ASSERT_OK_AND_ASSIGN(
      const Config shortcut,
      Parse(head + "anneal_start_step = 21\nanneal_weights = { c = 2.1 }\n"));
  ASSERT_OK_AND_ASSIGN(
      const Config phases,
      Parse(head + "[[data.phases]]\nstart_step = 21\ndataset_weights = { c = "
                   "2.1 }\n"));
  EXPECT_EQ(TraceOfFlatForm(shortcut), TraceOfFlatForm(phases));
  EXPECT_NEAR(shortcut.schedule().At(21).weights[0], 0.25, 1e-12);
}

TEST_F(FlatFormTest, APhaseAtTheStartHoldsFromTheFirstSample) {
  ASSERT_OK_AND_ASSIGN(
      const Config config,
      Parse("[data]\nsteps = 60\nbatch_size = 8\nseq_len = 20\n"
            "datasets = [ { path = 'a', weight = 3 }, { path = 'c' } ]\n"
            "phases = [ { dataset_weights = { a = 0.0 }, lr_scale = 2.0 }, { "
            "start_step = 10 } ]\n"));
  EXPECT_THAT(config.schedule().At(0).weights, ElementsAre(0, 1));
  EXPECT_EQ(config.schedule().At(0).lr_scale, 2);
  // A dataset that a phase does not name has its original weight.
  EXPECT_THAT(config.schedule().At(10).weights, ElementsAre(0.75, 0.25));
}

TEST_F(FlatFormTest, OneSourceNeedsNoList) {
  ASSERT_OK_AND_ASSIGN(
      const Config config,
      Parse("[train]\nbatch_size = 4\nseq_len = 20\nmax_steps = 9\n"
            "[distributed]\ndp_shard = -1\n"
            "[new_table]\nx = 1\n"
            "[data]\ndataset_path = 'a'\n"));
  EXPECT_EQ(config.sources()[0].path, "a");
  EXPECT_EQ(config.schedule().At(0).batch_size, 4u);
  EXPECT_THAT(config.warnings(),
              ::testing::UnorderedElementsAre(
                  HasSubstr("t.toml:7:1: new_table is ignored"),
                  AllOf(HasSubstr("t.toml:2:14: train.batch_size = 4 is per "
                                  "device"),
                        HasSubstr("state data.batch_size"))));
}

TEST_F(FlatFormTest, ANumberOfDevicesThatIsNoIntegerIsNotStated) {
  for (const char* ranks : {"1e308", "nan", "2.5", "'2'", "0"}) {
    ASSERT_OK_AND_ASSIGN(
        const Config config,
        Parse(absl::StrCat("[train]\nbatch_size = 4\nseq_len = 20\n"
                           "max_steps = 9\n[distributed]\ndp_shard = 2\n"
                           "dp_replicate = ",
                           ranks, "\n[data]\ndataset_path = 'a'\n")));
    EXPECT_EQ(config.schedule().At(0).batch_size, 8u) << ranks;
    EXPECT_THAT(config.warnings(),
                ElementsAre(HasSubstr("devices is not stated")))
        << ranks;
  }
}

// Its own defaults, stated.
TEST_F(FlatFormTest, BlankTextsAreNoKeys) {
  ASSERT_OK_AND_ASSIGN(
      const Config config,
      Parse("[data]\nsteps = 60\nbatch_size = 8\nseq_len = 20\n"
            "dataset_path = ''\nhf_dataset_image_field = 'image'\n"
            "hf_dataset_prompt_field = ''\nhf_image_size = 0\n"
            "mix_temperature = 1e-4\n"
            "datasets = [ { name = '', path = 'a', hf_name = '', hf_config = "
            "'' } ]\n"));
  EXPECT_EQ(config.sources()[0].path, "a");
  EXPECT_THAT(
      Parse("[data]\nsteps = 60\nbatch_size = 8\nseq_len = 20\n"
            "datasets = [ { name = 'x', path = '', hf_name = '' } ]\n"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("t.toml:5:14: data.datasets[0] needs one of path, "
                         "hf_name")));
  EXPECT_THAT(Parse("[data]\nsteps = 60\nbatch_size = 8\nseq_len = 20\n"
                    "[[data.phases]]\nstart_step = 5\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("t.toml:1:1: data needs datasets, "
                                 "dataset_path or hf_dataset_name")));
}

TEST_F(FlatFormTest, WhatIsWrongIsNamed) {
  const auto refused = [&](const std::string& from, const std::string& to,
                           const std::string& why) {
    EXPECT_THAT(ParseChanged(from, to),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)))
        << to;
  };
  refused(
      "anneal_start_step = 0",
      "anneal_start_step = 50\nanneal_weights = { a = 1.0 }",
      "t.toml:24:21: data.anneal_start_step cannot be combined with phases");
  refused("start_step = 66", "start_step = 33",
          "data.phases[1].start_step must be at least 34, to come after the "
          "phase before it, got 33");
  refused("start_step = 66", "",
          "data.phases[1] needs start_step: only the first phase may leave it "
          "out; start_step = 34 begins one step after the start of the phase "
          "before it");
  refused("start_step = 66", "start_step = 120",
          "data.phases[1] starts at step 120, but the run ends after step 119");
  refused("lr_scale = 0.5", "lr_scale = 0.0",
          "data.phases[0].lr_scale must be finite and above 0, got 0");
  refused("{ sea = 4.0 }", "{ see = 4.0 }",
          "data.phases[0].dataset_weights.see is not a component of data; did "
          "you mean 'sea'?");
  refused("{ a = 0.0 }", "{ a = 0.0, sea = 0.0 }",
          "data.phases[1].dataset_weights are all zero: nothing could be "
          "drawn");
  refused("{ a = 0.0 }", "{ a = -1.0 }",
          "data.phases[1].dataset_weights.a must be finite and at least 0");
  refused("path = \"a\"\n", "",
          "t.toml:25:1: data.datasets[0] needs one of path, hf_name");
  refused(
      "name = \"sea\"", "name = \"a\"",
      "t.toml:28:1: data.datasets[1] has the name 'a' of an earlier dataset");
  refused("weight = 9.0", "weight = 0.0",
          "data.datasets[0].weight must be finite and above 0, got 0");
  refused("mix_temperature = 2.0", "mix_temperature = 0.0",
          "data.mix_temperature must be above 0, got 0");
  refused("mix_temperature = 2.0",
          "stages = [ { start_step = 5 } ]\nmix_temperature = 2.0",
          "data.stages cannot be combined with datasets");
  refused("mix_temperature = 2.0", "mix_temperatur = 2.0",
          "data.mix_temperatur is not a known key; did you mean "
          "'mix_temperature'?");
}

}  // namespace
}  // namespace poniente
