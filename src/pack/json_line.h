// SPDX-License-Identifier: Apache-2.0
// Reads one field, text or ids, of a JSON object that is one line.

#ifndef PONIENTE_PACK_JSON_LINE_H_
#define PONIENTE_PACK_JSON_LINE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace poniente::internal {

struct JsonField {
  enum class Kind { kText, kIds };

  Kind kind = Kind::kText;
  // Names of the field; the first one that the object has is used.
  std::vector<std::string> names = {"text"};
  // Every id must be below this.
  uint64_t vocabulary_size = 0;
};

// Memory: the field's text or ids, and one bit per level of nesting.
class JsonLine {
 public:
  explicit JsonLine(JsonField field);

  // Reads the field. Returns false if the line does not have it in the right
  // form; error() then says what was expected. If a name occurs twice in an
  // object, its last value counts.
  bool Read(std::string_view line);

  const std::string& text() const { return text_; }
  const std::vector<uint32_t>& ids() const { return ids_; }
  const std::string& error() const { return error_; }

 private:
  friend class FieldReader;

  const JsonField field_;
  std::string text_;
  std::vector<uint32_t> ids_;
  std::string error_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_JSON_LINE_H_
