// SPDX-License-Identifier: Apache-2.0
// Fields of JSON lines, beside what nlohmann's parser says of the same bytes.

#include "pack/json_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TestSeed;

JsonField Ids(uint64_t vocabulary_size) {
  return {JsonField::Kind::kIds, {"tokens", "input_ids"}, vocabulary_size};
}

TEST(JsonLineTest, TakesTheTextWithItsEscapes) {
  JsonLine json{JsonField()};
  ASSERT_TRUE(json.Read(R"({"id": [1, {"a": null}], "text": "a\n\u00e9\u20ac)"
                        R"(\ud83d\ude00\"\\\/", "z": -1.5e3})"))
      << json.error();
  EXPECT_EQ(json.text(), "a\n\u00e9\u20ac\U0001f600\"\\/");
}

TEST(JsonLineTest, KeepsNulsAndEmptyTexts) {
  JsonLine json{JsonField()};
  ASSERT_TRUE(json.Read(R"({"text": "a\u0000b"})"));
  EXPECT_EQ(json.text(), std::string("a\0b", 3));
  ASSERT_TRUE(json.Read(R"({"text": ""})"));
  EXPECT_EQ(json.text(), "");
}

TEST(JsonLineTest, TheLastOfEqualNamesCounts) {
  JsonLine json{JsonField()};
  ASSERT_TRUE(json.Read(R"({"text": "first", "text": "last"})"));
  EXPECT_EQ(json.text(), "last");
  JsonLine ids(Ids(10));
  ASSERT_TRUE(ids.Read(R"({"tokens": [1, 2], "tokens": [3]})"));
  EXPECT_THAT(ids.ids(), ElementsAre(3));
}

TEST(JsonLineTest, TheFirstOfSeveralNamesWinsWhereverItStands) {
  JsonLine ids(Ids(10));
  ASSERT_TRUE(ids.Read(R"({"input_ids": [1], "tokens": [2]})"));
  EXPECT_THAT(ids.ids(), ElementsAre(2));
  ASSERT_TRUE(ids.Read(R"({"tokens": [2], "input_ids": [1]})"));
  EXPECT_THAT(ids.ids(), ElementsAre(2));
}

TEST(JsonLineTest, IdsMustBeBelowTheVocabulary) {
  JsonLine ids(Ids(10));
  EXPECT_FALSE(ids.Read(R"({"tokens": [1, 10]})"));
  EXPECT_THAT(ids.error(), HasSubstr("id 1 of 'tokens' is 10"));
  EXPECT_FALSE(ids.Read(R"({"tokens": [1, -1]})"));
  EXPECT_FALSE(ids.Read(R"({"tokens": [1, 2.0]})"));
  EXPECT_FALSE(ids.Read(R"({"tokens": [1, [2]]})"));
  ASSERT_TRUE(ids.Read(R"({"tokens": [9, 0]})"));
  EXPECT_THAT(ids.ids(), ElementsAre(9, 0));
}

TEST(JsonLineTest, RefusesHalfASurrogatePairInAnyString) {
  JsonLine json{JsonField()};
  for (const char* const line :
       {R"({"text": "a\udc00"})", R"({"text": "a\ud800"})",
        R"({"text": "a", "b": ["\udfff"]})", R"({"text": "a", "\udc00": 1})",
        R"({"text": "a\ud800\ud800"})"}) {
    EXPECT_FALSE(json.Read(line)) << line;
    EXPECT_THAT(json.error(), HasSubstr("is not JSON"));
  }
}

TEST(JsonLineTest, ReadsWhatOnlyTheSlowerParserTakes) {
  JsonLine json{JsonField()};
  // A number beyond 64 bits, and more levels than simdjson's.
  EXPECT_TRUE(
      json.Read(R"({"n": 123456789012345678901234567890, "text": "a"})"));
  EXPECT_EQ(json.text(), "a");
  const std::string deep = std::string(3000, '[') + std::string(3000, ']');
  EXPECT_TRUE(json.Read("{\"deep\": " + deep + ", \"text\": \"b\"}"));
  EXPECT_EQ(json.text(), "b");
}

// nlohmann's parser takes a NUL for the end.
TEST(JsonLineTest, WhatFollowsANulIsNotDropped) {
  JsonField messages;
  messages.kind = JsonField::Kind::kMessages;
  messages.names = {"messages"};
  const struct {
    JsonField field;
    std::string object;
  } cases[] = {
      {JsonField(), R"({"text": "a"})"},
      // Only the slow parser reads these.
      {JsonField(), R"({"n": 123456789012345678901234567890, "text": "a"})"},
      {JsonField(), R"({"text": "a", "loss_spans": [[0, 1]]})"},
      {Ids(10), R"({"tokens": [1, 2]})"},
      {messages, R"({"messages": [{"role": "user", "content": "a"}]})"}};
  for (const auto& [field, object] : cases) {
    JsonLine json(field);
    ASSERT_TRUE(json.Read(object)) << object << json.error();
    for (const std::string& behind :
         {std::string(1, '\0'), std::string(" \0\r", 3), std::string(5, '\0'),
          std::string(100, '\0'), '\0' + object, '\0' + object + "]",
          "\t" + std::string(2, '\0') + "x"}) {
      const std::string line = object + behind;
      for (const size_t bytes_behind : {0, 64}) {
        const std::string in_text = line + "\n" + std::string(63, ' ');
        EXPECT_FALSE(json.Read(std::string_view(in_text).substr(0, line.size()),
                               bytes_behind))
            << object << " and " << behind.size() << " bytes";
        EXPECT_EQ(
            json.error(),
            absl::StrCat("is not JSON: error at byte ", line.find('\0') + 1,
                         ", a NUL (\\x00) after the value"));
      }
    }
  }
}

