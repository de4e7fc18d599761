// SPDX-License-Identifier: Apache-2.0
// What changes during a run, as a configuration states it: changes of steps,
// nested stages, ramps of the temperature, thresholds computed from scores.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "poniente/config.h"
#include "poniente/run.h"
#include "poniente/run_trace.h"
#include "tests/config/small_stores.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::StatusIs;

std::vector<std::string> DrawsOf(const Config& config);

class CurriculaTest : public testing::SmallStores {
 protected:
  absl::StatusOr<Config> Try(const std::string& text) const {
    return Config::Parse(text, "t.toml", dir_.path());
  }
  Config Parsed(const std::string& text) const {
    absl::StatusOr<Config> config = Try(text);
    EXPECT_TRUE(config.ok()) << config.status();
    return *std::move(config);
  }

  // What is printed is the same run.
  void ExpectPrintsItself(const Config& config) const {
    const Config again = Parsed(config.ToToml());
    EXPECT_EQ(again.ToToml(), config.ToToml());
    EXPECT_EQ(DrawsOf(again), DrawsOf(config));
    EXPECT_EQ(again.schedule().changes(), config.schedule().changes());
    absl::StatusOr<std::string> stated = ToToml(config.run());
    ASSERT_THAT(stated, IsOk());
    EXPECT_EQ(DrawsOf(Parsed(*stated)), DrawsOf(config));
    EXPECT_TRUE(Parsed(*stated).run().stages == config.run().stages);
    EXPECT_TRUE(Parsed(*stated).run().data == config.run().data);
  }

  void WriteScores(const std::string& name, const std::vector<float>& scores) {
    std::ofstream(dir_.path(name), std::ios::binary)
        .write(reinterpret_cast<const char*>(scores.data()),
               static_cast<std::streamsize>(scores.size() * 4));
  }
};

std::vector<std::string> ChangeTexts(const Config& config) {
  std::vector<std::string> texts;
  for (const PlannedChange& planned : config.schedule().changes()) {
    texts.push_back(absl::StrCat(planned.step, ": ", ToString(planned.change)));
  }
  return texts;
}

// Every sample of the run, in its order.
std::vector<std::string> DrawsOf(const Config& config) {
  const RunTrace trace(*config.dataset(), config.schedule());
  std::vector<std::string> draws;
  for (uint64_t step = 0; config.schedule().Has(step); ++step) {
    const auto resolved = trace.Resolve(step);
    for (const SampleOrigin& sample : *resolved) {
      draws.push_back(absl::StrCat(sample.path, " ", sample.item));
    }
  }
  return draws;
}

constexpr char kNested[] = R"([data]
steps = 400
batch_size = 10
seq_len = 20
block_size = 10
[data.mixture]
a = { path = 'a', weight = 1, filter = { fraction = 0.5 } }
[data.mixture.m]
weight = 1
block_size = 10
mixture = { b = { path = 'b', weight = 1 }, deep = { use = 'deep', weight = 1 } }
stages = [ STAGES ]
[data.nodes.deep]
block_size = 4
mixture = { c = { path = 'c', weight = 1 }, d = { path = 'c', weight = 1 } }
stages = [ { name = 'low', start_sample = 500, weights = { c = 3 } } ]
)";

std::string Nested(const std::string& stages) {
  std::string text = kNested;
  return text.replace(text.find("STAGES"), 6, stages);
}

