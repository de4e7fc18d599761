// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/plan_flow.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace poniente::internal {

double Flow::Samples(size_t interval) const {
  const double samples = Positions(interval) * parts[interval];
  const bool is_whole =
      marks[2 * interval].is_exact && marks[2 * interval + 1].is_exact;
  return is_whole ? std::round(samples) : samples;
}

bool Flow::IsExact() const {
  return std::all_of(marks.begin(), marks.end(),
                     [](const FlowMark& mark) { return mark.is_exact; });
}

bool LookUps::Take(uint64_t positions) {
  if (positions > left) return false;
  left -= positions;
  return true;
}

Epochs SplitEpochs(double at, std::optional<uint64_t> per_epoch) {
  if (!per_epoch.has_value() || *per_epoch == 0) return {0, at};
  const auto length = static_cast<double>(*per_epoch);
  const double whole = std::floor(at / length);
  return {whole, at - whole * length};
}

NodeFlow::~NodeFlow() = default;

double NodeFlow::Skipped(uint32_t /*child*/) const { return 0; }
bool NodeFlow::IsWeightless(uint32_t /*child*/) const { return false; }

absl::StatusOr<std::unique_ptr<NodeFlow>> NodeFlow::Create(
    const DatasetNode& node, const std::vector<NamedNode>& children, Flow flow,
    const NodeFlow* above, uint32_t place, LookUps* look_ups) {
  std::shared_ptr<const IndexMap> map = node.map();
  if (map == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "'", node.name(), "' cannot be planned until its lengths are final"));
  }
  std::unique_ptr<NodeFlow> made =
      MakeDrawsFlow(map, children.size(), flow, look_ups);
  if (made == nullptr && children.size() == 1) {
    made = MakePassFlow(std::move(map), children[0].node->length_now(),
                        std::move(flow));
  } else if (made == nullptr) {
    made = MakeJoinFlow(std::move(map), children, std::move(flow), look_ups);
  }
  made->above_ = above;
  made->place_ = place;
  return made;
}

std::optional<Reached> NodeFlow::FirstSample(uint32_t child,
                                             const Reached& below) const {
  const std::optional<Reached> here = Above(child, below);
  if (!here.has_value() || above_ == nullptr) return here;
  return above_->FirstSample(place_, *here);
}

std::vector<double> NodeFlow::CountBelow(const IndexMap& map, size_t children,
                                         uint64_t epoch, uint64_t begin,
                                         uint64_t end, LookUps* look_ups) {
  if (!look_ups->Take(end - begin)) return {};
  constexpr uint64_t kAtOnce = 4096;
  std::vector<double> counts(children);
  std::vector<Position> positions;
  std::vector<ChildPosition> found;
  while (begin < end) {
    positions.clear();
    const uint64_t until = std::min(end, begin + kAtOnce);
    for (; begin < until; ++begin) {
      positions.push_back({.index = begin, .epoch = epoch});
    }
    found.resize(positions.size());
    map.Resolve(positions, found);
    for (const ChildPosition& at : found) ++counts[at.child];
  }
  return counts;
}

}  // namespace poniente::internal
