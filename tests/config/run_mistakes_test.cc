// SPDX-License-Identifier: Apache-2.0
// Integers and texts of a run that TOML cannot state are named with all other
// mistakes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "poniente/config.h"
#include "poniente/run.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::UnorderedElementsAre;
using ::testing::UnorderedElementsAreArray;

using Description = poniente::Run;  // not testing::Test::Run

Description Small() {
  Description run = {.seed = 3, .batch_size = 4, .seq_len = 10, .steps = 30};
  run.folder = "/runs";
  return run;
}

// One line per mistake; ToToml() must not write what no parser reads.
std::vector<std::string> MistakesIn(const Description& run) {
  const absl::Status created = Config::Create(run).status();
  EXPECT_EQ(ToToml(run).status(), created);
  return absl::StrSplit(created.message(), '\n');
}

TEST(RunMistakesTest, AnEndOfASliceThatTomlCannotStateHidesNoOtherMistake) {
  Description run = Small();
  run.batch_size = 0;
  run.data = Mixture({{"a", 1, Source("a").Slice(3, UINT64_MAX)},
                      {"b", -1, Source("b").Slice(UINT64_MAX, UINT64_MAX)}});
  run.evals = {{.name = "e", .data = Source("a").Slice(0, UINT64_MAX)}};
  constexpr char kTwo[] =
      "must be an array of 2 integers from 0 to 4611686018427387904, got ";
  EXPECT_THAT(
      MistakesIn(run),
      UnorderedElementsAre(
          HasSubstr("data.batch_size is missing"),
          HasSubstr("data.mixture.b.weight must be finite and at least 0"),
          absl::StrCat("data.mixture.a.slice ", kTwo,
                       "[ 3, 18446744073709551615 ]"),
          absl::StrCat("data.mixture.b.slice ", kTwo,
                       "[ 18446744073709551615, 18446744073709551615 ]"),
          absl::StrCat("data.eval.e.slice ", kTwo,
                       "[ 0, 18446744073709551615 ]")));
}

TEST(RunMistakesTest, IntegersAboveThoseOfTomlAreShownAsTheyAreStated) {
  constexpr uint64_t kGreat = (uint64_t{1} << 63) + 1;  // no double
  const auto expect = [&](const auto& change,
                          const std::vector<std::string>& expected) {
    Description run = Small();
    run.data = Source("a");
    change(run);
    std::vector<std::string> lines;
    for (const std::string& line : expected) {
      lines.push_back(absl::StrCat(line, ", got 9223372036854775809"));
    }
    EXPECT_THAT(MistakesIn(run), UnorderedElementsAreArray(lines));
  };
  const std::string seed = "seed must be at most 9223372036854775807";
  const std::string count = " must be an integer from 1 to 4611686018427387904";
  expect([&](auto& run) { run.seed = kGreat; }, {"data." + seed});
  expect(
      [&](auto& run) {
        run.data = run.data.HoldOut({.5, 0, kGreat});
      },
      {"data.hold_out." + seed});
  expect([&](auto& run) { run.data = run.data.Filter(Fraction(.5, kGreat)); },
         {"data.filter." + seed});
  expect(
      [&](auto& run) {
        run.data = Flat({{"x", Flat({{"y", Source("a")}}).Seed(kGreat)}});
      },
      {"data.flat.x." + seed});
  expect(
      [&](auto& run) {
        run.budget = RunBudget{kGreat, kGreat, kGreat};
      },
      {"data.budget." + seed,
       "data.budget.experiment must be at most 9223372036854775807",
       "data.budget.target must be at most 9223372036854775807"});
  expect(
      [&](auto& run) {
        run.evals = {{.name = "e",
                      .data = Source("b"),
                      .max_samples = kGreat,
                      .every_steps = kGreat,
                      .seed = kGreat}};
      },
      {"data.eval.e." + seed, "data.eval.e.max_samples" + count,
       "data.eval.e.every_steps" + count});
  expect([&](auto& run) { run.steps = kGreat; }, {"data.steps" + count});
  expect([&](auto& run) { run.data = run.data.Take(kGreat).Repeat(kGreat); },
         {"data.take" + count, "data.repeat" + count});
  expect(
      [&](auto& run) {
        run.data = Mixture({{"m", 1, Declared(kGreat).MaxEpochs(kGreat)}});
      },
      {"data.mixture.m.tokens" + count, "data.mixture.m.max_epochs" + count});
  expect(
      [&](auto& run) {
        run.data = run.data.Shuffle(ShuffleOptions::Blocks(
            {.chunk_items = kGreat, .window_chunks = kGreat}));
      },
      {"data.block_shuffle.chunk_items" + count,
       "data.block_shuffle.window_chunks" + count});
  expect(
      [&](auto& run) {
        run.stages = {{.start = Steps(1), .batch_size = kGreat}};
      },
      {"data.stages[0].batch_size must be an integer from 1 to 4294967296"});
}

