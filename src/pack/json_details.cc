// SPDX-License-Identifier: Apache-2.0
#include "pack/json_details.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using DetailJson = nlohmann::json;

constexpr size_t kMaxValuesShown = 4;

// "a string", "null", ... Numbers and short arrays of them are shown.
std::string KindOf(const DetailJson& value) {
  if (value.is_object()) return "an object";
  if (value.is_string()) return "a string";
  if (value.is_null()) return "null";
  const bool is_short_array =
      value.is_array() && value.size() <= kMaxValuesShown &&
      std::all_of(value.begin(), value.end(), [](const DetailJson& one) {
        return one.is_number() || one.is_boolean() || one.is_null();
      });
  return value.is_array() && !is_short_array ? "an array" : value.dump();
}

std::optional<uint64_t> WholeNumber(const DetailJson& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (!value.is_number_unsigned() && value.get<int64_t>() < 0) {
    return std::nullopt;
  }
  return value.get<uint64_t>();
}

// Returns the members of the object that have one of these names.
DetailJson MembersOf(std::string_view line,
                     const std::vector<std::string_view>& names) {
  const auto keep = [&names](int depth, DetailJson::parse_event_t event,
                             DetailJson& parsed) {
    if (event != DetailJson::parse_event_t::key || depth != 1) return true;
    const auto& name = parsed.get_ref<const std::string&>();
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return DetailJson::parse(line.begin(), line.end(), keep,
                           /*allow_exceptions=*/false);
}

std::string ReadSpans(const DetailJson& value, const LossSubject& subject,
                      std::vector<LossSpan>* spans) {
  if (!value.is_array()) {
    return absl::StrCat("'", Absl(kSpansField), "' is ", KindOf(value),
                        ", expected an array of [begin, end]");
  }
  for (const DetailJson& pair : value) {
    std::optional<uint64_t> begin;
    std::optional<uint64_t> end;
    if (pair.is_array() && pair.size() == 2) {
      begin = WholeNumber(pair[0]);
      end = WholeNumber(pair[1]);
    }
    if (!begin || !end || *begin > *end || *end > subject.size) {
      return absl::StrCat(
          "span ", spans->size(), " of '", Absl(kSpansField), "' is ",
          KindOf(pair),
          ", expected [begin, end] with begin <= end <= ", subject.size,
          ", the number of ", subject.is_text ? "bytes" : "ids", " of '",
          subject.field, "'");
    }
    spans->push_back({*begin, *end});
  }
  return "";
}

std::string ReadMask(const DetailJson& value, const LossSubject& subject,
                     std::vector<LossSpan>* spans) {
  if (subject.is_text) {
    return absl::StrCat(
        "has '", Absl(kMaskField),
        "', which is for ids; for a text, say which "
        "of its bytes have loss with '",
        Absl(kSpansField),
        "': [[begin, end], ...], or ignore masks with --loss-mask drop");
  }
  if (!value.is_array()) {
    return absl::StrCat("'", Absl(kMaskField), "' is ", KindOf(value),
                        ", expected an array with 0 or 1 for each id");
  }
  if (value.size() != subject.size) {
    return absl::StrCat("'", Absl(kMaskField), "' has ", value.size(),
                        " values, expected ", subject.size,
                        ", the number of ids of '", subject.field, "'");
  }
  for (uint64_t i = 0; i < subject.size; ++i) {
    const DetailJson& one = value[i];
    const uint64_t number = one.is_boolean() ? (one.get<bool>() ? 1 : 0)
                                             : WholeNumber(one).value_or(2);
    if (number > 1) {
      return absl::StrCat("value ", i, " of '", Absl(kMaskField), "' is ",
                          KindOf(one), ", expected 0 or 1");
    }
    if (number == 1) spans->push_back({i, i + 1});
  }
  return "";
}

std::string ReadPart(const DetailJson& message, const char* part,
                     const std::string& where, std::string* text) {
  const auto found = message.find(part);
  if (found == message.end()) {
    return absl::StrCat(where, " has no '", part, "'");
  }
  if (!found->is_string()) {
    return absl::StrCat("'", part, "' of ", where, " is ", KindOf(*found),
                        ", expected a string");
  }
  *text = found->get<std::string>();
  return "";
}

// Appends the text of a part of a content.
std::string AppendPart(const DetailJson& part, const std::string& where,
                       std::string* text) {
  constexpr char kExpected[] =
      R"(expected {"type": "text", "text": "..."}; only text can be packed)";
  if (!part.is_object()) {
    return absl::StrCat(where, " is ", KindOf(part), ", ", kExpected);
  }
  const auto type = part.find("type");
  if (type == part.end() || *type != "text") {
    return absl::StrCat(
        where,
        type == part.end() ? " has no 'type'"
        : type->is_string()
            ? absl::StrCat(" is of type '",
                           OneLine(type->get_ref<const std::string&>()), "'")
            : absl::StrCat(" has a 'type' that is ", KindOf(*type)),
        ", ", kExpected);
  }
  std::string own;
  const std::string error = ReadPart(part, "text", where, &own);
  text->append(own);
  return error;
}

// Whether an object has a member of this name that is not null or [].
bool HasMember(const DetailJson& object, std::string_view name) {
  const auto found = object.find(std::string(name));
  return found != object.end() && !found->is_null() &&
         !(found->is_array() && found->empty());
}

std::string ReadWeight(const DetailJson& message, const std::string& where,
                       bool* may_have_loss) {
  *may_have_loss = true;
  const auto found = message.find(std::string(kWeightField));
  if (found == message.end() || found->is_null()) return "";
  double weight = -1;
  if (found->is_number()) weight = found->get<double>();
  if (found->is_boolean()) weight = found->get<bool>() ? 1 : 0;
  *may_have_loss = weight != 0;
  if (weight == 0 || weight == 1) return "";
  return absl::StrCat("'", Absl(kWeightField), "' of ", where, " is ",
                      KindOf(*found),
                      ", expected 0 or 1: a token has loss, or it has none");
}

// Reads a content: a string, or an array of parts that are text.
std::string ReadContent(const DetailJson& message, const std::string& where,
                        std::string* text) {
  for (const std::string_view calls : kCallFields) {
    if (!HasMember(message, calls)) continue;
    return absl::StrCat(
        where, " has '", Absl(calls),
        "', which would be left out of the text; write the calls into "
        "'content', as the model is to make them, and remove '",
        Absl(calls), "'");
  }
  const auto content = message.find("content");
  if (content == message.end()) {
    return absl::StrCat(where, " has no 'content'");
  }
  const std::string of = absl::StrCat("'content' of ", where);
  if (content->is_string()) {
    *text = content->get<std::string>();
    return "";
  }
  if (!content->is_array()) {
    return absl::StrCat(
        of, " is ", KindOf(*content),
        R"(, expected a string or an array of {"type": "text", "text": "..."})");
  }
  text->clear();
  for (size_t i = 0; i < content->size(); ++i) {
    std::string error =
        AppendPart((*content)[i], absl::StrCat("part ", i, " of ", of), text);
    if (!error.empty()) return error;
  }
  return "";
}

}  // namespace

