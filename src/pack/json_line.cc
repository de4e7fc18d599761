// SPDX-License-Identifier: Apache-2.0
#include "pack/json_line.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "pack/json_details.h"
#include "pack/json_values_fast.h"
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
    if (IsField() && Wants(JsonField::Kind::kText)) {
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
    if (IsField() && Wants(JsonField::Kind::kIds)) {
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

  // Fails for a line with a NUL outside its strings, which the parser takes for
  // the end. REQUIRES: the parser has found no error.
  bool CheckWhole(std::string_view line);
  // REQUIRES: the line was read to its end.
  bool CheckFound();
  // Return the name of the field. REQUIRES: CheckFound().
  const std::string& FoundName() const { return line_.field_.names[found_]; }
  std::string FieldName() const { return Shown(FoundName()); }

 private:
  bool Wants(JsonField::Kind kind) const { return line_.field_.kind == kind; }
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

  // Any value but the one wanted.
  bool Value(const char* what) {
    if (depth_ == 0) {
      return Fail(absl::StrCat("is ", what, ", expected an object, {\"",
                               Shown(line_.field_.names[0]), "\": ...}"));
    }
    if (InIds()) return Fail(absl::StrCat(IdPlace(), " is ", what, Range()));
    // ReadMessages() looks at messages.
    if (!IsField() || Wants(JsonField::Kind::kMessages)) return true;
    return Fail(absl::StrCat(
        "'", FieldName(), "' is ", what, ", expected ",
        Wants(JsonField::Kind::kText) ? "a string" : "an array of ids"));
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
  bool has_messages_ = false;
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
  has_messages_ = has_messages_ || name == "messages";
  if (others_.size() < kMaxKeysNamed) {
    others_.push_back(Shown(name));
  }
  return true;
}

bool FieldReader::CheckWhole(std::string_view line) {
  const size_t nul = line.find('\0');
  if (nul == std::string_view::npos) return true;
  return Fail(absl::StrCat("is not JSON: error at byte ", nul + 1,
                           ", a NUL (\\x00) after the value"));
}

bool FieldReader::CheckFound() {
  if (found_ < line_.field_.names.size()) return true;
  std::string message = absl::StrCat(
      "has no field '", absl::StrJoin(line_.field_.names, "' or '"), "'");
  if (others_.empty()) return Fail(message + ": the object is empty");
  absl::StrAppend(
      &message, "; it has '", absl::StrJoin(others_, "', '"),
      "' (choose one with --field",
      has_ids_ ? "; for ids, use --input-format tokens" : "",
      has_messages_ ? "; for chats, use --input-format messages" : "", ")");
  return Fail(message);
}

namespace {

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
  thread_local simdjson::dom::parser parser;
  thread_local std::vector<char> buffer;
  const std::string_view padded = Padded(line, bytes_behind, &buffer);
  simdjson::dom::element root;
  simdjson::dom::object object;
  if (parser.parse(padded.data(), padded.size(), false).get(root) ||
      root.get(object) || HasHalfPairs(root)) {
    return false;
  }
  size_t found = field_.names.size();
  std::optional<simdjson::dom::element> spans;
  std::optional<simdjson::dom::element> mask;
  std::array<bool, kToolFields.size()> has_tools = {};
  for (const simdjson::dom::key_value_pair pair : object) {
    if (pair.key == kSpansField) spans = pair.value;
    if (pair.key == kMaskField) mask = pair.value;
    for (size_t i = 0; i < kToolFields.size(); ++i) {
      if (pair.key == kToolFields[i]) has_tools[i] = !IsEmpty(pair.value);
    }
    const size_t name = static_cast<size_t>(
        std::find(field_.names.begin(), field_.names.end(), pair.key) -
        field_.names.begin());
    if (name == field_.names.size() || name > found) continue;
    found = name;
    if (field_.kind == JsonField::Kind::kText) {
      if (pair.value.get(text_)) return false;
      continue;
    }
    const bool is_read =
        field_.kind == JsonField::Kind::kIds
            ? GetIds(pair.value, field_.vocabulary_size, &ids_)
            : GetMessages(pair.value, field_.reads_loss, &joined_, &messages_);
    if (!is_read) return false;
  }
  if (found == field_.names.size()) return false;
  if (field_.kind == JsonField::Kind::kMessages) {
    // The field itself may have such a name: the slow way looks closer.
    return std::count(has_tools.begin(), has_tools.end(), true) == 0;
  }
  if (!field_.reads_loss || (!spans && !mask)) return true;
  if (spans && mask) return false;
  loss_.emplace();
  const bool is_text = field_.kind == JsonField::Kind::kText;
  if (spans) {
    return GetSpans(*spans, is_text ? text_.size() : ids_.size(), &*loss_);
  }
  return !is_text && GetMask(*mask, ids_.size(), &*loss_);
}

JsonLine::JsonLine(JsonField field) : field_(std::move(field)) {}

bool JsonLine::Read(std::string_view line, size_t bytes_behind) {
  error_.clear();
  loss_.reset();
  return ReadFast(line, bytes_behind) || ReadSlowly(line);
}

bool JsonLine::ReadSlowly(std::string_view line) {
  own_text_.clear();
  ids_.clear();
  messages_.clear();
  loss_.reset();
  FieldReader reader(this);
  const bool is_read =
      nlohmann::json::sax_parse(line.begin(), line.end(), &reader) &&
      reader.CheckWhole(line) && reader.CheckFound();
  text_ = own_text_;
  if (!is_read) return false;
  if (field_.kind == JsonField::Kind::kMessages) {
    error_ = ReadMessages(line, reader.FoundName(), field_.reads_loss,
                          &own_messages_);
    for (const OwnMessage& own : own_messages_) {
      messages_.push_back({own.role, own.content, own.may_have_loss});
    }
  } else if (field_.reads_loss) {
    const bool is_text = field_.kind == JsonField::Kind::kText;
    error_ = ReadLoss(
        line,
        {reader.FieldName(), is_text, is_text ? text_.size() : ids_.size()},
        &loss_);
  }
  return error_.empty();
}

}  // namespace poniente::internal
