// SPDX-License-Identifier: Apache-2.0
#include "index/journal/journal_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using Kind = RunChange::Kind;

struct KindName {
  Kind kind;
  absl::string_view name;
};
constexpr std::array<KindName, 5> kKinds = {
    {{Kind::kWeights, "weights"},
     {Kind::kTemperature, "temperature"},
     {Kind::kRetire, "retire"},
     {Kind::kExtend, "extend"},
     {Kind::kDrop, "drop"}}};

absl::string_view NameOf(Kind kind) {
  for (const KindName& one : kKinds) {
    if (one.kind == kind) return one.name;
  }
  return "";
}

std::string Quoted(std::string_view text) {
  return absl::StrCat("\"", absl::Utf8SafeCHexEscape(Absl(text)), "\"");
}

// The shortest decimal that reads back as the same number.
std::string Shortest(double number) {
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  std::array<char, 32> text;
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), number);
  return std::string(text.data(), end.ptr);
}

// Takes fields, which are separated by single spaces, off the front of a line.
class FieldReader {
 public:
  explicit FieldReader(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  absl::string_view rest() const { return {rest_.data(), rest_.size()}; }

  absl::StatusOr<std::string> Word(absl::string_view what) {
    if (rest_.empty()) return Missing(what);
    if (rest_.front() == '"') return Missing(what);
    const size_t end = std::min(rest_.find(' '), rest_.size());
    std::string word(rest_.substr(0, end));
    Pass(end);
    return word;
  }

  absl::Status Expect(absl::string_view word) {
    PONIENTE_ASSIGN_OR_RETURN(const std::string got,
                              Word(absl::StrCat("'", word, "'")));
    if (got == word) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("expected '", word, "', got '", got, "'"));
  }

  absl::StatusOr<uint64_t> Count(absl::string_view what) {
    PONIENTE_ASSIGN_OR_RETURN(const std::string word, Word(what));
    uint64_t count = 0;
    if (absl::SimpleAtoi(word, &count)) return count;
    return absl::InvalidArgumentError(
        absl::StrCat("expected ", what, ", got '", word, "'"));
  }

  absl::StatusOr<double> Number(absl::string_view what) {
    PONIENTE_ASSIGN_OR_RETURN(const std::string word, Word(what));
    double number = 0;
    if (absl::SimpleAtod(word, &number) && !std::isnan(number)) return number;
    return absl::InvalidArgumentError(
        absl::StrCat("expected ", what, ", got '", word, "'"));
  }

  bool HasNumber() const {
    return !rest_.empty() &&
           absl::ascii_isdigit(static_cast<unsigned char>(rest_.front()));
  }

  bool HasText() const { return !rest_.empty() && rest_.front() == '"'; }

  absl::StatusOr<std::string> Text(absl::string_view what) {
    if (!HasText()) return Missing(what);
    size_t end = 1;
    while (end < rest_.size() && rest_[end] != '"') {
      end += rest_[end] == '\\' ? 2 : 1;
    }
    std::string text;
    if (end >= rest_.size() ||
        !absl::CUnescape(absl::string_view(rest_.data() + 1, end - 1), &text)) {
      return Missing(what);
    }
    Pass(end + 1);
    return text;
  }

 private:
  absl::Status Missing(absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat("expected ", what, " at '", rest(), "'"));
  }
  void Pass(size_t bytes) {
    rest_.remove_prefix(bytes);
    // A second space, or one at the end, is found when the text is printed
    // again and compared.
    if (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }

  std::string_view rest_;
};

std::string PayloadOf(const RunChange& change) {
  std::string text;
  if (!change.path.empty()) absl::StrAppend(&text, " of ", Quoted(change.path));
  switch (change.kind) {
    case Kind::kWeights:
      for (const auto& [name, weight] : change.weights) {
        absl::StrAppend(&text, " ", Quoted(name), " ", Shortest(weight));
      }
      break;
    case Kind::kTemperature:
      absl::StrAppend(&text, " ", Shortest(change.temperature));
      break;
    case Kind::kRetire:
      for (const std::string& name : change.components) {
        absl::StrAppend(&text, " ", Quoted(name));
      }
      break;
    case Kind::kExtend:
      absl::StrAppend(&text, " ", change.steps);
      break;
    case Kind::kDrop:
      absl::StrAppend(&text, change.drops_items ? " items" : " documents");
      for (const NumberRange& range : change.dropped) {
        absl::StrAppend(&text, " ", range.begin);
        if (range.end - range.begin > 1) {
          absl::StrAppend(&text, "-", range.end - 1);
        }
      }
      break;
  }
  return text;
}

