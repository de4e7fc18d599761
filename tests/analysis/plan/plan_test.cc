// SPDX-License-Identifier: Apache-2.0
#include "poniente/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "poniente/flat_mixture.h"
#include "poniente/in_memory_dataset.h"
#include "poniente/run.h"
#include "poniente/trace.h"
#include "poniente/transforms.h"
#include "tests/analysis/curriculum.h"
#include "tests/config/small_stores.h"
#include "tests/support/status_matchers.h"

namespace poniente::internal {
namespace {

using poniente::testing::IsOk;
using poniente::testing::SmallStores;
using poniente::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class PlanTest : public SmallStores {
 protected:
  Config Parse(const std::string& text) {
    auto config = Config::Parse(text, "t.toml", dir_.path());
    EXPECT_TRUE(config.ok()) << config.status();
    return *std::move(config);
  }
};

constexpr char kStaged[] = R"([data]
steps = 300
batch_size = 10
seq_len = 20
block_size = 100
[data.mixture]
a = { weight = 0.5, path = "a" }
rest = { weight = 0.5, flat = { b = { path = "b" }, c = { path = "c" } } }
[[data.stages]]
name = "end"
start_step = 200
weights = { a = 0.25, rest = 0.75 }
)";

TEST_F(PlanTest, CountsAreThoseOfARunSampleBySample) {
  const Config config = Parse(kStaged);
  ASSERT_OK_AND_ASSIGN(const PlannedRun plan, MakePlan(config, std::nullopt));
  ASSERT_EQ(plan.stages.size(), 2u);
  EXPECT_EQ(plan.stages[0].samples, 2000u);
  EXPECT_EQ(plan.stages[1].samples, 1000u);
  EXPECT_EQ(plan.stages[1].name, "end");
  std::map<std::string, double> total;
  for (const PlannedRunSource& source : plan.sources) {
    total[source.name] = source.total_samples();
  }
  std::map<std::string, double> dealt;
  ASSERT_OK_AND_ASSIGN(const auto loader, config.OpenLoader());
  for (int step = 0; step < 300; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    for (size_t i = 0; i < batch.num_samples(); ++i) {
      const std::string path = loader->sources()[batch.source(i)].path;
      ++dealt[path.substr(path.find('/') + 1)];
    }
  }
  EXPECT_EQ(total["a"], 1250);
  EXPECT_EQ(total["a"], dealt["a"]);
  EXPECT_EQ(total["rest"], 1750);
  EXPECT_TRUE(plan.is_exact);
  EXPECT_EQ(total["b"], dealt["b"]);
  EXPECT_EQ(total["c"], dealt["c"]);
}

// What lies in order is not taken for shuffled.
TEST_F(PlanTest, ARampEndsWithItsLastWholeStep) {
  // 20 steps are 200 samples: two blocks of 150.
  const std::string text(kStaged);
  const Config config =
      Parse(text.substr(0, text.find("block_size = 100")) + "block_size = 150" +
            text.substr(text.find("\n[data.mixture]")) + "ramp_steps = 20\n");
  ASSERT_OK_AND_ASSIGN(const PlannedRun plan, MakePlan(config, std::nullopt));
  ASSERT_EQ(plan.stages.size(), 2u);
  EXPECT_EQ(plan.stages[1].ramp_end_step, 230u);
  ASSERT_OK_AND_ASSIGN(const auto loader, config.OpenLoader());
  const Schedule& schedule = loader->schedule();
  EXPECT_NE(schedule.At(229).weights, schedule.At(230).weights);
  EXPECT_EQ(schedule.At(230).weights, schedule.At(299).weights);
}

TEST_F(PlanTest, ARampThatIsCutIsCalledSo) {
  const std::string staged = std::string(kStaged) + "ramp_steps = 40\n";
  const auto last = [&](const std::string& text) {
    auto plan = MakePlan(Parse(text), std::nullopt);
    EXPECT_THAT(plan, testing::IsOk());
    return plan->stages[1];
  };
  const PlannedRunStage whole = last(staged);
  EXPECT_EQ(whole.ramp_end_step, 240u);
  EXPECT_FALSE(whole.is_ramp_cut);
  const PlannedRunStage cut =
      last(staged + "[[data.stages]]\nstart_step = 220\nweights = { a = 1 }\n");
  EXPECT_EQ(cut.ramp_end_step, 220u);
  EXPECT_TRUE(cut.is_ramp_cut);
  const PlannedRunStage beyond =
      last(std::string(kStaged) + "ramp_steps = 400\n");
  EXPECT_EQ(beyond.ramp_end_step, 300u);
  EXPECT_TRUE(beyond.is_ramp_cut);
}

TEST_F(PlanTest, KnowsTheOrderOfConcatAndTake) {
  const auto total = [&](const std::string& node) {
    auto plan = MakePlan(Parse("[data]\nsteps = 5\nbatch_size = 10\n"
                               "seq_len = 20\n" +
                               node),
                         std::nullopt);
    EXPECT_TRUE(plan.ok()) << plan.status();
    std::vector<double> totals;
    for (const PlannedRunSource& source : plan->sources) {
      totals.push_back(source.total_samples());
    }
    return totals;
  };
  EXPECT_THAT(total("shuffle = false\n"
                    "concat = [ { path = 'b' }, { path = 'c' } ]\n"),
              ::testing::ElementsAre(38, 12));
  EXPECT_THAT(total("[data.mixture.k]\nweight = 1\ntake = 20\n"
                    "concat = [ { path = 'b' }, { path = 'c' } ]\n"),
              ::testing::ElementsAre(50, 50, 0));
}

// Nothing but the last epoch of 'rest', 188 windows, has to be looked up.
TEST_F(PlanTest, ALongRunIsExactWhereWhatItsEndCutsIsShort) {
  ASSERT_OK_AND_ASSIGN(const PlannedRun plan,
                       MakePlan(Parse(kStaged), uint64_t{10'000'000}));
  EXPECT_TRUE(plan.is_exact);
  EXPECT_EQ(plan.sources[0].total_samples(), 25'000'500);
  EXPECT_NEAR(plan.sources[2].total_samples() / plan.sources[1].total_samples(),
              38.0 / 188, 1e-6);
}

TEST_F(PlanTest, TheLastBatchIsCountedAsItIsServed) {
  const std::string data = "[data]\nbatch_size = 7\nseq_len = 20\npath = 'a'\n";
  ASSERT_OK_AND_ASSIGN(
      const PlannedRun drop,
      MakePlan(Parse(data + "last_batch = 'drop'\n"), std::nullopt));
  EXPECT_EQ(drop.steps, 71u);
  EXPECT_EQ(drop.sources[0].total_samples(), 497);
}

// What documents leave out is not left over: it was not to be read.
TEST_F(PlanTest, DocumentsLeftOutAreNotLeftOver) {
  TokenStoreWriterOptions written;
  written.vocabulary = {"proof", 250};
  ASSERT_OK_AND_ASSIGN(auto writer,
                       TokenStoreWriter::Create(dir_.path("d"), written));
  const std::vector<uint32_t> ids(30, 7);
  for (int i = 0; i < 100; ++i)
    ASSERT_THAT(writer->AddDocument(ids, "all"), IsOk());
  ASSERT_THAT(writer->Finish(), IsOk());
  testing::WriteFile(dir_.path("scores.f32"), std::string(4 * 100, '\0'));
  ASSERT_OK_AND_ASSIGN(
      const PlannedRun plan,
      MakePlan(Parse("[data]\nsteps = 50\nbatch_size = 4\nseq_len = 20\n"
                     "[data.mixture]\n"
                     "d = { path = 'd', weight = 1, documents = { fraction = "
                     "0.5 } }\n"
                     "o = { path = 'd', weight = 1, documents = { fraction = "
                     "0.5 }, order_documents = { scores = 'scores.f32' } }\n"
                     "b = { path = 'b', weight = 1 }\n"),
               std::nullopt));
  EXPECT_EQ(plan.sources[0].left_over_tokens, std::nullopt);
  EXPECT_EQ(plan.sources[0].stored_tokens, 3000u);
  EXPECT_EQ(plan.sources[1].path, "o");
  EXPECT_EQ(plan.sources[1].left_over_tokens, std::nullopt);
  EXPECT_EQ(plan.sources[2].left_over_tokens, 17u);
  EXPECT_EQ(plan.left_over_tokens, 17);
}

TEST_F(PlanTest, EpochsAreDrawsOverLength) {
  ASSERT_OK_AND_ASSIGN(const PlannedRun plan,
                       MakePlan(Parse(kStaged), std::nullopt));
  const PlannedRunSource& rest = plan.sources[1];
  EXPECT_EQ(rest.name, "rest");
  EXPECT_EQ(rest.length, 38u + 150u);
  EXPECT_DOUBLE_EQ(*rest.epochs, 1750.0 / 188);
  EXPECT_EQ(plan.sources[2].depth, 1u);
  EXPECT_EQ(plan.sources[2].total_samples() + plan.sources[3].total_samples(),
            1750);
  EXPECT_NEAR(*plan.sources[2].epochs, 1750.0 / 188, 0.5);
}

// Two sources choose some of the same documents.
TEST_F(PlanTest, ADocumentOfAnEvaluationThatIsTrainedOnCountsOnce) {
  testing::WriteDocuments(dir_.path("d"), 4, 3000);
  ASSERT_OK_AND_ASSIGN(
      const PlannedRun plan,
      MakePlan(Parse("[data]\nsteps = 50\nbatch_size = 4\nseq_len = 20\n"
                     "[data.mixture]\n"
                     "d = { path = 'd', weight = 1 }\n"
                     "e = { path = 'd', weight = 1, documents = { fraction = "
                     "0.5 } }\n"
                     "[data.eval.seen]\npath = 'd'\n"),
               std::nullopt));
  ASSERT_EQ(plan.evals.size(), 1u);
  const PlannedEvalSource& seen = plan.evals[0].sources[0];
  EXPECT_EQ(seen.compared_sources, 2u);
  EXPECT_GT(seen.of_documents, 50u);
  EXPECT_EQ(seen.trained, seen.of_documents);
}

TEST_F(PlanTest, StepsCanBeReplacedAndAreNeededWhereARunHasNoEnd) {
  ASSERT_OK_AND_ASSIGN(const PlannedRun plan, MakePlan(Parse(kStaged), 150));
  EXPECT_EQ(plan.stages.size(), 1u);
  EXPECT_EQ(plan.stages[0].end_step, 150u);
  const Config endless = Parse(
      "[data]\nbatch_size = 1\nseq_len = 20\n"
      "mixture = { a = { weight = 1, path = 'a' } }\n");
  EXPECT_THAT(MakePlan(endless, std::nullopt),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("data.total_tokens"),
                             HasSubstr("or how many steps are to be planned"),
                             Not(HasSubstr("--steps")))));
  const Config finite =
      Parse("[data]\nbatch_size = 7\nseq_len = 20\npath = 'a'\n");
  ASSERT_OK_AND_ASSIGN(const PlannedRun epoch, MakePlan(finite, std::nullopt));
  EXPECT_EQ(epoch.steps, 72u);
  EXPECT_EQ(epoch.sources.size(), 1u);
  EXPECT_EQ(epoch.sources[0].total_samples(), 500);
}

