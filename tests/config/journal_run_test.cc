// SPDX-License-Identifier: Apache-2.0
// A run whose journal stands in its description: the file is read and written,
// and a run that is killed around its changes goes on with the same tokens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "poniente/config.h"
#include "poniente/journal.h"
#include "poniente/loader.h"
#include "poniente/run.h"
#include "tests/config/small_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;
using testing::WriteStore;

// The description has fewer; the run is extended at kExtendedAt.
constexpr uint64_t kSteeredSteps = 1500;
constexpr uint64_t kExtendedAt = 700;
constexpr int kSteeredLives = 200;

std::string Content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Replaces the file, as a trainer does with its checkpoint.
void Replace(const std::string& path, const std::string& content) {
  std::ofstream(path + ".tmp", std::ios::binary) << content;
  std::filesystem::rename(path + ".tmp", path);
}

class JournalRunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::WriteDocuments(dir_.path("a"), 0, 10000);
    WriteStore(dir_.path("b"), 1, 777);
    testing::WriteDocuments(dir_.path("c"), 2, 3000);
    testing::WriteDocuments(dir_.path("d"), 3, 2000);
    std::ofstream(dir_.path("run.toml")) << R"(
[data]
seed = 7
steps = 1400
batch_size = 8
seq_len = 16
journal = "run.journal"
block_size = 32
[data.mixture]
a = { path = "a", weight = 0.5 }
b = { path = "b", weight = 0.2 }
[data.mixture.mixed]
weight = 0.3
block_size = 16
[data.mixture.mixed.mixture]
b2 = { path = "b", weight = 1 }
c = { path = "c", weight = 1 }
)";
  }

  Config Open() const {
    auto config = Config::Load(dir_.path("run.toml"));
    EXPECT_THAT(config, IsOk());
    return *std::move(config);
  }

  static std::unique_ptr<Loader> OpenLoader(const Config& config,
                                            uint32_t rank = 0,
                                            uint32_t ranks = 1) {
    LoaderOptions options = config.loader_options();
    options.rank = rank;
    options.ranks = ranks;
    auto loader = config.OpenLoader(options);
    EXPECT_THAT(loader, IsOk());
    return *std::move(loader);
  }

  // What is decided at a step: a function of the step, as of losses.
  static RunChange DecidedAt(uint64_t step) {
    if (step == kExtendedAt) return RunChange::Extend(kSteeredSteps, "more");
    const uint64_t hash = HashOf(step);
    const auto weight = [hash](int shift) {
      return static_cast<double>(1 + ((hash >> shift) & 15));
    };
    const uint64_t number = (hash >> 32) % 100;
    const NumberRange few = {number, number + 2};
    const std::string begin =
        absl::StrCat("{path = \"d\", weight = ", weight(8) / 8);
    switch (hash % 16) {
      case 1:
        return RunChange::DropDocuments("a", {few}, "request");
      case 2:
        return RunChange::DropItems("mixed/c", {{number, number + 1}});
      case 3: {
        RunChange change =
            RunChange::Add(absl::StrCat("new", step), begin + "}");
        if (AddsBelowRoot(step)) change.path = "mixed";
        return change;
      }
      case 5:
      case 9: {  // of the component that was added last, if it is still there
        const uint64_t added = LastAddedBefore(step);
        if (added == 0) break;
        const std::string name = absl::StrCat("new", added);
        RunChange change = RunChange::Retire({name}, "no use");
        if (hash % 16 == 9) {
          change = RunChange::Split(
              name,
              {{absl::StrCat("low", step), begin + ", slice = [0, 40]}"},
               {absl::StrCat("high", step), begin + ", slice = [40, 80]}"}});
        }
        if (AddsBelowRoot(added)) change.path = "mixed";
        return change;
      }
      case 13:
        return RunChange::MaskDocuments("mixed/c", {few}, "request");
      default:
        break;
    }
    if (hash % 4 == 0) {
      RunChange change =
          RunChange::Weights({{"b2", weight(8)}, {"c", weight(16)}});
      change.path = "mixed";
      return change;
    }
    if (hash % 4 == 1) return RunChange::Temperature(weight(8) / 4);
    return RunChange::Weights({{"a", weight(8)}, {"mixed", weight(16)}});
  }
  static uint64_t HashOf(uint64_t step) {
    return internal::Derive(step, internal::Tag("test"));
  }
  static bool AddsBelowRoot(uint64_t step) { return HashOf(step) % 32 == 3; }
  // Returns the step at which a component was added that no later decision
  // before `step` has retired or split; 0 if there is none.
  static uint64_t LastAddedBefore(uint64_t step) {
    uint64_t added = 0;
    for (uint64_t at = 10; at < step; at += 10) {
      if (at == kExtendedAt) continue;
      const uint64_t kind = HashOf(at) % 16;
      if (kind == 3) added = at;
      if (kind == 5 || kind == 9) added = 0;
    }
    return added;
  }

  // A training process on so many ranks: goes on from its checkpoint, decides
  // at every tenth step, logs a hash of each step's tokens. Tells of each step
  // by a byte to `told`, and makes one for each byte from `allowed`; -1: none.
  void Live(uint32_t ranks, int told, int allowed) const {
    const Config config = Open();
    std::vector<std::unique_ptr<Loader>> loaders;
    for (uint32_t r = 0; r < ranks; ++r) {
      loaders.push_back(OpenLoader(config, r, ranks));
    }
    if (std::filesystem::exists(dir_.path("state"))) {
      for (const auto& loader : loaders) {
        const absl::Status resumed =
            loader->Resume(Content(dir_.path("state")));
        if (!resumed.ok()) Die(resumed);
      }
    }
    CutLog(loaders[0]->next_step());
    std::ofstream log(dir_.path("log"), std::ios::app);
    for (uint64_t step = loaders[0]->next_step(); step < kSteeredSteps;
         ++step) {
      // At the end of the pipe, all steps are allowed.
      char byte = 0;
      if (allowed >= 0 && ::read(allowed, &byte, 1) < 0) ::_exit(3);
      if (step % 10 == 0 && step > 0 &&
          loaders[0]->last_decision().value_or(0) < step) {
        const auto line = loaders[0]->Propose(DecidedAt(step));
        if (!line.ok()) Die(line.status());
        for (const auto& loader : loaders) {
          const auto from = loader->Steer(*line);
          // In the last steps there is no block left.
          if (!from.ok() && step < kSteeredSteps - 8) Die(from.status());
        }
      }
      uint64_t hash = step;
      for (const auto& loader : loaders) {
        auto batch = loader->NextBlocking();
        if (!batch.ok()) Die(batch.status());
        for (const uint32_t id : batch->tokens<uint32_t>()) {
          hash = internal::Derive(hash, internal::Tag("tokn"), id);
        }
      }
      log << step << " " << hash << std::endl;
      if (step % 7 == 6) Replace(dir_.path("state"), loaders.back()->State());
      if (told >= 0 && ::write(told, "s", 1) != 1) ::_exit(3);
    }
  }

  static void Die(const absl::Status& status) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    ::_exit(2);
  }

  void CutLog(uint64_t step) const {
    std::istringstream lines(Content(dir_.path("log")));
    std::string kept;
    std::string line;
    while (std::getline(lines, line)) {
      uint64_t of = 0;
      if (std::sscanf(line.c_str(), "%lu", &of) == 1 && of < step) {
        kept += line + "\n";
      }
    }
    Replace(dir_.path("log"), kept);
  }

  testing::TempDir dir_;
};

