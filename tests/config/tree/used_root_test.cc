// SPDX-License-Identifier: Apache-2.0
// Roots that use a node, and roots that choose among the samples of a mixture.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "poniente/config.h"
#include "poniente/run.h"
#include "poniente/run_trace.h"
#include "poniente/token_store.h"
#include "poniente/transforms.h"
#include "tests/config/small_stores.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::Not;
using testing::SmallStores;
using testing::StatusIs;

using Tokens = DatasetPtr<TokenWindow>;

constexpr auto kIsInvalid = absl::StatusCode::kInvalidArgument;

class UsedRootTest : public SmallStores {
 protected:
  absl::StatusOr<Config> Parse(const std::string& data) {
    return Config::Parse(absl::StrCat("[data]\nseed = 3\nsteps = 10\n"
                                      "batch_size = 8\nseq_len = 20\n",
                                      data),
                         "t.toml", dir_.path());
  }
  Tokens Windows() {
    return TokenStore::Open(dir_.path("a")).value()->Windows(20).value();
  }
};

MATCHER_P(ReadsAs, tree, "has the fingerprint of the tree in C++") {
  return arg.status().ok() &&
         arg->dataset()->fingerprint() == tree->WithSeed(3)->fingerprint();
}

// The items of the first ten steps, in order of their numbers.
std::vector<uint64_t> SortedItems(const Config& config) {
  std::vector<uint64_t> items;
  const RunTrace trace(*config.dataset(), config.schedule());
  for (uint64_t step = 0; step < 10; ++step) {
    const auto samples = trace.Resolve(step);
    EXPECT_THAT(samples, IsOk());
    for (const SampleOrigin& sample : samples.value()) {
      items.push_back(sample.item);
    }
  }
  std::sort(items.begin(), items.end());
  return items;
}

TEST_F(UsedRootTest, ItemsAreNotChosenAfterAShuffleThatNobodyAskedFor) {
  std::ofstream(dir_.path("s.f32"), std::ios::binary)
      << std::string(500 * sizeof(float), '\0');
  for (const char* choice :
       {"take = 80\n", "slice = [100, 180]\n", "filter = { fraction = 0.5 }\n",
        "order = { scores = 's.f32' }\n",
        "shuffle = true\nslice = [100, 180]\n"}) {
    EXPECT_THAT(
        Parse(absl::StrCat("use = 'n'\n", choice,
                           "[data.nodes]\nn = { path = 'a' }\n")),
        StatusIs(kIsInvalid,
                 "t.toml:1:1: data chooses or orders items, but data.nodes.n, "
                 "which it uses, is shuffled before unless it states shuffle "
                 "= false: state shuffle = false for data.nodes.n, or shuffle "
                 "= true for data.nodes.n to keep the order of earlier "
                 "versions"))
        << choice;
  }
  // In C++, and through a second use, likewise.
  poniente::Run run = {.seed = 3, .batch_size = 8, .seq_len = 20, .steps = 10};
  run.folder = dir_.path();
  run.data = Use("m", Use("n", Source("a"))).Take(80);
  EXPECT_THAT(Config::Create(run),
              StatusIs(kIsInvalid, AllOf(HasSubstr("data chooses or orders"),
                                         HasSubstr("for data.nodes.n, or"))));
  run.data = Use("m", Use("n", Source("a")).Take(80));
  EXPECT_THAT(
      Config::Create(run),
      StatusIs(kIsInvalid, HasSubstr("data.nodes.m chooses or orders")));
}

TEST_F(UsedRootTest, TheUsedNodeSaysWhetherItIsShuffledBefore) {
  const std::string slice = "use = 'n'\nslice = [100, 180]\n[data.nodes]\n";
  // The order of earlier versions, which did not ask.
  ASSERT_OK_AND_ASSIGN(Tokens before, Shuffle(Windows()));
  ASSERT_OK_AND_ASSIGN(before, Slice(before, 100, 180));
  EXPECT_THAT(Parse(slice + "n = { path = 'a', shuffle = true }\n"),
              ReadsAs(before));
  ASSERT_OK_AND_ASSIGN(Tokens after, Slice(Windows(), 100, 180));
  ASSERT_OK_AND_ASSIGN(after, Shuffle(after));
  const auto chosen = Parse(slice + "n = { path = 'a', shuffle = false }\n");
  EXPECT_THAT(chosen, ReadsAs(after));
  std::vector<uint64_t> wanted(80);
  for (uint64_t i = 0; i < 80; ++i) wanted[i] = 100 + i;
  EXPECT_EQ(SortedItems(*chosen), wanted);
  EXPECT_THAT(Parse("use = 'n'\nslice = [100, 180]\nshuffle = true\n"
                    "[data.nodes]\nn = { path = 'a', shuffle = false }\n"),
              ReadsAs(after));
  poniente::Run run = {.seed = 3, .batch_size = 8, .seq_len = 20, .steps = 10};
  run.folder = dir_.path();
  run.data = Use("n", Source("a").Shuffle(ShuffleOptions::None()))
                 .Slice(100, 180)
                 .Shuffle();
  EXPECT_THAT(Config::Create(run), ReadsAs(after));
}

