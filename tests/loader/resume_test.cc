// SPDX-License-Identifier: Apache-2.0
// Loader::State() and Resume(): what may change in between, and what is said of
// the rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "loader/state/run_state.h"
#include "poniente/flat_mixture.h"
#include "poniente/loader.h"
#include "poniente/mapped_dataset.h"
#include "poniente/mixture_dataset.h"
#include "poniente/transforms.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using testing::CountingWindows;
using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::Not;
using testing::StatusIs;

constexpr uint32_t kResumedSeqLen = 16;
using Tokens = DatasetPtr<TokenWindow>;
using Components = std::vector<MixtureComponent<TokenWindow>>;

Tokens Windows(uint64_t items, std::string name) {
  return CountingWindows(items, kResumedSeqLen, 0, std::move(name));
}

// A run of batches of 6 from blocks of 32: step 20 begins with sample 120, in
// the block [96, 128), and step 22 is the first that begins behind it.
struct Described {
  Described() {
    schedule.steps = 200;
    schedule.batch_size = 6;
    schedule.seq_len = kResumedSeqLen;
    schedule.max_seq_len = kResumedSeqLen;
    schedule.stages = {{.start = RunPoint::Sample(64),
                        .name = "second",
                        .weights = {{"code", 3}, {"law", 0}}}};
    mixture.block_size = 32;
    mixture.seed = 42;
    nested.block_size = 8;
    nested.stages = {{8, {{"x", 0}}}};
    components = {{"web", Windows(500, "web store"), 5},
                  {"code", Windows(90, "code store"), 2},
                  {"law", Windows(80, "law store"), 1}};
  }

  Tokens Small() const {
    return *FlatMixture<TokenWindow>::Create(
        {{"notes", Windows(7, "notes store")}, {"mails", Windows(9, "m")}});
  }
  // An endless mixture, from stages and weights of its own.
  Tokens Nested() const {
    return *MixtureDataset<TokenWindow>::Create(
        {{"x", Windows(50, "x store"), 1}, {"y", Windows(60, "y store"), 1}},
        nested);
  }

  absl::StatusOr<std::unique_ptr<Loader>> Make() const {
    auto planned = Schedule::Create(schedule);
    if (!planned.ok()) return planned.status();
    Components all = components;
    all.push_back({"small", Small(), 1});
    all.push_back({"nested", Nested(), 2});
    auto root = MixtureDataset<TokenWindow>::Create(
        all, planned->MixtureOptionsFrom(mixture), views);
    if (!root.ok()) return root.status();
    return Loader::Create(wrap ? wrap(*root) : *root, *planned, options);
  }
  std::unique_ptr<Loader> Open() const {
    auto loader = Make();
    EXPECT_THAT(loader, IsOk());
    return *std::move(loader);
  }
  std::string StateAt(uint64_t step) const {
    const auto loader = Open();
    EXPECT_THAT(loader->Seek(step), IsOk());
    return loader->State();
  }

  ScheduleOptions schedule;
  MixtureOptions mixture;
  MixtureOptions nested;
  Components components;
  std::vector<ComponentView<TokenWindow>> views;
  std::function<Tokens(Tokens)> wrap;
  LoaderOptions options;
};

// The run of `before`, saved at step 20, goes on as `after`.
absl::Status Continue(const Described& before, const Described& after,
                      uint64_t step = 20) {
  const auto loader = after.Open();
  EXPECT_THAT(loader->Seek(3), IsOk());
  const absl::Status resumed = loader->Resume(before.StateAt(step));
  EXPECT_EQ(loader->next_step(), resumed.ok() ? step : 3);
  return resumed;
}

TEST(ResumeTest, TheNextStepIsTheOneOfTheState) {
  const auto loader = Described().Open();
  std::vector<std::string> states;
  std::vector<uint64_t> first_items;
  for (int step = 0; step < 30; ++step) {
    states.push_back(loader->State());
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    first_items.push_back(batch.provenance(0).item);
  }
  for (const size_t step : {29u, 0u, 13u}) {
    const auto resumed = Described().Open();
    ASSERT_THAT(resumed->Resume(states[step]), IsOk());
    EXPECT_EQ(resumed->State(), states[step]);
    ASSERT_OK_AND_ASSIGN(const Batch batch, resumed->NextBlocking());
    EXPECT_EQ(batch.step(), step);
    EXPECT_EQ(batch.provenance(0).item, first_items[step]);
  }
}

