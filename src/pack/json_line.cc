// SPDX-License-Identifier: Apache-2.0
#include "pack/json_line.h"

#include <simdjson.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr size_t kMaxKeysNamed = 8;
constexpr size_t kMaxLettersNamed = 40;

std::string Shown(std::string_view text) {
  const bool fits = text.size() <= kMaxLettersNamed;
  return OneLine(
      absl::StrCat(Absl(text.substr(0, kMaxLettersNamed)), fits ? "" : "..."));
}

}  // namespace

// Takes the events of nlohmann's parser, which needs no recursion. Gives false,
// which ends the parsing, once an error is known.
class FieldReader {
 public:
  explicit FieldReader(JsonLine* line)
      : line_(*line), found_(line->field_.names.size()) {}

  bool null() { return Value("null"); }
  bool boolean(bool) { return Value("a boolean"); }
  bool number_integer(int64_t number) {
    if (InIds()) return Fail(absl::StrCat(IdPlace(), " is ", number, Range()));
    return Value("a number");
  }
  bool number_unsigned(uint64_t number) {
    if (!InIds()) return Value("a number");
    if (number >= line_.field_.vocabulary_size) {
      return Fail(absl::StrCat(IdPlace(), " is ", number, Range()));
    }
    line_.ids_.push_back(static_cast<uint32_t>(number));
    return true;
  }
  bool number_float(double, const std::string& text) {
    if (InIds()) return Fail(absl::StrCat(IdPlace(), " is ", text, Range()));
    return Value("a number");
  }
  bool string(std::string& text) {
    if (IsField() && WantsText()) {
      line_.own_text_ = std::move(text);
      return true;
    }
    return Value("a string");
  }
  bool binary(std::vector<uint8_t>&) { return Value("binary data"); }
  bool start_object(size_t) {
    if (depth_ > 0 && !Value("an object")) return false;
    ++depth_;
    return true;
  }
  bool key(std::string& name);
  bool end_object() {
    --depth_;
    return true;
  }
  bool start_array(size_t) {
    if (IsField() && !WantsText()) {
      in_ids_ = true;
    } else if (!Value("an array")) {
      return false;
    }
    ++depth_;
    return true;
  }
  bool end_array() {
    --depth_;
    if (depth_ == 1) in_ids_ = false;
    return true;
  }
  bool parse_error(size_t position, const std::string& near,
                   const nlohmann::detail::exception&) {
    return Fail(absl::StrCat("is not JSON: error at byte ", position,
                             ", near '", Shown(near), "'"));
  }

  // REQUIRES: the line was read to its end.
  bool CheckFound();

 private:
  bool WantsText() const { return line_.field_.kind == JsonField::Kind::kText; }
  // The next value is the field's.
  bool IsField() const { return depth_ == 1 && is_field_; }
  bool InIds() const { return in_ids_ && depth_ == 2; }
  std::string IdPlace() const {
    return absl::StrCat("id ", line_.ids_.size(), " of '", FieldName(), "'");
  }
  std::string Range() const {
    return absl::StrCat(", expected a whole number from 0 to ",
                        line_.field_.vocabulary_size - 1);
  }
  std::string FieldName() const { return Shown(line_.field_.names[found_]); }

  // Any value but the one wanted.
  bool Value(const char* what) {
    if (depth_ == 0) {
      return Fail(absl::StrCat("is ", what, ", expected an object, {\"",
                               Shown(line_.field_.names[0]), "\": ...}"));
    }
    if (InIds()) return Fail(absl::StrCat(IdPlace(), " is ", what, Range()));
    if (!IsField()) return true;
    return Fail(absl::StrCat("'", FieldName(), "' is ", what, ", expected ",
                             WantsText() ? "a string" : "an array of ids"));
  }
  bool Fail(std::string what) {
    line_.error_ = std::move(what);
    return false;
  }

  JsonLine& line_;
  size_t depth_ = 0;
  // Which of the names has been found; their number if none.
  size_t found_;
  bool is_field_ = false;
  bool in_ids_ = false;
  std::vector<std::string> others_;
  // Among them.
  bool has_ids_ = false;
};

bool FieldReader::key(std::string& name) {
  if (depth_ != 1) return true;
  const auto& names = line_.field_.names;
  const size_t place = static_cast<size_t>(
      std::find(names.begin(), names.end(), name) - names.begin());
  is_field_ = place < names.size() && place <= found_;
  if (is_field_) {
    found_ = place;
    line_.own_text_.clear();
    line_.ids_.clear();
    return true;
  }
  has_ids_ = has_ids_ || name == "tokens" || name == "input_ids";
  if (others_.size() < kMaxKeysNamed) {
    others_.push_back(Shown(name));
  }
  return true;
}

bool FieldReader::CheckFound() {
  if (found_ < line_.field_.names.size()) return true;
  std::string message = absl::StrCat(
      "has no field '", absl::StrJoin(line_.field_.names, "' or '"), "'");
  if (others_.empty()) return Fail(message + ": the object is empty");
  absl::StrAppend(&message, "; it has '", absl::StrJoin(others_, "', '"),
                  "' (choose one with --field",
                  has_ids_ ? "; for ids, use --input-format tokens" : "", ")");
  return Fail(message);
}

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

// The parser reads some bytes behind the line, whatever they are.
std::string_view Padded(std::string_view line, size_t bytes_behind,
                        std::vector<char>* buffer) {
  if (bytes_behind >= simdjson::SIMDJSON_PADDING) return line;
  const size_t needed = line.size() + simdjson::SIMDJSON_PADDING;
  if (buffer->size() < needed) buffer->resize(2 * needed);
  std::memcpy(buffer->data(), line.data(), line.size());
  std::memset(buffer->data() + line.size(), 0, simdjson::SIMDJSON_PADDING);
  return {buffer->data(), line.size()};
}

}  // namespace

bool JsonLine::ReadFast(std::string_view line, size_t bytes_behind) {
  thread_local dom::parser parser;
  thread_local std::vector<char> buffer;
  const std::string_view padded = Padded(line, bytes_behind, &buffer);
  dom::element root;
  dom::object object;
  if (parser.parse(padded.data(), padded.size(), false).get(root) ||
      root.get(object) || HasHalfPairs(root)) {
    return false;
  }
  size_t found = field_.names.size();
  for (const dom::key_value_pair pair : object) {
    const size_t name = static_cast<size_t>(
        std::find(field_.names.begin(), field_.names.end(), pair.key) -
        field_.names.begin());
    if (name == field_.names.size() || name > found) continue;
    found = name;
    if (field_.kind == JsonField::Kind::kText) {
      if (pair.value.get(text_)) return false;
      continue;
    }
    dom::array ids;
    if (pair.value.get(ids)) return false;
    ids_.clear();
    for (const dom::element id : ids) {
      uint64_t number = 0;
      if (id.get(number) || number >= field_.vocabulary_size) return false;
      ids_.push_back(static_cast<uint32_t>(number));
    }
  }
  return found < field_.names.size();
}

JsonLine::JsonLine(JsonField field) : field_(std::move(field)) {}

bool JsonLine::Read(std::string_view line, size_t bytes_behind) {
  error_.clear();
  if (ReadFast(line, bytes_behind)) return true;
  own_text_.clear();
  ids_.clear();
  FieldReader reader(this);
  const bool is_read =
      nlohmann::json::sax_parse(line.begin(), line.end(), &reader) &&
      reader.CheckFound();
  text_ = own_text_;
  return is_read;
}

}  // namespace poniente::internal
