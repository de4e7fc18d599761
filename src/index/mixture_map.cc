// SPDX-License-Identifier: Apache-2.0
#include "index/mixture_map.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "index/int128.h"
#include "index/keyed_hash.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Making all of a block costs as much as about this part of its samples do one
// by one.
constexpr uint64_t kWholeBlockPart = 8;
constexpr size_t kMaxRemembered = 1024;

// The first stage that gives the component a weight, if any.
std::optional<size_t> StageThatDraws(const StagePlan& plan, size_t component) {
  for (size_t s = 0; s < plan.stages(); ++s) {
    if (plan.quanta(s)[component] > 0) return s;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<std::unique_ptr<MixtureMap>> MixtureMap::Create(
    std::shared_ptr<const StagePlan> plan,
    std::vector<MixtureComponent> components, uint64_t seed) {
  if (components.size() != plan->components()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the mixture has ", components.size(),
                     " components, its weights are for ", plan->components()));
  }
  std::vector<std::string> names;
  names.reserve(components.size());
  for (const MixtureComponent& component : components) {
    names.push_back(component.name);
  }
  PONIENTE_ASSIGN_OR_RETURN(CanonicalOrder order, SortByName(names));
  std::vector<MixtureComponent> sorted;
  sorted.reserve(components.size());
  for (const uint32_t d : order.declared) {
    sorted.push_back(std::move(components[d]));
  }
  for (size_t c = 0; c < sorted.size(); ++c) {
    if (sorted[c].length != 0) continue;
    if (const std::optional<size_t> stage = StageThatDraws(*plan, c)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "component '", sorted[c].name,
          "' is empty, but has a weight above 0 in stage ", *stage));
    }
  }
  return std::unique_ptr<MixtureMap>(new MixtureMap(
      std::move(plan), std::move(order), std::move(sorted), seed));
}

MixtureMap::MixtureMap(std::shared_ptr<const StagePlan> plan,
                       CanonicalOrder order,
                       std::vector<MixtureComponent> components, uint64_t seed)
    : plan_(std::move(plan)),
      order_(std::move(order)),
      components_(std::move(components)),
      seed_(seed) {}

Permutation MixtureMap::EpochOrder(uint32_t component, uint64_t epoch) const {
  const MixtureComponent& of = components_[component];
  return Permutation(*of.length, Derive(seed_, kEpochTag, of.name, epoch));
}

// The work of one call of Resolve(). Keeps what neighbouring indices share.
class MixtureMap::Resolver {
 public:
  Resolver(const MixtureMap& map, size_t calls)
      : map_(map),
        remembered_(std::bit_ceil(std::max<size_t>(
            1, std::min({calls, map.components_.size(), kMaxRemembered})))) {}

  void Resolve(std::span<const Position> positions,
               std::span<ChildPosition> out) {
    for (size_t at = 0; at < positions.size();) {
      const Block block = map_.plan_->BlockOf(positions[at].index);
      size_t end = at + 1;
      while (end < positions.size() && block.Contains(positions[end].index)) {
        ++end;
      }
      const BlockOrder order = map_.plan_->OrderOf(block, map_.seed_);
      const auto here = positions.subspan(at, end - at);
      const auto there = out.subspan(at, end - at);
      if (here.size() * kWholeBlockPart >= block.size) {
        TakeFromWhole(order, here, there);
      } else {
        TakeEach(order, here, there);
      }
      at = end;
    }
  }

 private:
  struct Remembered {
    uint32_t component = 0;
    uint64_t epoch = 0;
    std::optional<Permutation> order;
  };

  const Permutation& OrderOf(uint32_t component, uint64_t epoch) {
    Remembered& entry = remembered_[component & (remembered_.size() - 1)];
    if (!entry.order || entry.component != component || entry.epoch != epoch) {
      entry = {component, epoch, map_.EpochOrder(component, epoch)};
    }
    return *entry.order;
  }

