// SPDX-License-Identifier: Apache-2.0
// Reads one field, text or ids, of a JSON object on one line.

#ifndef PONIENTE_PACK_JSON_LINE_H_
#define PONIENTE_PACK_JSON_LINE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace poniente::internal {

// The field to read.
struct JsonField {
  enum class Kind { kText, kIds };

  Kind kind = Kind::kText;
  // Possible names of the field; the first one that the object has is used.
  std::vector<std::string> names = {"text"};
  // Every id must be below this.
  uint64_t vocabulary_size = 0;
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
  const std::string& error() const { return error_; }

 private:
  friend class FieldReader;

  // Returns false unless the line is right in all that it holds.
  bool ReadFast(std::string_view line, size_t bytes_behind);

  const JsonField field_;
  std::string_view text_;
  std::string own_text_;  // of the slower parser
  std::vector<uint32_t> ids_;
  std::string error_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_JSON_LINE_H_
