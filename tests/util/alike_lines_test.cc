// SPDX-License-Identifier: Apache-2.0
#include "util/alike_lines.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

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
  for (const int count : {4, 5, 8}) {
    EXPECT_EQ(JoinAlikeLines(Missing(count)),
              absl::StrJoin(Missing(count), "\n"));
  }
}

constexpr char kFirstThree[] =
    "t.toml:0:3: no file at '/x/0'\nt.toml:1:3: no file at '/x/1'\n"
    "t.toml:2:3: no file at '/x/2'\n";

TEST(AlikeLinesTest, ManyAlikeLinesAreThreeAndANumber) {
  EXPECT_EQ(JoinAlikeLines(Missing(9)),
            absl::StrCat(kFirstThree,
                         "  and 6 more like these: t.toml:3:3, t.toml:4:3, "
                         "t.toml:5:3, t.toml:6:3, t.toml:7:3, t.toml:8:3"));
  const std::string places =
      "t.toml:3:3, t.toml:4:3, t.toml:5:3, t.toml:6:3, t.toml:7:3, "
      "t.toml:8:3, t.toml:9:3, t.toml:10:3, t.toml:11:3, t.toml:12:3, "
      "t.toml:13:3, t.toml:14:3, t.toml:15:3, t.toml:16:3, t.toml:17:3, "
      "t.toml:18:3";
  EXPECT_EQ(JoinAlikeLines(Missing(19)),
            absl::StrCat(kFirstThree, "  and 16 more like these: ", places));
  EXPECT_EQ(JoinAlikeLines(Missing(9000)),
            absl::StrCat(kFirstThree, "  and 8997 more like these: ", places,
                         ", ..."));
}

TEST(AlikeLinesTest, WhatDiffersInWordsIsSaid) {
  std::vector<std::string> lines = Missing(9);
  lines.insert(lines.begin() + 1, "t.toml:7:1: unknown key 'junk'");
  lines.push_back("t.toml:8:1: no right to read '/x/7'");
  EXPECT_EQ(JoinAlikeLines(lines),
            "t.toml:0:3: no file at '/x/0'\nt.toml:7:1: unknown key 'junk'\n"
            "t.toml:1:3: no file at '/x/1'\nt.toml:2:3: no file at '/x/2'\n"
            "  and 6 more like these: t.toml:3:3, t.toml:4:3, t.toml:5:3, "
            "t.toml:6:3, t.toml:7:3, t.toml:8:3\n"
            "t.toml:8:1: no right to read '/x/7'");
}

TEST(AlikeLinesTest, PlacesMayBeKeys) {
  std::vector<std::string> keys;
  for (const char name : {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'}) {
    keys.push_back(absl::StrCat("data.", std::string(1, name), " has 1"));
  }
  EXPECT_EQ(JoinAlikeLines(keys),
            "data.a has 1\ndata.b has 1\ndata.c has 1\n"
            "  and 6 more like these: data.d, data.e, data.f, data.g, data.h, "
            "data.i");
  const std::vector<std::string> words(9, "no 'x' here");
  EXPECT_EQ(JoinAlikeLines(words),
            "no 'x' here\nno 'x' here\nno 'x' here\n"
            "  and 6 more like these");
}

}  // namespace
}  // namespace poniente::internal
