// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "poniente/flat_mixture.h"
#include "poniente/mixture_dataset.h"
#include "poniente/token_source.h"
#include "poniente/token_store.h"
#include "poniente/token_store_writer.h"
#include "poniente/trace.h"
#include "poniente/transforms.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using poniente::testing::IsOk;
using poniente::testing::IsOkAndHolds;
using poniente::testing::StatusIs;
using poniente::testing::TempDir;
using poniente::testing::TestSeed;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Tokens = DatasetPtr<TokenWindow>;

constexpr uint32_t kMaxLen = 32;

Tokens DeclaredItems(const std::string& name, uint64_t items) {
  return *DeclaredWindows(name, items * kMaxLen, kMaxLen);
}

std::vector<ConfigSource> SourcesOf(const DatasetNode& root) {
  std::vector<ConfigSource> sources;
  const DatasetTree tree(root);
  for (const TreeLeaf& leaf : tree.leaves()) {
    const uint64_t items = leaf.node->length_now().readable;
    sources.push_back({leaf.path, "", items * kMaxLen, nullptr});
  }
  return sources;
}

// Three stages, one along a ramp, lengths of 32, 8 and 16, batches of 6 and 10.
Schedule StagedSchedule(uint64_t steps) {
  ScheduleOptions options;
  options.steps = steps;
  options.batch_size = 6;
  options.seq_len = kMaxLen;
  options.stages = {{.start = RunPoint::ShareOfSteps(0.4),
                     .name = "late",
                     .lr_scale = 0.5,
                     .weights = {{"prose", 0.2}, {"code", 3}},
                     .ramp = RunPoint::ShareOfSteps(0.1),
                     .ramp_blocks = 1},
                    {.start = RunPoint::ShareOfSteps(0.8),
                     .weights = {{"web", 5}, {"notes", 0.1}}}};
  options.batch_sizes = {{RunPoint::ShareOfSteps(0.25), 10}};
  options.seq_lens = {{RunPoint::ShareOfSteps(0.2), 8},
                      {RunPoint::ShareOfSteps(0.7), 16}};
  options.mixture.block_size = 64;
  options.mixture.seed = 7;
  options.components = {{"web", 2}, {"prose", 1}, {"notes", 1}, {"code", 1}};
  return *Schedule::Create(options);
}

// A source, a flat mixture, an endless mixture with one below it, and a
// component that becomes another dataset, with other items, at the last stage.
Tokens NestedTree(const Schedule& schedule) {
  const Tokens prose = *FlatMixture<TokenWindow>::Create(
      {{"words", DeclaredItems("words", 70)},
       {"tales", DeclaredItems("tales", 300)}});
  const Tokens letters = *MixtureDataset<TokenWindow>::Create(
      {{"sent", DeclaredItems("sent", 9), 2},
       {"got", DeclaredItems("got", 14), 1}});
  const Tokens notes = *MixtureDataset<TokenWindow>::Create(
      {{"old", DeclaredItems("old", 20), 1}, {"letters", letters, 2}});
  const uint64_t last = schedule.stages().back().start_sample;
  return *MixtureDataset<TokenWindow>::Create(
      {{"web", DeclaredItems("web", 900), 2},
       {"prose", prose, 1},
       {"notes", notes, 1},
       {"code", DeclaredItems("code", 40), 1}},
      schedule.mixture_options(), {{"code", last, DeclaredItems("code", 60)}});
}

TracedRun NestedStaged(uint64_t steps) {
  const Schedule schedule = StagedSchedule(steps);
  const Tokens root = NestedTree(schedule);
  return TracedRun(root, schedule, SourcesOf(*root));
}

TEST(TracedRunTest, WhatIsShownIsFound) {
  const TracedRun run = NestedStaged(4000);
  std::mt19937_64 random(TestSeed(1));
  for (int i = 0; i < 10000; ++i) {
    const uint64_t step = random() % 4000;
    const uint64_t batch_size = run.schedule().At(step).batch_size;
    const auto rank = static_cast<uint32_t>(random() % batch_size);
    ASSERT_OK_AND_ASSIGN(
        const TracedStep shown,
        run.Show(step, rank, static_cast<uint32_t>(batch_size)));
    ASSERT_EQ(shown.samples.size(), 1u);
    const TracedSample& sample = shown.samples[0];
    const SampleOrigin& origin = sample.origin;
    ASSERT_OK_AND_ASSIGN(const auto found,
                         run.FindItem(origin.path, origin.item, std::nullopt));
    const Reading expected = {
        step,         origin.position,    origin.sample,
        origin.epoch, origin.token_begin, origin.token_end};
    const auto hits =
        std::count_if(found.begin(), found.end(), [&](const auto& one) {
          return one.view == sample.view && one.reading == expected;
        });
    ASSERT_EQ(hits, 1) << origin.path << " item " << origin.item << " step "
                       << step;
  }
}

