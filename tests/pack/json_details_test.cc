// SPDX-License-Identifier: Apache-2.0
// Chats and loss masks in JSON lines: both parsers read the same, and what is
// wrong is said with its place and value.
#include "pack/json_details.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "pack/json_line.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

// simdjson refuses this number, nlohmann's parser takes it.
constexpr char kSlowly[] = R"("big": 123456789012345678901234567890, )";

JsonField MaskedIds() {
  return {JsonField::Kind::kIds, {"tokens", "input_ids"}, 100};
}
JsonField Messages() { return {JsonField::Kind::kMessages, {"messages"}}; }

// What one parser reads; a line is valid only until the next.
struct LineRead {
  bool is_read = false;
  std::string error;
  std::vector<uint32_t> ids;
  std::vector<OwnMessage> messages;
  std::optional<std::vector<LossSpan>> loss;

  friend bool operator==(const LineRead&, const LineRead&) = default;
};

LineRead ReadOne(const JsonField& field, const std::string& line) {
  JsonLine json(field);
  LineRead read;
  read.is_read = json.Read(line);
  read.error = json.error();
  if (!read.is_read) return read;
  read.ids = json.ids();
  read.loss = json.loss();
  for (const ChatMessage& message : json.messages()) {
    read.messages.push_back({std::string(message.role),
                             std::string(message.content),
                             message.may_have_loss});
  }
  return read;
}

// Members of an object, read by both parsers; their common result.
class BothParsers {
 public:
  explicit BothParsers(const JsonField& field) : field_(field) {}

  bool Read(const std::string& members) {
    read_ = ReadOne(field_, "{" + members + "}");
    const LineRead slow =
        ReadOne(field_, "{" + std::string(kSlowly) + members + "}");
    EXPECT_TRUE(read_ == slow) << members << read_.error << slow.error;
    return read_.is_read;
  }
  const std::string& error() const { return read_.error; }
  const std::vector<OwnMessage>& messages() const { return read_.messages; }
  const std::optional<std::vector<LossSpan>>& loss() const {
    return read_.loss;
  }

 private:
  const JsonField field_;
  LineRead read_;
};

TEST(JsonLossTest, SpansAndMasksOfIds) {
  BothParsers json(MaskedIds());
  ASSERT_TRUE(json.Read(R"("tokens": [1, 2, 3])"));
  EXPECT_EQ(json.loss(), std::nullopt);
  ASSERT_TRUE(json.Read(R"("tokens": [1, 2, 3], "loss_spans": [])"));
  EXPECT_THAT(json.loss(), Optional(IsEmpty()));
  ASSERT_TRUE(json.Read(
      R"("loss_spans": [[2, 3], [0, 0], [0, 3]], "tokens": [1, 2, 3])"));
  EXPECT_THAT(json.loss(), Optional(ElementsAre(LossSpan{2, 3}, LossSpan{0, 0},
                                                LossSpan{0, 3})));
  ASSERT_TRUE(
      json.Read(R"("tokens": [1, 2, 3, 4], "loss_mask": [1, false, true, 0])"));
  EXPECT_THAT(json.loss(),
              Optional(ElementsAre(LossSpan{0, 1}, LossSpan{2, 3})));
  // The last of equal names counts.
  ASSERT_TRUE(json.Read(R"("tokens": [1], "loss_mask": 7, "loss_mask": [0])"));
  EXPECT_THAT(json.loss(), Optional(IsEmpty()));
  ASSERT_TRUE(json.Read(R"("tokens": [1], "x": {"loss_mask": [5]})"));
  EXPECT_EQ(json.loss(), std::nullopt);
  // One line leaves nothing to the next.
  JsonLine line(MaskedIds());
  ASSERT_TRUE(line.Read(R"({"tokens": [1], "loss_mask": [0]})"));
  ASSERT_TRUE(line.Read(R"({"tokens": [1]})"));
  EXPECT_EQ(line.loss(), std::nullopt);
}

