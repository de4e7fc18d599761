// SPDX-License-Identifier: Apache-2.0
#include "index/journal/journal_line.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "index/journal/line_fields.h"
#include "index/journal/number_ranges.h"
#include "util/check.h"
#include "util/nearest_name.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using Kind = RunChange::Kind;

struct KindName {
  Kind kind;
  absl::string_view name;
};
constexpr std::array<KindName, 7> kKinds = {
    {{Kind::kWeights, "weights"},
     {Kind::kTemperature, "temperature"},
     {Kind::kRetire, "retire"},
     {Kind::kExtend, "extend"},
     {Kind::kDrop, "drop"},
     {Kind::kAdd, "add"},
     {Kind::kSplit, "split"}}};

// Returns null if there is none.
const KindName* FindKind(absl::string_view name) {
  for (const KindName& one : kKinds) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

absl::string_view NameOf(Kind kind) {
  for (const KindName& one : kKinds) {
    if (one.kind == kind) return one.name;
  }
  return "";
}

std::string PayloadOf(const RunChange& change) {
  std::string text;
  if (!change.path.empty())
    absl::StrAppend(&text, " of ", QuotedField(change.path));
  switch (change.kind) {
    case Kind::kWeights:
      for (const auto& [name, weight] : change.weights) {
        absl::StrAppend(&text, " ", QuotedField(name), " ",
                        NumberField(weight));
      }
      break;
    case Kind::kTemperature:
      absl::StrAppend(&text, " ", NumberField(change.temperature));
      break;
    case Kind::kRetire:
      for (const std::string& name : change.components) {
        absl::StrAppend(&text, " ", QuotedField(name));
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
      if (change.masks) absl::StrAppend(&text, " masked");
      break;
    case Kind::kSplit:
      absl::StrAppend(&text, " ", QuotedField(change.components[0]));
      [[fallthrough]];
    case Kind::kAdd:
      for (const ComponentText& one : change.added) {
        absl::StrAppend(&text, " ", QuotedField(one.name), " ",
                        one.description);
        if (one.fingerprint == 0) continue;
        absl::StrAppend(&text, " is ",
                        absl::Hex(one.fingerprint, absl::kZeroPad16));
      }
      break;
  }
  return text;
}

// Reads "17", or "20-25".
absl::StatusOr<NumberRange> ReadRange(LineFields* fields) {
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

absl::Status ReadAdded(LineFields* fields, RunChange* change) {
  while (fields->HasText()) {
    ComponentText& one = change->added.emplace_back();
    PONIENTE_ASSIGN_OR_RETURN(one.name, fields->Text("a name"));
    PONIENTE_ASSIGN_OR_RETURN(
        one.description,
        fields->Table("a table such as '{ weight = 0.2, path = \"forum\" }'"));
    if (fields->rest().substr(0, 3) != "is ") continue;
    PONIENTE_RETURN_IF_ERROR(fields->Expect("is"));
    PONIENTE_ASSIGN_OR_RETURN(
        one.fingerprint,
        fields->Fingerprint("the fingerprint, 16 hexadecimal digits"));
    if (one.fingerprint == 0) {
      return absl::InvalidArgumentError("a fingerprint is not 0");
    }
  }
  return absl::OkStatus();
}

absl::Status ReadPayload(LineFields* fields, RunChange* change) {
  switch (change->kind) {
    case Kind::kWeights:
      while (fields->HasText()) {
        PONIENTE_ASSIGN_OR_RETURN(std::string name, fields->Text("a name"));
        PONIENTE_ASSIGN_OR_RETURN(const double weight,
                                  fields->Number("a weight"));
        const auto [at, is_new] =
            change->weights.try_emplace(std::move(name), weight);
        if (!is_new) {
          return absl::InvalidArgumentError(
              absl::StrCat("'", at->first, "' has two weights"));
        }
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
      change->masks = absl::StartsWith(fields->rest(), "masked");
      if (change->masks) return fields->Expect("masked");
      break;
    }
    case Kind::kSplit: {
      PONIENTE_ASSIGN_OR_RETURN(std::string name, fields->Text("a name"));
      change->components.push_back(std::move(name));
      return ReadAdded(fields, change);
    }
    case Kind::kAdd:
      return ReadAdded(fields, change);
  }
  return absl::OkStatus();
}

// Ranges in any order are those that they have together.
absl::StatusOr<RunChange> ReadChange(LineFields* fields) {
  RunChange change;
  PONIENTE_ASSIGN_OR_RETURN(const std::string kind,
                            fields->Word("the kind of change"));
  const KindName* const known = FindKind(kind);
  if (known == nullptr) {
    std::vector<std::string> names;
    for (const KindName& one : kKinds) names.emplace_back(one.name);
    const std::string nearest = DidYouMean(kind, names);
    return absl::InvalidArgumentError(absl::StrCat(
        "'", kind, "' is no kind of change that this version knows (",
        absl::StrJoin(names, ", "), ")",
        nearest.empty() ? "; use the version that wrote it, or a later one"
                        : nearest));
  }
  change.kind = known->kind;
  if (fields->rest().substr(0, 3) == "of ") {
    PONIENTE_RETURN_IF_ERROR(fields->Expect("of"));
    PONIENTE_ASSIGN_OR_RETURN(change.path, fields->Text("a path"));
  }
  PONIENTE_RETURN_IF_ERROR(ReadPayload(fields, &change));
  if (!fields->at_end()) {
    const absl::Status is_why = fields->Expect("why");
    if (!is_why.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(is_why.message(), "; names stand in double quotes"));
    }
    PONIENTE_ASSIGN_OR_RETURN(change.why, fields->Text("the reason"));
  }
  if (fields->runs_together()) {
    return absl::InvalidArgumentError("a space is missing behind a field");
  }
  change.dropped = JoinedRanges(std::move(change.dropped));
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

absl::Status CheckAdded(const ComponentText& component) {
  PONIENTE_RETURN_IF_ERROR(Says(!component.name.empty(),
                                "adds a component, but not one that has a "
                                "name"));
  const std::string& text = component.description;
  const bool is_line = std::none_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_iscntrl(static_cast<unsigned char>(c));
  });
  return Says(is_line && !text.empty() && TableLength(text) == text.size(),
              absl::StrCat("adds '", component.name,
                           "', but does not say what it is in one inline "
                           "table, such as { weight = 0.2, path = \"forum\" "
                           "}"));
}

}  // namespace