// Reads "17", or "20-25".
absl::StatusOr<NumberRange> ReadRange(FieldReader* fields) {
  PONIENTE_ASSIGN_OR_RETURN(const std::string word, fields->Word("a number"));
  const size_t dash = std::min(word.find('-'), word.size());
  const absl::string_view first(word.data(), dash);
  absl::string_view end = first;
  if (dash < word.size()) end = absl::string_view(word).substr(dash + 1);
  NumberRange range;
  uint64_t last = 0;
  if (!absl::SimpleAtoi(first, &range.begin) || !absl::SimpleAtoi(end, &last) ||
      last < range.begin || last == UINT64_MAX) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected a number, or two as in '20-25', got '", word, "'"));
  }
  range.end = last + 1;
  return range;
}

absl::Status ReadPayload(FieldReader* fields, RunChange* change) {
  switch (change->kind) {
    case Kind::kWeights:
      while (fields->HasText()) {
        PONIENTE_ASSIGN_OR_RETURN(std::string name, fields->Text("a name"));
        PONIENTE_ASSIGN_OR_RETURN(const double weight,
                                  fields->Number("a weight"));
        change->weights[std::move(name)] = weight;
      }
      break;
    case Kind::kTemperature: {
      PONIENTE_ASSIGN_OR_RETURN(change->temperature,
                                fields->Number("a temperature"));
      break;
    }
    case Kind::kRetire:
      while (fields->HasText()) {
        PONIENTE_ASSIGN_OR_RETURN(std::string name, fields->Text("a name"));
        change->components.push_back(std::move(name));
      }
      break;
    case Kind::kExtend: {
      PONIENTE_ASSIGN_OR_RETURN(change->steps, fields->Count("steps"));
      break;
    }
    case Kind::kDrop: {
      PONIENTE_ASSIGN_OR_RETURN(const std::string what,
                                fields->Word("'documents' or 'items'"));
      change->drops_items = what == "items";
      if (!change->drops_items && what != "documents") {
        return absl::InvalidArgumentError(
            absl::StrCat("expected 'documents' or 'items', got '", what, "'"));
      }
      while (fields->HasNumber()) {
        PONIENTE_ASSIGN_OR_RETURN(const NumberRange range, ReadRange(fields));
        change->dropped.push_back(range);
      }
      break;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<RunChange> ReadChange(FieldReader* fields) {
  RunChange change;
  PONIENTE_ASSIGN_OR_RETURN(const std::string kind,
                            fields->Word("the kind of change"));
  const KindName* known = nullptr;
  for (const KindName& one : kKinds) {
    if (one.name == kind) known = &one;
  }
  if (known == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", kind,
        "' is no kind of change that this version knows (weights, temperature, "
        "retire, extend, drop); use the version that wrote it, or a later "
        "one"));
  }
  change.kind = known->kind;
  if (fields->rest().substr(0, 3) == "of ") {
    PONIENTE_RETURN_IF_ERROR(fields->Expect("of"));
    PONIENTE_ASSIGN_OR_RETURN(change.path, fields->Text("a path"));
  }
  PONIENTE_RETURN_IF_ERROR(ReadPayload(fields, &change));
  if (!fields->at_end()) {
    PONIENTE_RETURN_IF_ERROR(fields->Expect("why"));
    PONIENTE_ASSIGN_OR_RETURN(change.why, fields->Text("the reason"));
  }
  PONIENTE_RETURN_IF_ERROR(CheckChange(change));
  return change;
}

// Returns what was read if its text is the one that print() gives.
template <class Value>
absl::StatusOr<Value> Canonical(Value value, std::string (*print)(const Value&),
                                std::string_view text) {
  const std::string printed = print(value);
  if (printed == text) return value;
  return absl::InvalidArgumentError(
      absl::StrCat("expected '", printed, "', got '", Absl(text), "'"));
}

absl::Status Says(bool says, absl::string_view what) {
  if (says) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a change of a run ", what));
}

absl::Status CheckRanges(const std::vector<NumberRange>& ranges) {
  PONIENTE_RETURN_IF_ERROR(Says(!ranges.empty(), "drops nothing"));
  uint64_t count = 0;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const NumberRange& range = ranges[i];
    const bool is_apart = i == 0 || ranges[i - 1].end < range.begin;
    // There may be millions: a message is made for a wrong one only.
    if (range.begin >= range.end || !is_apart) {
      return Says(false, absl::StrCat("drops numbers from ", range.begin,
                                      " up to ", range.end,
                                      ", which is no range behind the one "
                                      "before, or not apart from it"));
    }
    count += std::min(range.end - range.begin, RunChange::kMaxDropped + 1);
    if (count > RunChange::kMaxDropped) {
      return Says(false,
                  absl::StrCat("drops more than ", RunChange::kMaxDropped,
                               " documents or items; retire the source, "
                               "or filter it"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckChange(const RunChange& change) {
  switch (change.kind) {
    case Kind::kWeights:
      PONIENTE_RETURN_IF_ERROR(
          Says(!change.weights.empty(), "states no weights"));
      for (const auto& [name, weight] : change.weights) {
        PONIENTE_RETURN_IF_ERROR(
            Says(!std::isnan(weight) && weight < INFINITY,
                 absl::StrCat("gives '", name, "' the weight ", weight,
                              ", which is no number")));
      }
      break;
    case Kind::kTemperature:
      PONIENTE_RETURN_IF_ERROR(
          Says(change.temperature > 0,
               absl::StrCat("states the temperature ", change.temperature,
                            ", which is not above 0")));
      break;
    case Kind::kRetire:
      PONIENTE_RETURN_IF_ERROR(
          Says(!change.components.empty(), "retires no component"));
      break;
    case Kind::kExtend:
      PONIENTE_RETURN_IF_ERROR(
          Says(change.path.empty(), "states the steps of a part of it"));
      PONIENTE_RETURN_IF_ERROR(Says(change.steps > 0, "states 0 steps"));
      break;
    case Kind::kDrop:
      PONIENTE_RETURN_IF_ERROR(
          Says(!change.path.empty(), "drops something, but names no source"));
      return CheckRanges(change.dropped);
    default:
      return Says(false, "has a kind that does not exist");
  }
  return absl::OkStatus();
}

std::string PrintChange(const RunChange& change) {
  std::string text = absl::StrCat(NameOf(change.kind), PayloadOf(change));
  if (!change.why.empty()) {
    absl::StrAppend(&text, " why ", Quoted(change.why));
  }
  return text;
}

std::string PrintEntry(const JournalEntry& entry) {
  return absl::StrCat(entry.number, " sample ", entry.sample, " step ",
                      entry.step, " ", PrintChange(entry.change));
}

absl::StatusOr<JournalEntry> ParseEntry(std::string_view text) {
  FieldReader fields(text);
  JournalEntry entry;
  PONIENTE_ASSIGN_OR_RETURN(entry.number, fields.Count("the entry's number"));
  PONIENTE_RETURN_IF_ERROR(fields.Expect("sample"));
  PONIENTE_ASSIGN_OR_RETURN(entry.sample, fields.Count("a sample"));
  PONIENTE_RETURN_IF_ERROR(fields.Expect("step"));
  PONIENTE_ASSIGN_OR_RETURN(entry.step, fields.Count("a step"));
  PONIENTE_ASSIGN_OR_RETURN(entry.change, ReadChange(&fields));
  return Canonical(std::move(entry), PrintEntry, text);
}

}  // namespace poniente::internal

namespace poniente {

absl::StatusOr<std::string> ToText(const RunChange& change) {
  PONIENTE_RETURN_IF_ERROR(internal::CheckChange(change));
  return internal::PrintChange(change);
}

absl::StatusOr<RunChange> ParseChange(std::string_view text) {
  internal::FieldReader fields(text);
  PONIENTE_ASSIGN_OR_RETURN(RunChange change, internal::ReadChange(&fields));
  return internal::Canonical(std::move(change), internal::PrintChange, text);
}

}  // namespace poniente