TEST(JsonLossTest, SpansOfATextAreBytes) {
  BothParsers json{JsonField()};
  ASSERT_TRUE(json.Read(R"("text": "h\u00e9", "loss_spans": [[1, 3]])"));
  EXPECT_THAT(json.loss(), Optional(ElementsAre(LossSpan{1, 3})));
  EXPECT_FALSE(json.Read(R"("text": "h\u00e9", "loss_spans": [[1, 4]])"));
  EXPECT_EQ(json.error(),
            "span 0 of 'loss_spans' is [1,4], expected [begin, end] with begin "
            "<= end <= 3, the number of bytes of 'text'");
  EXPECT_FALSE(json.Read(R"("text": "a", "loss_mask": [1])"));
  EXPECT_THAT(json.error(), HasSubstr("--loss-mask drop"));
}

TEST(JsonLossTest, MasksThatAreDroppedMayBeAnything) {
  JsonField field = MaskedIds();
  field.reads_loss = false;
  BothParsers json(field);
  ASSERT_TRUE(json.Read(R"("tokens": [1], "loss_mask": 7, "loss_spans": 8)"));
  EXPECT_EQ(json.loss(), std::nullopt);
}

TEST(JsonLossTest, SaysWhatIsWrong) {
  BothParsers json(MaskedIds());
  const std::pair<const char*, const char*> wrong[] = {
      {R"("loss_spans": 3)",
       "'loss_spans' is 3, expected an array of [begin, end]"},
      {R"("loss_spans": null)", "'loss_spans' is null"},
      {R"("loss_spans": [[0, 1], [2, 1]])", "span 1 of 'loss_spans' is [2,1]"},
      {R"("loss_spans": [[0, 1, 2]])", "span 0 of 'loss_spans' is [0,1,2]"},
      {R"("loss_spans": [[-1, 1]])", "is [-1,1]"},
      {R"("loss_spans": [[0, 1.0]])", "is [0,1.0]"},
      {R"("loss_spans": [[0, "1"]])", "is an array"},
      {R"("loss_spans": [5])", "is 5, expected [begin, end]"},
      {R"("loss_spans": [[0, 3]])", "end <= 2, the number of ids of 'tokens'"},
      {R"("loss_mask": {"a": 1})", "'loss_mask' is an object"},
      {R"("loss_mask": [1])", "has 1 values, expected 2"},
      {R"("loss_mask": [1, 0, 1])", "has 3 values, expected 2"},
      {R"("loss_mask": [1, 2])",
       "value 1 of 'loss_mask' is 2, expected 0 or 1"},
      {R"("loss_mask": [-1, 0])", "value 0 of 'loss_mask' is -1"},
      {R"("loss_mask": ["1", 0])", "value 0 of 'loss_mask' is a string"},
      {R"("loss_mask": [1, 0], "loss_spans": [])", "has both"},
  };
  for (const auto& [members, error] : wrong) {
    EXPECT_FALSE(json.Read(R"("tokens": [1, 2], )" + std::string(members)));
    EXPECT_THAT(json.error(), HasSubstr(error)) << members;
  }
}

TEST(JsonMessagesTest, TakesRolesAndContents) {
  BothParsers json(Messages());
  ASSERT_TRUE(json.Read(
      R"("messages": [{"role": "user", "content": "a\n\u20ac", "x": [1]},)"
      R"( {"content": "", "role": "assistant"}], "loss_mask": 7)"));
  EXPECT_THAT(json.messages(),
              ElementsAre(OwnMessage{"user", "a\n\xe2\x82\xac"},
                          OwnMessage{"assistant", ""}));
  ASSERT_TRUE(json.Read(R"("messages": [])"));
  EXPECT_THAT(json.messages(), IsEmpty());
}

TEST(JsonMessagesTest, JoinsTheTextsOfParts) {
  BothParsers json(Messages());
  ASSERT_TRUE(json.Read(
      R"("messages": [{"role": "user", "content": [)"
      R"({"type": "text", "text": "a\n"}, {"text": "b\u20ac", "type": "text"},)"
      R"( {"type": "text", "text": "", "cache_control": {}}]}, )"
      R"({"role": "assistant", "content": [{"type": "text", "text": "c"}]}, )"
      R"({"role": "user", "content": []}, )"
      R"({"role": "tool", "content": [{"type": "text", "text": "x", )"
      R"("text": "d"}, {"type": "image", "type": "text", "text": "e"}]}])"));
  EXPECT_THAT(json.messages(),
              ElementsAre(OwnMessage{"user", "a\nb\xe2\x82\xac"},
                          OwnMessage{"assistant", "c"}, OwnMessage{"user", ""},
                          OwnMessage{"tool", "de"}));
}