// Sample, then what FindItem() says of it.
using Walked = std::map<uint64_t, std::tuple<uint64_t, uint64_t, uint64_t,
                                             uint32_t, uint32_t, uint32_t>>;

std::map<std::pair<std::string, Index>, Walked> WalkAll(const TracedRun& run,
                                                        StepRange steps) {
  std::map<std::pair<std::string, Index>, Walked> walked;
  for (uint64_t step = steps.begin; step < steps.end; ++step) {
    const TracedStep shown = *run.Show(step);
    for (const TracedSample& sample : shown.samples) {
      const SampleOrigin& at = sample.origin;
      walked[{at.path, at.item}][at.sample] = {step,         at.position,
                                               at.epoch,     at.token_begin,
                                               at.token_end, sample.view};
    }
  }
  return walked;
}

TEST(TracedRunTest, FindsWhatAWalkOverAllStepsSees) {
  const TracedRun run = NestedStaged(400);
  for (const StepRange range : {StepRange{0, 400}, StepRange{77, 330}}) {
    auto walked = WalkAll(run, range);
    for (const ConfigSource& source : run.sources()) {
      for (Index item = 0; item < source.tokens / kMaxLen; ++item) {
        ASSERT_OK_AND_ASSIGN(const auto found,
                             run.FindItem(source.path, item, range));
        Walked readings;
        for (const TracedReading& one : found) {
          ASSERT_EQ(one.item, item);
          const Reading& at = one.reading;
          readings[at.sample] = {at.step,        at.position,  at.epoch,
                                 at.token_begin, at.token_end, one.view};
        }
        ASSERT_EQ(readings.size(), found.size());
        const Walked expected = walked[{source.path, item}];
        ASSERT_EQ(readings, expected) << source.path << ' ' << item;
      }
    }
  }
}

TEST(TracedRunTest, LaterViewsHaveItemsOfTheirOwn) {
  const TracedRun run = NestedStaged(400);
  // 40 items at first, then other 60.
  ASSERT_OK_AND_ASSIGN(const auto both, run.FindItem("code", 39, std::nullopt));
  const auto views = [](const std::vector<TracedReading>& found) {
    std::vector<uint32_t> numbers;
    for (const TracedReading& one : found) numbers.push_back(one.view);
    return numbers;
  };
  EXPECT_THAT(views(both),
              AllOf(::testing::Contains(0), ::testing::Contains(1)));
  ASSERT_OK_AND_ASSIGN(const auto later,
                       run.FindItem("code", 59, std::nullopt));
  EXPECT_THAT(views(later),
              AllOf(::testing::Not(::testing::IsEmpty()), ::testing::Each(1)));
  EXPECT_THAT(
      run.FindItem("code", 60, std::nullopt),
      StatusIs(absl::StatusCode::kOutOfRange,
               HasSubstr("'code' has 60 items, 0 to 59: there is no item 60")));
}

TEST(TracedRunTest, AStepHasItsStageAndItsRanksShares) {
  const TracedRun run = NestedStaged(400);
  EXPECT_EQ(run.Show(0)->stage_name, "start");
  EXPECT_EQ(run.Show(200)->stage_name, "late");
  EXPECT_EQ(run.Show(399)->stage_name, "stages[1]");
  EXPECT_EQ(run.Show(200)->plan.lr_scale, 0.5);
  const auto origins = [&](uint32_t rank, uint32_t ranks) {
    const TracedStep shown = *run.Show(300, rank, ranks);
    std::vector<SampleOrigin> all;
    for (const TracedSample& sample : shown.samples) {
      all.push_back(sample.origin);
    }
    return all;
  };
  std::vector<SampleOrigin> joined;
  for (uint32_t rank = 0; rank < 3; ++rank) {
    const std::vector<SampleOrigin> part = origins(rank, 3);
    joined.insert(joined.end(), part.begin(), part.end());
  }
  const std::vector<SampleOrigin> whole = origins(0, 1);
  EXPECT_EQ(joined, whole);
  EXPECT_THAT(run.FindItem("web", 0, StepRange{400, 500}),
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr("has 400 steps: there is no step 400")));
  EXPECT_THAT(run.Show(400), StatusIs(absl::StatusCode::kOutOfRange,
                                      HasSubstr("no step 400")));
}

