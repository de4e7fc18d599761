// SPDX-License-Identifier: Apache-2.0
// What changes during a run, or a nested mixture: stages, batch sizes, lengths.

#ifndef PONIENTE_CONFIG_PARSE_STAGE_PARSER_H_
#define PONIENTE_CONFIG_PARSE_STAGE_PARSER_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "config/parse/run_points.h"
#include "config/parse/toml_reader.h"
#include "config/spec.h"

namespace poniente::internal {

// Reads a weight that the mixture's rule allows.
std::optional<double> ParseWeight(TableReader& table, std::string_view key,
                                  WeightRule rule);

std::optional<double> ParseTemperature(TableReader& table,
                                       std::string_view key);

// Reads numbers by names of components of `mixture`; unknown names are errors.
// `is_weight`: they are weights; if not, any numbers.
std::map<std::string, double> ParseByComponent(TableReader& stage,
                                               std::string_view key,
                                               const NodeSpec& mixture,
                                               bool is_weight);

// Reports an error at `table` if nothing could be drawn under these weights,
// with the components' own for those that are not named.
void CheckSomeWeight(const NodeSpec& mixture,
                     const std::map<std::string, double>& weights,
                     const SourceLocation& location, ErrorList* errors);

// Reads [[data.stages]]. `root` is its mixture, or null. A stage that starts
// the run may state weights: they become the components' own.
void ParseRunStages(TableReader& data, NodeSpec* root, ShareOf share_of,
                    RunSpec* run);

void ParseSizeLists(TableReader& data, ShareOf share_of, RunSpec* run);

// Reads `stages` of a nested mixture.
void ParseMixtureStages(TableReader& node, NodeSpec* mixture);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_PARSE_STAGE_PARSER_H_