std::string ReadLoss(std::string_view line, const LossSubject& subject,
                     std::optional<std::vector<LossSpan>>* spans) {
  spans->reset();
  const DetailJson members = MembersOf(line, {kSpansField, kMaskField});
  const auto of_spans = members.find(std::string(kSpansField));
  const auto of_mask = members.find(std::string(kMaskField));
  if (of_spans != members.end() && of_mask != members.end()) {
    return absl::StrCat("has both '", Absl(kSpansField), "' and '",
                        Absl(kMaskField), "'; leave one of them out");
  }
  if (of_spans != members.end()) {
    return ReadSpans(*of_spans, subject, &spans->emplace());
  }
  if (of_mask != members.end()) {
    return ReadMask(*of_mask, subject, &spans->emplace());
  }
  return "";
}

std::string ReadMessages(std::string_view line, const std::string& field,
                         bool reads_loss, std::vector<OwnMessage>* messages) {
  constexpr char kExpected[] = R"({"role": "...", "content": "..."})";
  messages->clear();
  const DetailJson members =
      MembersOf(line, {field, kToolFields[0], kToolFields[1]});
  const auto value = members.find(field);
  const std::string shown = OneLine(field);
  if (value == members.end() || !value->is_array()) {
    return absl::StrCat("'", shown, "' is ",
                        value == members.end() ? "missing" : KindOf(*value),
                        ", expected an array of ", kExpected);
  }
  for (const DetailJson& message : *value) {
    const std::string where =
        absl::StrCat("message ", messages->size(), " of '", shown, "'");
    if (!message.is_object()) {
      return absl::StrCat(where, " is ", KindOf(message), ", expected ",
                          kExpected);
    }
    OwnMessage& own = messages->emplace_back();
    std::string error = ReadPart(message, "role", where, &own.role);
    if (error.empty()) error = ReadContent(message, where, &own.content);
    if (error.empty() && reads_loss) {
      error = ReadWeight(message, where, &own.may_have_loss);
    }
    if (!error.empty()) return error;
  }
  for (const std::string_view tools : kToolFields) {
    if (tools == field || !HasMember(members, tools)) continue;
    const DetailJson& value_of = members.at(std::string(tools));
    if (value_of.empty() || value_of == "") continue;
    return absl::StrCat(
        "has '", Absl(tools),
        "', which would be left out of the text; write them into the 'content' "
        "of a message, as the model is to see them, and remove '",
        Absl(tools), "'");
  }
  return "";
}

}  // namespace poniente::internal