TEST(ResumeTest, StatesAreTheSameOnEveryRankAndHoweverRead) {
  const std::string expected = Described().StateAt(20);
  for (const uint32_t ranks : {2, 64}) {
    Described run;
    run.options.ranks = ranks;
    run.options.rank = ranks - 1;
    run.options.prefetch_batches = 9;
    run.options.token_type = TokenType::kI64;
    EXPECT_EQ(run.StateAt(20), expected);
  }
}

TEST(ResumeTest, WhatNeverDecidesATokenMayChange) {
  Described other;
  other.schedule.stages[0].name = "renamed";
  other.schedule.stages[0].lr_scale = 0.5;
  other.schedule.stages[0].numbers = {{"rope", 2}};
  other.mixture.group_items = 99;  // nothing is cut
  std::swap(other.components[0], other.components[1]);
  EXPECT_THAT(Continue(Described(), other), IsOk());
  EXPECT_EQ(other.StateAt(20), Described().StateAt(20));
}

using Edit = std::function<void(Described*)>;

struct FutureEdit {
  const char* name;
  Edit edit;
};
void PrintTo(const FutureEdit& edit, std::ostream* out) { *out << edit.name; }

const FutureEdit kFutureEdits[] = {
    {"StageAppended",
     [](Described* run) {
       run->schedule.stages.push_back(
           {.start = RunPoint::Step(22), .weights = {{"web", 1}}});
     }},
    {"StageAtTheBlocksEnd",
     [](Described* run) {
       run->schedule.stages.push_back({.start = RunPoint::Sample(128),
                                       .weights = {{"web", 1}},
                                       .ramp = RunPoint::Sample(640)});
     }},
    {"LongerRun", [](Described* run) { run->schedule.steps = 100000; }},
    {"ShorterRun", [](Described* run) { run->schedule.steps = 20; }},
    {"EndlessRun", [](Described* run) { run->schedule.steps = 0; }},
    {"BatchSizeFromTheNextStepOn",
     [](Described* run) {
       run->schedule.batch_sizes = {{RunPoint::Step(20), 24}};
     }},
    {"ShorterSequences",
     [](Described* run) {
       run->schedule.seq_lens = {{RunPoint::Step(22), 4}};
       run->schedule.trim = true;
     }},
    {"ComponentOfALaterStage",
     [](Described* run) {
       run->components.push_back({"anneal", Windows(40, "new"), 0});
       run->schedule.stages.push_back(
           {.start = RunPoint::Step(22), .weights = {{"anneal", 1}}});
     }},
    {"ViewOfALaterSample",
     [](Described* run) {
       run->views = {{"web", 128, Windows(300, "filtered")}};
     }},
    {"MaxEpochs", [](Described* run) { run->components[0].max_epochs = 9; }},
    {"RepeatAboveTheRoot",
     [](Described* run) {
       run->wrap = [](Tokens root) {
         return *Repeat(*Take(std::move(root), 1200));
       };
     }},
    {"TakeAboveTheRoot",
     [](Described* run) {
       run->wrap = [](Tokens root) { return *Take(std::move(root), 1200); };
     }},
    {"StageOfANestedMixtureNotYetReached",
     [](Described* run) {
       run->nested.stages.push_back({400, {{"x", 9}}});
     }},
};

class FutureTest : public ::testing::TestWithParam<FutureEdit> {};

TEST_P(FutureTest, MayBeEditedAndTakenBack) {
  Described edited;
  GetParam().edit(&edited);
  EXPECT_THAT(Continue(Described(), edited), IsOk());
  EXPECT_THAT(Continue(edited, Described()), IsOk());
  EXPECT_EQ(edited.StateAt(20), Described().StateAt(20));
}

INSTANTIATE_TEST_SUITE_P(Edits, FutureTest, ::testing::ValuesIn(kFutureEdits),
                         [](const auto& test) { return test.param.name; });

struct PastEdit {
  const char* name;
  Edit edit;
  std::vector<std::string> words;
};
void PrintTo(const PastEdit& edit, std::ostream* out) { *out << edit.name; }