  void TakeEach(const BlockOrder& order, std::span<const Position> positions,
                std::span<ChildPosition> out) {
    for (size_t i = 0; i < positions.size(); ++i) {
      const Draw draw = order.At(positions[i].index);
      const MixtureComponent& component = map_.components_[draw.component];
      out[i] = {map_.order_.declared[draw.component], positions[i]};
      Position& position = out[i].position;
      position.index = draw.rank;
      position.epoch = 0;
      if (!component.length) continue;
      position.epoch = draw.rank / *component.length;
      position.index = draw.rank % *component.length;
      if (component.shuffle) {
        position.index =
            OrderOf(draw.component, position.epoch).Forward(position.index);
      }
    }
  }

  void TakeFromWhole(const BlockOrder& order,
                     std::span<const Position> positions,
                     std::span<ChildPosition> out) {
    slots_.resize(order.block().size);
    map_.plan_->Expand(order.block(), &runs_);
    for (const DrawRun& run : runs_) FillSlots(run);
    indices_.resize(positions.size());
    for (size_t i = 0; i < positions.size(); ++i) {
      indices_[i] = positions[i].index - order.block().first;
    }
    order.sigma().Forward(indices_, indices_);
    for (size_t i = 0; i < positions.size(); ++i) {
      out[i] = slots_[indices_[i]];
      out[i].position.part_begin = positions[i].part_begin;
      out[i].position.part_length = positions[i].part_length;
    }
  }

  // Writes the items of a run of draws, one epoch at a time, to its slots.
  void FillSlots(const DrawRun& run) {
    const MixtureComponent& component = map_.components_[run.component];
    for (uint64_t done = 0; done < run.count;) {
      const uint64_t rank = run.first_rank + done;
      uint64_t place = rank;
      uint64_t epoch = 0;
      uint64_t count = run.count - done;
      if (component.length) {
        place = rank % *component.length;
        epoch = rank / *component.length;
        count = std::min(count, *component.length - place);
      }
      indices_.resize(count);
      std::iota(indices_.begin(), indices_.end(), place);
      if (component.length && component.shuffle) {
        OrderOf(run.component, epoch).Forward(indices_, indices_);
      }
      ChildPosition* const slots = &slots_[run.first_slot + done];
      for (uint64_t i = 0; i < count; ++i) {
        slots[i].child = map_.order_.declared[run.component];
        slots[i].position.index = indices_[i];
        slots[i].position.epoch = epoch;
      }
      done += count;
    }
  }

  const MixtureMap& map_;
  // The last order made for each component, by its number's low bits.
  std::vector<Remembered> remembered_;
  std::vector<DrawRun> runs_;
  std::vector<ChildPosition> slots_;
  std::vector<uint64_t> indices_;
};

void MixtureMap::Resolve(std::span<const Position> positions,
                         std::span<ChildPosition> out) const {
  PONIENTE_CHECK(positions.size() == out.size()) << positions.size();
  Resolver(*this, positions.size()).Resolve(positions, out);
}

std::optional<Position> MixtureMap::Find(uint32_t child,
                                         const Position& position) const {
  if (child >= components_.size()) return std::nullopt;
  const uint32_t canonical = order_.canonical[child];
  const MixtureComponent& component = components_[canonical];
  Uint128 rank = position.index;
  if (component.length) {
    if (position.index >= *component.length) return std::nullopt;
    uint64_t place = position.index;
    if (component.shuffle) {
      place = EpochOrder(canonical, position.epoch).Inverse(place);
    }
    rank = Uint128{position.epoch} * *component.length + place;
  } else if (position.epoch != 0) {
    return std::nullopt;
  }
  if (rank >= QuotaTree::kMaxPosition) return std::nullopt;
  const std::optional<uint64_t> sample =
      plan_->FindSample(canonical, static_cast<uint64_t>(rank), seed_);
  if (!sample) return std::nullopt;
  Position found = position;
  found.index = *sample;
  found.epoch = 0;
  return found;
}

}  // namespace poniente::internal
