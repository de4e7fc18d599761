// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/status_matchers.h"

namespace poniente::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOkAndHolds;
using testing::StatusIs;

CommandSpec Spec() {
  return {"bake",
          "make a cake",
          "CAKE...",
          "Bakes.",
          {{"degrees", "N", "how hot"},
           {"with", "THING", "what else", true},
           {"fast", "", "burn it"}},
          "poniente bake plum"};
}

absl::StatusOr<Arguments> Parse(const std::vector<std::string>& args) {
  return Arguments::Parse(Spec(), args);
}

auto UsageErrorWith(const char* words) {
  return StatusIs(absl::StatusCode::kInvalidArgument,
                  AllOf(HasSubstr("bake: "), HasSubstr(words),
                        HasSubstr("`poniente bake --help`")));
}

TEST(ArgumentsTest, OptionsAndPositionalsComeInAnyOrder) {
  ASSERT_OK_AND_ASSIGN(const Arguments arguments,
                       Parse({"plum", "--degrees", "180", "--with=rum", "-",
                              "--fast", "--with", "--raisins", "--", "--pie"}));
  EXPECT_THAT(arguments.positionals(), ElementsAre("plum", "-", "--pie"));
  EXPECT_THAT(arguments.Texts("with"), ElementsAre("rum", "--raisins"));
  EXPECT_THAT(arguments.Number("degrees", 0, 0, 300), IsOkAndHolds(180u));
  EXPECT_TRUE(arguments.Has("fast"));
  EXPECT_FALSE(arguments.Has("help"));
}

TEST(ArgumentsTest, WhatIsNotGivenHasItsDefault) {
  ASSERT_OK_AND_ASSIGN(const Arguments arguments, Parse({}));
  EXPECT_THAT(arguments.Number("degrees", 200, 0, 300), IsOkAndHolds(200u));
  EXPECT_EQ(arguments.Text("with"), std::nullopt);
  EXPECT_THAT(arguments.Choice("with", {"rum", "tea"}), IsOkAndHolds("rum"));
}

TEST(ArgumentsTest, AnUnknownOptionNamesTheNearest) {
  EXPECT_THAT(Parse({"--degreees=1"}),
              UsageErrorWith("'--degreees'; did you mean '--degrees'?"));
  EXPECT_THAT(Parse({"-x"}), UsageErrorWith("unknown option '-x'"));
}

TEST(ArgumentsTest, AnEmptyValueIsAValue) {
  ASSERT_OK_AND_ASSIGN(const Arguments arguments, Parse({"--with="}));
  EXPECT_EQ(arguments.Text("with"), "");
}

TEST(ArgumentsTest, MisuseIsNamed) {
  EXPECT_THAT(Parse({"--degrees"}), UsageErrorWith("needs a value"));
  EXPECT_THAT(Parse({"--fast=1"}), UsageErrorWith("takes no value"));
  EXPECT_THAT(Parse({"--fast", "--fast"}), UsageErrorWith("given twice"));
  ASSERT_OK_AND_ASSIGN(const Arguments arguments,
                       Parse({"--degrees=hot", "--with=rmu"}));
  EXPECT_THAT(arguments.Number("degrees", 0, 1, 300),
              UsageErrorWith("from 1 to 300, got 'hot'"));
  EXPECT_THAT(arguments.Choice("with", {"rum", "tea"}),
              UsageErrorWith("must be rum or tea, got 'rmu'"));
}

TEST(ArgumentsTest, NumbersStayInTheirRange) {
  ASSERT_OK_AND_ASSIGN(const Arguments arguments, Parse({"--degrees=301"}));
  EXPECT_THAT(arguments.Number("degrees", 0, 1, 300), UsageErrorWith("301"));
  EXPECT_THAT(arguments.Number("degrees", 0, 1, 301), IsOkAndHolds(301u));
}

TEST(ArgumentsTest, FractionsAreNumbersToo) {
  ASSERT_OK_AND_ASSIGN(const Arguments arguments,
                       Parse({"--degrees=0.5", "--with=warm"}));
  EXPECT_THAT(arguments.Decimal("degrees", 9, 0, 1), IsOkAndHolds(0.5));
  EXPECT_THAT(arguments.Decimal("degrees", 9, 1, 2),
              UsageErrorWith("from 1 to 2, got '0.5'"));
  EXPECT_THAT(arguments.Decimal("with", 9, 1, 2), UsageErrorWith("'warm'"));
  EXPECT_THAT(arguments.Decimal("fast", 9, 1, 2), IsOkAndHolds(9));
  ASSERT_OK_AND_ASSIGN(const Arguments none, Parse({"--degrees=nan"}));
  EXPECT_THAT(none.Decimal("degrees", 9, 0, 1), UsageErrorWith("'nan'"));
}

TEST(ArgumentsTest, ARankIsOneOfItsNumber) {
  ASSERT_OK_AND_ASSIGN(const Arguments given, Parse({"--with=3/8"}));
  ASSERT_OK_AND_ASSIGN(const Rank rank, given.RankOf("with"));
  EXPECT_EQ(rank.rank, 3u);
  EXPECT_EQ(rank.ranks, 8u);
  ASSERT_OK_AND_ASSIGN(const Rank only, given.RankOf("degrees"));
  EXPECT_EQ(only.ranks, 1u);
  for (const char* wrong : {"8/8", "3", "3/8/9", "-1/8", "a/b", "/", "0/0"}) {
    ASSERT_OK_AND_ASSIGN(const Arguments arguments,
                         Parse({std::string("--with=") + wrong}));
    EXPECT_THAT(arguments.RankOf("with"), UsageErrorWith("must be r/R"))
        << wrong;
  }
}

TEST(ArgumentsTest, AListOfValuesIsToldFromAPlaceholder) {
  EXPECT_THAT(FixedValues("files|paragraphs"),
              ElementsAre("files", "paragraphs"));
  EXPECT_THAT(FixedValues("bytes"), ElementsAre("bytes"));
  for (const char* placeholder : {"", "DIR", "r/R", "a..b", "INPUT... --out"}) {
    EXPECT_THAT(FixedValues(placeholder), IsEmpty()) << placeholder;
  }
}

}  // namespace
}  // namespace poniente::cli
