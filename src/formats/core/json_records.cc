// SPDX-License-Identifier: Apache-2.0
#include "formats/core/json_records.h"

#include "absl/strings/str_cat.h"
#include "formats/core/bounded_json.h"
#include "nlohmann/json.hpp"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using Json = nlohmann::json;

// Finds where values begin and end. json::parse() then parses each value.
class Cutter {
 public:
  Cutter(const std::string& path, std::string_view text)
      : path_(path), text_(text) {}

  uint64_t at() const { return at_; }
  bool ended() const { return at_ >= text_.size(); }

  absl::Status Wrong(std::string_view expected) const {
    const std::string found =
        ended() ? "the end"
                : absl::StrCat("'", OneLine(text_.substr(at_, 1)), "'");
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path_, "' at byte ", at_, " has ", found, ", expected ",
        Absl(expected), "; it is no JSON that is read"));
  }

  void SkipSpace() {
    while (!ended() && (text_[at_] == ' ' || text_[at_] == '\t' ||
                        text_[at_] == '\n' || text_[at_] == '\r')) {
      ++at_;
    }
  }
  // Skips space and returns the next character; '\0' at the end.
  char Peek() {
    SkipSpace();
    return ended() ? '\0' : text_[at_];
  }
  bool Take(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }

  // Takes and returns the next value.
  absl::StatusOr<Json> Value() {
    SkipSpace();
    const uint64_t begin = at_;
    PONIENTE_RETURN_IF_ERROR(SkipValue());
    const std::string_view part = text_.substr(begin, at_ - begin);
    Json value = Json::parse(part.begin(), part.end(), nullptr, false);
    if (value.is_discarded()) {
      at_ = begin;
      return Wrong("a JSON value");
    }
    return value;
  }

 private:
  // Skips a string. REQUIRES: its opening quote is next.
  absl::Status SkipString() {
    for (++at_; !ended(); ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
      } else if (text_[at_] == '"') {
        ++at_;
        return absl::OkStatus();
      }
    }
    return Wrong("the end of a string");
  }

  absl::Status SkipValue() {
    const uint64_t begin = at_;
    int depth = 0;
    while (true) {
      if (ended()) return Wrong("a value");
      if (at_ - begin > kMaxJsonRecordBytes) {
        return Wrong(absl::StrCat("the end of the value that begins at byte ",
                                  begin, ", at most ", kMaxJsonRecordBytes,
                                  " bytes long"));
      }
      const char c = text_[at_];
      if (c == '"') {
        PONIENTE_RETURN_IF_ERROR(SkipString());
      } else if (c == '{' || c == '[') {
        if (++depth > kMaxJsonDepth) {
          return Wrong(
              absl::StrCat("values nested at most ", kMaxJsonDepth, " deep"));
        }
        ++at_;
        continue;
      } else if (c == '}' || c == ']') {
        if (depth == 0) return Wrong("a value");
        --depth;
        ++at_;
      } else if (depth == 0) {
        SkipWord();
        if (at_ == begin) return Wrong("a value");
      } else {
        ++at_;
        continue;
      }
      if (depth == 0) break;
    }
    if (at_ - begin > kMaxJsonRecordBytes) {
      return Wrong(
          absl::StrCat("values of at most ", kMaxJsonRecordBytes, " bytes"));
    }
    return absl::OkStatus();
  }

  // Skips a number, true, false or null.
  void SkipWord() {
    while (!ended() && at_ < text_.size() &&
           std::string_view(",]}:\" \t\r\n").find(text_[at_]) ==
               std::string_view::npos) {
      ++at_;
    }
  }

  const std::string& path_;
  const std::string_view text_;
  uint64_t at_ = 0;
};

absl::Status VisitArray(const JsonRecordVisitor& visit, Cutter* cut) {
  if (!cut->Take('[')) return cut->Wrong("'['");
  if (cut->Take(']')) return absl::OkStatus();
  do {
    if (cut->Peek() != '{') return cut->Wrong("'{'");
    const uint64_t at = cut->at();
    PONIENTE_ASSIGN_OR_RETURN(const Json record, cut->Value());
    PONIENTE_RETURN_IF_ERROR(visit(record, at));
  } while (cut->Take(','));
  if (!cut->Take(']')) return cut->Wrong("',' or ']'");
  return absl::OkStatus();
}

absl::StatusOr<std::string> Key(Cutter* cut) {
  if (cut->Peek() != '"') return cut->Wrong("a key in quotes");
  PONIENTE_ASSIGN_OR_RETURN(const Json key, cut->Value());
  if (!cut->Take(':')) return cut->Wrong("':'");
  return key.get<std::string>();
}

}  // namespace

absl::Status ForEachJsonRecord(const std::string& path, std::string_view text,
                               std::string_view array,
                               const JsonRecordVisitor& visit,
                               nlohmann::json* others) {
  *others = Json::object();
  Cutter cut(path, text);
  if (!cut.Take('{')) return cut.Wrong("'{'");
  uint64_t other_bytes = 0;
  if (!cut.Take('}')) {
    do {
      const uint64_t begin = cut.at();
      PONIENTE_ASSIGN_OR_RETURN(const std::string key, Key(&cut));
      if (others->contains(key)) {
        return cut.Wrong(absl::StrCat("the key '", OneLine(key), "' once"));
      }
      if (key == array) {
        (*others)[key] = true;
        PONIENTE_RETURN_IF_ERROR(VisitArray(visit, &cut));
        continue;
      }
      PONIENTE_ASSIGN_OR_RETURN((*others)[key], cut.Value());
      other_bytes += cut.at() - begin;
      if (other_bytes > kMaxJsonRecordBytes) {
        return cut.Wrong(absl::StrCat("at most ", kMaxJsonRecordBytes,
                                      " bytes beside '", Absl(array), "'"));
      }
    } while (cut.Take(','));
    if (!cut.Take('}')) return cut.Wrong("',' or '}'");
  }
  cut.SkipSpace();
  return cut.ended() ? absl::OkStatus() : cut.Wrong("the end");
}

nlohmann::json FirstJsonRecord(std::string_view head, std::string_view array) {
  Json first;
  Json others;
  const auto keep = [&](const Json& record, uint64_t) {
    first = record;
    return absl::CancelledError();
  };
  // The head may end anywhere, so errors after the first record are ignored.
  (void)ForEachJsonRecord("", head, array, keep, &others);
  return first;
}

absl::StatusOr<uint64_t> JsonCount(const nlohmann::json& record,
                                   std::string_view key) {
  const auto found = record.find(std::string(key));
  if (found == record.end() || !found->is_number_integer() ||
      (!found->is_number_unsigned() && found->get<int64_t>() < 0) ||
      found->get<uint64_t>() > INT64_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", Absl(key), "' is ",
                     found == record.end() ? "missing" : JsonForMessage(*found),
                     ", expected a whole number"));
  }
  return found->get<uint64_t>();
}

absl::StatusOr<std::string> JsonText(const nlohmann::json& record,
                                     std::string_view key) {
  const auto found = record.find(std::string(key));
  if (found == record.end() || !found->is_string()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", Absl(key), "' is ",
                     found == record.end() ? "missing" : JsonForMessage(*found),
                     ", expected text"));
  }
  return found->get<std::string>();
}

std::string JsonForMessage(const nlohmann::json& value) {
  constexpr size_t kMax = 80;
  std::string text =
      value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (text.size() > kMax) {
    text.resize(kMax);
    text += "...";
  }
  return text;
}

}  // namespace poniente::internal
