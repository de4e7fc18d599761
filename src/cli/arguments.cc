// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "util/nearest_name.h"
#include "util/status_macros.h"

namespace poniente::cli {
namespace {

absl::Status UsageError(const std::string& command, std::string message) {
  return absl::InvalidArgumentError(absl::StrCat(
      command, ": ", message, "; see `poniente ", command, " --help`"));
}

const Option* FindOption(const CommandSpec& spec, const std::string& name) {
  static const Option kHelp = {"help", "", "print this text"};
  if (name == kHelp.name) return &kHelp;
  const auto found =
      std::find_if(spec.options.begin(), spec.options.end(),
                   [&](const Option& option) { return option.name == name; });
  return found == spec.options.end() ? nullptr : &*found;
}

absl::Status UnknownOption(const CommandSpec& spec, const std::string& given) {
  std::vector<std::string> known = {"--help"};
  for (const Option& option : spec.options) known.push_back("--" + option.name);
  return UsageError(spec.name,
                    absl::StrCat("unknown option '", given, "'",
                                 internal::DidYouMean(given, known)));
}

std::string OptionLine(const Option& option) {
  std::string left = absl::StrCat("  --", option.name);
  if (!option.value.empty()) absl::StrAppend(&left, " ", option.value);
  left.resize(std::max<size_t>(left.size() + 2, 24), ' ');
  return absl::StrCat(left, option.help,
                      option.repeatable ? "; may be repeated" : "", "\n");
}

}  // namespace

std::string Usage(const CommandSpec& spec) {
  std::string text = absl::StrCat(
      "usage: poniente ", spec.name, spec.positionals.empty() ? "" : " ",
      spec.positionals, " [OPTIONS]\n\n", spec.summary, "\n\noptions:\n");
  for (const Option& option : spec.options) text += OptionLine(option);
  text += OptionLine(*FindOption(spec, "help"));
  return absl::StrCat(text, "\nexample:\n  ", spec.example, "\n");
}

std::vector<std::string> FixedValues(const std::string& value) {
  const auto is_of_a_list = [](char c) {
    return absl::ascii_islower(static_cast<unsigned char>(c)) ||
           absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '-' ||
           c == '|';
  };
  if (value.empty() || !std::all_of(value.begin(), value.end(), is_of_a_list)) {
    return {};
  }
  return absl::StrSplit(value, '|');
}

absl::StatusOr<Arguments> Arguments::Parse(
    const CommandSpec& spec, const std::vector<std::string>& args) {
  Arguments result;
  result.command_ = spec.name;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (arg == "--") {
      result.positionals_.insert(result.positionals_.end(),
                                 args.begin() + static_cast<ptrdiff_t>(i) + 1,
                                 args.end());
      break;
    }
    if (arg == "-" || !absl::StartsWith(arg, "-")) {
      result.positionals_.push_back(arg);
      continue;
    }
    const size_t equals = arg.find('=');
    const std::string given = arg == "-h" ? "--help" : arg.substr(0, equals);
    const Option* option = absl::StartsWith(given, "--")
                               ? FindOption(spec, given.substr(2))
                               : nullptr;
    if (option == nullptr) return UnknownOption(spec, given);
    std::vector<std::string>& values = result.values_[option->name];
    if (!values.empty() && !option->repeatable) {
      return UsageError(spec.name, absl::StrCat(given, " is given twice"));
    }
    if (option->value.empty()) {
      if (equals != std::string::npos) {
        return UsageError(spec.name, absl::StrCat(given, " takes no value"));
      }
      values.push_back("");
    } else if (equals != std::string::npos) {
      values.push_back(arg.substr(equals + 1));
    } else if (i + 1 < args.size()) {
      values.push_back(args[++i]);
    } else {
      return UsageError(
          spec.name,
          absl::StrCat(given, " needs a value: ", given, " ", option->value));
    }
  }
  return result;
}

std::optional<std::string> Arguments::Text(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return std::nullopt;
  return found->second.back();
}

std::vector<std::string> Arguments::Texts(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

absl::StatusOr<uint64_t> Arguments::Number(const std::string& name,
                                           uint64_t otherwise, uint64_t min,
                                           uint64_t max) const {
  const std::optional<std::string> text = Text(name);
  if (!text) return otherwise;
  uint64_t number = 0;
  if (absl::SimpleAtoi(*text, &number) && number >= min && number <= max) {
    return number;
  }
  return UsageError(command_,
                    absl::StrCat("--", name,
                                 " must be a whole number"
                                 " from ",
                                 min, " to ", max, ", got '", *text, "'"));
}

absl::StatusOr<std::string> Arguments::Choice(
    const std::string& name, const std::vector<std::string>& choices) const {
  const std::optional<std::string> text = Text(name);
  if (!text) return choices.front();
  if (std::find(choices.begin(), choices.end(), *text) != choices.end()) {
    return *text;
  }
  return UsageError(
      command_, absl::StrCat("--", name, " must be ",
                             absl::StrJoin(choices, " or "), ", got '", *text,
                             "'", internal::DidYouMean(*text, choices)));
}

}  // namespace poniente::cli