const PastEdit kPastEdits[] = {
    {"WeightsOfTheFirstStage",
     [](Described* run) { run->components[0].weight = 6; },
     {"weights, stages", "before sample 128", "2 in the state, 2 here",
      "a stage may begin at step 22 at the earliest"}},
    {"WeightsOfAPastStage",
     [](Described* run) { run->schedule.stages[0].weights["code"] = 4; },
     {"weights, stages", "at step 22 at the earliest"}},
    {"StartOfAPastStage",
     [](Described* run) {
       run->schedule.stages[0].start = RunPoint::Sample(66);
     },
     {"weights, stages"}},
    {"StageInTheBlockBeingServed",
     [](Described* run) {
       run->schedule.stages.push_back(
           {.start = RunPoint::Step(21), .weights = {{"web", 1}}});
     },
     {"would end at sample 126 here", "step 22 at the earliest"}},
    {"BlockSize",
     [](Described* run) { run->mixture.block_size = 64; },
     {"block_siz"}},
    {"Seed",
     [](Described* run) { run->mixture.seed = 43; },
     {"seed 42 in the state, seed 43 here: state seed 42"}},
    {"PastBatchSize",
     [](Described* run) {
       run->schedule.batch_sizes = {{RunPoint::Step(19), 7}};
     },
     {"no change in the state, batch_size 7 and seq_len 16 from step 19 on "
      "here: batch sizes and lengths may change from step 20 on"}},
    {"FirstBatchSize",
     [](Described* run) { run->schedule.batch_size = 5; },
     {"batch_size 6 and seq_len 16 from step 0 on in the state, batch_size 5"}},
    {"PastLength",
     [](Described* run) {
       run->schedule.seq_lens = {{RunPoint::Step(11), 8}};
     },
     {"no change in the state, batch_size 6 and seq_len 8 from step 11 on"}},
    {"MaxSeqLen",
     [](Described* run) { run->schedule.max_seq_len = 32; },
     {"max_seq_len 16 in the state, max_seq_len 32 here: state max_seq_len "
      "16"}},
    {"StoreUnderTheSameName",
     [](Described* run) { run->components[0].dataset = Windows(500, "other"); },
     {"other data in 'web' (", " in the state, "}},
    {"RenamedSource",
     [](Described* run) {
       run->components[1].name = "source";
       run->schedule.stages[0].weights = {{"source", 3}, {"law", 0}};
     },
     {"names", "not read here, but in the state: 'code'",
      "not in the state, but read here: 'source'"}},
    {"ShuffleOfAComponent",
     [](Described* run) {
       run->components[0].shuffle = ShuffleOptions::None();
     },
     {"shuffles"}},
    {"ErasOfAComponent",
     [](Described* run) {
       run->components[0].shuffle = ShuffleOptions::Eras(50);
     },
     {"shuffles"}},
    {"FunctionAboveTheRoot",
     [](Described* run) {
       run->wrap = [](Tokens root) {
         return Map<TokenWindow>("same", std::move(root),
                                 [](TokenWindow window) { return window; });
       };
     },
     {"kinds"}},
    {"SliceAboveTheRoot",
     [](Described* run) {
       run->wrap = [](Tokens root) { return *Slice(std::move(root), 1, 9999); };
     },
     {"ranges"}},
    {"PastStageOfANestedMixture",
     [](Described* run) {
       run->nested.stages = {{8, {{"x", 9}}}};
     },
     {"mixture below the root"}},
    {"SeedOfANestedMixture",
     [](Described* run) { run->nested.seed = 1; },
     {"stated seeds"}},
    {"RunThatEndsTooSoon",
     [](Described* run) { run->schedule.steps = 19; },
     {"would end after 19 steps, but 20 have been served"}},
    {"PastView",
     [](Described* run) {
       run->views = {{"web", 96, Windows(300, "filtered")}};
     },
     {"read here: 'web (view 1)'"}},
    {"ComponentOfAPastStage",
     [](Described* run) {
       run->schedule.stages[0].weights = {{"code", 0}, {"law", 3}};
     },
     {"weights, stages"}},
    {"ComponentOfAPastStageOfANestedMixture",
     [](Described* run) {
       run->nested.stages = {{8, {{"y", 0}}}};
     },
     {"mixture below the root"}},
};

class PastTest : public ::testing::TestWithParam<PastEdit> {};

TEST_P(PastTest, StaysAndTheDifferenceIsNamed) {
  Described edited;
  GetParam().edit(&edited);
  const absl::Status refused = Continue(Described(), edited);
  for (const std::string& words : GetParam().words) {
    EXPECT_THAT(refused, StatusIs(absl::StatusCode::kFailedPrecondition,
                                  AllOf(HasSubstr("cannot go on with step 20"),
                                        HasSubstr(words))));
  }
  EXPECT_THAT(Continue(Described(), edited, 0), IsOk())
      << "nothing is served yet";
  EXPECT_THAT(Continue(edited, edited, 19), IsOk());
}