TEST_F(CurriculaTest, ChangesOfNestedMixturesAreToldByTheirSteps) {
  // The root gives m 5 samples of each step, and m gives deep half of these.
  const Config config =
      Parsed(Nested("{ name = 'x', start_sample = 500, weights = { b = 3 } }, "
                    "{ name = 'y', start_step = 150, weights = { b = 1 }, "
                    "ramp_samples = 100, ramp_blocks = 1 }"));
  const std::vector<std::string> texts = ChangeTexts(config);
  ASSERT_EQ(texts.size(), 7u) << ::testing::PrintToString(texts);
  EXPECT_EQ(texts[0], "100: m: stage 'x' begins");
  EXPECT_EQ(texts[1], "100: m: the weights of stage 'x' apply");
  EXPECT_EQ(texts[2], "150: m: stage 'y' begins");
  EXPECT_EQ(texts[3], "150: m: the ramp of stage 'y' begins");
  EXPECT_EQ(texts[4], "170: m: the ramp of stage 'y' ends");
  EXPECT_THAT(texts[5], HasSubstr(": m/deep: stage 'low' begins"));
  EXPECT_THAT(texts[6], HasSubstr(": m/deep: the weights of stage 'low' "));
  // Seen from the samples: stage 'low' begins with item 500 of deep.
  const RunTrace trace(*config.dataset(), config.schedule());
  uint64_t drawn = 0;
  uint64_t step = 0;
  for (; drawn < 500; ++step) {
    ASSERT_OK_AND_ASSIGN(const auto samples, trace.Resolve(step));
    for (const SampleOrigin& sample : samples) {
      drawn += sample.path.starts_with("m/deep/") ? 1 : 0;
    }
  }
  EXPECT_THAT(texts[5], ::testing::StartsWith(absl::StrCat(step, ": ")));
  EXPECT_TRUE(config.schedule().At(170).is_boundary);
  EXPECT_FALSE(config.schedule().At(171).is_boundary);
  ExpectPrintsItself(config);
}

TEST_F(CurriculaTest, ChangesThatNoNumberOfSamplesSaysAreNotTold) {
  std::string text =
      Nested("{ name = 'x', start_sample = 500, weights = { b = 3 } }");
  // A take makes the mixture finite: the run's samples are not its own.
  text.replace(text.find("block_size = 10\nmixture"), 15,
               "take = 900\nblock_size = 10");
  EXPECT_THAT(ChangeTexts(Parsed(text)), IsEmpty());
}

// How many samples of the first `steps` steps come from below "m".
uint64_t DrawnFromM(const Config& config, uint64_t steps) {
  const RunTrace trace(*config.dataset(), config.schedule());
  uint64_t drawn = 0;
  for (uint64_t step = 0; step < steps; ++step) {
    const auto resolved = trace.Resolve(step);
    for (const SampleOrigin& sample : *resolved) {
      drawn += sample.path.starts_with("m/") ? 1 : 0;
    }
  }
  return drawn;
}

constexpr char kTwoLengths[] = R"([data]
seed = 5
steps = 200
batch_size = 12
seq_len = 20
max_seq_len = 20
block_size = 6
shares_of = "SHARES"
[data.mixture]
a = { path = 'a', weight = 2 }
m = { weight = 1, block_size = 4, mixture = { b = { path = 'b', weight = 1 }, c = { path = 'c', weight = 1 } }, stages = [ NESTED ] }
[[data.batch_sizes]]
start_step = 100
batch_size = 6
)";

// Nested stages placed by the run, against the same places counted by hand in
// a run without them: the draws from m do not depend on what m does.
TEST_F(CurriculaTest, NestedStagesAndRampsGoByTheRun) {
  const auto with = [](const std::string& stages, const std::string& shares) {
    std::string text = kTwoLengths;
    text.replace(text.find("SHARES"), 6, shares);
    return text.replace(text.find("NESTED"), 6, stages);
  };
  const Config plain = Parsed(with("", "steps"));
  struct Case {
    std::string stated;
    uint64_t start_step;
    uint64_t end_step;
    const char* shares = "steps";
  };
  const std::vector<Case> cases = {
      {"start_step = 40, ramp_steps = 30", 40, 70},
      {"start_step = -160, ramp_share = 0.4", 40, 120},
      {"start_share = 0.25, ramp_steps = 100", 50, 150},
      // 12 x 20 tokens a step, then 6 x 20: 36,000 in all.
      {"start_token = 9_600, ramp_tokens = 19_200", 40, 140},
      {"start_share = 0.4, ramp_share = 0.1, ramp_centred = true", 70, 90},
      {"start_step = 80, ramp_steps = 20, ramp_centred = true", 70, 90},
      {"start_share = 0.5, ramp_share = 0.25", 75, 125, "tokens"},
      {"start_share = 0.5, ramp_share = 0.2, ramp_centred = true", 60, 90,
       "tokens"}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.stated);
    const std::string rest = ", ramp_blocks = 1, weights = { b = 5 } }";
    const Config config = Parsed(with("{ " + one.stated + rest, one.shares));
    const uint64_t start = DrawnFromM(plain, one.start_step);
    const uint64_t end = DrawnFromM(plain, one.end_step);
    const Config counted =
        Parsed(with(absl::StrCat("{ start_sample = ", start,
                                 ", ramp_samples = ", end - start, rest),
                    one.shares));
    EXPECT_EQ(DrawsOf(config), DrawsOf(counted));
    const Config without =
        Parsed(with(absl::StrCat("{ start_sample = ", start,
                                 ", ramp_samples = ", end - start + 4, rest),
                    one.shares));
    EXPECT_NE(DrawsOf(config), DrawsOf(without)) << "four samples more";
    ExpectPrintsItself(config);
  }
}

