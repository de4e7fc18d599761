// SPDX-License-Identifier: Apache-2.0
// A run that is changed while it goes on is the run that would have been served
// had the changes been known: by every rank, and from every checkpoint.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "poniente/extend/opened_component.h"
#include "poniente/flat_mixture.h"
#include "poniente/journal.h"
#include "poniente/loader.h"
#include "poniente/mapped_dataset.h"
#include "poniente/mixture_dataset.h"
#include "tests/loader/open_loader.h"
#include "tests/loader/ready_fd.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using testing::CountingWindows;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kInvalid;
using testing::kSeqLen;
using testing::StatusIs;
using Row = std::vector<uint32_t>;
using Rows = std::vector<Row>;

// web 0.5, code 0.3 and mixed 0.2, which is x and y in equal parts.
struct SteeredTree {
  explicit SteeredTree(uint64_t steps = 200, uint64_t batch_size = 6) {
    schedule.steps = steps;
    schedule.batch_size = batch_size;
    schedule.seq_len = kSeqLen;
    schedule.mixture.block_size = 32;
    schedule.mixture.seed = 42;
    schedule.components = {
        {"web", 0.5, {}}, {"code", 0.3, {}}, {"mixed", 0.2, {}}};
  }

  Schedule Plan() const {
    auto plan = Schedule::Create(schedule);
    EXPECT_THAT(plan, IsOk());
    return *std::move(plan);
  }

  DatasetPtr<TokenWindow> Root() const {
    MixtureOptions nested;
    nested.block_size = 8;
    auto mixed = MixtureDataset<TokenWindow>::Create(
        {{.name = "x", .dataset = CountingWindows(40, kSeqLen, 7)},
         {.name = "y", .dataset = CountingWindows(50, kSeqLen, 11)}},
        nested);
    EXPECT_THAT(mixed, IsOk());
    auto root = MixtureDataset<TokenWindow>::Create(
        {{.name = "web",
          .dataset = CountingWindows(300, kSeqLen, 0),
          .weight = 0.5},
         {.name = "code",
          .dataset = CountingWindows(70, kSeqLen, 3),
          .weight = 0.3},
         {.name = "mixed", .dataset = *mixed, .weight = 0.2}},
        Plan().mixture_options());
    EXPECT_THAT(root, IsOk());
    return *std::move(root);
  }

  std::unique_ptr<Loader> Open(LoaderOptions options = {}) const {
    options.component_opener = OpenNew;
    auto loader = Loader::Create(Root(), Plan(), std::move(options));
    EXPECT_THAT(loader, IsOk());
    return *std::move(loader);
  }

  // Opens what RandomChange() adds.
  static absl::StatusOr<OpenedComponent> OpenNew(const std::string& mixture,
                                                 const ComponentText& text) {
    OpenedComponent opened;
    opened.part.component = {.name = text.name,
                             .dataset = CountingWindows(30, kSeqLen, 13),
                             .weight = mixture.empty() ? 0.2 : 1};
    return opened;
  }

  ScheduleOptions schedule;
};

LoaderOptions With(Journal journal) {
  LoaderOptions options;
  options.journal = std::move(journal);
  return options;
}

// The tokens of the next steps of a rank, and the leaves that they are from.
Rows Read(Loader& loader, uint64_t steps) {
  Rows rows;
  for (uint64_t s = 0; s < steps; ++s) {
    auto batch = loader.NextBlocking();
    if (!batch.ok()) {
      EXPECT_TRUE(absl::IsOutOfRange(batch.status())) << batch.status();
      return rows;
    }
    const auto tokens = batch->tokens<uint32_t>();
    for (size_t i = 0; i < batch->num_samples(); ++i) {
      Row& row = rows.emplace_back();
      row.push_back(batch->source(i));
      const auto ids = tokens.subspan(i * kSeqLen, kSeqLen);
      row.insert(row.end(), ids.begin(), ids.end());
    }
  }
  return rows;
}

