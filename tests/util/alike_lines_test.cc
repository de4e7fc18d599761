// SPDX-License-Identifier: Apache-2.0
#include "util/alike_lines.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace poniente::internal {
namespace {

std::vector<std::string> Missing(int count) {
  std::vector<std::string> lines;
  for (int i = 0; i < count; ++i) {
    lines.push_back(absl::StrCat("t.toml:", i, ":3: no file at '/x/", i, "'"));
  }
  return lines;
}

TEST(AlikeLinesTest, AFewLinesStayAsTheyAre) {
  EXPECT_EQ(JoinAlikeLines({}), "");
  EXPECT_EQ(JoinAlikeLines(Missing(1)), "t.toml:0:3: no file at '/x/0'");
  EXPECT_EQ(JoinAlikeLines(Missing(4)),
            "t.toml:0:3: no file at '/x/0'\nt.toml:1:3: no file at '/x/1'\n"
            "t.toml:2:3: no file at '/x/2'\nt.toml:3:3: no file at '/x/3'");
}

TEST(AlikeLinesTest, ManyAlikeLinesAreThreeAndANumber) {
  EXPECT_EQ(JoinAlikeLines(Missing(9000)),
            "t.toml:0:3: no file at '/x/0'\nt.toml:1:3: no file at '/x/1'\n"
            "t.toml:2:3: no file at '/x/2'\n  and 8997 more like these");
}

TEST(AlikeLinesTest, WhatDiffersInWordsIsSaid) {
  std::vector<std::string> lines = Missing(5);
  lines.insert(lines.begin() + 1, "t.toml:7:1: unknown key 'junk'");
  lines.push_back("t.toml:8:1: no right to read '/x/7'");
  EXPECT_EQ(JoinAlikeLines(lines),
            "t.toml:0:3: no file at '/x/0'\nt.toml:7:1: unknown key 'junk'\n"
            "t.toml:1:3: no file at '/x/1'\nt.toml:2:3: no file at '/x/2'\n"
            "  and 2 more like these\nt.toml:8:1: no right to read '/x/7'");
}

}  // namespace
}  // namespace poniente::internal