absl::Status CheckChange(const RunChange& change) {
  switch (change.kind) {
    case Kind::kWeights:
      PONIENTE_RETURN_IF_ERROR(
          Says(!change.weights.empty(), "states no weights"));
      for (const auto& [name, weight] : change.weights) {
        if (!std::isnan(weight) && weight < INFINITY) continue;
        return Says(false, absl::StrCat("gives '", name, "' the weight ",
                                        weight, ", which is no number"));
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
      PONIENTE_RETURN_IF_ERROR(
          Says(!change.masks || !change.drops_items,
               "masks items; only documents can be masked"));
      return CheckRanges(change.dropped);
    case Kind::kAdd:
      PONIENTE_RETURN_IF_ERROR(
          Says(change.added.size() == 1, "adds no component, or several"));
      return CheckAdded(change.added[0]);
    case Kind::kSplit:
      PONIENTE_RETURN_IF_ERROR(
          Says(change.components.size() == 1 && !change.added.empty(),
               "splits a component, but names none, or no part of it"));
      for (const ComponentText& part : change.added) {
        PONIENTE_RETURN_IF_ERROR(CheckAdded(part));
      }
      break;
    default:
      return Says(false, "has a kind that does not exist");
  }
  return absl::OkStatus();
}

std::string PrintChange(const RunChange& change) {
  std::string text = absl::StrCat(NameOf(change.kind), PayloadOf(change));
  if (!change.why.empty()) {
    absl::StrAppend(&text, " why ", QuotedField(change.why));
  }
  return text;
}

std::string PrintEntry(uint64_t number, uint64_t sample, uint64_t step,
                       const RunChange& change) {
  return absl::StrCat(number, " sample ", sample, " step ", step, " ",
                      PrintChange(change));
}

std::string PrintEntry(const JournalEntry& entry) {
  return PrintEntry(entry.number, entry.sample, entry.step, entry.change);
}

RunChange::Kind KindOfLine(std::string_view line) {
  // "7 sample 4096 step 12 drop ..."
  constexpr int kFieldsBefore = 5;
  for (int i = 0; i < kFieldsBefore; ++i) {
    line.remove_prefix(line.find(' ') + 1);
  }
  const KindName* const found = FindKind(Absl(line.substr(0, line.find(' '))));
  PONIENTE_CHECK(found != nullptr) << line.substr(0, 80);
  return found->kind;
}

absl::StatusOr<JournalEntry> ParseEntry(std::string_view text) {
  LineFields fields(text);
  JournalEntry entry;
  PONIENTE_ASSIGN_OR_RETURN(entry.number, fields.Count("the entry's number"));
  PONIENTE_RETURN_IF_ERROR(fields.Expect("sample"));
  PONIENTE_ASSIGN_OR_RETURN(entry.sample, fields.Count("a sample"));
  PONIENTE_RETURN_IF_ERROR(fields.Expect("step"));
  PONIENTE_ASSIGN_OR_RETURN(entry.step, fields.Count("a step"));
  PONIENTE_ASSIGN_OR_RETURN(entry.change, ReadChange(&fields));
  return Canonical(std::move(entry), &PrintEntry, text);
}

}  // namespace poniente::internal

namespace poniente {

absl::StatusOr<std::string> ToText(const RunChange& change) {
  PONIENTE_RETURN_IF_ERROR(internal::CheckChange(change));
  return internal::PrintChange(change);
}

absl::StatusOr<RunChange> ParseChange(std::string_view text) {
  const absl::string_view trimmed =
      absl::StripAsciiWhitespace(internal::Absl(text));
  internal::LineFields fields({trimmed.data(), trimmed.size()});
  return internal::ReadChange(&fields);
}

}  // namespace poniente