INSTANTIATE_TEST_SUITE_P(Edits, PastTest, ::testing::ValuesIn(kPastEdits),
                         [](const auto& test) { return test.param.name; });

TEST(ResumeTest, OneChangeIsOneDifference) {
  for (const size_t lone : {0, 1, 4, 5, 6, 10, 12, 16}) {
    Described edited;
    kPastEdits[lone].edit(&edited);
    EXPECT_THAT(Continue(Described(), edited).ToString(), Not(HasSubstr("(2)")))
        << kPastEdits[lone].name;
  }
}

TEST(ResumeTest, AllDifferencesAreNamedAtOnce) {
  Described edited;
  edited.mixture.seed = 7;
  edited.components[0].weight = 4;
  edited.components[0].dataset = Windows(499, "web store");
  edited.schedule.batch_size = 30;
  EXPECT_THAT(
      Continue(Described(), edited),
      StatusIs(
          absl::StatusCode::kFailedPrecondition,
          AllOf(HasSubstr("(1) seed 42"), HasSubstr("(2) batch_size 6"),
                HasSubstr("(3) other weights"),
                HasSubstr("(4) other data in 'web'"), Not(HasSubstr("(5)")))));
}

TEST(ResumeTest, OtherSharesAreNamedWithBothValuesAsFarAsTheStateKnows) {
  Described other;
  other.components[0].weight = 4;
  const absl::Status refused = Continue(Described(), other);
  const std::string name = other.components[0].name;
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kFailedPrecondition,
                                AllOf(HasSubstr("shares at sample "),
                                      HasSubstr("'" + name + "' 0."),
                                      HasSubstr(" in the state, 0."))));
  // Only the block size: the shares are the same.
  Described blocks;
  blocks.mixture.block_size *= 2;
  EXPECT_THAT(Continue(Described(), blocks),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("the same, so an earlier stage differs, or "
                                 "one of the others")));
}

TEST(ResumeTest, AViewKeepsItsStart) {
  const auto run_of = [](uint64_t start) {
    Described run;
    run.schedule.stages.insert(
        run.schedule.stages.begin(),
        {.start = RunPoint::Sample(32), .weights = {{"web", 4}}});
    run.views = {{"web", start, Windows(300, "filtered")}};
    return run;
  };
  EXPECT_THAT(Continue(run_of(32), run_of(32)), IsOk());
  EXPECT_THAT(Continue(run_of(32), run_of(64)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("starts of views")));
}

// All of the changes that a state lists are the same.
TEST(ResumeTest, EarlierBatchSizesAreCompared) {
  Described before, after;
  before.schedule.batch_sizes = {{RunPoint::Step(1), 4},
                                 {RunPoint::Step(2), 8}};
  for (int64_t step = 3; step < 12; ++step) {
    for (Described* run : {&before, &after}) {
      run->schedule.batch_sizes.push_back(
          {RunPoint::Step(step), step % 2 == 0 ? 7u : 5u});
    }
  }
  EXPECT_THAT(Continue(before, before), IsOk());
  EXPECT_THAT(
      Continue(before, after),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("11 changes of batch_size or seq_len before "
                               "step 20 in the state, 9 here"),
                     Not(HasSubstr("(2)")))));
  // As many, of other sizes.
  after.schedule.batch_sizes.insert(
      after.schedule.batch_sizes.begin(),
      {{RunPoint::Step(1), 5}, {RunPoint::Step(2), 7}});
  EXPECT_THAT(Continue(before, after),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("among the first 4 changes of the run")));
}

TEST(ResumeTest, ADifferenceWithoutAMessageOfItsOwnIsRefused) {
  ASSERT_OK_AND_ASSIGN(internal::RunState state,
                       internal::ParseRunState(Described().StateAt(20)));
  state.tree.structure.reset();  // but there are weights
  EXPECT_THAT(
      Described().Open()->Resume(internal::PrintRunState(state)),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("the state differs"), Not(HasSubstr("(2)")))));
}

