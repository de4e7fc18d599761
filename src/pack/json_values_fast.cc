// SPDX-License-Identifier: Apache-2.0
#include "pack/json_values_fast.h"

#include <algorithm>
#include <array>
#include <optional>

#include "pack/json_details.h"

namespace poniente::internal {
namespace {

namespace dom = simdjson::dom;

// A string whose escapes name half of a pair of surrogates, which is not text;
// simdjson encodes it like any other code point.
bool HasHalfPair(std::string_view text) {
  for (size_t at = text.find('\xed'); at != std::string_view::npos;
       at = text.find('\xed', at + 1)) {
    if (at + 1 < text.size() && static_cast<uint8_t>(text[at + 1]) >= 0xa0) {
      return true;
    }
  }
  return false;
}

// Joins the texts of several parts in `joined`; that of one part stays where it
// is.
bool GetContent(dom::element value, std::deque<std::string>* joined,
                std::string_view* content) {
  dom::array parts;
  if (value.get(parts)) return !value.get(*content);
  const bool is_joined = parts.size() > 1;
  if (is_joined) joined->emplace_back();
  *content = "";
  for (const dom::element part : parts) {
    dom::object object;
    if (part.get(object)) return false;
    std::optional<dom::element> type;
    std::optional<dom::element> text;
    for (const dom::key_value_pair pair : object) {
      if (pair.key == "type") type = pair.value;
      if (pair.key == "text") text = pair.value;
    }
    std::string_view name;
    if (!type || !text || type->get(name) || name != "text" ||
        text->get(*content)) {
      return false;
    }
    if (is_joined) joined->back().append(*content);
  }
  if (is_joined) *content = joined->back();
  return true;
}

bool IsNothing(dom::element value) {
  dom::array array;
  return value.is_null() || (!value.get(array) && array.size() == 0);
}

// A message without a weight may have loss.
bool GetWeight(const std::optional<dom::element>& value, bool* may_have_loss) {
  if (!value || value->is_null()) return true;
  double weight = 0;
  if (!value->get(*may_have_loss)) return true;
  if (value->get(weight)) return false;
  *may_have_loss = weight != 0;
  return weight == 0 || weight == 1;
}

}  // namespace

bool IsEmpty(dom::element value) {
  dom::object object;
  std::string_view text;
  return IsNothing(value) || (!value.get(object) && object.size() == 0) ||
         (!value.get(text) && text.empty());
}

// simdjson itself nests at most 1024 levels.
bool HasHalfPairs(dom::element value) {
  switch (value.type()) {
    case dom::element_type::STRING:
      return HasHalfPair(std::string_view(value));
    case dom::element_type::ARRAY:
      for (const dom::element inner : dom::array(value)) {
        if (HasHalfPairs(inner)) return true;
      }
      return false;
    case dom::element_type::OBJECT:
      for (const dom::key_value_pair pair : dom::object(value)) {
        if (HasHalfPair(pair.key) || HasHalfPairs(pair.value)) return true;
      }
      return false;
    default:
      return false;
  }
}

bool GetIds(dom::element value, uint64_t vocabulary_size,
            std::vector<uint32_t>* ids) {
  dom::array array;
  if (value.get(array)) return false;
  ids->clear();
  for (const dom::element id : array) {
    uint64_t number = 0;
    if (id.get(number) || number >= vocabulary_size) return false;
    ids->push_back(static_cast<uint32_t>(number));
  }
  return true;
}

bool GetMessages(dom::element value, bool reads_loss,
                 std::deque<std::string>* joined,
                 std::vector<ChatMessage>* messages) {
  dom::array array;
  if (value.get(array)) return false;
  messages->clear();
  joined->clear();
  for (const dom::element one : array) {
    dom::object object;
    if (one.get(object)) return false;
    std::optional<dom::element> role;
    std::optional<dom::element> content;
    std::optional<dom::element> weight;
    std::array<bool, kCallFields.size()> has_calls = {};
    for (const dom::key_value_pair pair : object) {
      if (pair.key == "role") role = pair.value;
      if (pair.key == "content") content = pair.value;
      if (reads_loss && pair.key == kWeightField) weight = pair.value;
      for (size_t i = 0; i < kCallFields.size(); ++i) {
        if (pair.key == kCallFields[i]) has_calls[i] = !IsNothing(pair.value);
      }
    }
    if (std::count(has_calls.begin(), has_calls.end(), true) > 0) return false;
    ChatMessage& message = messages->emplace_back();
    if (!role || !content || role->get(message.role) ||
        !GetContent(*content, joined, &message.content) ||
        !GetWeight(weight, &message.may_have_loss)) {
      return false;
    }
  }
  return true;
}

bool GetSpans(dom::element value, uint64_t size, std::vector<LossSpan>* spans) {
  dom::array array;
  if (value.get(array)) return false;
  for (const dom::element one : array) {
    dom::array pair;
    LossSpan& span = spans->emplace_back();
    if (one.get(pair) || pair.size() != 2 || pair.at(0).get(span.begin) ||
        pair.at(1).get(span.end) || span.begin > span.end || span.end > size) {
      return false;
    }
  }
  return true;
}

bool GetMask(dom::element value, uint64_t size, std::vector<LossSpan>* spans) {
  dom::array array;
  if (value.get(array)) return false;
  uint64_t at = 0;
  for (const dom::element one : array) {
    bool has_loss = false;
    uint64_t number = 0;
    if (one.get(has_loss)) {
      if (one.get(number) || number > 1) return false;
      has_loss = number == 1;
    }
    if (has_loss) spans->push_back({at, at + 1});
    ++at;
  }
  return at == size;
}

}  // namespace poniente::internal