Rows All(const SteeredTree& tree, const Journal& journal) {
  const auto loader = tree.Open(With(journal));
  return Read(*loader, UINT64_MAX);
}

RunChange Of(std::string path, RunChange change) {
  change.path = std::move(path);
  return change;
}

RunChange RandomChange(std::mt19937_64& random) {
  const auto weight = [&random] {
    return static_cast<double>(1 + random() % 9);
  };
  switch (random() % 8) {
    case 0:
      return RunChange::Temperature(0.5 + static_cast<double>(random() % 4));
    case 2: {
      const uint64_t item = random() % 300;
      return RunChange::DropItems("web", {{item, item + 1}});
    }
    case 3:
      return Of(random() % 2 == 0 ? "" : "mixed",
                RunChange::Add(absl::StrCat("new-", random()), "{}", "odd"));
    case 1:
      return Of("mixed",
                RunChange::Weights({{"x", weight()}, {"y", weight()}}, "odd"));
    default:
      return RunChange::Weights({{"web", weight()}, {"code", weight()}});
  }
}

TEST(SteeringTest, IsTheRunThatStagesWouldHaveMade) {
  SteeredTree tree;
  const auto loader = tree.Open();
  Rows rows = Read(*loader, 20);
  // Steps 0 to 19 are samples 0 to 119, in blocks up to 128: step 21 holds it.
  const auto step = loader->Steer(RunChange::Weights({{"code", 3}}, "test"));
  ASSERT_THAT(step, IsOk());
  EXPECT_EQ(*step, 21u);
  EXPECT_EQ(loader->journal().entry(0).sample, 128u);
  EXPECT_EQ(loader->journal().entry(0).step, 20u);
  EXPECT_EQ(loader->last_decision(), 20u);
  const Rows rest = Read(*loader, UINT64_MAX);
  rows.insert(rows.end(), rest.begin(), rest.end());

  SteeredTree known;
  known.schedule.stages = {
      {.start = RunPoint::Sample(128), .weights = {{"code", 3}}}};
  EXPECT_EQ(All(known, Journal()), rows);
  EXPECT_NE(All(tree, Journal()), rows);
}

TEST(SteeringTest, AnyChangesAnyTimeGiveOneRun) {
  std::mt19937_64 random(testing::TestSeed(23));
  for (int round = 0; round < 30; ++round) {
    const SteeredTree tree(60 + random() % 60, 1 + random() % 9);
    LoaderOptions options;
    options.prefetch_batches = 1 + static_cast<uint32_t>(random() % 6);
    Journal kept;  // as a file would be
    options.journal_sink = [&kept](std::string_view line) {
      return kept.Append(line).status();
    };
    const auto loader = tree.Open(options);
    Rows rows;
    std::map<uint64_t, std::string> states;
    while (true) {
      const Rows some = Read(*loader, 1 + random() % 30);
      rows.insert(rows.end(), some.begin(), some.end());
      states[loader->next_step()] = loader->State();
      if (loader->next_step() >= tree.schedule.steps) break;
      const uint64_t next = loader->next_step();
      const auto step = loader->Steer(RandomChange(random));
      // Near the end there may be no block left that nobody was handed.
      if (absl::IsFailedPrecondition(step.status())) continue;
      ASSERT_THAT(step, IsOk());
      ASSERT_GE(*step, next);
    }
    ASSERT_EQ(kept.bytes(), loader->journal().bytes());
    ASSERT_EQ(All(tree, kept), rows) << "round " << round;
    // From every checkpoint, on other ranks.
    for (const auto& [at, state] : states) {
      const auto ranks = static_cast<uint32_t>(1 + random() % 3);
      std::vector<std::unique_ptr<Loader>> loaders;
      for (uint32_t r = 0; r < ranks; ++r) {
        LoaderOptions of_rank = With(kept);
        of_rank.rank = r;
        of_rank.ranks = ranks;
        loaders.push_back(tree.Open(of_rank));
        ASSERT_THAT(loaders.back()->Resume(state), IsOk());
        ASSERT_EQ(loaders.back()->next_step(), at);
      }
      Rows resumed;
      for (uint64_t s = at; s < std::min(at + 9, tree.schedule.steps); ++s) {
        for (const auto& one : loaders) {
          const Rows part = Read(*one, 1);
          resumed.insert(resumed.end(), part.begin(), part.end());
        }
      }
      const uint64_t first = at * tree.schedule.batch_size;
      ASSERT_TRUE(std::equal(resumed.begin(), resumed.end(),
                             rows.begin() + static_cast<ptrdiff_t>(first)))
          << "round " << round << ", step " << at;
    }
  }
}