TEST_F(CurriculaTest, ARampThatEndsAfterTheRunGoesOn) {
  std::string text = kTwoLengths;
  text.replace(text.find("SHARES"), 6, "steps");
  const auto with = [&](const std::string& stage) {
    std::string made = text;
    return made.replace(made.find("NESTED"), 6, stage);
  };
  // 2 of 6 samples of each step are m's: 100 steps more are 200 samples.
  const Config plain = Parsed(with(""));
  const uint64_t start = DrawnFromM(plain, 150);
  const Config config =
      Parsed(with("{ start_step = 150, ramp_steps = 150, ramp_blocks = 1, "
                  "weights = { b = 5 } }"));
  EXPECT_EQ(DrawsOf(config),
            DrawsOf(Parsed(with(absl::StrCat(
                "{ start_sample = ", start,
                ", ramp_samples = 300, ramp_blocks = 1, weights = { b = 5 } "
                "}")))));
}

TEST_F(CurriculaTest, NestedStagesMayTakeSharesOfTheRun) {
  std::string text = kTwoLengths;
  text.replace(text.find("SHARES"), 6, "steps");
  const auto with = [&](const std::string& stages) {
    std::string made = text;
    return made.replace(made.find("NESTED"), 6, stages);
  };
  const Config config =
      Parsed(with("{ share = 0.3, weights = { b = 9, c = 2 } }, { share = 0.5, "
                  "name = 'x', weights = { b = 3 } }, { share = 0.2, weights = "
                  "{ c = 0 } }"));
  // The first sets the weights of the components, b = 9 and c = 2.
  std::string same = with(
      "{ start_step = 60, name = 'x', weights = { b = 3 } "
      "}, { start_step = 160, weights = { c = 0 } }");
  same.replace(same.find("'b', weight = 1"), 15, "'b', weight = 9");
  same.replace(same.find("'c', weight = 1"), 15, "'c', weight = 2");
  EXPECT_EQ(DrawsOf(config), DrawsOf(Parsed(same)));
  EXPECT_EQ(config.run().data.children[1].stages.size(), 2u);
  EXPECT_THAT(ChangeTexts(config),
              ElementsAre("60: m: stage 'x' begins",
                          "60: m: the weights of stage 'x' apply",
                          "100: batch_size changes", "160: m: a stage begins",
                          "160: m: the weights of a stage apply"));
  ExpectPrintsItself(config);
  // In C++, too.
  struct Run run = config.run();
  run.data.children[1].children[0].weight = 1;
  run.data.children[1].children[1].weight = 1;
  run.data.children[1].stages.insert(
      run.data.children[1].stages.begin(),
      {.start = Share(0), .weights = {{"b", 9}, {"c", 2}}});
  ASSERT_OK_AND_ASSIGN(const Config described, Config::Create(run));
  EXPECT_EQ(DrawsOf(described), DrawsOf(config));
}

