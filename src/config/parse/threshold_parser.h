// SPDX-License-Identifier: Apache-2.0
// Parses thresholds of scores: a score, a quantile, or a number of standard
// deviations above the mean.

#ifndef PONIENTE_CONFIG_PARSE_THRESHOLD_PARSER_H_
#define PONIENTE_CONFIG_PARSE_THRESHOLD_PARSER_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "config/parse/toml_reader.h"
#include "config/run_nodes.h"

namespace poniente::internal {

// Reads a number, or a table of `quantile` or `sigmas`.
std::optional<ScoreThreshold> ParseThreshold(TableReader& table,
                                             std::string_view key);

// Reads a table of one threshold per component of `mixture`, by name. Unknown
// names, and components without a filter by scores, are errors.
std::map<std::string, ScoreThreshold> ParseThresholds(TableReader& stage,
                                                      std::string_view key,
                                                      const Node& mixture);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_PARSE_THRESHOLD_PARSER_H_