TEST(SteeringTest, BatchesThatHaveBegunMayBeKept) {
  SteeredTree tree(400, 8);
  LoaderOptions options;
  options.prefetch_batches = 8;
  const auto kept = tree.Open(options);
  const auto made_again = tree.Open(options);
  Rows rows = Read(*kept, 4);
  Read(*made_again, 4);
  while (kept->metrics().batches_ready < 8 ||
         made_again->metrics().batches_ready < 8) {
    std::this_thread::yield();
  }
  // Steps 4 to 11 have begun, samples 32 to 95; blocks have 32.
  const RunChange change = RunChange::Weights({{"code", 3}});
  const auto line = kept->Propose(change, {.keeps_prefetched = true});
  ASSERT_THAT(line, IsOk());
  const auto late = kept->Steer(change, {.keeps_prefetched = true});
  ASSERT_THAT(late, IsOk());
  EXPECT_EQ(*late, 12u);
  EXPECT_EQ(kept->metrics().batches_ready, 8u);
  EXPECT_EQ(kept->journal().entry(0).step, 4u);
  EXPECT_EQ(*kept->Steer(*line), 12u);  // it is the same line
  const auto early = made_again->Steer(change);
  ASSERT_THAT(early, IsOk());
  EXPECT_EQ(*early, 4u);
  const Rows rest = Read(*kept, UINT64_MAX);
  rows.insert(rows.end(), rest.begin(), rest.end());
  EXPECT_EQ(All(tree, kept->journal()), rows);
}

TEST(SteeringTest, AStepThatFailedIsNoBatchThatAChangeDrops) {
  const SteeredTree tree(200, 32);  // each step is a block, and begins with web
  const auto gone =
      Map<TokenWindow>("gone", CountingWindows(300, kSeqLen, 0),
                       [](TokenWindow) -> absl::StatusOr<TokenWindow> {
                         return absl::UnavailableError("gone");
                       });
  ASSERT_OK_AND_ASSIGN(const auto root,
                       MixtureDataset<TokenWindow>::Create(
                           {{.name = "web", .dataset = gone, .weight = 0.5},
                            {.name = "code",
                             .dataset = CountingWindows(70, kSeqLen, 3),
                             .weight = 0.3},
                            {.name = "mixed",
                             .dataset = CountingWindows(40, kSeqLen, 7),
                             .weight = 0.2}},
                           tree.Plan().mixture_options()));
  LoaderOptions options;
  options.prefetch_batches = 4;
  ASSERT_OK_AND_ASSIGN(const auto loader,
                       Loader::Create(root, tree.Plan(), options));
  EXPECT_THAT(loader->NextBlocking(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("gone")));
  while (loader->metrics().fetch_errors < 3 ||
         loader->metrics().batches_under_way > 0) {
    std::this_thread::yield();
  }
  ASSERT_THAT(loader->Steer(RunChange::Weights({{"code", 3}})), IsOk());
  EXPECT_EQ(loader->metrics().batches_dropped, 0u);
}

