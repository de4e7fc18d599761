// SPDX-License-Identifier: Apache-2.0
// The flow of nodes that put several children together: end to end, or in one
// order. The epoch is handed on, so whole epochs are exact; of an epoch that a
// mark cuts, a shuffle's children have a share that is expected, unless it can
// be looked up.
#include <algorithm>
#include <utility>

#include "analysis/plan/plan_flow.h"
#include "index/maps/concat_map.h"

namespace poniente::internal {
namespace {

class JoinFlow final : public NodeFlow {
 public:
  JoinFlow(std::shared_ptr<const IndexMap> map,
           const std::vector<NamedNode>& children, Flow flow, LookUps* look_ups)
      : NodeFlow(std::move(flow)),
        is_ordered_(dynamic_cast<const ConcatMap*>(map.get()) != nullptr),
        is_windowed_(flow_.first != 0 || flow_.per_epoch != map->length()) {
    uint64_t start = 0;
    for (const NamedNode& child : children) {
      const LengthState length = child.node->length_now();
      parts_.push_back({start, length.is_endless ? 0 : length.readable});
      start += parts_.back().length;
    }
    all_ = start;
    if (!is_ordered_) LookUpCutEpochs(*map, look_ups);
  }

  Flow Child(uint32_t child) const override {
    const Part part = PartOf(child);
    Flow below;
    below.parts = flow_.parts;
    below.first = part.first;
    below.per_epoch = part.length;
    below.chunk = static_cast<double>(part.length);
    if (is_ordered_) below.chunk = std::min(below.chunk, flow_.chunk);
    below.chunk = std::max(below.chunk, 1.0);
    below.marks.reserve(flow_.marks.size());
    for (size_t m = 0; m < flow_.marks.size(); ++m) {
      below.marks.push_back(MarkOf(child, part, m));
    }
    return below;
  }

 protected:
  std::optional<Reached> Above(uint32_t child,
                               const Reached& below) const override {
    const Part part = PartOf(child);
    if (part.length == 0) return std::nullopt;
    const double all = static_cast<double>(flow_.per_epoch.value_or(all_));
    const Epochs earliest = SplitEpochs(below.earliest, part.length);
    if (is_ordered_) {
      return Reached{earliest.whole * all + part.begin + earliest.rest, false};
    }
    const bool is_only = all == static_cast<double>(part.length);
    return Reached{earliest.whole * all, below.all_later && !is_windowed_ &&
                                             is_only && earliest.rest == 0};
  }

 private:
  struct ChildSpan {
    uint64_t start;
    uint64_t length;
  };
  // What the window leaves of a child: its positions [first, first + length),
  // which begin at `begin` of the window.
  struct Part {
    uint64_t first = 0;
    uint64_t length = 0;
    double begin = 0;
  };

  Part PartOf(uint32_t child) const {
    const ChildSpan& span = parts_[child];
    if (!is_ordered_ || !flow_.per_epoch.has_value()) {
      return {0, span.length, static_cast<double>(span.start)};
    }
    const uint64_t begin = std::max(flow_.first, span.start);
    const uint64_t end =
        std::min(flow_.first + *flow_.per_epoch, span.start + span.length);
    if (begin >= end) return {};
    return {begin - span.start, end - begin,
            static_cast<double>(begin - flow_.first)};
  }

  FlowMark MarkOf(uint32_t child, const Part& part, size_t m) const {
    const FlowMark& mark = flow_.marks[m];
    const auto length = static_cast<double>(part.length);
    if (is_windowed_ && !is_ordered_) {  // which items it leaves is not known
      const double share = all_ == 0
                               ? 0
                               : static_cast<double>(parts_[child].length) /
                                     static_cast<double>(all_);
      return {mark.at * share, mark.at == 0, mark.at == 0};
    }
    const Epochs epochs = SplitEpochs(mark.at, flow_.per_epoch);
    const double whole = epochs.whole * length;
    if (epochs.rest == 0) return {whole, mark.is_exact, mark.is_prefix};
    if (is_ordered_ && (mark.is_prefix || flow_.chunk < PerEpoch())) {
      const double rest = std::clamp(epochs.rest - part.begin, 0.0, length);
      return {whole + rest, mark.is_exact && mark.is_prefix, mark.is_prefix};
    }
    const std::vector<double>* const counts =
        counts_.empty() ? nullptr : &counts_[m];
    if (counts != nullptr && !counts->empty()) {
      return {whole + (*counts)[child], true, false};
    }
    const bool is_none = length == 0 || length == PerEpoch();
    return {whole + epochs.rest * length / PerEpoch(), is_none && mark.is_exact,
            false};
  }

  double PerEpoch() const {
    return static_cast<double>(flow_.per_epoch.value_or(all_));
  }

  // What each child has of the epochs that marks cut, where that is the first
  // positions of the order.
  void LookUpCutEpochs(const IndexMap& map, LookUps* look_ups) {
    if (is_windowed_ || look_ups->left == 0) return;
    counts_.resize(flow_.marks.size());
    for (size_t m = 0; m < flow_.marks.size(); ++m) {
      const FlowMark& mark = flow_.marks[m];
      const Epochs epochs = SplitEpochs(mark.at, flow_.per_epoch);
      if (!mark.is_exact || !mark.is_prefix || epochs.rest == 0) continue;
      if (m > 0 && flow_.marks[m - 1].at == mark.at) {
        counts_[m] = counts_[m - 1];
        continue;
      }
      const auto epoch = static_cast<uint64_t>(epochs.whole);
      const auto rest = static_cast<uint64_t>(epochs.rest);
      if (rest <= all_ / 2) {
        counts_[m] = CountBelow(map, parts_.size(), epoch, 0, rest, look_ups);
        continue;
      }
      counts_[m] = CountBelow(map, parts_.size(), epoch, rest, all_, look_ups);
      for (size_t child = 0; child < counts_[m].size(); ++child) {
        counts_[m][child] =
            static_cast<double>(parts_[child].length) - counts_[m][child];
      }
    }
  }

  const bool is_ordered_;
  // Not all of an epoch is read.
  const bool is_windowed_;
  std::vector<ChildSpan> parts_;
  uint64_t all_ = 0;
  // By mark and child, of the epoch that the mark cuts; empty: not known.
  std::vector<std::vector<double>> counts_;
};

}  // namespace

std::unique_ptr<NodeFlow> MakeJoinFlow(std::shared_ptr<const IndexMap> map,
                                       const std::vector<NamedNode>& children,
                                       Flow flow, LookUps* look_ups) {
  return std::make_unique<JoinFlow>(std::move(map), children, std::move(flow),
                                    look_ups);
}

}  // namespace poniente::internal