using Tokens = DatasetPtr<TokenWindow>;

Tokens DeclaredWindowsOf(uint64_t windows, uint32_t length = 8) {
  return DeclaredWindows("declared", windows * length, length).value();
}

absl::StatusOr<PlannedRun> PlanOf(const Tokens& root,
                                  const ScheduleOptions& options,
                                  double max_repeats = kMaxRepeats) {
  return MakePlan(*root, Schedule::Create(options).value(), {},
                  LastBatch::kKeep, std::nullopt, max_repeats);
}

TEST(PlannedCurriculumTest, SharesOfTokens) {
  const testing::Curriculum curriculum(
      testing::Curriculum::Options(RunPoint::ShareOfTokens));
  ASSERT_OK_AND_ASSIGN(const PlannedRun plan, curriculum.Plan());
  EXPECT_TRUE(plan.is_exact);
  std::map<std::string, double> tokens;
  std::map<std::string, double> epochs;
  for (const PlannedRunSource& source : plan.sources) {
    tokens[source.name] = source.total_tokens() / 1e9;
    epochs[source.name] = *source.epochs;
  }
  for (const auto& [name, expected] :
       testing::Curriculum::Weights(8036.4, 2619.6, 1494.8, 1687.2, 962.0)) {
    EXPECT_NEAR(tokens[name], expected, 0.06) << name;
  }
  for (const auto& [name, expected] :
       testing::Curriculum::Weights(0.67, 4.37, 9.97, 5.62, 19.24)) {
    EXPECT_NEAR(epochs[name], expected, 0.005) << name;
  }
  EXPECT_NEAR(plan.attention.same_tokens, 4.21, 0.005);
  EXPECT_EQ(plan.attention.longest, 32768u);
  // Less than a group of 1024 windows, at two changes, of five sources.
  EXPECT_GT(plan.skipped_tokens, 0);
  EXPECT_LT(plan.skipped_tokens, 2 * 5 * 1024 * 32768.0);
}

