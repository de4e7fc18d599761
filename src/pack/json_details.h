// SPDX-License-Identifier: Apache-2.0
// Reads messages and loss masks of a JSON object on one line, and says what is
// wrong with them. json_line.cc reads lines without mistakes faster.

#ifndef PONIENTE_PACK_JSON_DETAILS_H_
#define PONIENTE_PACK_JSON_DETAILS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pack/loss_spans.h"

namespace poniente::internal {

inline constexpr std::string_view kSpansField = "loss_spans";
inline constexpr std::string_view kMaskField = "loss_mask";
// Fields of a message that say something besides its content.
inline constexpr std::array<std::string_view, 2> kCallFields = {
    "tool_calls", "function_call"};
// Fields beside the messages that say what may be called.
inline constexpr std::array<std::string_view, 2> kToolFields = {"tools",
                                                                "functions"};
// Field of a message: 0 if it has no loss, 1 if its role decides.
inline constexpr std::string_view kWeightField = "weight";

// What a loss mask is about.
struct LossSubject {
  std::string field;  // as messages show it
  bool is_text = false;
  uint64_t size = 0;  // bytes of the text, or number of ids
};

// Reads the field `loss_spans` or `loss_mask`; nullopt if the object has
// neither. Returns what is wrong, or "". REQUIRES: the line is a JSON object.
std::string ReadLoss(std::string_view line, const LossSubject& subject,
                     std::optional<std::vector<LossSpan>>* spans);

// A message of a chat, as ChatMessage.
struct OwnMessage {
  std::string role;
  std::string content;
  bool may_have_loss = true;

  friend bool operator==(const OwnMessage&, const OwnMessage&) = default;
};

// Reads an array of objects with a `role` and a `content`, which are strings,
// and perhaps a `weight`. A content may also be an array of parts {"type":
// "text", "text": "..."}, whose texts follow each other. Calls (kCallFields)
// and tools (kToolFields) are refused: they are in no text. Returns what is
// wrong, or "". Weights are not looked at unless `reads_loss`. REQUIRES: the
// line is a JSON object with this field.
std::string ReadMessages(std::string_view line, const std::string& field,
                         bool reads_loss, std::vector<OwnMessage>* messages);

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_JSON_DETAILS_H_
