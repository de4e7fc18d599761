// SPDX-License-Identifier: Apache-2.0
// The flow of nodes that draw: mixtures and cuts. How many draws a component
// has had is a closed form at block ends; a block that a mark cuts is looked
// up. Which place of which epoch a draw is, plan_item_flow.h says.
#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/plan/plan_flow.h"
#include "analysis/plan/plan_item_flow.h"
#include "index/maps/cut_map.h"
#include "index/max_samples.h"
#include "index/mixture/mixture_map.h"

namespace poniente::internal {
namespace {

uint64_t Whole(double at) { return static_cast<uint64_t>(at); }

class CutFlow final : public NodeFlow {
 public:
  CutFlow(std::shared_ptr<const CutMap> map, Flow flow)
      : NodeFlow(std::move(flow)), map_(std::move(map)) {}

  Flow Child(uint32_t child) const override {
    return FlowOfDraws(map_->draws(), child, false, flow_);
  }
  double Skipped(uint32_t child) const override {
    if (flow_.marks.empty()) return 0;
    return SkippedPlaces(map_->draws(), child, flow_.marks.back().at);
  }

 protected:
  std::optional<Reached> Above(uint32_t child,
                               const Reached& below) const override {
    return OrdinalsOf(map_->draws(), child, below);
  }

 private:
  const std::shared_ptr<const CutMap> map_;
};

class MixtureFlow final : public NodeFlow {
 public:
  MixtureFlow(std::shared_ptr<const MixtureMap> map, size_t children, Flow flow,
              LookUps* look_ups)
      : NodeFlow(std::move(flow)),
        map_(std::move(map)),
        children_(children),
        is_windowed_(flow_.first != 0 || flow_.per_epoch != map_->length()) {
    for (const FlowMark& mark : flow_.marks) {
      if (!cuts_.empty() && cuts_.back().at == mark.at) {
        cuts_.push_back(cuts_.back());
      } else {
        cuts_.push_back(CutAt(mark, look_ups));
      }
    }
  }

  Flow Child(uint32_t child) const override {
    const uint32_t component = map_->ComponentOf(child);
    return FlowOfDraws(map_->draws(component), map_->ViewOf(child),
                       map_->view(child).is_permuted(), Ordinals(component));
  }
  double Skipped(uint32_t child) const override {
    if (flow_.marks.empty()) return 0;
    const uint32_t component = map_->ComponentOf(child);
    return SkippedPlaces(map_->draws(component), map_->ViewOf(child),
                         OrdinalAt(component, flow_.marks.size() - 1).at);
  }
  bool IsWeightless(uint32_t child) const override {
    const StagePlan& plan = map_->plan();
    for (size_t s = 0; s < plan.stages(); ++s) {
      if (plan.quanta(s)[map_->ComponentOf(child)] > 0) return false;
    }
    return true;
  }

 protected:
  std::optional<Reached> Above(uint32_t child,
                               const Reached& below) const override {
    const uint32_t component = map_->ComponentOf(child);
    const ItemDraws& draws = map_->draws(component);
    const MapComponentView& view = map_->view(child);
    Reached places = below;
    if (view.is_permuted()) {
      const auto length = static_cast<double>(*view.length);
      places.earliest = std::floor(below.earliest / length) * length;
      places.all_later = below.all_later && places.earliest == below.earliest;
    }
    const std::optional<Reached> ordinals =
        OrdinalsOf(draws, map_->ViewOf(child), places);
    if (!ordinals.has_value()) return std::nullopt;
    const std::optional<double> first =
        FirstFrom(component, ordinals->earliest);
    if (!first.has_value()) return std::nullopt;
    if (is_windowed_) {
      const double whole = SplitEpochs(*first, map_->length()).whole;
      return Reached{whole * static_cast<double>(flow_.per_epoch.value_or(0)),
                     false};
    }
    return Reached{*first, false};
  }

 private:
  // The block that a mark cuts.
  struct Cut {
    double at = 0;
    bool is_clean = true;  // it cuts none
    double first = 0;      // its first position, in whole epochs and the rest
    std::vector<double> counts;  // by child, from there to the mark
  };

  Cut CutAt(const FlowMark& mark, LookUps* look_ups) const {
    Cut cut = {mark.at, true, mark.at, {}};
    const Epochs epochs = SplitEpochs(mark.at, flow_.per_epoch);
    const uint64_t index = flow_.first + Whole(epochs.rest);
    if (index == 0 || index == map_->length()) return cut;
    const Block block = map_->plan().BlockOf(index);
    if (block.first == index) return cut;
    cut.is_clean = false;
    if (!mark.is_exact || !mark.is_prefix || is_windowed_) return cut;
    cut.first = mark.at - static_cast<double>(index - block.first);
    cut.counts = CountBelow(*map_, children_, Whole(epochs.whole), block.first,
                            index, look_ups);
    if (cut.counts.empty()) cut.first = mark.at;
    // Of components instead.
    std::vector<double> of_components(map_->plan().components());
    for (uint32_t child = 0; child < cut.counts.size(); ++child) {
      if (cut.counts[child] == 0) continue;
      of_components[map_->ComponentOf(child)] += cut.counts[child];
    }
    if (!cut.counts.empty()) cut.counts = std::move(of_components);
    return cut;
  }

