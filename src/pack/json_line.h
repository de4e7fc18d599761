// SPDX-License-Identifier: Apache-2.0
// Reads one field, text or ids, of a JSON object on one line.

#ifndef PONIENTE_PACK_JSON_LINE_H_
#define PONIENTE_PACK_JSON_LINE_H_

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
  // an object, the last value is used.
  bool Read(std::string_view line);

  const std::string& text() const { return text_; }
  const std::vector<uint32_t>& ids() const { return ids_; }
  const std::string& error() const { return error_; }

 private:
  friend class FieldReader;

  // Returns false unless the line is right in all that it holds.
  bool ReadFast(std::string_view line);

  const JsonField field_;
  std::string text_;
  std::vector<uint32_t> ids_;
  std::string error_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_JSON_LINE_H_