TEST_F(JournalRunTest, TheFileIsMadeAtTheFirstChange) {
  const Config config = Open();
  EXPECT_TRUE(config.journal().empty());
  EXPECT_THAT(config.ToToml(), HasSubstr("run.journal"));
  const auto loader = OpenLoader(config);
  ASSERT_THAT(loader->NextBlocking(), IsOk());
  EXPECT_FALSE(std::filesystem::exists(dir_.path("run.journal")));
  ASSERT_THAT(loader->Steer(RunChange::Weights({{"a", 3}}, "why not")), IsOk());
  EXPECT_EQ(Content(dir_.path("run.journal")), loader->journal().bytes());
  const Config again = Open();
  EXPECT_EQ(again.journal().entries(), loader->journal().entries());
  EXPECT_EQ(again.schedule().At(100).weights,
            loader->schedule().At(100).weights);
  EXPECT_NE(again.schedule().At(100).weights,
            config.schedule().At(100).weights);
  // Another rank reads it, and writes nothing.
  const auto other = OpenLoader(config, 1, 2);
  EXPECT_EQ(other->journal().size(), 1u);
  ASSERT_THAT(other->Steer(RunChange::Weights({{"a", 4}})), IsOk());
  EXPECT_EQ(Open().journal().size(), 1u);
}

