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
#include <utility>
#include <vector>

#include "pack/loss_spans.h"

namespace poniente::internal {

inline constexpr std::string_view kSpansField = "loss_spans";
inline constexpr std::string_view kMaskField = "loss_mask";
// Fields of a message that say something besides its content.
inline constexpr std::array<std::string_view, 2> kCallFields = {
    "tool_calls", "function_call"};

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

// Reads an array of objects with a `role` and a `content`, which are strings.
// A content may also be an array of parts {"type": "text", "text": "..."},
// whose texts follow each other. Calls (kCallFields) are refused: they are in
// no text. Returns what is wrong, or "". REQUIRES: the line is a JSON object
// with this field.
std::string ReadMessages(
    std::string_view line, const std::string& field,
    std::vector<std::pair<std::string, std::string>>* messages);

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_JSON_DETAILS_H_