TEST(SteeringTest, RanksSteerByOneLine) {
  const SteeredTree tree;
  std::vector<std::unique_ptr<Loader>> ranks;
  for (uint32_t r = 0; r < 3; ++r) {
    LoaderOptions options;
    options.rank = r;
    options.ranks = 3;
    ranks.push_back(tree.Open(options));
    Read(*ranks.back(), 10);
  }
  const auto line = ranks[0]->Propose(RunChange::Weights({{"web", 9}}));
  ASSERT_THAT(line, IsOk());
  EXPECT_TRUE(ranks[0]->journal().empty());
  for (const auto& rank : ranks) {
    const auto step = rank->Steer(*line);
    ASSERT_THAT(step, IsOk());
    EXPECT_EQ(*step, 10u);  // 64 samples are block 0 and 1
    // Said twice is said once.
    EXPECT_THAT(rank->Steer(*line), IsOk());
    EXPECT_EQ(rank->journal().size(), 1u);
  }
  Rows rows;
  for (uint64_t s = 10; s < 200; ++s) {
    for (const auto& rank : ranks) {
      const Rows part = Read(*rank, 1);
      rows.insert(rows.end(), part.begin(), part.end());
    }
  }
  const Rows all = All(tree, ranks[1]->journal());
  EXPECT_TRUE(std::equal(rows.begin(), rows.end(), all.begin() + 60));
}

TEST(SteeringTest, ARankThatHearsOfItTooLateSaysSo) {
  const SteeredTree tree;
  const auto early = tree.Open();
  const auto late = tree.Open();
  Read(*early, 3);
  Read(*late, 30);
  const auto line = early->Propose(RunChange::Weights({{"web", 9}}));
  ASSERT_THAT(line, IsOk());
  EXPECT_THAT(late->Steer(*line),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("is in step 5"),
                             HasSubstr("the steps before 30"))));
  EXPECT_TRUE(late->journal().empty());
  EXPECT_EQ(Read(*late, 10).size(), 60u);
}

TEST(SteeringTest, AfterAnErrorTheRunIsAsItWas) {
  const SteeredTree tree;
  LoaderOptions options;
  options.journal_sink = [](std::string_view) {
    return absl::UnavailableError("disk full");
  };
  const auto loader = tree.Open(options);
  Rows rows = Read(*loader, 7);
  EXPECT_THAT(loader->Steer(RunChange::Weights({{"web", 9}})),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("disk full")));
  EXPECT_THAT(loader->Steer(RunChange::Weights({{"wbe", 9}})),
              StatusIs(kInvalid, HasSubstr("did you mean 'web'")));
  EXPECT_THAT(loader->Steer(Of("web", RunChange::Weights({{"a", 9}}))),
              StatusIs(kInvalid, HasSubstr("'web' is no mixture")));
  EXPECT_THAT(loader->Steer(Of("mixd", RunChange::Weights({{"x", 9}}))),
              StatusIs(kInvalid, HasSubstr("did you mean 'mixed'")));
  EXPECT_THAT(loader->Steer(RunChange::Weights({})),
              StatusIs(kInvalid, HasSubstr("states no weights")));
  EXPECT_THAT(loader->Steer(RunChange::Extend(100)),
              StatusIs(kInvalid, HasSubstr("it has 200")));
  EXPECT_THAT(loader->Propose(RunChange::Weights({{"wbe", 9}})),
              StatusIs(kInvalid, HasSubstr("did you mean 'web'")));
  EXPECT_THAT(loader->Steer("no line\n"),
              StatusIs(kInvalid, HasSubstr("no line")));
  EXPECT_TRUE(loader->journal().empty());
  const Rows rest = Read(*loader, UINT64_MAX);
  rows.insert(rows.end(), rest.begin(), rest.end());
  EXPECT_EQ(All(tree, Journal()), rows);
}

TEST(SteeringTest, ASinkThatThrowsHoldsNoStepBack) {
  const SteeredTree tree;
  LoaderOptions options;
  options.journal_sink = [](std::string_view) -> absl::Status {
    throw std::runtime_error("no disk");
  };
  const auto loader = tree.Open(options);
  Rows rows = Read(*loader, 7);
  const auto line = loader->Propose(RunChange::Weights({{"web", 9}}));
  ASSERT_THAT(line, IsOk());
  EXPECT_THAT(loader->Steer(*line).status().message(), HasSubstr("no disk"));
  EXPECT_TRUE(loader->journal().empty());
  const Rows rest = Read(*loader, UINT64_MAX);
  rows.insert(rows.end(), rest.begin(), rest.end());
  EXPECT_EQ(All(tree, Journal()), rows);
}