TEST_F(JournalRunTest, ALastLineThatWasCutIsWarnedOf) {
  ASSERT_THAT(OpenLoader(Open())->Steer(RunChange::Weights({{"a", 3}})),
              IsOk());
  const std::string path = dir_.path("run.journal");
  const std::string whole = Content(path);
  EXPECT_THAT(Open().warnings(), ::testing::IsEmpty());
  testing::WriteFile(path, whole + "2 sample");
  const Config config = Open();
  EXPECT_EQ(config.journal().size(), 1u);
  EXPECT_THAT(config.warnings(),
              ::testing::ElementsAre(::testing::AllOf(
                  HasSubstr("run.journal"),
                  HasSubstr("8 bytes that are no whole line"))));
}

TEST_F(JournalRunTest, DamageAndStrangersAreNamed) {
  const Config config = Open();
  const auto loader = OpenLoader(config);
  ASSERT_THAT(loader->Steer(RunChange::Weights({{"a", 3}})), IsOk());
  const std::string whole = Content(dir_.path("run.journal"));
  // Two writers: the second finds out.
  const auto second = OpenLoader(config);
  ASSERT_THAT(loader->Steer(RunChange::Weights({{"a", 4}})), IsOk());
  EXPECT_THAT(second->Steer(RunChange::Weights({{"a", 5}})),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("another process steers the same run")));
  EXPECT_EQ(second->journal().size(), 1u);
  // A torn tail is cut off by the next writer.
  Replace(dir_.path("run.journal"), whole + "2 sample 99");
  const auto third = OpenLoader(Open());
  EXPECT_EQ(third->journal().size(), 1u);
  ASSERT_THAT(third->Steer(RunChange::Weights({{"a", 5}})), IsOk());
  EXPECT_EQ(Content(dir_.path("run.journal")), third->journal().bytes());
  // Damage.
  std::string damaged = whole;
  damaged[40] ^= 1;
  Replace(dir_.path("run.journal"), damaged);
  EXPECT_THAT(Config::Load(dir_.path("run.toml")),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("run.toml:7:11: data.journal"),
                             HasSubstr("run.journal:2: "))));
  EXPECT_THAT(config.OpenLoader(), StatusIs(absl::StatusCode::kDataLoss,
                                            HasSubstr("run.journal:2: ")));
  // A journal of another run.
  Replace(dir_.path("run.journal"), "");
  Journal of_other;
  ASSERT_THAT(
      of_other.Append(*of_other.LineOf(RunChange::Weights({{"x", 1}}), 64, 2)),
      IsOk());
  Replace(dir_.path("run.journal"), of_other.bytes());
  EXPECT_THAT(Config::Load(dir_.path("run.toml")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("unknown component 'x'")));
}