TEST_F(UsedRootTest, WhatHasAnOrderOfItsOwnIsNotShuffledBefore) {
  EXPECT_THAT(
      Parse("use = 'n'\nslice = [100, 180]\n[data.nodes]\n"
            "n = { flat = { x = { path = 'a' }, y = { path = 'c' } } }\n"),
      IsOk());
  EXPECT_THAT(Parse("use = 'n'\n[data.nodes]\nn = { path = 'a', take = 9 }\n"),
              IsOk());
}

TEST_F(UsedRootTest, ABudgetIsNotOfferedTheShuffleThatItRefuses) {
  const auto config = Parse(
      "use = 'n'\nslice = [100, 180]\n"
      "budget = { experiment = 100, target = 1000 }\n"
      "[data.nodes]\nn = { path = 'a' }\n");
  EXPECT_THAT(config, StatusIs(kIsInvalid,
                               HasSubstr("shuffle = false for data.nodes.n")));
  EXPECT_THAT(std::string(config.status().message()),
              Not(HasSubstr("shuffle = true")));
}

TEST_F(UsedRootTest, NoShuffleAtTheRootIsNotIgnored) {
  EXPECT_THAT(
      Parse("use = 'n'\nshuffle = false\n[data.nodes]\nn = { path = 'a' }\n"),
      StatusIs(kIsInvalid, HasSubstr("t.toml:1:1: data states shuffle = false, "
                                     "but data.nodes.n, which it uses, is")));
  EXPECT_THAT(Parse("use = 'n'\nshuffle = false\n[data.nodes]\n"
                    "n = { path = 'a', shuffle = false }\n"),
              ReadsAs(Windows()));
}

TEST_F(UsedRootTest, ALocalShuffleAtTheRootIsItsOwn) {
  ASSERT_OK_AND_ASSIGN(Tokens tree, Slice(Windows(), 100, 400));
  ASSERT_OK_AND_ASSIGN(tree, EraShuffle(tree, 50));
  EXPECT_THAT(Parse("use = 'n'\nslice = [100, 400]\nera_shuffle = 50\n"
                    "[data.nodes]\nn = { path = 'a' }\n"),
              ReadsAs(tree));
  EXPECT_THAT(Parse("use = 'n'\nera_shuffle = 50\n"
                    "[data.nodes]\nn = { path = 'a', shuffle = true }\n"),
              StatusIs(kIsInvalid, HasSubstr("has an order of its own")));
}

// Stages and lengths of the run begin at samples of its mixture.
TEST_F(UsedRootTest, NothingMovesTheSamplesOfAMixtureThatChanges) {
  const std::string mixture =
      "mixture = { a = { path = 'a', weight = 1 }, c = { path = 'c', weight = "
      "1 } }\n";
  const std::string stage =
      "[[data.stages]]\nstart_step = 5\nweights = { a = 0 }\n";
  const std::string length =
      "[[data.seq_lens]]\nstart_step = 5\nseq_len = 10\n";
  const std::string stops = "stop = 'all_exhausted'\n";
  for (const std::string& change : {stage, length}) {
    for (const std::string& choice :
         {std::string("slice = [1, 100]\n"),
          stops + "filter = { fraction = 0.5 }\n"}) {
      EXPECT_THAT(
          Parse(choice + mixture + change),
          StatusIs(kIsInvalid,
                   AllOf(HasSubstr("t.toml:1:1: data has a filter, order or "
                                   "slice of the samples of a mixture"),
                         HasSubstr("for the components of the mixture"))))
          << choice << change;
    }
    for (const char* choice : {"take = 100\n", "slice = [0, 100]\n"}) {
      EXPECT_THAT(Parse(choice + mixture + change), IsOk()) << choice;
    }
    EXPECT_THAT(Parse("use = 'm'\nslice = [1, 100]\n" + change +
                      "[data.nodes.m]\n" + mixture),
                StatusIs(kIsInvalid, HasSubstr("data has a filter, order or")));
  }
  // What does not depend on the place of a sample may change.
  EXPECT_THAT(Parse("slice = [1, 100]\n" + mixture +
                    "[[data.stages]]\nstart_step = 5\nlr_scale = 0.5\n"),
              IsOk());
  EXPECT_THAT(Parse("slice = [1, 100]\n" + mixture), IsOk());
  poniente::Run run = {.seed = 3, .batch_size = 8, .seq_len = 20, .steps = 10};
  run.folder = dir_.path();
  run.data =
      Mixture({{"a", 1, Source("a")}, {"c", 1, Source("c")}}).Slice(1, 100);
  run.stages = {{.start = Steps(5), .weights = {{"a", 0}}}};
  EXPECT_THAT(Config::Create(run),
              StatusIs(kIsInvalid, HasSubstr("data has a filter, order or")));
}