TEST_F(CurriculaTest, WrongPlacesOfNestedStagesAreRefused) {
  const auto refused = [&](const std::string& stages, const std::string& why,
                           const std::string& shares = "\"steps\"") {
    std::string text = kTwoLengths;
    text.replace(text.find("\"SHARES\""), 8, shares);
    text.replace(text.find("NESTED"), 6, stages);
    EXPECT_THAT(Try(text), StatusIs(testing::kInvalid, HasSubstr(why)))
        << stages;
  };
  refused("{ start_sample = 9, ramp_steps = 5 }",
          "data.mixture.m.stages[0].ramp_steps needs a start in the run");
  refused("{ start_step = 9, ramp_tokens = 5, ramp_centred = true }",
          "data.mixture.m.stages[0].ramp_tokens must be in the unit of the "
          "start");
  refused("{ start_step = 9, ramp_centred = true }",
          "data.mixture.m.stages[0].ramp_centred needs a ramp");
  refused("{ start_share = 0.5 }, { start_share = 0.5 }",
          "data.mixture.m.stages[1].start_share must be above 0.5, to come "
          "after the stage before it, got 0.5");
  refused("{ start_step = 5 }, { start_share = 0 }",
          "data.mixture.m.stages[1].start_share must be above 0");
  refused("{ share = 0.5 }, { share = 0.4 }",
          "data.mixture.m.stages have shares that sum to 0.9, not to 1");
  refused("{ share = 1.0 }, { start_step = 4 }",
          "data.mixture.m.stages must all state a share, or none of them: 1 "
          "of 2 do");
  refused("{ start_share = 0, temperature = 2 }",
          "data.mixture.m.stages[0] starts the run, so it may state only "
          "weights and thresholds");
}

TEST_F(CurriculaTest, NestedSharesNeedToKnowOfWhat) {
  std::string text = kTwoLengths;
  text.erase(text.find("shares_of"), 21);
  text.replace(text.find("NESTED"), 6, "{ start_share = 0.5 }");
  EXPECT_THAT(Try(text),
              StatusIs(testing::kInvalid, HasSubstr("data needs shares_of")));
}

TEST_F(CurriculaTest, NewThresholdsAreChanges) {
  WriteScores("a.f32", std::vector<float>(500, 1));
  const Config config = Parsed(
      "[data]\nsteps = 200\nbatch_size = 10\nseq_len = 20\nblock_size = 10\n"
      "[data.mixture]\n"
      "a = { path = 'a', weight = 1, filter = { scores = 'a.f32', at_least = "
      "0.5 } }\nc = { path = 'c', weight = 1 }\n"
      "[[data.stages]]\nname = 'best'\nstart_step = 100\n"
      "thresholds = { a = 0.9 }\n");
  EXPECT_THAT(ChangeTexts(config),
              ElementsAre("100: stage 'best' begins",
                          "100: the thresholds of stage 'best' apply"));
}

TEST_F(CurriculaTest, ARampMayMoveTheTemperature) {
  const std::string head =
      "[data]\nsteps = 200\nbatch_size = 10\nseq_len = 20\nblock_size = 10\n"
      "mixture = { a = { path = 'a', weight = 9 }, c = { path = 'c', weight = "
      "1 } }\n[[data.stages]]\nstart_step = 100\n";
  const Config config =
      Parsed(head +
             "temperature = 3\nramp_steps = 4\nramp_blocks = 1\n"
             "ramp_temperature = true\n");
  const Schedule& schedule = config.schedule();
  const std::vector<double> expected = {1, 1.25, 1.75, 2.25, 2.75, 3, 3};
  for (uint64_t i = 0; i < expected.size(); ++i) {
    const StepPlan plan = schedule.At(99 + i);
    EXPECT_EQ(plan.temperature, expected[i]) << i;
    // 9^(1/T) : 1.
    const double power = std::pow(9, 1 / expected[i]);
    EXPECT_NEAR(plan.weights[0], power / (1 + power), 1e-12) << i;
  }
  EXPECT_THAT(
      ChangeTexts(config),
      ElementsAre("100: a stage begins", "100: the ramp of a stage begins",
                  "104: the ramp of a stage ends"));
  ExpectPrintsItself(config);
  EXPECT_THAT(
      Try(head + "temperature = 3\nramp_temperature = true\n"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("t.toml:7:1: data.stages[0]: stage 0 has no ramp in "
                         "which the temperature could move: state one")));
  EXPECT_THAT(
      Try(head + "temperature = 3\nweights = { a = 5 }\nramp_steps = 50\n"
                 "ramp_temperature = true\n"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("t.toml:7:1: data.stages[0]: stage 0 at step 100 "
                         "(sample 1000): a ramp of the temperature keeps the "
                         "weights, but that of 'a' changes from 9 to 5")));
}

