// SPDX-License-Identifier: Apache-2.0
// The slow twin of MixtureMap: deals every sample, lays out and shuffles every
// block, and reads every component from its first draw on. Written from
// docs/index-math.md 2, sharing no code with what it checks.

#ifndef PONIENTE_TESTS_INDEX_SLOW_MIXTURE_H_
#define PONIENTE_TESTS_INDEX_SLOW_MIXTURE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "index/mixture/quota_tree.h"
#include "poniente/extend/index_map.h"
#include "tests/index/slow_dealer.h"
#include "tests/index/slow_item_draws.h"
#include "tests/support/slow_permutation.h"

namespace poniente::testing {

struct SlowView {
  uint64_t start = 0;
  uint64_t items = 0;  // 0: endless
  bool shuffle = true;
};

struct SlowComponent {
  std::string name;
  std::vector<SlowView> views;
  std::vector<uint32_t> children;  // by view
  std::optional<uint64_t> max_epochs = std::nullopt;
};

struct SlowParts {
  uint64_t start = 0;
  uint32_t count = 1;
  uint32_t length = kWholeItem;
};

struct SlowBlock {
  uint64_t first;
  uint64_t size;
};

// Components in canonical order throughout.
struct SlowMixture {
  uint64_t seed = 42;
  uint64_t block_size = 1;
  std::vector<SlowStage> stages;
  std::vector<SlowComponent> components;
  std::vector<SlowParts> parts;
  uint64_t group = 0;

  // Made by Deal().
  SlowRun run;
  std::vector<std::vector<uint64_t>> positions;  // of component's draws
  // By component and ordinal; one more than those dealt.
  std::vector<std::vector<SlowItem>> items;

  void Deal(uint64_t samples) {
    run = DealRun(stages, samples);
    positions.assign(components.size(), {});
    for (uint64_t k = 0; k < samples; ++k) {
      positions[run.draws[k].component].push_back(k);
    }
    items.clear();
    for (uint32_t i = 0; i < components.size(); ++i) {
      items.push_back(
          ReadAll(seed, components[i].name, group, SegmentsOf(i, samples)));
    }
  }

  size_t StageOf(uint64_t sample) const {
    size_t s = 0;
    while (s + 1 < stages.size() && stages[s + 1].start <= sample) ++s;
    return s;
  }

  SlowBlock BlockOf(uint64_t sample) const {
    const size_t s = StageOf(sample);
    uint64_t first = stages[s].start;
    while (first + block_size <= sample) first += block_size;
    uint64_t end = first + block_size;
    if (s + 1 < stages.size()) end = std::min(end, stages[s + 1].start);
    return {first, end - first};
  }

  // The draws of a block in their final order.
  std::vector<Draw> Shuffled(const SlowBlock& block) const {
    std::vector<Draw> slots;
    for (const uint32_t leaf : run.leaves[StageOf(block.first)]) {
      for (uint64_t k = block.first; k < block.first + block.size; ++k) {
        if (run.draws[k].component == leaf) slots.push_back(run.draws[k]);
      }
    }
    const std::vector<uint64_t> sigma =
        SlowPermutation(block.size, SlowEpochKey(seed, "bloc", block.first));
    std::vector<Draw> order;
    for (const uint64_t slot : sigma) order.push_back(slots[slot]);
    return order;
  }

  // What draw `ordinal` of a component reads, as a whole sample.
  ChildPosition Item(uint32_t component, uint64_t ordinal) const {
    const SlowItem& item = items[component][ordinal];
    const SlowComponent& from = components[component];
    const SlowView& view = from.views[item.view];
    ChildPosition out;
    out.child = from.children[item.view];
    out.position.index = item.place;
    out.position.epoch = item.epoch;
    if (view.items != 0 && view.shuffle) {
      out.position.index = SlowPermutation(
          view.items,
          SlowComponentKey(seed, from.name, item.epoch))[item.place];
    }
    if (item.length != kWholeItem) {
      out.position.part_begin = item.part * item.length;
      out.position.part_length = item.length;
    }
    return out;
  }

  // Samples [0, end), of one epoch; `served` draws of each component came
  // before. REQUIRES: `end` is the end of a block.
  std::vector<ChildPosition> Samples(
      uint64_t end, const std::vector<uint64_t>& served = {}) const {
    std::vector<ChildPosition> samples;
    while (samples.size() < end) {
      for (const Draw& draw : Shuffled(BlockOf(samples.size()))) {
        const uint64_t before = served.empty() ? 0 : served[draw.component];
        samples.push_back(Item(draw.component, before + draw.ordinal));
      }
    }
    return samples;
  }

  // Where the component would begin epoch `epoch`; nullopt if not among the
  // samples dealt.
  std::optional<uint64_t> PositionOfEpoch(uint32_t component,
                                          uint64_t epoch) const {
    const std::vector<SlowItem>& all = items[component];
    for (uint64_t n = 0; n < positions[component].size(); ++n) {
      if (all[n].epoch >= epoch) return positions[component][n];
    }
    return std::nullopt;
  }

  // Where the component completes its first epoch.
  std::optional<uint64_t> EndOfFirstEpoch(uint32_t component) const {
    const std::vector<SlowItem>& all = items[component];
    for (uint64_t n = 0; n < all.size(); ++n) {
      if (all[n].epoch >= 1) return positions[component][n - 1];
    }
    return std::nullopt;
  }

 private:
  std::vector<SlowSegment> SegmentsOf(uint32_t component,
                                      uint64_t samples) const {
    std::vector<SlowSegment> segments;
    for (uint64_t k = 0; k < samples; ++k) {
      SlowSegment now;
      for (const SlowView& view : components[component].views) {
        if (view.start > k) break;
        now.view =
            static_cast<uint32_t>(&view - components[component].views.data());
        now.items = view.items;
      }
      now.length = kWholeItem;
      for (const SlowParts& change : parts) {
        if (change.start > k) break;
        now.parts = change.count;
        now.length = change.length;
      }
      if (segments.empty() || segments.back().view != now.view ||
          segments.back().parts != now.parts ||
          segments.back().length != now.length) {
        segments.push_back(now);
      }
      segments.back().draws += run.draws[k].component == component;
    }
    ++segments.back().draws;
    return segments;
  }
};

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_INDEX_SLOW_MIXTURE_H_
