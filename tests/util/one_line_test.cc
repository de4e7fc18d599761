// SPDX-License-Identifier: Apache-2.0
#include "util/one_line.h"

#include <gtest/gtest.h>

#include <string>

namespace poniente::internal {
namespace {

TEST(OneLineTest, TextIsLeftAsItIs) {
  for (const char* const text :
       {"", "a b'\"\\", "h\u00e9 \u65e5\u672c \U0001f600 \ufeff", "\u00a0"}) {
    EXPECT_EQ(OneLine(text), text);
  }
}

TEST(OneLineTest, WhatATerminalActsUponIsWritten) {
  EXPECT_EQ(OneLine("a\nb\tc\x1b[31m\x07\x7f"),
            "a\\nb\\x09c\\x1b[31m\\x07\\x7f");
  EXPECT_EQ(OneLine("\u0080\u009b\u009f"), "\\u0080\\u009b\\u009f");
  EXPECT_EQ(OneLine("a\u202eb\u2066\u2028\u200f\u061c"),
            "a\\u202eb\\u2066\\u2028\\u200f\\u061c");
  EXPECT_EQ(OneLine(std::string("\0", 1)), "\\x00");
}

TEST(OneLineTest, BytesThatAreNoUtf8AreWritten) {
  EXPECT_EQ(OneLine("\x9b[31m"), "\\x9b[31m");
  EXPECT_EQ(OneLine("\xe2\x80"), "\\xe2\\x80");           // cut off
  EXPECT_EQ(OneLine("\xc1\x9b"), "\\xc1\\x9b");           // too long
  EXPECT_EQ(OneLine("\xe0\x82\x9b"), "\\xe0\\x82\\x9b");  // as well
  EXPECT_EQ(OneLine("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half of two
  EXPECT_EQ(OneLine("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // too far
  EXPECT_EQ(OneLine("\xff\xc3\xa9"), "\\xff\xc3\xa9");
}

}  // namespace
}  // namespace poniente::internal
