// SPDX-License-Identifier: Apache-2.0
// Parses what changes during a run or in a nested mixture: stages, batch sizes
// and sequence lengths.

#ifndef PONIENTE_CONFIG_PARSE_STAGE_PARSER_H_
#define PONIENTE_CONFIG_PARSE_STAGE_PARSER_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "config/parse/run_points.h"
#include "config/parse/toml_reader.h"
#include "config/run_nodes.h"

namespace poniente::internal {

// Reads a weight; a weight that the mixture's rule does not allow is an error.
std::optional<double> ParseWeight(TableReader& table, std::string_view key,
                                  WeightRule rule);

std::optional<double> ParseTemperature(TableReader& table,
                                       std::string_view key);

// Reads a table of one weight per component of `mixture`, by name.
std::map<std::string, double> ParseWeights(TableReader& stage,
                                           std::string_view key,
                                           const Node& mixture);

// Reads what all stages have: weights, thresholds, temperature, ramp blocks.
void ParseStageShares(TableReader& stage, const Node& mixture, RunStage* spec);

// Makes the weights and thresholds of a stage that starts a mixture those of
// its components, and takes them from the stage.
void AdoptFirstStage(RunStage* stage, Node* mixture);

// Reads `share` of stages that follow each other: how much of the run each
// takes.
class StageShares {
 public:
  // Returns where the next stage starts; nullopt if it states no share.
  // `has_start`: whether it states a start, too, which is an error.
  std::optional<RunPoint> Parse(TableReader& stage, ShareOf share_of,
                                bool has_start);
  // Reports an error unless all `stages`, or none, have stated a share, and the
  // shares sum to 1.
  void Finish(TableReader& owner, size_t stages) const;

 private:
  size_t stages_ = 0;
  double sum_ = 0;
};

// Reports an error at `location` if nothing could be drawn under these weights.
// Components that `weights` does not name keep their own weight.
void CheckSomeWeight(const Node& mixture,
                     const std::map<std::string, double>& weights,
                     const SourceLocation& location, ErrorList* errors);

// Reads [[data.stages]]. `root` is the root mixture; null if the root is not a
// mixture. A stage that starts the run may state weights: they become the
// components' own.
void ParseRunStages(TableReader& data, Node* root, ShareOf share_of, Run* run);

// Reads [[data.batch_sizes]] and [[data.seq_lens]].
void ParseSizeLists(TableReader& data, ShareOf share_of, Run* run);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_PARSE_STAGE_PARSER_H_