TEST_F(UsedRootTest, SizesCountWhatTheRootHoldsOut) {
  const auto with = [&](const std::string& root, const std::string& source) {
    return Parse(absl::StrCat("weight_rule = 'sizes'\n", root,
                              "[data.mixture]\na = { path = 'a', weight = 1",
                              source, " }\nc = { path = 'c', weight = 1",
                              source, " }\n"));
  };
  const std::string stated = "hold_out = { windows = 0.1 }";
  const auto at_root = with(stated + "\n", "");
  const auto at_sources = with("", ", " + stated);
  ASSERT_THAT(at_root, IsOk());
  ASSERT_THAT(at_sources, IsOk());
  EXPECT_THAT(at_root->CheckLoader(), IsOk());
  EXPECT_THAT(at_root->OpenLoader(), IsOk());
  EXPECT_EQ(at_root->dataset()->fingerprint(),
            at_sources->dataset()->fingerprint());
}

// A length that the run replaces at its start is none of its lengths.
TEST_F(UsedRootTest, WindowsHaveTheLongestLengthThatIsRead) {
  const auto with = [&](const std::string& length) {
    return Config::Parse(
        absl::StrCat(
            "[data]\nseed = 3\nsteps = 10\nbatch_size = 8\nseq_len = ", length,
            "\nmixture.a = { path = 'a', weight = 1 }\n[[data.stages]]"
            "\nstart_step = 0\nseq_len = 10\n[[data.stages]]\n"
            "start_step = 5\nseq_len = 20\n"),
        "t.toml", dir_.path());
  };
  const auto replaced = with("40");
  ASSERT_THAT(replaced, IsOk());
  EXPECT_THAT(replaced->CheckLoader(), IsOk());
  EXPECT_THAT(replaced->OpenLoader(), IsOk());
  EXPECT_EQ(replaced->schedule().max_seq_len(), 20u);
  EXPECT_EQ(replaced->dataset()->fingerprint(),
            with("20")->dataset()->fingerprint());
  const auto printed =
      Config::Parse(replaced->ToToml(), "printed.toml", dir_.path());
  ASSERT_THAT(printed, IsOk());
  EXPECT_EQ(printed->dataset()->fingerprint(),
            replaced->dataset()->fingerprint());
}

// Earlier versions opened some of these runs, and read the beginnings of
// windows of the length that no sample has.
TEST_F(UsedRootTest, ALengthThatIsReplacedDoesNotChangeWhatWasRead) {
  const auto with = [&](const std::string& length, const std::string& source) {
    return Config::Parse(
        absl::StrCat("[data]\nsteps = 10\nbatch_size = 8\n", length,
                     "\nmixture.a = { path = 'a', weight = 1, ", source,
                     " }\n[[data.stages]]\nstart_step = 0\nseq_len = 20\n"),
        "t.toml", dir_.path());
  };
  const std::string infilled =
      "fill_in_the_middle = { rate = 0.5, prefix = 1, suffix = 2, middle = 3 }";
  EXPECT_THAT(with("seq_len = 40", infilled),
              StatusIs(kIsInvalid,
                       AllOf(HasSubstr("t.toml:4:11: data.seq_len = 40"),
                             HasSubstr("'a' would have windows of 20 tokens"),
                             HasSubstr("state seq_len = 20"))));
  EXPECT_THAT(with("seq_len = 20", infilled), IsOk());
  EXPECT_THAT(with("seq_len = 10", infilled), IsOk());
  EXPECT_THAT(with("seq_len = 40\nmax_seq_len = 40", infilled), IsOk());
  EXPECT_THAT(with("seq_len = 40", "slice = [5, 400]"), IsOk());
  EXPECT_THAT(with("seq_len = 40", "pack_documents = true"), IsOk());
}

TEST_F(UsedRootTest, ThresholdsOfAStageThatStartsTheRunHaveTheirPlace) {
  std::ofstream(dir_.path("s.f32"), std::ios::binary)
      << std::string(500 * sizeof(float), '\0');
  EXPECT_THAT(
      Parse("mixture.a = { path = 'a', weight = 1, filter = { scores = "
            "'s.f32', at_least = 0 } }\n[[data.stages]]\nstart_step = -10\n"
            "thresholds = { a = -1 }\n"),
      StatusIs(kIsInvalid,
               "t.toml:7:1: data.stages[0] starts the run: its "
               "thresholds are those of the components "
               "themselves, state them there"));
}

TEST_F(UsedRootTest, ALossWeightOfTheRootHasItsPlace) {
  EXPECT_THAT(Parse("use = 'n'\n[data.nodes.n]\nloss_weight = 0.5\n"
                    "path = 'a'\n"),
              StatusIs(kIsInvalid,
                       HasSubstr("t.toml:7:1: data.nodes.n has a loss_weight, "
                                 "but the root uses it")));
}

}  // namespace
}  // namespace poniente