TEST(RunMistakesTest, TheGreatestIntegerOfTomlIsReadBack) {
  Description run = Small();
  run.seed = INT64_MAX;
  run.data = Flat({{"x", Source("a").Filter(Fraction(0.5, INT64_MAX))}});
  ASSERT_OK_AND_ASSIGN(const std::string text, ToToml(run));
  ASSERT_OK_AND_ASSIGN(const Description read,
                       ParseRun(text, "t.toml", run.folder));
  EXPECT_TRUE(read == run);
  // A name may look like what stands for a greater one.
  run.data.children[0].name = "\x01integer 18446744073709551615";
  ASSERT_OK_AND_ASSIGN(const std::string named, ToToml(run));
  EXPECT_THAT(ParseRun(named, "t.toml", run.folder), IsOk());
}

TEST(RunMistakesTest, EveryTextThatIsNotUtf8IsNamedWithItsPath) {
  const std::string is_not =
      " has a name or a path that is not UTF-8: \"\\xff\"";
  const auto expect = [&](const auto& change, const std::string& path) {
    Description run = Small();
    run.data = Source("a");
    change(run);
    EXPECT_THAT(MistakesIn(run), ElementsAre(path + is_not));
  };
  expect([](auto& run) { run.journal = "\xff"; }, "data.journal");
  expect([](auto& run) { run.catalogs = {"\xff"}; }, "run.catalogs");
  expect(
      [](auto& run) {
        run.loader.loss_weights = {{"\xff", 1.0f}};
      },
      "run.loader");
  expect([](auto& run) { run.data.files.glob = "\xff"; }, "data");
  expect([](auto& run) { run.stages = {{.name = "\xff"}}; }, "data");
  expect(
      [](auto& run) {
        run.stages = {{.numbers = {{"\xff", 1.0}}}};
      },
      "data");
  expect([](auto& run) { run.evals = {{.name = "e", .held_out = {{"\xff"}}}}; },
         "data.eval.e");
  // The key, too, has no byte that is not UTF-8.
  expect([](auto& run) { run.evals = {{.name = "\xff", .data = Source("a")}}; },
         "data.eval.\"\\xff\"");
  Description run = Small();
  run.data = Flat({{"a\n\xff", Source("a")}, {"a\n\xff", Source("b")}});
  EXPECT_THAT(MistakesIn(run),
              Contains("data has two children named 'a\\n\\xff'"));
}

TEST(RunMistakesTest, ANameOfAnEvaluationIsQuotedInMessages) {
  Description run = Small();
  run.data = Source("a");
  run.evals = {{.name = "a b\n", .data = Source("a")},
               {.name = "a b\n", .data = Source("b")},
               {.name = "c.d"}};
  EXPECT_THAT(MistakesIn(run),
              ElementsAre("data.eval.\"a b\\u000a\" has the name of another",
                          HasSubstr("data.eval.\"c.d\" says nothing to read")));
}

}  // namespace
}  // namespace poniente