TEST(JsonMessagesTest, CallsThatAreNoneAreIgnored) {
  BothParsers json(Messages());
  ASSERT_TRUE(json.Read(
      R"("messages": [{"role": "a", "content": "b", "tool_calls": null, )"
      R"("function_call": null}, {"role": "c", "tool_calls": [1], )"
      R"("content": "d", "tool_calls": []}])"));
  EXPECT_THAT(json.messages(),
              ElementsAre(OwnMessage{"a", "b"}, OwnMessage{"c", "d"}));
}

TEST(JsonMessagesTest, AWeightOfNoneTakesTheLossAway) {
  BothParsers json(Messages());
  ASSERT_TRUE(json.Read(
      R"("messages": [{"role": "a", "content": "b", "weight": 0}, )"
      R"({"weight": 1, "role": "a", "content": "c"}, )"
      R"({"role": "a", "content": "d", "weight": null}, )"
      R"({"role": "a", "content": "e", "weight": 0.0}, )"
      R"({"role": "a", "content": "f", "weight": 0, "weight": true}])"));
  EXPECT_THAT(
      json.messages(),
      ElementsAre(OwnMessage{"a", "b", false}, OwnMessage{"a", "c", true},
                  OwnMessage{"a", "d", true}, OwnMessage{"a", "e", false},
                  OwnMessage{"a", "f", true}));
}

TEST(JsonMessagesTest, WeightsAreIgnoredWhereMasksAre) {
  JsonField field = Messages();
  field.reads_loss = false;
  BothParsers json(field);
  ASSERT_TRUE(json.Read(
      R"("messages": [{"role": "a", "content": "b", "weight": 0.5}])"));
  EXPECT_THAT(json.messages(), ElementsAre(OwnMessage{"a", "b", true}));
}

TEST(JsonMessagesTest, ToolsThatAreNoneAreIgnored) {
  BothParsers json(Messages());
  EXPECT_TRUE(json.Read(
      R"("tools": [1], "messages": [], "tools": [], "functions": null)"));
  for (const char* empty : {"{}", "\"\""}) {
    EXPECT_TRUE(json.Read(std::string(R"("messages": [], "tools": )") + empty));
  }
  BothParsers tools({JsonField::Kind::kMessages, {"tools"}});
  EXPECT_TRUE(tools.Read(R"("tools": [{"role": "a", "content": "b"}])"));
  EXPECT_THAT(tools.messages(), ElementsAre(OwnMessage{"a", "b"}));
  BothParsers texts(JsonField{});
  EXPECT_TRUE(texts.Read(R"("text": "a", "tools": [1])"));
}