TEST_F(CurriculaTest, ANestedRampMayMoveTheTemperature) {
  const auto with = [](const std::string& rest) {
    std::string text = Nested(absl::StrCat(
        "{ start_sample = 500, temperature = 4, ramp_samples = 400, "
        "ramp_blocks = 1",
        rest, " }"));
    return text.replace(text.find("'b', weight = 1"), 15, "'b', weight = 9");
  };
  const Config config = Parsed(with(", ramp_temperature = true"));
  ExpectPrintsItself(config);
  EXPECT_NE(DrawsOf(config), DrawsOf(Parsed(with(""))));
  EXPECT_TRUE(config.run().data.children[1].stages[0].ramps_temperature);
}

TEST_F(CurriculaTest, ThresholdsMayBeQuantilesOrDeviations) {
  // Items 0, 1, 2, ... score 0, 7, 14, ... modulo 500: each score once.
  std::vector<float> scores(500);
  for (size_t i = 0; i < scores.size(); ++i) {
    scores[i] = static_cast<float>(i * 7 % 500);
  }
  WriteScores("a.f32", scores);
  const auto with = [](const std::string& at_least, const std::string& later) {
    return absl::StrCat(
        "[data]\nsteps = 200\nbatch_size = 10\nseq_len = 20\nblock_size = 10\n"
        "[data.mixture]\n"
        "a = { path = 'a', weight = 1, filter = { scores = 'a.f32', at_least "
        "= ",
        at_least,
        " } }\nc = { path = 'c', weight = 1 }\n[[data.stages]]\nstart_step = "
        "100\nthresholds = { a = ",
        later, " }\n");
  };
  const Config config = Parsed(with("{ quantile = 0.8 }", "{ sigmas = 1.5 }"));
  // The mean of 0 ... 499 is 249.5, the deviation sqrt((500^2 - 1) / 12).
  const double above = 249.5 + 1.5 * std::sqrt((500. * 500 - 1) / 12);
  ASSERT_EQ(config.thresholds().size(), 2u);
  const ComputedThreshold& first = config.thresholds()[0];
  EXPECT_EQ(first.key, "data.mixture.a.filter");
  EXPECT_EQ(first.stated, Quantile(0.8));
  EXPECT_EQ(first.value, 400);
  EXPECT_EQ(first.chosen, 100u);
  EXPECT_EQ(first.items, 500u);
  const ComputedThreshold& second = config.thresholds()[1];
  EXPECT_EQ(second.key, "data.stages[0].thresholds.a");
  EXPECT_EQ(second.stated, Sigmas(1.5));
  EXPECT_NEAR(second.value, above, 1e-9);
  EXPECT_EQ(second.chosen, 499 - static_cast<uint64_t>(above));
  // The same tokens as with these scores.
  const Config plain = Parsed(with("400", absl::StrCat("466.008")));
  EXPECT_EQ(DrawsOf(config), DrawsOf(plain));
  EXPECT_THAT(plain.thresholds(), IsEmpty());
  const Config other = Parsed(with("401", "466.008"));
  EXPECT_NE(DrawsOf(config), DrawsOf(other));
  ExpectPrintsItself(config);
  // In C++.
  struct Run run = config.run();
  run.data.children[0].filter = Score("a.f32") >= Quantile(0.8);
  run.stages[0].thresholds = {{"a", Sigmas(1.5)}};
  ASSERT_OK_AND_ASSIGN(const Config described, Config::Create(run));
  EXPECT_EQ(DrawsOf(described), DrawsOf(config));
}