// Event loops would spin on a descriptor that is readable for nothing.
TEST(SteeringTest, NothingIsReadyWhileAChangeOfTheNextStepIsWritten) {
  const SteeredTree tree;
  Loader* steered = nullptr;
  int fd = -1;
  LoaderOptions options;
  options.journal_sink = [&](std::string_view) {
    testing::ExpectNothing(*steered, fd);
    return absl::OkStatus();
  };
  const auto loader = tree.Open(options);
  steered = loader.get();
  Read(*loader, 16);  // 96 samples, 3 blocks
  fd = testing::ReadyFdOf(*loader);
  ASSERT_TRUE(testing::IsReadable(fd, testing::kLost));
  EXPECT_THAT(loader->Steer(RunChange::Weights({{"web", 9}})),
              testing::IsOkAndHolds(16u));
  EXPECT_TRUE(testing::IsReadable(fd, testing::kLost));
  EXPECT_EQ(testing::TakeStep(*loader), 16u);
}

// The line is in the journal by then.
TEST(SteeringTest, AChangeIsMadeWhateverItsCallbackThrows) {
  const SteeredTree tree;
  std::vector<std::string> warnings;
  LoaderOptions options;
  options.warning_sink = [&warnings](std::string_view line) {
    warnings.emplace_back(line);
  };
  options.journal_sink = [](std::string_view) { return absl::OkStatus(); };
  options.component_opener = [](const std::string& mixture,
                                const ComponentText& text) {
    absl::StatusOr<OpenedComponent> opened =
        SteeredTree::OpenNew(mixture, text);
    opened->when_made = [] { throw std::runtime_error("no news"); };
    return opened;
  };
  auto loader = Loader::Create(tree.Root(), tree.Plan(), options);
  ASSERT_THAT(loader, IsOk());
  Read(**loader, 16);
  ASSERT_THAT((*loader)->Steer(RunChange::Add("new", "{ weight = 0.2 }")),
              IsOk());
  EXPECT_THAT(warnings, ElementsAre(AllOf(HasSubstr("change 1 was made"),
                                          HasSubstr("no news"))));
  EXPECT_EQ((*loader)->journal().size(), 1u);
  EXPECT_EQ((*loader)->tree().leaves().size(), 5u);
  const auto again = tree.Open(With((*loader)->journal()));
  Read(*again, 16);
  EXPECT_EQ(Read(**loader, UINT64_MAX), Read(*again, UINT64_MAX));
}

TEST(SteeringTest, ARetiredComponentIsServedNoMore) {
  const SteeredTree tree;
  const auto loader = tree.Open();
  Read(*loader, 16);  // 96 samples, 3 blocks
  const auto step = loader->Steer(RunChange::Retire({"code"}, "broken shard"));
  ASSERT_THAT(step, IsOk());
  EXPECT_EQ(*step, 16u);
  for (const Row& row : Read(*loader, UINT64_MAX)) {
    EXPECT_NE(loader->tree().leaves()[row[0]].path, "code");
  }
}

TEST(SteeringTest, ARunIsExtendedEvenAtItsEnd) {
  SteeredTree tree(20);
  tree.schedule.stages = {{.start = RunPoint::Step(0), .lr_scale_end = 0.5}};
  const auto loader = tree.Open();
  Rows rows = Read(*loader, UINT64_MAX);
  EXPECT_EQ(rows.size(), 120u);
  const auto step = loader->Steer(RunChange::Extend(50));
  ASSERT_THAT(step, IsOk());
  EXPECT_EQ(*step, 20u);
  EXPECT_EQ(loader->schedule().steps(), 50u);
  EXPECT_EQ(loader->schedule().At(10).lr_scale, 0.75);
  EXPECT_EQ(loader->schedule().At(40).lr_scale, 0.5);
  const Rows more = Read(*loader, UINT64_MAX);
  EXPECT_EQ(more.size(), 180u);
  rows.insert(rows.end(), more.begin(), more.end());
  SteeredTree longer(50);
  EXPECT_EQ(All(longer, Journal()), rows);
  EXPECT_EQ(All(tree, loader->journal()), rows);
}