TEST(JsonMessagesTest, SaysWhatIsWrong) {
  BothParsers json(Messages());
  const std::pair<const char*, const char*> wrong[] = {
      {R"("messages": "Hi")", "'messages' is a string, expected an array of"},
      {R"("messages": [3])",
       "message 0 of 'messages' is 3, expected {\"role\""},
      {R"("messages": [{"role": "a", "content": ""}, {"content": "b"}])",
       "message 1 of 'messages' has no 'role'"},
      {R"("messages": [{"role": "a"}])",
       "message 0 of 'messages' has no 'content'"},
      {R"("messages": [{"role": "a", "content": null}])",
       "'content' of message 0 of 'messages' is null, expected a string or an "
       "array of {\"type\": \"text\""},
      {R"("messages": [{"role": "a", "content": null, )"
       R"("tool_calls": [{"id": "x"}]}])",
       "message 0 of 'messages' has 'tool_calls', which would be left out of "
       "the text; write the calls into 'content'"},
      {R"("messages": [{"role": "a", "content": "b", "tool_calls": {}}])",
       "has 'tool_calls'"},
      {R"("messages": [{"role": "a", "content": "b"}, )"
       R"({"role": "a", "function_call": {"name": "f"}}])",
       "message 1 of 'messages' has 'function_call'"},
      {R"("messages": [{"role": "a", "content": "b", "weight": 0.5}])",
       "'weight' of message 0 of 'messages' is 0.5, expected 0 or 1"},
      {R"("messages": [{"role": "a", "content": "b", "weight": "1"}])",
       "'weight' of message 0 of 'messages' is a string"},
      {R"("messages": [], "tools": [{"type": "function"}])",
       "has 'tools', which would be left out of the text; write them into"},
      {R"("functions": {"a": 1}, "messages": [])", "has 'functions', which"},
      {R"("messages": [{"role": 1, "content": "a"}])",
       "'role' of message 0 of 'messages' is 1"},
      {R"("messages": [{"role": "a", "content": [{"type": "text"}]}])",
       "part 0 of 'content' of message 0 of 'messages' has no 'text'"},
      {R"("messages": [{"role": "a", "content": [{"type": "text", )"
       R"("text": "b"}, {"type": "image_url", "image_url": {}}]}])",
       "part 1 of 'content' of message 0 of 'messages' is of type "
       "'image_url', expected {\"type\": \"text\""},
      {R"("messages": [{"role": "a", "content": [{"text": "b"}]}])",
       "part 0 of 'content' of message 0 of 'messages' has no 'type'"},
      {R"("messages": [{"role": "a", "content": [{"type": "text", )"
       R"("text": 4}]}])",
       "'text' of part 0 of 'content' of message 0 of 'messages' is 4"},
      {R"("messages": [{"role": "a", "content": [{"type": 4}]}])",
       "has a 'type' that is 4, expected"},
      {R"("messages": [{"role": "a", "content": ["b"]}])",
       "part 0 of 'content' of message 0 of 'messages' is a string, expected"},
  };
  for (const auto& [members, error] : wrong) {
    EXPECT_FALSE(json.Read(members));
    EXPECT_THAT(json.error(), HasSubstr(error)) << members;
  }
  JsonLine text{JsonField()};
  EXPECT_FALSE(text.Read(R"({"messages": []})"));
  EXPECT_THAT(text.error(), HasSubstr("use --input-format messages"));
  JsonLine cut(Messages());
  EXPECT_FALSE(cut.Read(R"({"messages": [{"role": )"));
  EXPECT_THAT(cut.error(), HasSubstr("is not JSON"));
}

// Values of all kinds in all places: both parsers say the same.
TEST(JsonLossTest, BothParsersAgreeOnRandomValues) {
  std::mt19937_64 random(testing::TestSeed(412));
  const std::vector<std::string> values = {"0",
                                           "1",
                                           "2",
                                           "true",
                                           "-1",
                                           "1.0",
                                           "null",
                                           "\"a\"",
                                           "[]",
                                           "{}",
                                           "[0, 1]",
                                           "[1,2]",
                                           "[0]",
                                           "[[0, 2]]",
                                           "[1, 0]",
                                           "[true, false]",
                                           "[[1, 1], [0, 1]]",
                                           R"({"type": "text", "text": "b"})",
                                           R"([{"type": "text", "text": "b"}])",
                                           R"({"tool_calls": [1]})"};
  const auto value = [&] { return values[random() % values.size()]; };
  const auto list = [&] {
    std::string all = "[";
    for (uint64_t left = random() % 3; left > 0; --left) {
      all += value() + (left > 1 ? ", " : "");
    }
    return all + "]";
  };
  BothParsers ids(MaskedIds());
  BothParsers chats(Messages());
  int read = 0;
  for (int turn = 0; turn < 20'000; ++turn) {
    std::string members = R"("tokens": [5, 6])";
    if (random() % 2 == 0) members += R"(, "loss_spans": )" + list();
    if (random() % 2 == 0) members += R"(, "loss_mask": )" + list();
    read += ids.Read(members);
    ASSERT_FALSE(HasFailure()) << members;
    const std::string message =
        random() % 2 == 0
            ? R"({"role": "a", "content": )" +
                  (random() % 2 == 0 ? value() : list()) +
                  (random() % 4 == 0 ? R"(, "tool_calls": )" + value() : "") +
                  (random() % 4 == 0 ? R"(, "weight": )" + value() : "") + "}"
            : value();
    read += chats.Read(R"("messages": [)" + message + "]" +
                       (random() % 8 == 0 ? R"(, "tools": )" + value() : ""));
    ASSERT_FALSE(HasFailure()) << message;
  }
  EXPECT_GT(read, 2'000);
}

}  // namespace
}  // namespace poniente::internal
