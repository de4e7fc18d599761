// SPDX-License-Identifier: Apache-2.0
// One field of a JSON object that stands on a line: text, or ids.

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
  // The first of these that the object has is taken.
  std::vector<std::string> names = {"text"};
  // Every id is below this.
  uint64_t vocabulary_size = 0;
};

// Memory: the field's text or ids, and a bit for each level of nesting.
class JsonLine {
 public:
  explicit JsonLine(JsonField field);

  // False if the line does not hold the field as it should be: error() says
  // what was expected. A name that stands in an object twice means its last
  // value.
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
