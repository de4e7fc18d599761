// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "config/parse/config_keys.h"
#include "poniente/diff.h"
#include "poniente/mixture_dataset.h"
#include "poniente/token_source.h"
#include "poniente/transforms.h"
#include "tests/analysis/trace/document_stores.h"
#include "tests/config/small_stores.h"
#include "tests/support/status_matchers.h"

namespace poniente::internal {
namespace {

using poniente::testing::SmallStores;
using poniente::testing::StatusIs;
using poniente::testing::WriteStore;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr uint64_t kMany = 1000000;

constexpr char kStagedRun[] = R"([data]
seed = 5
steps = 300
batch_size = 10
seq_len = 20
block_size = 128
[data.mixture]
a = { weight = 0.5, path = "a" }
rest = { weight = 0.5, flat = { b = { path = "b" }, c = { path = "c" } } }
[[data.stages]]
name = "end"
start_step = 200
weights = { a = 0.25, rest = 0.75 }
)";

auto Is(const std::string& what, const DiffValue& a, const DiffValue& b,
        std::optional<uint64_t> from_step) {
  return AllOf(Field("what", &RunDifference::what, what),
               Field("a", &RunDifference::a, a),
               Field("b", &RunDifference::b, b),
               Field("from_step", &RunDifference::from_step, from_step));
}

auto Concerns(const std::string& words) {
  return Field("what", &RunDifference::what, HasSubstr(words));
}

// The tokens of every sample, as they are read.
std::vector<std::vector<TokenWindow>> ReadAll(const TracedRun& run) {
  std::vector<std::vector<TokenWindow>> steps;
  for (uint64_t step = 0; step < *run.steps(); ++step) {
    steps.push_back(*run.Tokens(run.Show(step)->samples));
  }
  return steps;
}

class RunDiffTest : public SmallStores {
 protected:
  static std::string With(const std::string& from, const std::string& to,
                          const std::string& text = kStagedRun) {
    EXPECT_THAT(text, HasSubstr(from));
    return absl::StrReplaceAll(text, {{from, to}});
  }

  TracedRun Run(const std::string& text) {
    auto config = Config::Parse(text, "t.toml", dir_.path());
    EXPECT_TRUE(config.ok()) << config.status();
    return TracedRun(*config);
  }