  // Draws of a component before a position.
  double CountAt(uint32_t component, double at) const {
    const StagePlan& plan = map_->plan();
    const auto count = [&](uint64_t samples) {
      return static_cast<double>(plan.Count(component, samples));
    };
    const Epochs epochs = SplitEpochs(at, flow_.per_epoch);
    double before = count(flow_.first + Whole(epochs.rest));
    if (flow_.first > 0) before -= count(flow_.first);
    if (epochs.whole == 0) return before;
    double whole = count(flow_.first + *flow_.per_epoch);
    if (flow_.first > 0) whole -= count(flow_.first);
    return epochs.whole * whole + before;
  }

  FlowMark OrdinalAt(uint32_t component, size_t m) const {
    const FlowMark& mark = flow_.marks[m];
    const Cut& cut = cuts_[m];
    if (!mark.is_prefix && flow_.chunk > 1) {
      const double place = mark.at - flow_.chunk_begin;
      const double low =
          flow_.chunk_begin + std::floor(place / flow_.chunk) * flow_.chunk;
      const double from = CountAt(component, low);
      const double to = CountAt(component, low + flow_.chunk);
      return {from + (to - from) * (mark.at - low) / flow_.chunk, false, false};
    }
    double ordinal = CountAt(component, cut.first);
    if (!cut.counts.empty()) ordinal += cut.counts[component];
    const bool is_known = cut.is_clean || !cut.counts.empty();
    return {ordinal, mark.is_exact && mark.is_prefix && is_known,
            mark.is_prefix && cut.is_clean && !is_windowed_};
  }

  Flow Ordinals(uint32_t component) const {
    Flow ordinals;
    ordinals.parts = flow_.parts;
    ordinals.marks.reserve(flow_.marks.size());
    for (size_t m = 0; m < flow_.marks.size(); ++m) {
      const bool is_same = m > 0 && flow_.marks[m - 1].at == flow_.marks[m].at;
      ordinals.marks.push_back(is_same ? ordinals.marks.back()
                                       : OrdinalAt(component, m));
    }
    if (flow_.chunk > 1 && flow_.per_epoch.has_value()) {
      ordinals.chunk = std::max(
          1.0, CountAt(component, static_cast<double>(*flow_.per_epoch)));
    }
    return ordinals;
  }

  // The first position that is this draw or a later one. Where too many draws
  // share its block, the block's first.
  std::optional<double> FirstFrom(uint32_t component, double ordinal) const {
    constexpr uint64_t kMaxTried = 4096;
    const StagePlan& plan = map_->plan();
    // Many nodes below one component ask for the same.
    if (asked_ && asked_->component == component &&
        asked_->ordinal == ordinal) {
      return asked_->first;
    }
    const std::optional<double> answer =
        Counted(component, ordinal, [&](uint64_t from) {
          std::optional<uint64_t> first = plan.PositionOf(component, from);
          if (!first.has_value()) return first;
          const Block block = plan.BlockOf(*first);
          const uint64_t end = plan.Count(component, block.first + block.size);
          if (end - from > kMaxTried) return std::optional(block.first);
          const BlockOrder order = plan.OrderOf(block, map_->seed());
          first = order.Find({component, from});
          for (uint64_t draw = from + 1; draw < end; ++draw) {
            first = std::min(*first, order.Find({component, draw}));
          }
          return first;
        });
    asked_ = {component, ordinal, answer};
    return answer;
  }

  template <class Find>
  std::optional<double> Counted(uint32_t component, double ordinal,
                                const Find& find) const {
    double whole = 0;
    if (ordinal >= static_cast<double>(kMaxSamples)) return std::nullopt;
    if (map_->length().has_value()) {
      const auto length = static_cast<double>(*map_->length());
      const auto draws =
          static_cast<double>(map_->plan().Count(component, *map_->length()));
      if (draws == 0) return std::nullopt;
      whole = std::floor(ordinal / draws) * length;
      ordinal = std::fmod(ordinal, draws);
    }
    const std::optional<uint64_t> found = find(Whole(ordinal));
    if (!found.has_value()) return std::nullopt;
    return whole + static_cast<double>(*found);
  }

  const std::shared_ptr<const MixtureMap> map_;
  const size_t children_;
  // Not all of the mixture is read.
  const bool is_windowed_;
  std::vector<Cut> cuts_;  // by mark
  // What FirstFrom() was asked last.
  struct Asked {
    uint32_t component;
    double ordinal;
    std::optional<double> first;
  };
  mutable std::optional<Asked> asked_;
};

}  // namespace

std::unique_ptr<NodeFlow> MakeDrawsFlow(std::shared_ptr<const IndexMap> map,
                                        size_t children, Flow flow,
                                        LookUps* look_ups) {
  if (auto mixture = std::dynamic_pointer_cast<const MixtureMap>(map)) {
    return std::make_unique<MixtureFlow>(std::move(mixture), children,
                                         std::move(flow), look_ups);
  }
  if (auto cut = std::dynamic_pointer_cast<const CutMap>(map)) {
    return std::make_unique<CutFlow>(std::move(cut), std::move(flow));
  }
  return nullptr;
}

}  // namespace poniente::internal