TEST(JsonLineTest, NulsElsewhereAreErrors) {
  JsonLine json{JsonField()};
  JsonLine ids(Ids(10));
  for (const std::string& line : {std::string(1, '\0'), std::string(1000, '\0'),
                                  std::string("\0{\"text\": \"a\"}", 14),
                                  std::string("{\0\"text\": \"a\"}", 14),
                                  std::string("{\"text\"\0: \"a\"}", 14),
                                  std::string("{\"text\": \"a\"\0}", 14),
                                  std::string("{\"text\": \"a\0\"}", 14),
                                  std::string("{\"te\0xt\": \"a\"}", 14)}) {
    EXPECT_FALSE(json.Read(line));
    EXPECT_THAT(json.error(), HasSubstr("is not JSON: error at byte "));
  }
  EXPECT_FALSE(ids.Read(std::string("{\"tokens\": [1\0]}", 16)));
  EXPECT_THAT(ids.error(), HasSubstr("is not JSON: error at byte "));
}

// The text of an object, by nlohmann's own tree; nullopt if there is none.
std::optional<std::string> SlowText(const std::string& line) {
  const nlohmann::json tree = nlohmann::json::parse(line, nullptr, false);
  if (!tree.is_object() || !tree.contains("text") ||
      !tree["text"].is_string()) {
    return std::nullopt;
  }
  return tree["text"].get<std::string>();
}

std::string RandomLine(std::mt19937_64* random) {
  static const std::vector<std::string> kPieces = {
      "a",
      "\\n",
      "\\u00e9",
      "\xc3\xa9",
      "\xe2\x82\xac",
      "\xf0\x9f\x98\x80",
      "\\ud83d\\ude00",
      "\\ud83d",
      "\\ude00",
      "\\\"",
      "\\\\",
      " ",
      "\xed\x95\x9c",
      "\\u0000",
      "long plain text without escapes, of more than one register"};
  const auto text = [&] {
    std::string made;
    for (uint64_t left = (*random)() % 12; left > 0; --left) {
      // Halves of pairs are rare, or nothing else would be seen.
      uint64_t piece = (*random)() % kPieces.size();
      if ((piece == 7 || piece == 8) && (*random)() % 16 != 0) piece = 0;
      made += kPieces[piece];
    }
    return "\"" + made + "\"";
  };
  const auto other = [&]() -> std::string {
    switch ((*random)() % 6) {
      case 0:
        return std::to_string((*random)());
      case 1:
        return "[1, null, " + text() + ", {}]";
      case 2:
        return "{\"text\": " + text() + "}";
      case 3:
        return "-1.25e-7";
      case 4:
        return "true";
      default:
        return text();
    }
  };
  return "{\"id\": " + other() +
         ", \"text\": " + ((*random)() % 20 == 0 ? other() : text()) +
         " , \"meta\": " + other() + "}";
}

TEST(JsonLineTest, AgreesWithTheSlowParserOnRandomAndDamagedLines) {
  std::mt19937_64 random(TestSeed(44));
  JsonLine json{JsonField()};
  int accepted = 0, refused = 0;
  for (int i = 0; i < 50'000; ++i) {
    std::string line = RandomLine(&random);
    // Not quotes: they could double a name, whose first value is looked at,
    // too.
    if (i % 2 == 1) {
      for (uint64_t times = 1 + random() % 2; times > 0; --times) {
        line[random() % line.size()] =
            "{}[],:\\x0\xff\xed\xc3\x1f "[random() % 14];
      }
    }
    const std::optional<std::string> expected = SlowText(line);
    // With anything behind it, also what would complete it.
    const std::string in_text = line + (i % 3 == 1 ? "\n" : "\"}") +
                                RandomLine(&random) + RandomLine(&random);
    const size_t behind = i % 3 == 0 ? 0 : in_text.size() - line.size();
    ASSERT_EQ(
        json.Read(std::string_view(in_text).substr(0, line.size()), behind),
        expected.has_value())
        << line << json.error();
    if (expected.has_value()) {
      ASSERT_EQ(json.text(), *expected) << line;
      ++accepted;
    } else {
      ASSERT_NE(json.error(), "") << line;
      ++refused;
    }
  }
  EXPECT_GT(accepted, 10'000);
  EXPECT_GT(refused, 5'000);
}

}  // namespace
}  // namespace poniente::internal