  // What differs between two runs; its first step is that of a look at every
  // token.
  RunDiff Diff(const std::string& one, const std::string& other) {
    const TracedRun a = Run(one);
    const TracedRun b = Run(other);
    const RunDiff diff = *DiffRuns(a, b, kMany);
    const auto tokens_a = ReadAll(a);
    const auto tokens_b = ReadAll(b);
    std::optional<uint64_t> first;
    for (uint64_t s = 0; s < std::min(tokens_a.size(), tokens_b.size()); ++s) {
      if (tokens_a[s] == tokens_b[s]) continue;
      first = s;
      break;
    }
    const std::optional<FirstDifference>& found = diff.compared.first;
    EXPECT_EQ(found ? std::optional(found->step) : std::nullopt, first);
    if (found && first && found->a && found->b) {
      EXPECT_NE(tokens_a[*first][found->position],
                tokens_b[*first][found->position]);
      for (uint64_t i = 0; i < found->position; ++i) {
        EXPECT_EQ(tokens_a[*first][i], tokens_b[*first][i]);
      }
    }
    return diff;
  }
  RunDiff DiffWith(const std::string& other) { return Diff(kStagedRun, other); }
};

TEST_F(RunDiffTest, TheSameIsTheSame) {
  const RunDiff diff = DiffWith(kStagedRun);
  EXPECT_EQ(diff.compared.first, std::nullopt);
  EXPECT_EQ(diff.compared.steps, 300u);
  EXPECT_THAT(diff.differences, IsEmpty());
}

TEST_F(RunDiffTest, EvaluationsAreNamedAndDecideNoToken) {
  const std::string e = "[data.eval.e]\npath = \"c\"\n";
  const std::string text = kStagedRun;
  const RunDiff more = Diff(text + e, text + e + "every_steps = 9\n");
  EXPECT_FALSE(more.compared.first.has_value());
  EXPECT_THAT(
      more.differences,
      ElementsAre(Is("evaluation 'e'", "[data.eval.e] path = \"c\"",
                     "[data.eval.e] every_steps = 9, path = \"c\"", 0)));
  EXPECT_FALSE(more.differences[0].decides_tokens);
  EXPECT_THAT(Diff(text, text + e).differences,
              ElementsAre(Is("evaluation 'e'", DiffValue(),
                             "[data.eval.e] path = \"c\"", 0)));
  EXPECT_THAT(Diff(text + e, text + e).differences, IsEmpty());
}

TEST_F(RunDiffTest, AHoldOutIsOtherData) {
  const RunDiff diff =
      Diff(kStagedRun,
           With("path = \"a\"", "path = \"a\", hold_out = { windows = 0.1 }"));
  ASSERT_TRUE(diff.compared.first.has_value());
  ASSERT_FALSE(diff.differences.empty());
  EXPECT_TRUE(diff.differences[0].decides_tokens);
}

TEST_F(RunDiffTest, TheOrderOfDeclarationIsNoDifference) {
  const std::string a = "a = { weight = 0.5, path = \"a\" }\n";
  const RunDiff diff =
      DiffWith(With("[[data.stages]]", a + "[[data.stages]]", With(a, "")));
  EXPECT_EQ(diff.compared.first, std::nullopt);
  EXPECT_THAT(diff.differences, IsEmpty());
}

TEST_F(RunDiffTest, WeightsOfAStage) {
  const RunDiff diff =
      DiffWith(With("a = 0.25, rest = 0.75", "a = 0.5, rest = 1.25"));
  ASSERT_TRUE(diff.compared.first.has_value());
  EXPECT_GE(diff.compared.first->step, 200u);
  EXPECT_THAT(diff.differences, Contains(Concerns("weight of 'a'")));
  EXPECT_THAT(diff.differences, Contains(Concerns("weight of 'rest'")));
  EXPECT_EQ(diff.differences[0].from_step, 200u);
}

// Only the shares decide, as exactly as the library computes them: 70 and 30
// give other ones than 0.7 and 0.3, which are rounded.
TEST_F(RunDiffTest, WeightsOfTheSameSharesAreNoDifference) {
  const RunDiff diff =
      DiffWith(With("a = 0.25, rest = 0.75", "a = 2.0, rest = 6.0"));
  EXPECT_EQ(diff.compared.first, std::nullopt);
  EXPECT_THAT(diff.differences, IsEmpty());
}

auto OnRamps(const std::string& ramp_a, const std::string& ramp_b) {
  return AllOf(Field("ramp_a", &RunDifference::ramp_a, ramp_a),
               Field("ramp_b", &RunDifference::ramp_b, ramp_b));
}

// Not the shares at the middle of the ramp's first step.
TEST_F(RunDiffTest, WeightsAreThoseThatTheStagesOfARampState) {
  const std::string ramped =
      With("start_step = 200", "start_step = 200\nramp_steps = 50");
  const RunDiff weights = Diff(
      ramped, With("a = 0.25, rest = 0.75", "a = 0.125, rest = 1.5", ramped));
  const std::string ramp = "50 steps (500 samples)";
  EXPECT_THAT(weights.differences,
              AllOf(Contains(AllOf(Is("weight of 'a'", 0.25, 0.125, 200),
                                   OnRamps(ramp, ramp))),
                    Contains(AllOf(Is("weight of 'rest'", 0.75, 1.5, 200),
                                   OnRamps(ramp, ramp)))));
  const RunDiff ramps = DiffWith(ramped);
  EXPECT_THAT(
      ramps.differences,
      Contains(AllOf(Is("weight of 'a'", 0.25, 0.25, 200), OnRamps("", ramp))));
  const RunDiff before =
      Diff(ramped, With("a = 0.25, rest = 0.75", "a = 0.5, rest = 0.5"));
  EXPECT_THAT(
      before.differences,
      Contains(AllOf(Is("weight of 'a'", 0.25, 0.5, 200), OnRamps(ramp, ""))));
}

// Where only the steps of a ramp differ, what makes them is told, and not the
// shares of one of them.
TEST_F(RunDiffTest, TheStepsOfARampAreExplained) {
  const std::string ramped =
      With("start_step = 200", "start_step = 200\nramp_steps = 50");
  EXPECT_THAT(Diff(ramped, With("block_size = 128", "block_size = 64", ramped))
                  .differences,
              ElementsAre(Is("block_size of the root", uint64_t{128},
                             uint64_t{64}, 0)));
  EXPECT_THAT(Diff(ramped, With("ramp_steps = 50",
                                "ramp_steps = 50\nramp_blocks = 2", ramped))
                  .differences,
              ElementsAre(Is("ramp_blocks", DiffValue(), uint64_t{2}, 200)));
  const std::string warm =
      With("weights = { a = 0.25, rest = 0.75 }", "temperature = 2.0",
           With("weight = 0.5, flat", "weight = 1.5, flat", ramped));
  EXPECT_THAT(
      Diff(warm, With("temperature = 2.0",
                      "temperature = 2.0\nramp_temperature = true", warm))
          .differences,
      ElementsAre(Is("ramp_temperature", "false", "true", 200)));
}

TEST_F(RunDiffTest, SharesThatFollowFromOthersAreNotCalledWeights) {
  const RunDiff diff =
      DiffWith(With("a = 0.25, rest = 0.75", "a = 0.25, rest = 0.25"));
  EXPECT_THAT(diff.differences,
              ElementsAre(Is("share of 'a'", 0.25, 0.5, 200),
                          Is("weight of 'rest'", 0.75, 0.25, 200)));
}

// As it is stated: not that of the middle of a ramp's first step.
TEST_F(RunDiffTest, ATemperatureIsNamed) {
  const std::string warm =
      With("start_step = 200", "start_step = 200\ntemperature = 2.0");
  EXPECT_THAT(DiffWith(warm).differences,
              AllOf(Contains(Is("temperature", 1.0, 2.0, 200)),
                    Contains(Concerns("share of 'a'"))));
  EXPECT_THAT(
      Diff(warm, With("start_step = 200",
                      "start_step = 200\ntemperature = 4.0\nramp_steps = 50"))
          .differences,
      Contains(Is("temperature", 2.0, 4.0, 200)));
  EXPECT_THAT(Diff(warm, warm).differences, IsEmpty());
}

TEST_F(RunDiffTest, OptionsOfPackingAreNamed) {
  std::vector<std::vector<uint32_t>> documents;
  for (uint32_t d = 0; d < 200; ++d) {
    documents.emplace_back(1 + d * 7 % 25, d % 200);
  }
  poniente::testing::WriteDocuments(dir_, "many", documents);
  const auto packed = [](const std::string& options) {
    return absl::StrCat(
        "[data]\nsteps = 30\nbatch_size = 4\nseq_len = 30\npath = 'many'\n"
        "pack_documents = ",
        options, "\n");
  };
  const RunDiff parts = Diff(packed("true"), packed("{ parts = 1 }"));
  ASSERT_EQ(parts.differences.size(), 1u);
  EXPECT_THAT(parts.differences[0].what, HasSubstr("packing of "));
  EXPECT_EQ(parts.differences[0].a, DiffValue("true"));
  EXPECT_EQ(parts.differences[0].b, DiffValue("{ parts = 1 }"));
  const RunDiff cut = Diff(packed("true"), packed("false"));
  ASSERT_FALSE(cut.differences.empty());
  EXPECT_EQ(cut.differences[0].a, DiffValue("true"));
  EXPECT_EQ(cut.differences[0].b, DiffValue("false"));
  // Which documents there are is told besides.
  const RunDiff half =
      Diff(packed("true"),
           packed("{ parts = 1 }\ndocuments = { fraction = 0.5, seed = 1 }"));
  ASSERT_EQ(half.differences.size(), 2u);
  EXPECT_EQ(half.differences[0].b, DiffValue("{ parts = 1 }"));
  EXPECT_THAT(half.differences[1].what, HasSubstr("documents of "));
  EXPECT_EQ(half.differences[1].a, DiffValue("all"));
}

// The shares differ from the first sample on, the samples much later.
TEST_F(RunDiffTest, WeightsThatMatterLate) {
  const RunDiff diff =
      Diff(With("weight = 0.5, path", "weight = 0.3137, path"),
           With("weight = 0.5, path", "weight = 0.3147, path"));
  ASSERT_TRUE(diff.compared.first.has_value());
  EXPECT_GT(diff.compared.first->step, 10u);
  EXPECT_EQ(diff.differences[0].from_step, 0u);
}

TEST_F(RunDiffTest, AStageThatStartsLaterOrInTheMiddleOfABlock) {
  for (const int start : {201, 213, 299}) {
    const RunDiff diff = DiffWith(
        With("start_step = 200", absl::StrCat("start_step = ", start)));
    ASSERT_TRUE(diff.compared.first.has_value());
    EXPECT_THAT(diff.differences,
                Contains(Is("weight of 'a'", 0.25, 0.5, 200)));
  }
}

TEST_F(RunDiffTest, AStageThatMovesIsNamed) {
  // The block of samples 1920 to 2047 is cut by it.
  const RunDiff diff = DiffWith(With("start_step = 200", "start_step = 240"));
  EXPECT_THAT(diff.differences,
              ElementsAre(Is("weight of 'a'", 0.25, 0.5, 200),
                          Is("weight of 'rest'", 0.75, 0.5, 200),
                          Is("start_step of stage 'end'", uint64_t{200},
                             uint64_t{240}, 192),
                          Concerns("stage")));
  const RunDiff labels =
      Diff(With("weights = { a = 0.25, rest = 0.75 }", "lr_scale = 0.5"),
           With("start_step = 200\nweights = { a = 0.25, rest = 0.75 }",
                "start_step = 240\nlr_scale = 0.5"));
  EXPECT_FALSE(labels.compared.first.has_value());
  EXPECT_THAT(labels.differences,
              Contains(Is("start_step of stage 'end'", uint64_t{200},
                          uint64_t{240}, 200)));
  EXPECT_THAT(DiffWith(With("seed = 5", "seed = 6")).differences,
              Each(Not(Concerns("start_step"))));
}

TEST_F(RunDiffTest, ASeed) {
  const RunDiff diff = DiffWith(With("seed = 5", "seed = 6"));
  EXPECT_EQ(diff.compared.first->step, 0u);
  EXPECT_THAT(diff.differences,
              ElementsAre(Is("seed", uint64_t{5}, uint64_t{6}, 0)));
}

TEST_F(RunDiffTest, ABatchSizeGivesTheSameSamplesInOtherSteps) {
  const RunDiff diff = DiffWith(With("batch_size = 10", "batch_size = 12"));
  ASSERT_TRUE(diff.compared.first.has_value());
  EXPECT_EQ(diff.compared.first->step, 0u);
  EXPECT_EQ(diff.compared.first->position, 10u);
  EXPECT_EQ(diff.compared.first->a, std::nullopt);
  EXPECT_TRUE(diff.compared.first->b.has_value());
  EXPECT_THAT(diff.differences,
              Contains(Is("batch_size", uint64_t{10}, uint64_t{12}, 0)));
}

TEST_F(RunDiffTest, ALength) {
  const RunDiff diff = DiffWith(With("seq_len = 20", "seq_len = 40"));
  EXPECT_EQ(diff.compared.first->step, 0u);
  EXPECT_THAT(diff.differences,
              Contains(Is("seq_len", uint64_t{20}, uint64_t{40}, 0)));
}

TEST_F(RunDiffTest, AnotherStoreOrAnotherPlace) {
  WriteStore(dir_.path("other"), 9, 10000);
  const RunDiff replaced = DiffWith(With("path = \"a\"", "path = \"other\""));
  EXPECT_THAT(replaced.differences, ElementsAre(Concerns("source 'a'")));
  EXPECT_EQ(replaced.differences[0].from_step, replaced.compared.first->step);
  std::filesystem::copy(dir_.path("a"), dir_.path("moved"));
  const RunDiff moved = DiffWith(With("path = \"a\"", "path = \"moved\""));
  EXPECT_EQ(moved.compared.first, std::nullopt);
  EXPECT_THAT(moved.differences, ElementsAre(Concerns("location of 'a'")));
  EXPECT_FALSE(moved.differences[0].decides_tokens);
}

TEST_F(RunDiffTest, SourcesThatAreAddedOrRenamed) {
  const RunDiff added =
      DiffWith(With("c = { path = \"c\" } }",
                    "c = { path = \"c\" }, d = { path = \"a\" } }"));
  EXPECT_THAT(added.differences, Contains(Concerns("source 'rest/d'")));
  const RunDiff renamed = DiffWith(With("b = { path", "z = { path"));
  EXPECT_THAT(renamed.differences,
              AllOf(Contains(Concerns("source 'rest/b'")),
                    Contains(Concerns("source 'rest/z'"))));
}

TEST_F(RunDiffTest, ASourceThatIsDrawnLaterMattersLater) {
  const std::string late =
      With("a = 0.25, rest = 0.75", "a = 0.25, rest = 0.7, late = 0.05",
           With("[[data.stages]]",
                "late = { weight = 0, path = \"c\" }\n"
                "[[data.stages]]"));
  const RunDiff diff = DiffWith(late);
  ASSERT_TRUE(diff.compared.first.has_value());
  EXPECT_GE(diff.compared.first->step, 200u);
  EXPECT_THAT(
      diff.differences,
      Contains(AllOf(Concerns("source 'late'"),
                     Field(&RunDifference::from_step, ::testing::Ge(200u)))));
}

TEST_F(RunDiffTest, WhatChangesNoTokenStandsApart) {
  const RunDiff diff = DiffWith(
      With("name = \"end\"", "name = \"last\"\nlr_scale = 0.5",
           absl::StrCat(kStagedRun, "[runtime]\nprefetch_batches = 9\n")));
  EXPECT_EQ(diff.compared.first, std::nullopt);
  EXPECT_THAT(diff.differences, ElementsAre(Is("lr_scale", 1.0, 0.5, 200),
                                            Is("stage", "end", "last", 200),
                                            Is("runtime.prefetch_batches",
                                               uint64_t{0}, uint64_t{9}, 0)));
  for (const RunDifference& one : diff.differences) {
    EXPECT_FALSE(one.decides_tokens);
  }
}

// The factor of a step in the middle of a line stands in no file.
TEST_F(RunDiffTest, OfALineOfFactorsItsEndIsSaid) {
  const auto with = [](const std::string& lines) {
    return With("name = \"end\"", "name = \"end\"\n" + lines, kStagedRun);
  };
  EXPECT_THAT(
      Diff(with("lr_scale_end = 0.1"), with("lr_scale_end = 0.2")).differences,
      ElementsAre(Is("lr_scale_end", 0.1, 0.2, 201)));
  EXPECT_THAT(Diff(with("lr_scale_end = 0.1"),
                   with("lr_scale = 0.5\nlr_scale_end = 0.2"))
                  .differences,
              ElementsAre(Is("lr_scale", 1.0, 0.5, 200),
                          Is("lr_scale_end", 0.1, 0.2, 200)));
}

TEST_F(RunDiffTest, EveryKeyOfRuntimeIsCompared) {
  const std::map<std::string, std::string> changes = {
      {"io", "'mmap'"},
      {"verify_checksums", "'off'"},
      {"cache_bytes", "4096"},
      {"token_type", "'i64'"},
      {"tensors", "['positions']"},
      {"attention_across_documents", "true"},
      {"loss_across_documents", "true"},
      {"restart_positions", "false"},
      {"labels_beyond_sample", "true"},
      {"linear_cost", "6"},
      {"max_documents", "9"},
      {"device", "'cuda:1'"},
      {"widen_on_device", "true"},
      {"prefetch_batches", "9"},
      {"prefetch_bytes", "5"},
      {"max_held", "7"},
      {"waits_for_held", "true"},
      {"report_every_steps", "3"}};
  const TracedRun plain = Run(kStagedRun);
  for (const ConfigKey& key : ConfigKeys(KeyTable::kRuntime)) {
    const std::string name(key.name);
    if (name == "catalogs") continue;   // says where to look, and nothing more
    if (name == "even_work") continue;  // PackedRunTest
    ASSERT_TRUE(changes.contains(name)) << name << ": say another value";
    const TracedRun changed = Run(absl::StrCat(kStagedRun, "[runtime]\n", name,
                                               " = ", changes.at(name), "\n"));
    ASSERT_OK_AND_ASSIGN(const RunDiff diff, DiffRuns(plain, changed, kMany));
    EXPECT_EQ(diff.compared.first, std::nullopt) << name;
    ASSERT_EQ(diff.differences.size(), 1u) << name;
    EXPECT_EQ(diff.differences[0].what, "runtime." + name);
    EXPECT_EQ(diff.differences[0].from_step, 0u);
    EXPECT_FALSE(diff.differences[0].decides_tokens);
  }
}

TEST_F(RunDiffTest, ALongerRunIsTheSameToTheEndOfTheShorter) {
  const RunDiff diff = DiffWith(With("steps = 300", "steps = 400"));
  EXPECT_EQ(diff.compared.first, std::nullopt);
  EXPECT_EQ(diff.compared.steps, 300u);
  EXPECT_THAT(diff.differences,
              ElementsAre(Is("steps", uint64_t{300}, uint64_t{400}, 300)));
}

TEST_F(RunDiffTest, ParametersOfNodesAndBlocks) {
  EXPECT_THAT(DiffWith(With("block_size = 128", "block_size = 64")).differences,
              ElementsAre(Concerns("block_size of the root")));
  const RunDiff unshuffled = DiffWith(
      With("weight = 0.5, path", "weight = 0.5, shuffle = false, path"));
  EXPECT_THAT(unshuffled.differences,
              ElementsAre(Is("shuffle of 'a'", DiffValue(), "false", 0)));
  const RunDiff taken =
      DiffWith(With("c = { path = \"c\" }", "c = { path = \"c\", take = 90 }"));
  EXPECT_THAT(taken.differences,
              ElementsAre(Is("take of 'rest/c'", DiffValue(), "90", 0)));
  const RunDiff kind =
      DiffWith(With("flat = { b = { path = \"b\" }, c = { path = \"c\" } }",
                    "concat = [ { name = \"b\", path = \"b\" }, { name = "
                    "\"c\", path = \"c\" } ]"));
  EXPECT_THAT(kind.differences,
              Contains(Is("kind of 'rest'", "flat_mixture", "concat",
                          kind.compared.first->step)));
}

// In the words of the file, wherever the node stands.
TEST_F(RunDiffTest, OptionsOfNodesAreThoseThatAreStated) {
  const auto c = [](const std::string& options) {
    return With("c = { path = \"c\" }",
                "c = { path = \"c\", " + options + " }");
  };
  EXPECT_THAT(Diff(c("filter = { fraction = 0.5 }"),
                   c("filter = { fraction = 0.5, seed = 3 }"))
                  .differences,
              ElementsAre(Is("filter of 'rest/c'", "{ fraction = 0.5 }",
                             "{ fraction = 0.5, seed = 3 }", 0)));
  EXPECT_THAT(Diff(c("slice = [0, 50]"), c("slice = [10, 60]")).differences,
              ElementsAre(Is("slice of 'rest/c'", "[0, 50]", "[10, 60]", 0)));
  EXPECT_THAT(Diff(c("block_shuffle = { chunk_items = 8, window_chunks = 2 }"),
                   c("block_shuffle = { chunk_items = 8, window_chunks = 4 }"))
                  .differences,
              ElementsAre(Concerns("block_shuffle of 'rest/c'")));
  const std::string used = With("c = { path = \"c\" }", "c = { use = \"d\" }") +
                           "[data.nodes.d]\npath = \"c\"\ntake = 80\n";
  const RunDiff taken = Diff(used, With("take = 80", "take = 90", used));
  ASSERT_TRUE(taken.compared.first.has_value());
  EXPECT_THAT(taken.differences, ElementsAre(Is("take of 'rest/c'", "80", "90",
                                                taken.compared.first->step)));
  const RunDiff stops = DiffWith(With("block_size = 128",
                                      "block_size = 128\nstop = "
                                      "'first_exhausted'"));
  EXPECT_THAT(stops.differences,
              Contains(AllOf(
                  Concerns("stop of the root"),
                  Field(&RunDifference::b, DiffValue("\"first_exhausted\"")))));
}

TEST_F(RunDiffTest, ARepeatIsNamedWhereItIsStated) {
  const auto a = [](const std::string& options) {
    return With("path = \"a\" }", "path = \"a\", " + options + " }");
  };
  const RunDiff component = DiffWith(a("repeat = 2"));
  ASSERT_TRUE(component.compared.first.has_value());
  EXPECT_THAT(component.differences,
              ElementsAre(Is("repeat of 'a'", DiffValue(), "2",
                             component.compared.first->step)));
  const RunDiff below = DiffWith(
      With("c = { path = \"c\" }", "c = { path = \"c\", repeat = 3 }"));
  EXPECT_THAT(below.differences,
              ElementsAre(Is("repeat of 'rest/c'", DiffValue(), "3", 0)));
  EXPECT_THAT(Diff(a("repeat = 2"), a("repeat = 3")).differences,
              ElementsAre(Concerns("repeat of 'a'")));
  EXPECT_THAT(Diff(a("repeat = 2"), a("repeat = 2")).differences, IsEmpty());
}

// A root begins again as often as the run needs: nothing states that.
TEST_F(RunDiffTest, ARootThatBeginsAgainIsNoDifference) {
  const auto run = [](const std::string& steps) {
    return "[data]\nsteps = " + steps +
           "\nbatch_size = 10\nseq_len = 20\npath = \"b\"\nshuffle = false\n";
  };
  const RunDiff diff = Diff(run("2"), run("30"));
  EXPECT_EQ(diff.compared.first, std::nullopt);
  EXPECT_THAT(diff.differences, ElementsAre(Concerns("steps")));
  EXPECT_THAT(
      Diff(run("30"), run("30") + "repeat = 2\n").differences,
      ElementsAre(Is("repeat of the root", DiffValue(), "2", std::nullopt)));
}

// The packed component has other items, so it is shuffled differently.
TEST_F(RunDiffTest, NoDifferenceHasTwoSidesThatReadTheSame) {
  const std::string nested =
      "[data]\nsteps = 60\nbatch_size = 4\nseq_len = 20\n"
      "[data.mixture.out]\nweight = 0.5\nmixture = { x = { weight = 0.7, "
      "path = \"a\" }, y = { weight = 0.3, path = \"b\" } }\n"
      "[data.mixture.rest]\nweight = 0.5\npath = \"c\"\n";
  const RunDiff packed =
      Diff(nested,
           With("path = \"a\"", "path = \"a\", pack_documents = true", nested));
  EXPECT_THAT(packed.differences, Contains(Concerns("packing of 'out/x'")));
  for (const RunDifference& one : packed.differences) {
    EXPECT_NE(one.a, one.b) << one.what;
  }
}

// Described differently, and yet the same: only a look at the samples tells.
TEST_F(RunDiffTest, AnotherDescriptionOfTheSameSamples) {
  const std::string one =
      "[data]\nsteps = 20\nbatch_size = 10\nseq_len = 20\n"
      "shuffle = false\nconcat = [ { path = \"a\" } ]\n";
  const std::string two =
      "[data]\nsteps = 20\nbatch_size = 10\nseq_len = 20\nshuffle = false\n"
      "concat = [ { path = \"a\" }, { path = \"b\" } ]\n";
  const TracedRun a = Run(one);
  const TracedRun b = Run(two);
  ASSERT_OK_AND_ASSIGN(const RunDiff diff, DiffRuns(a, b, kMany));
  EXPECT_EQ(diff.compared.first, std::nullopt);
  EXPECT_THAT(diff.differences, Contains(Concerns("source")));
  EXPECT_EQ(diff.differences[0].from_step, std::nullopt);
  uint64_t calls = 0;
  EXPECT_THAT(DiffRuns(a, b, 100),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("differently from step 0"),
                             HasSubstr("no sample before step 10 differs"))));
  EXPECT_TRUE(DiffRuns(a, b, kMany, [&](uint64_t done, uint64_t total) {
                ++calls;
                EXPECT_LE(done, total);
              }).ok());
  EXPECT_GT(calls, 0u);
}

