// SPDX-License-Identifier: Apache-2.0
#include "util/nearest_name.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace poniente::internal {
namespace {

const std::vector<std::string> kCommands = {"pack", "inspect", "plan", "show",
                                            "simulate"};

TEST(NearestNameTest, FewestEditsAreNearest) {
  EXPECT_EQ(DidYouMean("pask", kCommands), "; did you mean 'pack'?");
  EXPECT_EQ(DidYouMean("simulatte", kCommands), "; did you mean 'simulate'?");
  EXPECT_EQ(DidYouMean("inpsetc", kCommands), "; did you mean 'inspect'?");
}

TEST(NearestNameTest, SwappedNeighboursAreOneEdit) {
  EXPECT_EQ(DidYouMean("paln", kCommands), "; did you mean 'plan'?");
  EXPECT_EQ(DidYouMean("hsow", kCommands), "; did you mean 'show'?");
  // Two swaps, not four replacements.
  EXPECT_EQ(DidYouMean("hswo", kCommands), "; did you mean 'show'?");
  // One swap beside the two edits that are allowed in so short a name.
  EXPECT_EQ(DidYouMean("palns", kCommands), "; did you mean 'plan'?");
}

TEST(NearestNameTest, SwappedNeighboursComeBeforeOtherSingleEdits) {
  EXPECT_EQ(DidYouMean("paln", std::vector<std::string>{"pain", "plan"}),
            "; did you mean 'plan'?");
}

TEST(NearestNameTest, NamesThatBeginWithItComeFirst) {
  EXPECT_EQ(DidYouMean("insp", kCommands), "; did you mean 'inspect'?");
  EXPECT_EQ(DidYouMean("seq", std::vector<std::string>{"seed", "max_seq_len",
                                                       "seq_lens", "seq_len"}),
            "; did you mean 'seq_len'?");
}

TEST(NearestNameTest, PathsThatEndWithItComeFirst) {
  const std::vector<std::string> paths = {"mat", "small/math",
                                          "small/aftermath"};
  EXPECT_EQ(DidYouMean("math", paths), "; did you mean 'small/math'?");
  EXPECT_EQ(DidYouMean("small/maht", paths), "; did you mean 'small/math'?");
}

TEST(NearestNameTest, OthersAreNotNear) {
  EXPECT_EQ(DidYouMean("", kCommands), "");
  EXPECT_EQ(DidYouMean("tokenize", kCommands), "");
  // As many edits as characters would make any name of it.
  EXPECT_EQ(DidYouMean("xy", std::vector<std::string>{"ab"}), "");
  EXPECT_EQ(DidYouMean("x", {}), "");
}

TEST(NearestNameTest, IfNoneIsNearTheFirstAreListed) {
  EXPECT_EQ(NearestOrAll("paln", kCommands), "; did you mean 'plan'?");
  EXPECT_EQ(NearestOrAll("tokenize", kCommands),
            " (known: pack, inspect, plan, show, simulate)");
  EXPECT_EQ(NearestOrAll("zzzz", {"a", "b", "c", "d", "e", "f", "g", "h", "i"}),
            " (known: a, b, c, d, e, f, g, h, ...)");
  EXPECT_EQ(NearestOrAll("x", {}), "");
}

}  // namespace
}  // namespace poniente::internal