TEST(TracedRunTest, SourcesAreFoundByTheEndOfTheirPath) {
  const auto leaf = [](const std::string& name) {
    return DeclaredItems(name, 50);
  };
  const Tokens a = *FlatMixture<TokenWindow>::Create(
      {{"old", leaf("old")}, {"words", leaf("words")}});
  const Tokens b = *FlatMixture<TokenWindow>::Create({{"old", leaf("old")}});
  const Tokens root = *FlatMixture<TokenWindow>::Create(
      {{"a", a}, {"b", b}, {"words", leaf("words")}});
  const TracedRun run(root, *Schedule::Create({.steps = 1}), SourcesOf(*root));
  EXPECT_THAT(run.FindSource("a/old"), IsOkAndHolds(std::string("a/old")));
  // The whole path of one is the end of another's.
  EXPECT_THAT(run.FindSource("words"), IsOkAndHolds(std::string("words")));
  EXPECT_THAT(run.FindSource("old"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("2 sources: 'a/old', 'b/old'"),
                             HasSubstr("whole path"))));
  EXPECT_THAT(run.FindSource("wrods"),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("did you mean 'words'?")));
  EXPECT_THAT(
      run.FindSource("a"),
      StatusIs(absl::StatusCode::kNotFound,
               HasSubstr("is not a source, but has 'a/old', 'a/words'")));
  EXPECT_THAT(run.FindSource("ords"), StatusIs(absl::StatusCode::kNotFound,
                                               HasSubstr("no source 'ords'")));
}

TEST(TracedRunTest, NumbersOfTokensHaveNoDocumentsAndNoTokens) {
  const TracedRun run = NestedStaged(40);
  ASSERT_OK_AND_ASSIGN(const TracedStep shown, run.Show(3));
  for (const TracedSample& sample : shown.samples) {
    EXPECT_TRUE(sample.documents.empty());
  }
  EXPECT_THAT(run.FindDocument("web", 0, std::nullopt),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("documents of 'web' are not known")));
  EXPECT_THAT(run.DocumentsNamed("web", "x"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("documents of 'web' are not known")));
  EXPECT_THAT(run.Tokens(shown.samples),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("only a number of tokens")));
}

TEST(TracedRunTest, ARunWithoutAnEndIsSearchedWhereItIsSaid) {
  const Tokens root = *MixtureDataset<TokenWindow>::Create(
      {{"a", DeclaredItems("a", 9), 1}, {"b", DeclaredItems("b", 5), 1}});
  const TracedRun run(root, *Schedule::Create({.batch_size = 4, .seq_len = 32}),
                      SourcesOf(*root));
  EXPECT_EQ(run.steps(), std::nullopt);
  EXPECT_THAT(run.FindItem("a", 1, std::nullopt),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("no end: say which steps")));
  ASSERT_OK_AND_ASSIGN(const auto found,
                       run.FindItem("a", 1, StepRange{1000000, 1000100}));
  EXPECT_GT(found.size(), 10u);
}

TEST(TracedRunTest, AShortLastBatchIsShownIfItIsServed) {
  const Tokens root = *Shuffle<TokenWindow>(DeclaredItems("only", 10));
  const Schedule schedule = *Schedule::Create({.batch_size = 4, .seq_len = 32});
  const TracedRun keeps(root, schedule, SourcesOf(*root));
  EXPECT_EQ(keeps.steps(), 3u);
  EXPECT_EQ(keeps.Show(2)->samples.size(), 2u);
  LoaderOptions options;
  options.last_batch = LastBatch::kDrop;
  const TracedRun drops(root, schedule, SourcesOf(*root), options);
  EXPECT_EQ(drops.steps(), 2u);
  EXPECT_THAT(drops.Show(2),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("no step 2")));
  size_t found = 0;
  for (Index item = 0; item < 10; ++item) {
    found += drops.FindItem("only", item, StepRange{0, 1000})->size();
  }
  EXPECT_EQ(found, 8u);
}