TEST(ResumeTest, AnotherOrderVersionIsRefused) {
  // Signed as a later version of the library would sign it.
  const std::string here = Described().StateAt(20);
  ASSERT_THAT(here, HasSubstr("\norder_version 2\n"));
  std::string later =
      "poniente run state 1\nstep 20\nsample 120\n"
      "order_version 3\nseed 42\nstructure -\n"
      "max_seq_len 16\nbatches 0 6 16\ncrc32c ";
  const auto loader = Described().Open();
  EXPECT_THAT(
      loader->Resume(later + "9d1dcb9c\n"),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("order version 3 in the state, 2 in this build"),
                     Not(HasSubstr("(2)")))));
}

TEST(ResumeTest, ARefusedTextLeavesTheLoaderWhereItIs) {
  const auto loader = Described().Open();
  ASSERT_THAT(loader->NextBlocking(), IsOk());
  EXPECT_THAT(loader->Resume("step 3"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("line 1 is not that of a loader's state")));
  ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
  EXPECT_EQ(batch.step(), 1u);
  const std::string state = loader->State();
  EXPECT_THAT(loader->CloseBlocking(), IsOk());
  EXPECT_EQ(loader->State(), state);
  EXPECT_THAT(
      loader->Resume(state),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("closed")));
}

TEST(ResumeTest, AStateBehindTheEndIsOne) {
  Described run;
  run.schedule.steps = 20;
  for (const uint64_t step : {uint64_t{20}, uint64_t{999}, UINT64_MAX}) {
    EXPECT_THAT(Continue(run, run, step), IsOk()) << step;
    run.schedule.steps = 0;
    EXPECT_THAT(Continue(run, run, step), IsOk()) << step;
    run.schedule.steps = 20;
  }
  // A complete run may be prolonged.
  EXPECT_THAT(Continue(run, Described(), 20), IsOk());
}

TEST(ResumeTest, AGrowingDatasetMayGrowOn) {
  InMemoryOptions memory;
  memory.vocabulary = Vocabulary{"modulo", 251};
  const auto growing = InMemoryDataset<TokenWindow>::Growing(memory);
  const auto append = [&](uint32_t items) {
    EXPECT_THAT(
        growing->Append(std::vector<TokenWindow>(
            items, TokenWindow(std::vector<uint32_t>(kResumedSeqLen, 1)))),
        IsOk());
  };
  append(8);
  ScheduleOptions options;
  options.batch_size = 2;
  options.seq_len = kResumedSeqLen;
  const Schedule schedule = *Schedule::Create(options);
  const Tokens root = *EraShuffle<TokenWindow>(growing, 4);
  const auto loader = *Loader::Create(root, schedule);
  EXPECT_THAT(loader->Seek(3), IsOk());
  const std::string state = loader->State();
  EXPECT_THAT(state, HasSubstr("source - \"\""));
  append(5);
  EXPECT_THAT(loader->Resume(state), IsOk());
  EXPECT_EQ(loader->State(), state);
  growing->Finish();
  EXPECT_THAT(loader->Resume(state), IsOk());
  EXPECT_THAT(loader->State(), Not(HasSubstr("source -")));
  // A mixture has no order before its lengths are final.
  const auto later = InMemoryDataset<TokenWindow>::Growing(memory);
  const auto waiting = *Loader::Create(*Shuffle<TokenWindow>(later), schedule);
  EXPECT_THAT(waiting->Seek(3), IsOk());
  EXPECT_THAT(waiting->State(), HasSubstr("structure -\n"));
  EXPECT_THAT(waiting->Resume(loader->State()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("FinalLength()")));
}

// A state names a step that this loader gives, whoever calls Next() meanwhile.
TEST(ResumeTest, StatesTakenWhileOthersReadAreWhole) {
  const auto loader = Described().Open();
  std::atomic<bool> done = false;
  std::thread reader([&] {
    for (int step = 0; step < 200; ++step) {
      EXPECT_THAT(loader->NextBlocking(), IsOk());
    }
    done = true;
  });
  const auto straight = Described().Open();
  uint64_t last = 0;
  while (!done) {
    const std::string state = loader->State();
    ASSERT_THAT(straight->Resume(state), IsOk()) << state;
    EXPECT_GE(straight->next_step(), last);
    last = straight->next_step();
    EXPECT_EQ(straight->State(), state);
  }
  reader.join();
}

// Where every sample before the step lies: path, item, epoch, part.
using Origin = std::tuple<std::string, uint64_t, uint64_t, uint32_t, uint32_t>;