// Stated once, a source is as long as without: the shuffle above goes by it.
TEST_F(RunDiffTest, ALengthBelowARepeatCounts) {
  const auto run = [](const std::string& a) {
    return absl::StrCat("[data]\nseed = 1\nsteps = 20\nbatch_size = 4\n",
                        "seq_len = 20\n", a);
  };
  for (const std::string form :
       {"[data.flat]\na = { path = 'a', take = N, repeat = 1 }\n"
        "b = { path = 'b' }\n",
        "path = 'a'\nslice = [5, N]\nrepeat = 1\n",
        "block_size = 16\n[data.mixture]\na = { weight = 1, path = 'a', "
        "take = N, repeat = 1 }\nb = { weight = 1, path = 'b' }\n"}) {
    SCOPED_TRACE(form);
    const RunDiff diff =
        Diff(run(With("N", "60", form)), run(With("N", "50", form)));
    EXPECT_TRUE(diff.compared.first.has_value());
  }
}

using Tokens = DatasetPtr<TokenWindow>;

Tokens DeclaredTokens(const std::string& name, uint64_t tokens,
                      uint64_t length) {
  return *DeclaredWindows(name, tokens, length);
}

// Nothing but its path tells a number of tokens from another.
TEST(DeclaredRunDiffTest, NumbersOfTokensAndEndlessRuns) {
  const auto run = [](uint64_t a, uint64_t b) {
    const Tokens root = *MixtureDataset<TokenWindow>::Create(
        {{"a", DeclaredTokens("a", a, 16), 1},
         {"b", DeclaredTokens("b", b, 16), 1}});
    return TracedRun(root, *Schedule::Create({.batch_size = 8, .seq_len = 16}),
                     {{"a", "", a, nullptr}, {"b", "", b, nullptr}});
  };
  ASSERT_OK_AND_ASSIGN(const RunDiff same,
                       DiffRuns(run(1000, 2000), run(1000, 2000), kMany));
  EXPECT_EQ(same.compared.first, std::nullopt);
  EXPECT_GT(same.compared.steps, uint64_t{1} << 50);
  ASSERT_OK_AND_ASSIGN(const RunDiff other,
                       DiffRuns(run(1000, 2000), run(1000, 3000), kMany));
  ASSERT_TRUE(other.compared.first.has_value());
  EXPECT_THAT(other.differences,
              Contains(Is("source 'b'", "2000 tokens", "3000 tokens",
                          other.compared.first->step)));
}

}  // namespace
}  // namespace poniente::internal
