// SPDX-License-Identifier: Apache-2.0
// Reads one document, which is text, ids or the messages of a chat, of a JSON
// object on one line.

#ifndef PONIENTE_PACK_JSON_LINE_H_
#define PONIENTE_PACK_JSON_LINE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pack/chat_template.h"
#include "pack/json_details.h"
#include "pack/loss_spans.h"

namespace poniente::internal {

// The field to read.
struct JsonField {
  enum class Kind { kText, kIds, kMessages };

  Kind kind = Kind::kText;
  // Possible names of the field; the first one that the object has is used.
  std::vector<std::string> names = {"text"};
  // Every id must be below this.
  uint64_t vocabulary_size = 0;
  // Whether documents get loss masks: by loss_spans and loss_mask of texts and
  // ids, and by the roles of messages.
  bool reads_loss = true;
  // For messages: how they become a text.
  ChatTemplate chat = {};
};

// Lines are parsed by simdjson; those that it refuses, or whose field is not as
// wanted, once more by nlohmann, which tells what is wrong and where. Both
// accept the same lines.
//
// Memory: a few times the longest line; per thread, kept.
class JsonLine {
 public:
  explicit JsonLine(JsonField field);

  // Reads the field. Returns false if the line does not have the field in the
  // right form; error() then says what was expected. If a name occurs twice in
  // an object, the last value is used. `bytes_behind`: memory behind the line
  // that may be read; with 64, the line is not copied.
  bool Read(std::string_view line, size_t bytes_behind = 0);

  // Valid until the next Read() on this thread.
  std::string_view text() const { return text_; }
  const std::vector<uint32_t>& ids() const { return ids_; }
  const std::vector<ChatMessage>& messages() const { return messages_; }
  // Returns the bytes of the text or the ids that have loss; nullopt if the
  // line does not say, so all have.
  const std::optional<std::vector<LossSpan>>& loss() const { return loss_; }
  const std::string& error() const { return error_; }

 private:
  friend class FieldReader;

  // Returns false unless the line is right in all that it holds.
  bool ReadFast(std::string_view line, size_t bytes_behind);
  // Says what is wrong, if anything is.
  bool ReadSlowly(std::string_view line);

  const JsonField field_;
  std::string_view text_;
  std::string own_text_;  // of the slower parser
  std::vector<uint32_t> ids_;
  std::vector<ChatMessage> messages_;
  // Contents of several parts, of the faster parser.
  std::deque<std::string> joined_;
  // Roles and contents, of the slower parser.
  std::vector<OwnMessage> own_messages_;
  std::optional<std::vector<LossSpan>> loss_;
  std::string error_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_JSON_LINE_H_