TEST(SteeringTest, TheDataMustLastAsLongAsTheRun) {
  ScheduleOptions options;
  options.steps = 40;
  options.batch_size = 4;
  options.seq_len = kSeqLen;
  options.mixture.block_size = 8;
  options.components = {{"a", 1, {}}, {"b", 1, {}}};
  const Schedule schedule = *Schedule::Create(options);
  MixtureOptions ends = schedule.mixture_options();
  ends.stop_rule = StopRule::kFirstExhausted;
  auto root = MixtureDataset<TokenWindow>::Create(
      {{.name = "a", .dataset = CountingWindows(100, kSeqLen)},
       {.name = "b", .dataset = CountingWindows(100, kSeqLen)}},
      ends);
  ASSERT_THAT(root, IsOk());
  const auto loader = testing::Open(*root, schedule);
  Read(*loader, 4);
  EXPECT_THAT(loader->Steer(RunChange::Weights({{"a", 9}})),
              StatusIs(kInvalid, HasSubstr("the data would end after")));
  EXPECT_THAT(loader->Steer(RunChange::Extend(60)),
              StatusIs(kInvalid, HasSubstr("the data would end after 200")));
  EXPECT_THAT(loader->Steer(RunChange::Extend(45)), IsOk());
  EXPECT_EQ(Read(*loader, UINT64_MAX).size(), 41u * 4);
}

TEST(SteeringTest, StatesAreOfTheirJournal) {
  const SteeredTree tree;
  const auto loader = tree.Open();
  Read(*loader, 10);
  const std::string before = loader->State();
  ASSERT_THAT(loader->Steer(RunChange::Weights({{"web", 9}})), IsOk());
  Read(*loader, 30);
  const std::string after = loader->State();
  EXPECT_THAT(before, ::testing::Not(HasSubstr("journal")));
  EXPECT_THAT(after, HasSubstr("journal 1 "));
  const auto steered = tree.Open(With(loader->journal()));
  EXPECT_THAT(steered->Resume(after), IsOk());
  EXPECT_THAT(steered->Resume(before), IsOk());
  const auto without = tree.Open();
  EXPECT_THAT(without->Resume(before), IsOk());
  EXPECT_THAT(without->Resume(after),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("its journal has 0")));
  ASSERT_THAT(without->Seek(10), IsOk());
  ASSERT_THAT(without->Steer(RunChange::Weights({{"web", 8}})), IsOk());
  EXPECT_THAT(without->Resume(after),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("are others than those")));
}

// A consumer on one thread, changes on another: no step is handed out under
// the run of before a change that holds for it.
TEST(SteeringTest, ChangesFromAnotherThreadReachNoStepThatIsOut) {
  const SteeredTree tree(3000, 4);
  const auto loader = tree.Open();
  std::atomic<bool> is_over = false;
  std::thread controller([&] {
    std::mt19937_64 random(5);
    // So many that the consumer, whose batches are made again, comes through.
    for (int change = 0; change < 100 && !is_over; ++change) {
      const auto step = loader->Steer(RandomChange(random));
      if (!step.ok()) {
        EXPECT_TRUE(absl::IsFailedPrecondition(step.status())) << step.status();
      }
      std::this_thread::yield();
    }
  });
  const Rows rows = Read(*loader, UINT64_MAX);
  is_over = true;
  controller.join();
  EXPECT_GT(loader->journal().size(), 3u);
  EXPECT_EQ(All(tree, loader->journal()), rows);
}

