// SPDX-License-Identifier: Apache-2.0
#include "config/parse/weights_sum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "poniente/run.h"
#include "tests/support/status_matchers.h"

namespace poniente::internal {
namespace {

using poniente::testing::IsOk;
using poniente::testing::StatusIs;
using ::testing::HasSubstr;

constexpr auto kRefused = absl::StatusCode::kInvalidArgument;
constexpr char kRemedy[] = "; correct the weights, or leave weights_sum out";

absl::StatusOr<Run> ParseSums(const std::string& data) {
  return poniente::ParseRun(absl::StrCat("[data]\nsteps = 100\nbatch_size = 4\n"
                                         "seq_len = 8\n",
                                         data),
                            "t.toml", "");
}

// Three components at the root, with keys of the mixture and stages.
absl::StatusOr<Run> ParseThree(const std::string& keys, double a, double b,
                               double c, const std::string& stages = "") {
  return ParseSums(absl::StrCat(
      keys, "mixture.a = { tokens = 900, weight = ", a,
      " }\nmixture.b = { tokens = 900, weight = ", b,
      " }\nmixture.c = { tokens = 900, weight = ", c, " }\n", stages));
}

TEST(WeightsSumTest, AMixtureOfAnotherSumIsRefusedWithItsWeights) {
  EXPECT_THAT(ParseThree("weights_sum = 1\n", .5, .3, .2), IsOk());
  EXPECT_THAT(
      ParseThree("weights_sum = 1\n", .5, .3, .25),
      StatusIs(kRefused, absl::StrCat("t.toml:1:1: data has weights that sum "
                                      "to 1.05, not 1 as weights_sum says: "
                                      "0.5 (a) + 0.3 (b) + 0.25 (c)",
                                      kRemedy)));
  EXPECT_THAT(ParseThree("weights_sum = 100\n", 50, 30, 20), IsOk());
  EXPECT_THAT(ParseThree("weights_sum = 100\n", 50, 30, 21),
              StatusIs(kRefused, HasSubstr("sum to 101, not 100")));
  // Without the key, any sum will do.
  EXPECT_THAT(ParseThree("", .5, .3, .25), IsOk());
}

TEST(WeightsSumTest, TwoMillionthsAreLeftForTheRoundingOfDecimals) {
  EXPECT_THAT(ParseThree("weights_sum = 1\n", 0.333333, 0.333333, 0.333333),
              IsOk());
  EXPECT_THAT(ParseThree("weights_sum = 1\n", 0.33333, 0.33333, 0.33333),
              StatusIs(kRefused, HasSubstr("that sum to 0.99999, not 1 as")));
  // The message has the digits that differ.
  EXPECT_THAT(ParseThree("weights_sum = 1\n", 0.333335, 0.333335, 0.333335),
              StatusIs(kRefused, HasSubstr("that sum to 1.000005, not 1 as")));
}

TEST(WeightsSumTest, AStageCountsWhatItDoesNotName) {
  const auto with_stage = [](const std::string& keys,
                             const std::string& stage) {
    return ParseThree(
        keys, .5, .3, .2,
        absl::StrCat("[[data.stages]]\nname = 'late'\nstart_step = 50\n",
                     stage));
  };
  // c keeps 0.2.
  EXPECT_THAT(with_stage("weights_sum = 1\n", "weights = { a = 0.6, b = 0.2 }"),
              IsOk());
  EXPECT_THAT(
      with_stage("weights_sum = 1\n", "weights = { a = 0.6, b = 0.4 }"),
      StatusIs(kRefused,
               absl::StrCat("t.toml:9:1: data.stages[0] has weights that sum "
                            "to 1.2, not 1 as weights_sum says: 0.6 (a) + 0.4 "
                            "(b) + 0.2 (c, not named here)",
                            kRemedy)));
  // The stage's own key, with and without the mixture's.
  EXPECT_THAT(with_stage("", "weights_sum = 1\nweights = { a = 0.6, b = 0.4 }"),
              StatusIs(kRefused, HasSubstr("sum to 1.2, not 1 as")));
  EXPECT_THAT(with_stage("weights_sum = 1\n",
                         "weights_sum = 10\nweights = { a = 6, b = 3.8 }"),
              IsOk());
  EXPECT_THAT(with_stage("", "weights_sum = 1\n"),
              StatusIs(kRefused, HasSubstr("states weights_sum, but no "
                                           "weights: state them")));
  // A stage that leaves the shares as they are.
  EXPECT_THAT(with_stage("weights_sum = 1\n", "lr_scale = 0.5"), IsOk());
}

TEST(WeightsSumTest, AStageAtTheStartSetsTheFirstWeights) {
  const std::string stages =
      "[[data.stages]]\nstart_step = 0\nweights = { a = 0.5, b = 0.3, c = ";
  const std::string later =
      "[[data.stages]]\nstart_step = 9\nweights = { a = 0.4, b = 0.4 }\n";
  EXPECT_THAT(ParseThree("weights_sum = 1\n", 9, 9, 9,
                         absl::StrCat(stages, "0.2 }\n", later)),
              IsOk());
  EXPECT_THAT(
      ParseThree("weights_sum = 1\n", 9, 9, 9, absl::StrCat(stages, "0.3 }\n")),
      StatusIs(kRefused, HasSubstr("t.toml:9:1: data.stages[0] has weights "
                                   "that sum to 1.1, not 1")));
  EXPECT_THAT(
      ParseThree("", 9, 9, 9, stages + "0.3 }\nweights_sum = 1\n"),
      StatusIs(kRefused, HasSubstr("data.stages[0] has weights that sum to "
                                   "1.1, not 1")));
}

TEST(WeightsSumTest, NestedMixturesAndTheirStagesHaveSumsOfTheirOwn) {
  const auto nested = [](const std::string& v, const std::string& stage) {
    return ParseSums(absl::StrCat(
        "mixture.x = { tokens = 900, weight = 3 }\n[data.mixture.y]\n"
        "weight = 2\nweights_sum = 1\nmixture.u = { tokens = 90, weight = 0.5 "
        "}\nmixture.v = { tokens = 90, weight = ",
        v, " }\nstages = [ { start_sample = 9, ", stage, " } ]\n"));
  };
  EXPECT_THAT(nested("0.5", "weights = { u = 0.25, v = 0.75 }"), IsOk());
  EXPECT_THAT(nested("0.6", "weights = { u = 0.25, v = 0.75 }"),
              StatusIs(kRefused, HasSubstr("data.mixture.y has weights that "
                                           "sum to 1.1, not 1")));
  EXPECT_THAT(
      nested("0.5", "weights = { u = 0.25 }"),
      StatusIs(kRefused, HasSubstr("data.mixture.y.stages[0] has weights that "
                                   "sum to 0.75, not 1 as weights_sum says: "
                                   "0.25 (u) + 0.5 (v, not named here)")));
  EXPECT_THAT(nested("0.5", "weights_sum = 2, weights = { u = 1.5 }"), IsOk());
}

TEST(WeightsSumTest, EvaluationsAreChecked) {
  const auto with = [](const std::string& eval) {
    return ParseSums(absl::StrCat("tokens = 900\n[data.eval.e]\n", eval));
  };
  const std::string mixture =
      "weights_sum = 1\nmixture.a = { tokens = 900, weight = 0.5 }\n"
      "mixture.b = { tokens = 900, weight = ";
  EXPECT_THAT(with(mixture + "0.5 }\n"), IsOk());
  EXPECT_THAT(with(mixture + "0.6 }\n"),
              StatusIs(kRefused, HasSubstr("data.eval.e has weights that sum "
                                           "to 1.1, not 1")));
  EXPECT_THAT(with("use = 'n'\n[data.nodes.n]\n" + mixture + "0.6 }\n"),
              StatusIs(kRefused, HasSubstr("data.nodes.n has weights that sum "
                                           "to 1.1, not 1")));
  EXPECT_THAT(with("weight_rule = 'scores'\n" + mixture + "0.5 }\n"),
              StatusIs(kRefused, HasSubstr("data.eval.e states weights_sum")));
}

TEST(WeightsSumTest, WrongSumsAreRefused) {
  for (const char* sum : {"0", "-1", "inf"}) {
    EXPECT_THAT(
        ParseThree(absl::StrCat("weights_sum = ", sum, "\n"), 1, 1, 1),
        StatusIs(kRefused,
                 HasSubstr("data.weights_sum must be finite and above 0")));
  }
  EXPECT_THAT(
      ParseThree("weights_sum = 1\nweight_rule = 'scores'\n", .5, .3, .2),
      StatusIs(kRefused, HasSubstr("data states weights_sum, but with "
                                   "weight_rule = \"scores\"")));
  EXPECT_THAT(ParseSums("path = 'a'\nweights_sum = 1\n"),
              StatusIs(kRefused, HasSubstr("data.weights_sum has no meaning")));
}

TEST(WeightsSumTest, TheSumIsWrittenAndReadAgain) {
  struct Run run = {.batch_size = 4, .seq_len = 8, .steps = 100};
  run.data = Mixture({{"a", 0.5, Declared(900)}, {"b", 0.5, Declared(900)}})
                 .Settings({.weights_sum = 1});
  run.stages = {{.start = Steps(5),
                 .weights = {{"a", 30}, {"b", 70}},
                 .weights_sum = 100}};
  ASSERT_OK_AND_ASSIGN(const std::string text, ToToml(run));
  EXPECT_THAT(text, HasSubstr("\nweights_sum = 1.0\n"));
  EXPECT_THAT(text, HasSubstr("\nweights_sum = 100.0\n"));
  ASSERT_OK_AND_ASSIGN(const struct Run again,
                       poniente::ParseRun(text, "t", ""));
  EXPECT_EQ(again.data.mixture.weights_sum, 1);
  EXPECT_EQ(again.stages[0].weights_sum, 100);
}

}  // namespace
}  // namespace poniente::internal