// Documents of 0 to 90 tokens, two of one name.
class TracedDocumentsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    TokenStoreWriterOptions options;
    options.vocabulary = {"proof", 250};
    ASSERT_OK_AND_ASSIGN(auto writer,
                         TokenStoreWriter::Create(dir_.path("s"), options));
    std::mt19937_64 random(5);
    for (uint32_t d = 0; d < 60; ++d) {
      std::vector<uint32_t> ids(random() % 91, d);
      const std::string name = d == 7 ? "doc-50" : "doc-" + std::to_string(d);
      ASSERT_THAT(writer->AddDocument(ids, name), IsOk());
    }
    ASSERT_THAT(writer->Finish(), IsOk());
    ASSERT_OK_AND_ASSIGN(store_, TokenStore::Open(dir_.path("s")));
  }

  // Its items are read in parts of a quarter or a half, and twice or more.
  TracedRun Run() const {
    const Schedule schedule = StagedSchedule(200);
    const Tokens root = *MixtureDataset<TokenWindow>::Create(
        {{"web", *store_->Windows(kMaxLen), 2},
         {"prose", *store_->Windows(kMaxLen), 1},
         {"notes", DeclaredItems("notes", 30), 1},
         {"code", DeclaredItems("code", 40), 1}},
        schedule.mixture_options());
    std::vector<ConfigSource> sources = SourcesOf(*root);
    sources[0].data = sources[1].data = store_;
    return TracedRun(root, schedule, std::move(sources));
  }

  TempDir dir_;
  std::shared_ptr<const TokenStore> store_;
};

TEST_F(TracedDocumentsTest, AreThoseOfTheTokensThatAreRead) {
  const TracedRun run = Run();
  size_t most = 0;
  for (uint64_t step = 0; step < 200; ++step) {
    ASSERT_OK_AND_ASSIGN(const TracedStep shown, run.Show(step));
    for (const TracedSample& sample : shown.samples) {
      if (sample.origin.leaf > 1) continue;
      ASSERT_OK_AND_ASSIGN(const auto tokens, run.Tokens({sample}));
      // Every token is the number of its document.
      std::vector<uint32_t> expected = tokens[0].tokens;
      expected.erase(std::unique(expected.begin(), expected.end()),
                     expected.end());
      std::vector<uint32_t> numbers;
      for (const TracedDocument& document : sample.documents) {
        numbers.push_back(static_cast<uint32_t>(document.number));
        ASSERT_EQ(document.name, *store_->DocumentName(document.number));
      }
      ASSERT_EQ(numbers, expected);
      most = std::max(most, numbers.size());
    }
  }
  EXPECT_GT(most, 1u);
}

TEST_F(TracedDocumentsTest, AreFoundWhereverATokenOfThemIsRead) {
  const TracedRun run = Run();
  std::map<uint64_t, std::vector<std::pair<uint64_t, uint64_t>>> walked;
  for (uint64_t step = 0; step < 200; ++step) {
    ASSERT_OK_AND_ASSIGN(const TracedStep shown, run.Show(step));
    for (const TracedSample& sample : shown.samples) {
      if (sample.origin.path != "web") continue;
      for (const TracedDocument& document : sample.documents) {
        walked[document.number].emplace_back(step, sample.origin.position);
      }
    }
  }
  for (uint64_t document = 0; document < 60; ++document) {
    ASSERT_OK_AND_ASSIGN(const auto found,
                         run.FindDocument("web", document, std::nullopt));
    std::vector<std::pair<uint64_t, uint64_t>> reads;
    for (const TracedReading& one : found) {
      reads.emplace_back(one.reading.step, one.reading.position);
      ASSERT_EQ(one.document, document);
    }
    const auto expected = walked[document];
    ASSERT_EQ(reads, expected) << document;
  }
  EXPECT_THAT(
      run.FindDocument("web", 60, std::nullopt),
      StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("document 60")));
}

TEST_F(TracedDocumentsTest, HaveNamesThatSeveralMayShare) {
  const TracedRun run = Run();
  EXPECT_THAT(run.DocumentsNamed("web", "doc-9"), IsOkAndHolds(ElementsAre(9)));
  EXPECT_THAT(run.DocumentsNamed("web", "doc-50"),
              IsOkAndHolds(ElementsAre(7, 50)));
  EXPECT_THAT(run.DocumentsNamed("web", "doc"),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("none of the 60 documents of 'web'")));
}

}  // namespace
}  // namespace poniente::internal