// A mixture below the root serves the block to its end that has begun.
TEST(SteeringTest, BelowTheRootAChangeHoldsFromTheStepThatIsReturned) {
  const SteeredTree tree;
  const auto loader = tree.Open();
  Read(*loader, 10);
  RunChange retire = RunChange::Retire({"y"});
  retire.path = "mixed";
  ASSERT_OK_AND_ASSIGN(const std::string line, loader->Propose(retire));
  ASSERT_OK_AND_ASSIGN(const uint64_t step, loader->Steer(line));
  EXPECT_EQ(loader->Steer(line).value(), step) << "known already";
  ASSERT_LT(step, tree.schedule.steps);
  const uint64_t at_root =
      loader->schedule().StepOf(loader->journal().sample(0));
  const std::vector<LoaderSource> sources = loader->sources();
  uint64_t last = 0;
  while (true) {
    const auto batch = loader->NextBlocking();
    if (absl::IsOutOfRange(batch.status())) break;
    ASSERT_THAT(batch, IsOk());
    for (size_t i = 0; i < batch->num_samples(); ++i) {
      if (sources[batch->provenance(i).source].path == "mixed/y") {
        last = batch->step();
      }
    }
  }
  EXPECT_GE(last, at_root) << "its block went on";
  EXPECT_LT(last, step);
}

TEST(SteeringTest, NothingIsDroppedFromAComponentThatWasSplit) {
  const SteeredTree tree;
  LoaderOptions options;
  options.component_opener = [](const std::string&, const ComponentText& text) {
    OpenedComponent part;
    part.part.component = {.name = text.name,
                           .dataset = CountingWindows(300, kSeqLen, 0),
                           .weight = 0.2};
    return absl::StatusOr<OpenedComponent>(std::move(part));
  };
  auto loader = Loader::Create(tree.Root(), tree.Plan(), options);
  ASSERT_THAT(loader, IsOk());
  ASSERT_THAT(
      (*loader)->Steer(RunChange::Split("web", {{"a", "{}"}, {"b", "{}"}})),
      IsOk());
  for (const bool masks : {false, true}) {
    RunChange drop = RunChange::DropDocuments("web", {{3, 9}});
    drop.masks = masks;
    EXPECT_THAT((*loader)->Steer(drop),
                StatusIs(kInvalid, AllOf(HasSubstr("change 1 has split 'web'"),
                                         HasSubstr("parts: 'a', 'b'"))));
  }
  EXPECT_THAT((*loader)->Steer(RunChange::DropItems("a", {{3, 9}})), IsOk());
  EXPECT_EQ((*loader)->journal().size(), 2u);
}

// Under another name, the data stays; that it was dropped there, too, ends the
// warning.
TEST(SteeringTest, AnotherSourceOfTheSameDataIsWarnedOf) {
  SteeredTree tree;
  std::vector<std::string> warnings;
  LoaderOptions options;
  options.warning_sink = [&warnings](std::string_view line) {
    warnings.emplace_back(line);
  };
  options.journal_sink = [](std::string_view) { return absl::OkStatus(); };
  const auto opened = [](const std::string&, const ComponentText& text) {
    OpenedComponent one;
    one.part.component = {.name = text.name,
                          .dataset = CountingWindows(300, kSeqLen, 0),
                          .weight = 0.2};
    return absl::StatusOr<OpenedComponent>(std::move(one));
  };
  options.component_opener = opened;
  auto loader = Loader::Create(tree.Root(), tree.Plan(), options);
  ASSERT_THAT(loader, IsOk());
  ASSERT_THAT((*loader)->Steer(RunChange::Add("again", "{ weight = 0.2 }")),
              IsOk());
  ASSERT_THAT((*loader)->Steer(RunChange::DropItems("web", {{3, 9}})), IsOk());
  EXPECT_THAT(warnings,
              ElementsAre(AllOf(HasSubstr("change 2 drops items of 'web'"),
                                HasSubstr("is also read as 'again'"))));
  warnings.clear();
  ASSERT_THAT((*loader)->Steer(RunChange::DropItems("again", {{3, 9}})),
              IsOk());
  EXPECT_THAT(warnings, ElementsAre());
}

}  // namespace
}  // namespace poniente