TEST_F(CurriculaTest, WrongThresholdsAreRefused) {
  WriteScores("inf.f32", std::vector<float>(500, HUGE_VALF));
  const auto refused = [&](const std::string& at_least,
                           const std::string& why) {
    EXPECT_THAT(
        Try(absl::StrCat("[data]\nsteps = 20\nbatch_size = 10\nseq_len = 20\n"
                         "path = 'a'\nfilter = { scores = 'inf.f32', at_least "
                         "= ",
                         at_least, " }\n")),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)));
  };
  refused("{ quantile = 1.5 }",
          "t.toml:6:56: data.filter.at_least.quantile must be 0 to 1, got 1.5");
  refused("{ sigmas = inf }",
          "data.filter.at_least.sigmas must be finite, got inf");
  refused("{ }", "data.filter.at_least needs one of quantile or sigmas");
  refused("{ quantile = 0.5, sigmas = 1 }",
          "data.filter.at_least needs one of quantile or sigmas");
  refused("{ quantil = 0.5 }", "needs one of quantile or sigmas");
  refused("{ quantil = 0.5 }", "did you mean 'quantile'");
  refused("'high'", "data.filter.at_least must be a number");
  refused("{ sigmas = 1 }", "t.toml:6:10: data.filter: '" +
                                dir_.path("inf.f32") +
                                "': none of the 500 scores is finite");
}

// Windows of L + 1 tokens whose lengths change.
TEST_F(CurriculaTest, SamplesOfOneWindowMayShareAToken) {
  const std::string text = R"(
[data]
seed = 1
steps = 100
batch_size = 4
seq_len = 9
sample_overlap = 1
path = "a"
overlap = 1
shuffle = false
group_items = 1
[[data.stages]]
start_step = 20
seq_len = 17
[[data.stages]]
start_step = 40
seq_len = 33
)";
  const Config config = Parsed(text);
  ExpectPrintsItself(config);
  ASSERT_OK_AND_ASSIGN(const auto loader, config.OpenLoader());
  // Every token of "a" from the first label on, once, in order.
  std::vector<uint64_t> labels;
  for (int step = 0; step < 60; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    for (size_t i = 0; i < batch.num_samples(); ++i) {
      const uint64_t first =
          batch.provenance(i).item * 32 + batch.provenance(i).token_begin;
      const auto tokens = batch.tokens<uint32_t>(i);
      for (uint64_t t = 0; t < tokens.size(); ++t) {
        ASSERT_EQ(tokens[t], testing::StoreToken(0, first + t));
        if (t > 0) labels.push_back(first + t);
      }
    }
  }
  std::sort(labels.begin(), labels.end());
  ASSERT_EQ(labels.size(), 80u * 8 + 80 * 16 + 80 * 32);
  for (uint64_t t = 0; t < labels.size(); ++t) ASSERT_EQ(labels[t], t + 1);

  const auto fails = [&](const std::string& from, const std::string& to,
                         const std::string& what) {
    EXPECT_THAT(Try(absl::StrReplaceAll(text, {{from, to}})),
                StatusIs(testing::kInvalid, HasSubstr(what)));
  };
  fails("sample_overlap = 1", "sample_overlap = 2", "sample_overlap");
  fails("seq_len = 17", "seq_len = 1", "must be 2 to max_seq_len");
  EXPECT_THAT(
      Parsed(absl::StrCat("runtime.labels_beyond_sample = true\n"
                          "runtime.tensors = [\"labels\"]\n"
                          "runtime.token_type = \"i32\"\n",
                          absl::StrReplaceAll(text, {{"\noverlap = 1", ""}})))
          .OpenLoader(),
      StatusIs(testing::kInvalid, HasSubstr("sample_overlap")));
}

}  // namespace
}  // namespace poniente
