// SPDX-License-Identifier: Apache-2.0
#include "analysis/diff/weight_diff.h"

#include <algorithm>
#include <cstddef>

#include "index/mixture/quota_tree.h"
#include "util/check.h"

namespace poniente::internal {
namespace {

double Share(uint64_t quanta) {
  return static_cast<double>(quanta) /
         static_cast<double>(QuotaTree::kMaxPosition);
}

// A component in the stage that a sample lies in.
struct StatedWeight {
  StatedWeight(const StagePlan& plan, uint32_t component, uint64_t sample) {
    const SharedList<StatedStage>& stages = plan.stated();
    PONIENTE_CHECK(!stages.empty()) << plan.stages();
    const size_t number = plan.StatedAt(sample);
    const StatedStage& stage = stages[number];
    const uint64_t end = number + 1 < stages.size() ? stages[number + 1].start
                                                    : QuotaTree::kMaxPosition;
    weight = stage.weights[component];
    last_share = Share(plan.quanta(plan.BlockOf(end - 1).stage)[component]);
    if (sample >= stage.ramp_end) return;
    ramp_end = stage.ramp_end;
    ramp = stage.ramp_label;
  }

  double weight = 0;
  double last_share = 0;  // at the end of the stage
  uint64_t ramp_end = 0;  // of the ramp that the sample lies on; 0: none
  std::string ramp;       // its length
};

// Sets the values that explain the difference. `share_a` and `share_b` are the
// shares at the sample itself.
void SetValues(const StatedWeight& a, const StatedWeight& b, double share_a,
               double share_b, WeightDifference* found) {
  found->a = a.last_share;
  found->b = b.last_share;
  found->ramp_a = a.ramp;
  found->ramp_b = b.ramp;
  if (a.weight != b.weight ||
      (a.last_share == b.last_share && a.ramp_end != b.ramp_end)) {
    found->is_weight = true;
    found->a = a.weight;
    found->b = b.weight;
  } else if (a.last_share == b.last_share) {
    found->is_on_the_way = true;
    found->a = share_a;
    found->b = share_b;
    found->ramp_a.clear();
    found->ramp_b.clear();
  }
}

}  // namespace

std::vector<WeightDifference> DiffWeights(const StagePlan& a,
                                          const StagePlan& b,
                                          ComponentPairs components) {
  std::vector<WeightDifference> found;
  const auto next = [](const StagePlan& plan, size_t stage) {
    return stage + 1 < plan.stages() ? plan.stage_start(stage + 1) : UINT64_MAX;
  };
  size_t i = 0, k = 0;
  for (uint64_t start = 0; start != UINT64_MAX && !components.empty();) {
    for (auto at = components.begin(); at != components.end();) {
      const auto [in_a, in_b] = at->second;
      const uint64_t quanta_a = a.quanta(i)[in_a];
      const uint64_t quanta_b = b.quanta(k)[in_b];
      if (quanta_a == quanta_b) {
        ++at;
        continue;
      }
      found.push_back({.component = at->first, .sample = start});
      SetValues(StatedWeight(a, in_a, start), StatedWeight(b, in_b, start),
                Share(quanta_a), Share(quanta_b), &found.back());
      at = components.erase(at);
    }
    start = std::min(next(a, i), next(b, k));
    if (next(a, i) == start) ++i;
    if (next(b, k) == start) ++k;
  }
  return found;
}

}  // namespace poniente::internal