std::vector<Origin> Served(const Loader& loader, uint64_t step) {
  const uint64_t samples = step == 0
                               ? 0
                               : loader.schedule().At(step - 1).first_sample +
                                     loader.schedule().At(step - 1).batch_size;
  std::vector<Position> positions(samples);
  for (uint64_t i = 0; i < samples; ++i) positions[i].index = i;
  std::vector<LeafPosition> items(samples);
  EXPECT_THAT(loader.tree().Resolve(positions, items), IsOk());
  std::vector<Origin> origins;
  for (const LeafPosition& item : items) {
    const TreeLeaf& leaf = loader.tree().leaves()[item.leaf];
    const Position& at = item.position;
    origins.emplace_back(leaf.path + ": " + leaf.node->name(), at.index,
                         at.epoch, at.part_begin, at.part_length);
  }
  return origins;
}

// Runs that differ in a few random ways.
Described RandomRun(std::mt19937_64* random) {
  const auto pick = [random](uint64_t n) { return (*random)() % n; };
  Described run;
  if (pick(4) == 0) run.mixture.block_size = 24;
  if (pick(8) == 0) run.mixture.seed = 1;
  if (pick(4) == 0) run.components[0].weight = 1;
  if (pick(4) == 0) run.components[1].dataset = Windows(91, "code store");
  if (pick(6) == 0) {
    run.schedule.stages[0].weights = {{"code", 0}, {"law", 3}};
  }
  if (pick(3) == 0) {
    run.schedule.stages.push_back(
        {.start = RunPoint::Sample(80), .weights = {{"web", 4}}});
  }
  if (pick(2) == 0) {
    const auto start = static_cast<int64_t>(14 + 3 * pick(6));
    run.schedule.stages.push_back(
        {.start = RunPoint::Step(start), .weights = {{"web", 1}}});
  }
  if (pick(4) == 0) {
    run.views = {{"web", 48 + 16 * pick(6), Windows(300, "filtered")}};
  }
  if (pick(2) == 0) {
    const auto start = static_cast<int64_t>(10 + 4 * pick(6));
    run.schedule.batch_sizes = {{RunPoint::Step(start), 5 + pick(2)}};
  }
  if (pick(3) == 0) {
    const auto start = static_cast<int64_t>(9 + 5 * pick(6));
    run.schedule.seq_lens = {{RunPoint::Step(start), 8}};
    run.schedule.trim = pick(3) == 0;
    run.mixture.group_items = 4 + pick(2);
  }
  if (pick(6) == 0) run.nested.stages = {{8, {{"y", 0}}}};
  if (pick(3) == 0) run.nested.stages = {{8 + 8 * pick(9), {{"x", 3}}}};
  if (pick(4) == 0) {
    const uint64_t end = 100 + 50 * pick(4);
    run.wrap = [end](Tokens root) { return *Take(std::move(root), end); };
  }
  return run;
}

TEST(ResumeTest, AnAcceptedStateMeansTheSamePast) {
  std::mt19937_64 random(testing::TestSeed(20));
  int accepted = 0;
  int same = 0;
  for (int pair = 0; pair < 2500; ++pair) {
    const auto before = RandomRun(&random).Make();
    const auto after = RandomRun(&random).Make();
    if (!before.ok() || !after.ok()) continue;
    const uint64_t step = random() % 34;
    ASSERT_THAT((*before)->Seek(step), IsOk());
    const std::string state = (*before)->State();
    const uint64_t end = (*after)->schedule().FirstSample(step);
    const uint64_t samples = (*before)->schedule().FirstSample(step);
    const auto past_end = [](const Loader& loader, uint64_t need) {
      Position last = {.index = need == 0 ? 0 : need - 1};
      LeafPosition item;
      return absl::IsOutOfRange(
          loader.tree().Resolve(std::span(&last, 1), std::span(&item, 1)));
    };
    if (past_end(**before, samples) || past_end(**after, end)) continue;
    const bool is_same =
        samples == end && Served(**before, step) == Served(**after, step);
    same += is_same;
    if (!(*after)->Resume(state).ok()) continue;
    ++accepted;
    ASSERT_TRUE(is_same || step == 0) << "pair " << pair << "\n" << state;
    if (step > 0) {
      EXPECT_EQ((*after)->State(), state);
    }
  }
  std::printf("%d accepted of %d with the same past\n", accepted, same);
  EXPECT_GT(accepted, 100);
  // Refused are those that a block begun, a content or a name tells apart.
  EXPECT_GT(2 * accepted, same);
}

}  // namespace
}  // namespace poniente