TEST_F(JournalRunTest, KilledAroundChangesItIsTheSameRun) {
  std::mt19937_64 random(testing::TestSeed(71));
  constexpr uint32_t kRanks[] = {1, 2, 3, 8};
  int kills = 0;
  bool is_over = false;
  while (!is_over) {
    int told[2];
    int allowed[2];
    ASSERT_EQ(::pipe(told), 0);
    ASSERT_EQ(::pipe(allowed), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    const uint32_t ranks = kRanks[random() % 4];
    if (child == 0) {
      ::close(told[0]);
      ::close(allowed[1]);
      Live(ranks, told[1], allowed[0]);
      ::_exit(0);
    }
    ::close(told[1]);
    ::close(allowed[0]);
    if (kills < kSteeredLives) {
      // It does not get far, so that it lives often, and is killed at work.
      const std::string steps(random() % 14, 's');
      const std::string more = steps + "sss";
      ASSERT_EQ(::write(allowed[1], more.data(), more.size()),
                static_cast<ssize_t>(more.size()));
      char byte = 0;
      for (size_t s = 0; s < steps.size() && ::read(told[0], &byte, 1) == 1;
           ++s) {
      }
      ::usleep(static_cast<useconds_t>(random() % 1500));
      ::kill(child, SIGKILL);
    }
    ::close(allowed[1]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ::close(told[0]);
    if (WIFSIGNALED(status)) {
      ASSERT_EQ(WTERMSIG(status), SIGKILL);
      ++kills;
    } else {
      ASSERT_EQ(WEXITSTATUS(status), 0) << "after " << kills << " kills";
      is_over = true;
    }
  }
  EXPECT_EQ(kills, kSteeredLives);
  const std::string log = Content(dir_.path("log"));
  const std::string journal = Content(dir_.path("run.journal"));
  // The same run without a kill, on one rank, with a journal of its own.
  std::filesystem::remove(dir_.path("run.journal"));
  std::filesystem::remove(dir_.path("state"));
  std::filesystem::remove(dir_.path("log"));
  Live(1, -1, -1);
  EXPECT_EQ(Content(dir_.path("run.journal")), journal);
  EXPECT_EQ(Content(dir_.path("log")), log);
  EXPECT_GT(Open().journal().size(), 100u);
  std::map<RunChange::Kind, int> kinds;
  for (const JournalEntry& entry : Open().journal().entries()) {
    ++kinds[entry.change.kind];
  }
  EXPECT_GT(kinds[RunChange::Kind::kDrop], 5);
  EXPECT_GT(kinds[RunChange::Kind::kAdd], 5);
  EXPECT_GT(kinds[RunChange::Kind::kRetire], 1);
  EXPECT_GT(kinds[RunChange::Kind::kSplit], 1);
  EXPECT_EQ(kinds[RunChange::Kind::kExtend], 1);
  for (const auto& [kind, count] : kinds) {
    std::printf("kind %d: %d\n", static_cast<int>(kind), count);
  }
}

TEST_F(JournalRunTest, WhatIsPrintedOpensWithItsJournal) {
  {
    const auto loader = OpenLoader(Open());
    ASSERT_THAT(loader->NextBlocking(), IsOk());
    ASSERT_THAT(loader->Steer(RunChange::Extend(kSteeredSteps, "more")),
                IsOk());
  }
  const Config extended = Open();
  EXPECT_EQ(extended.schedule().steps(), kSteeredSteps);
  const std::string printed = extended.ToToml();
  EXPECT_THAT(printed, HasSubstr("\nsteps = 1400\n"));
  const auto again = Config::Parse(printed, "printed.toml", "/nowhere");
  ASSERT_THAT(again, IsOk()) << printed;
  EXPECT_EQ(again->schedule().steps(), kSteeredSteps);
  EXPECT_EQ(again->ToToml(), printed);
}

TEST_F(JournalRunTest, DroppedDocumentsAreReadNoMore) {
  const Config config = Open();
  const auto loader = OpenLoader(config);
  for (int step = 0; step < 400; ++step) {
    ASSERT_THAT(loader->NextBlocking(), IsOk());
  }
  const auto from = loader->Steer(
      RunChange::DropDocuments("a", {{3, 5}, {40, 41}}, "request 31"));
  ASSERT_THAT(from, IsOk());
  EXPECT_LE(*from, 404u);
  const auto of_nested =
      loader->Steer(RunChange::DropDocuments("mixed/c", {{7, 8}}));
  ASSERT_THAT(of_nested, IsOk());
  EXPECT_THAT(loader->Steer(RunChange::DropDocuments("a", {{0, 100000}})),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("document")));
  EXPECT_THAT(loader->Steer(RunChange::DropDocuments("aa", {{0, 1}})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("unknown component 'aa'")));
  // A process that reads the journal serves the same.
  const auto again = OpenLoader(Open());
  ASSERT_THAT(again->Seek(loader->next_step()), IsOk());
  for (int step = 0; step < 300; ++step) {
    const auto one = loader->NextBlocking();
    const auto two = again->NextBlocking();
    ASSERT_THAT(one, IsOk());
    ASSERT_THAT(two, IsOk());
    ASSERT_TRUE(
        std::ranges::equal(one->tokens<uint32_t>(), two->tokens<uint32_t>()));
    for (size_t i = 0; i < one->num_samples(); ++i) {
      ASSERT_LT(one->source(i), loader->sources().size());
    }
  }
  EXPECT_EQ(loader->sources().size(), 4u);
}

}  // namespace
}  // namespace poniente
