// SPDX-License-Identifier: Apache-2.0
// Which components of two mixtures have different shares, and by which stated
// weights.

#ifndef PONIENTE_ANALYSIS_DIFF_WEIGHT_DIFF_H_
#define PONIENTE_ANALYSIS_DIFF_WEIGHT_DIFF_H_

#include <algorithm>
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
  // Both go to the same share at the end of the same ramp, in other steps: `a`
  // and `b` are the shares at the sample.
  bool is_on_the_way = false;
  // The ramps at whose ends these hold, by their lengths; empty where there is
  // none.
  std::string ramp_a = {};
  std::string ramp_b = {};
};

// Returns the stages that hold at the first sample where the plans state other
// values of a member, and this sample; nullopt if there is none. REQUIRES: as
// DiffWeights().
struct StagesThere {
  uint64_t sample = 0;
  const StatedStage* a = nullptr;
  const StatedStage* b = nullptr;
};
template <class T>
std::optional<StagesThere> DiffStated(const StagePlan& a, const StagePlan& b,
                                      T StatedStage::*member) {
  const auto next = [](const StagePlan& plan, size_t stage) {
    const SharedList<StatedStage>& stages = plan.stated();
    return stage + 1 < stages.size() ? stages[stage + 1].start : UINT64_MAX;
  };
  if (a.stated().empty() || b.stated().empty()) return std::nullopt;
  size_t i = 0, k = 0;
  for (uint64_t start = 0; start != UINT64_MAX;) {
    const StatedStage& in_a = a.stated()[i];
    const StatedStage& in_b = b.stated()[k];
    if (in_a.*member != in_b.*member) return StagesThere{start, &in_a, &in_b};
    start = std::min(next(a, i), next(b, k));
    if (next(a, i) == start) ++i;
    if (next(b, k) == start) ++k;
  }
  return std::nullopt;
}

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
