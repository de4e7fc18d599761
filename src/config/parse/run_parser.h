// SPDX-License-Identifier: Apache-2.0
// Parses a configuration.

#ifndef PONIENTE_CONFIG_PARSE_RUN_PARSER_H_
#define PONIENTE_CONFIG_PARSE_RUN_PARSER_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "config/run_nodes.h"

namespace poniente::internal {

// A run, and what a reader of its text should know although nothing is wrong,
// with the places in front.
struct ParsedRun {
  Run run;
  std::vector<std::string> warnings;
};

// Parses TOML text to a checked run. Messages use `file` as the name of the
// text; if it is empty, they begin with keys. InvalidArgument, with one line
// per error; after an error of syntax the parser stops, so only the first of
// these is reported.
absl::StatusOr<ParsedRun> ParseRunText(std::string_view text,
                                       const std::string& file);

// Parses a component that a run gets while it goes on: `text` is its name and
// table, "forum = { weight = 0.2, path = 'forum' }". `rule` is that of its
// mixture, and `share_of` that of the run. Errors as above, with keys below
// data.mixture.
absl::StatusOr<Node> ParseComponentText(std::string_view text, WeightRule rule,
                                        ShareOf share_of);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_PARSE_RUN_PARSER_H_
