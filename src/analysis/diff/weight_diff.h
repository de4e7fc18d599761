// SPDX-License-Identifier: Apache-2.0
// Which components of two mixtures have different shares, and by which stated
// weights.

#ifndef PONIENTE_ANALYSIS_DIFF_WEIGHT_DIFF_H_
#define PONIENTE_ANALYSIS_DIFF_WEIGHT_DIFF_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "index/mixture/stage_plan.h"

namespace poniente::internal {

struct WeightDifference {
  std::string component;
  // First sample of the mixtures at which the shares differ.
  uint64_t sample = 0;
  // Whether `a` and `b` are the weights that the stages there state. They are
  // shares if these weights are the same, so that the difference comes from
  // other components, a temperature, sizes, or the steps of a ramp.
  bool is_weight = false;
  double a = 0;
  double b = 0;
  // The ramps at whose ends these hold, by their lengths; empty where there is
  // none.
  std::string ramp_a = {};
  std::string ramp_b = {};
};

struct TemperatureDifference {
  // First sample of the mixtures in whose stages other temperatures are stated.
  uint64_t sample = 0;
  double a = 0;
  double b = 0;
};

// Returns nullopt if there is no such sample. REQUIRES: as DiffWeights().
std::optional<TemperatureDifference> DiffTemperatures(const StagePlan& a,
                                                      const StagePlan& b);

// The numbers of a component in the plans a and b, by its name.
using ComponentPairs = std::map<std::string, std::pair<uint32_t, uint32_t>>;

// Returns each component whose share differs, once, at the first such sample;
// in the order of these samples, then of the names. REQUIRES: the plans were
// told of the stages as they were stated.
std::vector<WeightDifference> DiffWeights(const StagePlan& a,
                                          const StagePlan& b,
                                          ComponentPairs components);

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_DIFF_WEIGHT_DIFF_H_
