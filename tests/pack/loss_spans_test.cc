// SPDX-License-Identifier: Apache-2.0
#include "pack/loss_spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "pack/chat_template.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Any spans, in any order, against each byte looked at by itself.
TEST(LossSpansTest, WhatIsInOneOfTheSpansHasLoss) {
  std::mt19937_64 random(testing::TestSeed(411));
  for (int turn = 0; turn < 2000; ++turn) {
    const uint64_t count = random() % 40;
    std::vector<LossSpan> spans(random() % 6);
    for (LossSpan& span : spans) {
      span.begin = random() % (count + 1);
      span.end = span.begin + random() % (count + 1 - span.begin);
    }
    std::vector<uint8_t> expected;
    for (uint64_t at = 0; at < count; ++at) {
      bool is_in = false;
      for (const LossSpan& span : spans) {
        is_in = is_in || (span.begin <= at && at < span.end);
      }
      expected.push_back(is_in ? 1 : 0);
    }
    ASSERT_EQ(LossOfSpans(spans, count), expected);
  }
}

// "A: ok then", of which "ok" has loss; tokens as models cut them.
TEST(LossSpansTest, TheFirstByteThatIsNoSpaceDecides) {
  constexpr std::string_view kText = "A:\nok then";
  const std::vector<LossSpan> ok = {{3, 5}};
  const auto loss = [&](std::vector<TokenPlace> places) {
    return LossOfPlaces(kText, ok, places);
  };
  // The white space before a word is in its token.
  EXPECT_THAT(loss({{0, 2}, {2, 5}, {5, 10}}), ElementsAre(0, 1, 0));
  // A token of white space alone counts by its first byte.
  EXPECT_THAT(loss({{2, 3}, {3, 4}, {4, 5}, {5, 6}}), ElementsAre(0, 1, 1, 0));
  // A token that begins within the span or before it.
  EXPECT_THAT(loss({{4, 10}, {1, 5}}), ElementsAre(1, 0));
  // Parts of a character, and an end that stands for nothing.
  EXPECT_THAT(loss({{3, 3}, {3, 4}, {5, 5}, {10, 10}}),
              ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(LossOfPlaces("", {}, std::vector<TokenPlace>{{0, 0}}),
              ElementsAre(0));
  EXPECT_THAT(LossOfPlaces("ab", std::vector<LossSpan>{{0, 2}},
                           std::vector<TokenPlace>{{2, 2}}),
              ElementsAre(1));
}

TEST(ChatTemplateTest, FramesEachTurnAndGivesLossToAnswersAndTheirEnds) {
  const std::vector<ChatMessage> chat = {
      {"system", "Be brief."}, {"user", "Hi"}, {"assistant", "Yes?"}};
  std::string text;
  std::vector<LossSpan> spans;
  ChatTemplate().Render(chat, &text, &spans);
  EXPECT_EQ(text,
            "<|im_start|>system\nBe brief.<|im_end|>\n"
            "<|im_start|>user\nHi<|im_end|>\n"
            "<|im_start|>assistant\nYes?<|im_end|>\n");
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(text.substr(spans[0].begin, spans[0].end - spans[0].begin),
            "Yes?<|im_end|>\n");
}

TEST(ChatTemplateTest, TakesOtherFramesAndRoles) {
  ChatTemplate chat;
  chat.turn_begin = "[{role}|{role}]";
  chat.turn_end = "{/{role}}";
  chat.loss_roles = {"tool", "assistant"};
  std::string text = "left over";
  std::vector<LossSpan> spans = {{1, 2}};
  chat.Render(std::vector<ChatMessage>{{"tool", "{role}"}, {"user", ""}}, &text,
              &spans);
  EXPECT_EQ(text, "[tool|tool]{role}{/tool}[user|user]{/user}");
  EXPECT_THAT(spans, ElementsAre(LossSpan{11, 24}));
  chat.Render({}, &text, &spans);
  EXPECT_EQ(text, "");
  EXPECT_THAT(spans, IsEmpty());
}

}  // namespace
}  // namespace poniente::internal