TEST(PlannedCurriculumTest, SharesOfSteps) {
  const testing::Curriculum curriculum(
      testing::Curriculum::Options(RunPoint::ShareOfSteps));
  ASSERT_OK_AND_ASSIGN(const PlannedRun plan, curriculum.Plan());
  EXPECT_NEAR(plan.attention.same_steps, 8.10, 0.005);
  EXPECT_NEAR(plan.sources[2].total_tokens() / 1e9, 2430.3, 0.06);
  EXPECT_EQ(plan.sources[2].name, "math");
}

TEST(PlannedRunTest, OfALongEpochThatIsCutCountsAreExpected) {
  ASSERT_OK_AND_ASSIGN(
      const Tokens root,
      FlatMixture<TokenWindow>::Create({{"a", DeclaredWindowsOf(3'000'000)},
                                        {"b", DeclaredWindowsOf(1'000'000)}}));
  ScheduleOptions options;
  options.steps = 20'000;
  options.batch_size = 100;
  options.seq_len = 8;
  ASSERT_OK_AND_ASSIGN(const PlannedRun half, PlanOf(root, options));
  EXPECT_FALSE(half.is_exact);
  EXPECT_EQ(half.sources[0].total_samples(), 1'500'000);
  EXPECT_EQ(half.sources[0].first_repeat, std::nullopt);
  options.steps = 80'000;
  ASSERT_OK_AND_ASSIGN(const PlannedRun two,
                       PlanOf(Repeat(root).value(), options));
  EXPECT_TRUE(two.is_exact);
  EXPECT_EQ(two.sources[0].total_samples(), 6'000'000);
  ASSERT_TRUE(two.sources[1].first_repeat.has_value());
  EXPECT_EQ(two.sources[1].first_repeat->step, 40'000u);
  EXPECT_TRUE(two.sources[1].first_repeat->is_exact);
}

TEST(PlannedRunTest, SaysWhoIsStarvedAndWhoIsReadTooOften) {
  MixtureOptions mixture;
  mixture.block_size = 10;
  ASSERT_OK_AND_ASSIGN(
      const Tokens flat,
      FlatMixture<TokenWindow>::Create({{"some", DeclaredWindowsOf(10)},
                                        {"nothing", DeclaredWindowsOf(0)}}));
  ASSERT_OK_AND_ASSIGN(
      const Tokens root,
      MixtureDataset<TokenWindow>::Create(
          {{.name = "often", .dataset = DeclaredWindowsOf(10), .weight = 1},
           {.name = "flat", .dataset = flat, .weight = 1},
           {.name = "rare", .dataset = DeclaredWindowsOf(10), .weight = 1e-9},
           {.name = "never", .dataset = DeclaredWindowsOf(10), .weight = 0}},
          mixture));
  ScheduleOptions options;
  options.steps = 11;
  options.batch_size = 10;
  options.seq_len = 8;
  ASSERT_OK_AND_ASSIGN(const PlannedRun plan, PlanOf(root, options));
  std::map<std::string, PlannedRunSource> sources;
  for (const PlannedRunSource& source : plan.sources)
    sources[source.path] = source;
  EXPECT_EQ(sources["often"].starved, Starved::kNo);
  EXPECT_EQ(sources["rare"].starved, Starved::kNotReached);
  EXPECT_EQ(sources["never"].starved, Starved::kNoWeight);
  EXPECT_EQ(sources["flat/nothing"].starved, Starved::kNoWindow);
  EXPECT_TRUE(sources["often"].is_over_repeated);
  EXPECT_TRUE(sources["flat"].is_over_repeated);
  EXPECT_FALSE(sources["flat/some"].is_over_repeated);  // its flat says so
  ASSERT_OK_AND_ASSIGN(const PlannedRun patient, PlanOf(root, options, 6));
  EXPECT_FALSE(patient.sources[0].is_over_repeated);
}

TEST(PlannedRunTest, ViewsOfAComponentAreOneSource) {
  ASSERT_OK_AND_ASSIGN(
      const Tokens root,
      MixtureDataset<TokenWindow>::Create(
          {{"a", DeclaredWindowsOf(100), 1}, {"b", DeclaredWindowsOf(50), 1}},
          MixtureOptions(), {{"a", 2048, DeclaredWindowsOf(10)}}));
  ScheduleOptions options;
  options.steps = 4096;
  options.batch_size = 20;
  options.seq_len = 8;
  ASSERT_OK_AND_ASSIGN(const PlannedRun plan, PlanOf(root, options));
  ASSERT_EQ(plan.sources.size(), 2u);
  EXPECT_EQ(plan.sources[0].total_samples(), 40'960);
  EXPECT_NEAR(*plan.sources[0].epochs, 1024 / 100.0 + (40'960 - 1024) / 10.0,
              1e-6);
}

TEST(PlannedRunTest, BatchSizesAndLengthsChangeOnTheWay) {
  ScheduleOptions options;
  options.steps = 100;
  options.batch_size = 4;
  options.seq_len = 8;
  options.max_seq_len = 32;
  options.components = {{"a", 1}};
  options.batch_sizes = {{RunPoint::Step(25), 8}};
  options.seq_lens = {{RunPoint::Step(50), 32}};
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
  ASSERT_OK_AND_ASSIGN(
      const Tokens root,
      MixtureDataset<TokenWindow>::Create(
          {{"a", DeclaredWindowsOf(1000, 32), 1}}, schedule.mixture_options()));
  ASSERT_OK_AND_ASSIGN(const PlannedRun plan, PlanOf(root, options));
  EXPECT_EQ(plan.samples, 25u * 4 + 75 * 8);
  EXPECT_EQ(plan.tokens, 25u * 4 * 8 + 25 * 8 * 8 + 50 * 8 * 32);
  ASSERT_EQ(plan.stages[0].stretches.size(), 3u);
  EXPECT_EQ(plan.stages[0].stretches[1].batch_size, 8u);
  EXPECT_EQ(plan.sources[0].total_tokens(), static_cast<double>(plan.tokens));
  EXPECT_DOUBLE_EQ(*plan.sources[0].epochs, (300.0 / 4 + 400) / 1000);
  // 300 samples are 75 windows; groups have 63 (a sixteenth of 1000).
  EXPECT_DOUBLE_EQ(plan.skipped_tokens, (126 - 75) * 32);
  const double steps_squared = 300 * 64 + 400 * 1024;
  EXPECT_DOUBLE_EQ(plan.attention.same_steps, 700 * 1024 / steps_squared);
  EXPECT_DOUBLE_EQ(plan.attention.same_tokens,
                   32 * static_cast<double>(plan.tokens) / steps_squared);
  EXPECT_DOUBLE_EQ(plan.stages[0].bytes_per_step,
                   4 * static_cast<double>(plan.tokens) / 100);
}

TEST(PlannedRunTest, TheSeriesHasEveryBoundaryAndEndsWithTheTotals) {
  const testing::Curriculum curriculum(
      testing::Curriculum::Options(RunPoint::ShareOfTokens));
  ASSERT_OK_AND_ASSIGN(const PlannedRun plan, curriculum.Plan());
  std::set<uint64_t> steps;
  for (const PlannedRunSeries::Point& point : plan.series.points) {
    EXPECT_TRUE(steps.insert(point.step).second) << point.step;
    if (point.step == plan.steps) continue;
    const StepPlan at = curriculum.schedule().At(point.step);
    EXPECT_EQ(point.seq_len, at.seq_len);
    EXPECT_EQ(point.lr_scale, at.lr_scale);
    EXPECT_EQ(point.stage, at.stage);
    const size_t i = steps.size() - 1;
    for (const PlannedRunSeries::Band& band : plan.series.bands) {
      EXPECT_EQ(band.shares[i], at.weights[band.source]);
    }
  }
  for (const PlannedRunStage& stage : plan.stages) {
    EXPECT_TRUE(steps.contains(stage.first_step));
  }
  EXPECT_EQ(*steps.rbegin(), plan.steps);
  for (const PlannedRunSeries::Band& band : plan.series.bands) {
    const PlannedRunSource& source = plan.sources[band.source];
    EXPECT_DOUBLE_EQ(band.tokens.back(), source.total_tokens());
    EXPECT_NEAR(band.epochs.back(), *source.epochs, 1e-9);
  }
}

TEST(PlannedRunTest, ARunOfNoStepsIsEmpty) {
  ASSERT_OK_AND_ASSIGN(
      const Tokens mixture,
      MixtureDataset<TokenWindow>::Create(
          {{"a", DeclaredWindowsOf(10), 1}, {"b", DeclaredWindowsOf(10), 1}}));
  ASSERT_OK_AND_ASSIGN(
      const PlannedRun plan,
      MakePlan(*Take(mixture, 5).value(),
               Schedule::Create({.batch_size = 8, .seq_len = 8}).value(), {},
               LastBatch::kDrop, std::nullopt));
  EXPECT_EQ(plan.steps, 0u);
  EXPECT_EQ(plan.tokens, 0u);
  EXPECT_EQ(plan.sources.size(), 2u);
  EXPECT_TRUE(plan.series.points.empty());
}

TEST(PlannedRunTest, MaxEpochsAndTooManySamplesAreRefused) {
  ASSERT_OK_AND_ASSIGN(
      const Tokens root,
      MixtureDataset<TokenWindow>::Create(
          {{.name = "a",
            .dataset = DeclaredWindowsOf(5000),
            .weight = 1,
            .max_epochs = 2},
           {.name = "b", .dataset = DeclaredWindowsOf(100'000), .weight = 1}}));
  ScheduleOptions options;
  options.steps = 4000;
  options.batch_size = 10;
  options.seq_len = 8;
  EXPECT_THAT(
      PlanOf(root, options),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("component 'a'")));
  EXPECT_THAT(
      MakePlan(*Repeat(DeclaredWindowsOf(5)).value(),
               Schedule::Create({.batch_size = uint64_t{1} << 40, .seq_len = 8})
                   .value(),
               {}, LastBatch::kKeep, uint64_t{1} << 40),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2^62")));
}

TEST_F(PlanTest, ADatasetOfTheProgramHasAKindOfItsOwn) {
  poniente::Run run = {.batch_size = 4, .seq_len = 20, .steps = 30};
  run.folder = dir_.path();
  std::vector<TokenWindow> windows(10, TokenWindow(std::vector<uint32_t>(20)));
  run.data = Mixture(
      {{"a", 1, Source("a")},
       {"size", 1, Declared(5000)},
       {"mine", 1, InMemoryDataset<TokenWindow>::Create(std::move(windows))}});
  ASSERT_OK_AND_ASSIGN(const Config config, Config::Create(run));
  ASSERT_OK_AND_ASSIGN(const PlannedRun plan, MakePlan(config));
  std::vector<std::string> kinds;
  for (const PlannedRunSource& source : plan.sources) {
    kinds.push_back(source.name + ": " + source.kind);
    EXPECT_TRUE(source.is_leaf);
  }
  EXPECT_THAT(kinds, ::testing::ElementsAre("a: store", "size: store",
                                            "mine: own_dataset"));
  const TracedRun traced(config);
  EXPECT_THAT(traced.FindDocument("mine", 0, std::nullopt),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("'mine' are not known, because it is a "
                                 "dataset of the program's own")));
  EXPECT_THAT(traced.DocumentsNamed("mine", "x"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("a dataset of the program's own")));
  EXPECT_THAT(traced.FindDocument("size", 0, std::nullopt),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("only its number of tokens")));
}

}  // namespace
}  // namespace poniente::internal
