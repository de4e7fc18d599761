// SPDX-License-Identifier: Apache-2.0
// Reads the arguments of one command: `--name value`, `--name=value`, switches
// and positional arguments, in any order; `--` ends the options.

#ifndef PONIENTE_CLI_ARGUMENTS_H_
#define PONIENTE_CLI_ARGUMENTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace poniente::cli {

struct Option {
  std::string name;  // without the dashes
  // Name of its value in the usage, "DIR", or the list of its values,
  // "files|paragraphs"; empty for a switch.
  std::string value;
  std::string help;
  bool repeatable = false;
};

// What the help, the man page and the completion say about a command.
struct CommandSpec {
  std::string name;
  std::string brief;        // for lists: "make a token store from text"
  std::string positionals;  // as in the usage, "INPUT..."
  std::string summary;
  std::vector<Option> options;  // --help comes by itself
  std::string example;
};

std::string Usage(const CommandSpec& spec);

// Returns the values that an option takes (or a command in its place) if
// `value` is a list of them, "files|paragraphs"; empty for a placeholder, "DIR"
// or "a..b".
std::vector<std::string> FixedValues(const std::string& value);

// Rank `rank` of `ranks`.
struct Rank {
  uint32_t rank = 0;
  uint32_t ranks = 1;
};

class Arguments {
 public:
  // Parses arguments. InvalidArgument, with the nearest known name, for what
  // the spec does not have; it names the command.
  static absl::StatusOr<Arguments> Parse(const CommandSpec& spec,
                                         const std::vector<std::string>& args);

  bool Has(const std::string& name) const { return values_.contains(name); }
  // Returns the last value given.
  std::optional<std::string> Text(const std::string& name) const;
  std::vector<std::string> Texts(const std::string& name) const;
  // Returns the value; InvalidArgument unless it is a whole number from min to
  // max.
  absl::StatusOr<uint64_t> Number(const std::string& name, uint64_t otherwise,
                                  uint64_t min, uint64_t max) const;
  // Does the same for a number that may have a fraction.
  absl::StatusOr<double> Decimal(const std::string& name, double otherwise,
                                 double min, double max) const;
  // Returns the value; InvalidArgument unless it is one of `choices`, the first
  // of which is the default.
  absl::StatusOr<std::string> Choice(
      const std::string& name, const std::vector<std::string>& choices) const;
  // Returns a value "r/R"; 0 of 1 if it is not given. InvalidArgument unless r
  // < R.
  absl::StatusOr<Rank> RankOf(const std::string& name) const;
  const std::vector<std::string>& positionals() const { return positionals_; }

 private:
  std::string command_;
  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::string> positionals_;
};

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_ARGUMENTS_H_
