// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "util/nearest_name.h"

namespace poniente::cli {
namespace {

absl::Status ArgumentsError(const std::string& command, std::string message) {
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
  return ArgumentsError(spec.name,
                        absl::StrCat("unknown option '", given, "'",
                                     internal::DidYouMean(given, known)));
}

std::string LeftOf(const Option& option) {
  return absl::StrCat("  --", option.name, option.value.empty() ? "" : " ",
                      option.value, "  ");
}

// The help in a column of its own, in lines of 80 letters where words allow.
std::string OptionLines(const Option& option, size_t column) {
  const std::string help =
      absl::StrCat(option.help, option.repeatable ? "; may be repeated" : "");
  std::string text;
  std::string line = LeftOf(option);
  line.resize(std::max(line.size(), column), ' ');
  bool is_empty = true;
  for (const absl::string_view word : absl::StrSplit(help, ' ')) {
    if (!is_empty && line.size() + 1 + word.size() > 80) {
      absl::StrAppend(&text, line, "\n");
      line.assign(column, ' ');
      is_empty = true;
    }
    absl::StrAppend(&line, is_empty ? "" : " ", word);
    is_empty = false;
  }
  return absl::StrCat(text, line, "\n");
}

}  // namespace

std::string Usage(const CommandSpec& spec) {
  std::string text = absl::StrCat(
      "usage: poniente ", spec.name, spec.positionals.empty() ? "" : " ",
      spec.positionals, " [OPTIONS]\n\n", spec.summary, "\n\noptions:\n");
  size_t column = 0;
  for (const Option& option : spec.options) {
    column = std::max(column, std::min<size_t>(LeftOf(option).size(), 30));
  }
  const Option& help = *FindOption(spec, "help");
  column = std::max(column, LeftOf(help).size());
  for (const Option& option : spec.options) {
    text += OptionLines(option, column);
  }
  text += OptionLines(help, column);
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
      return ArgumentsError(spec.name, absl::StrCat(given, " is given twice"));
    }
    if (option->value.empty()) {
      if (equals != std::string::npos) {
        return ArgumentsError(spec.name,
                              absl::StrCat(given, " takes no value"));
      }
      values.push_back("");
    } else if (equals != std::string::npos) {
      values.push_back(arg.substr(equals + 1));
    } else if (i + 1 < args.size()) {
      values.push_back(args[++i]);
    } else {
      return ArgumentsError(
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
  return ArgumentsError(command_,
                        absl::StrCat("--", name,
                                     " must be a whole number"
                                     " from ",
                                     min, " to ", max, ", got '", *text, "'"));
}

absl::StatusOr<double> Arguments::Decimal(const std::string& name,
                                          double otherwise, double min,
                                          double max) const {
  const std::optional<std::string> text = Text(name);
  if (!text) return otherwise;
  double number = 0;
  if (absl::SimpleAtod(*text, &number) && number >= min && number <= max) {
    return number;
  }
  return ArgumentsError(
      command_, absl::StrCat("--", name, " must be a number from ", min, " to ",
                             max, ", got '", *text, "'"));
}

absl::StatusOr<std::string> Arguments::Choice(
    const std::string& name, const std::vector<std::string>& choices) const {
  const std::optional<std::string> text = Text(name);
  if (!text) return choices.front();
  if (std::find(choices.begin(), choices.end(), *text) != choices.end()) {
    return *text;
  }
  return ArgumentsError(
      command_, absl::StrCat("--", name, " must be ",
                             absl::StrJoin(choices, " or "), ", got '", *text,
                             "'", internal::DidYouMean(*text, choices)));
}

absl::StatusOr<Rank> Arguments::RankOf(const std::string& name) const {
  const std::optional<std::string> text = Text(name);
  Rank rank;
  if (!text) return rank;
  const std::vector<absl::string_view> parts = absl::StrSplit(*text, '/');
  if (parts.size() == 2 && absl::SimpleAtoi(parts[0], &rank.rank) &&
      absl::SimpleAtoi(parts[1], &rank.ranks) && rank.rank < rank.ranks) {
    return rank;
  }
  return ArgumentsError(command_,
                        absl::StrCat("--", name,
                                     " must be r/R, a rank and the "
                                     "number of ranks, such as 3/8; got '",
                                     *text, "'"));
}

}  // namespace poniente::cli
