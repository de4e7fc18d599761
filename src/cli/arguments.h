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
  // Name of the value in the usage, such as "DIR", or the list of possible
  // values, such as "files|paragraphs". Empty for a switch.
  std::string value;
  std::string help;
  bool repeatable = false;
};

// Describes a command for the help, the manual page and the shell completion.
struct CommandSpec {
  std::string name;
  std::string brief;        // in lists: "make a token store from text"
  std::string positionals;  // as in the usage: "INPUT..."
  std::string summary;
  std::vector<Option> options;  // without --help, which all commands have
  std::string example;
};

// Returns the text that --help prints.
std::string Usage(const CommandSpec& spec);

// Returns the possible values of an option or a positional argument if `value`
// is a list of them, such as "files|paragraphs". Returns none if it is a
// placeholder, such as "DIR" or "a..b".
std::vector<std::string> FixedValues(const std::string& value);

// Rank `rank` of `ranks`.
struct Rank {
  uint32_t rank = 0;
  uint32_t ranks = 1;
};

// The parsed arguments of a command.
class Arguments {
 public:
  // Parses arguments. InvalidArgument for arguments that `spec` does not have;
  // the message names the command and the nearest known name.
  static absl::StatusOr<Arguments> Parse(const CommandSpec& spec,
                                         const std::vector<std::string>& args);

  bool Has(const std::string& name) const { return values_.contains(name); }
  // Returns the last value given; nullopt if there is none.
  std::optional<std::string> Text(const std::string& name) const;
  // Returns all values given, in order.
  std::vector<std::string> Texts(const std::string& name) const;
  // Returns the value, or `otherwise` if none is given. InvalidArgument unless
  // it is an integer from min to max.
  absl::StatusOr<uint64_t> Number(const std::string& name, uint64_t otherwise,
                                  uint64_t min, uint64_t max) const;
  // Does the same for a decimal number.
  absl::StatusOr<double> Decimal(const std::string& name, double otherwise,
                                 double min, double max) const;
  // Returns the value, or the first of `choices` if none is given.
  // InvalidArgument unless it is one of them.
  absl::StatusOr<std::string> Choice(
      const std::string& name, const std::vector<std::string>& choices) const;
  // Returns a value of the form "r/R"; rank 0 of 1 if none is given.
  // InvalidArgument unless r < R.
  absl::StatusOr<Rank> RankOf(const std::string& name) const;
  const std::vector<std::string>& positionals() const { return positionals_; }

 private:
  std::string command_;
  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::string> positionals_;
};

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_ARGUMENTS_H_
