// SPDX-License-Identifier: Apache-2.0
#include "index/mixture/mixture_map.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente::internal {

absl::StatusOr<std::unique_ptr<MixtureMap>> MixtureMap::Create(
    std::shared_ptr<const StagePlan> plan, std::vector<MapComponent> components,
    uint64_t seed, const MixtureRules& rules) {
  if (components.size() != plan->components()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the mixture has ", components.size(),
                     " components, its weights are for ", plan->components()));
  }
  std::vector<std::string> names;
  names.reserve(components.size());
  for (const MapComponent& component : components) {
    names.push_back(component.name);
  }
  PONIENTE_ASSIGN_OR_RETURN(CanonicalOrder order, SortByName(names));
  std::unique_ptr<MixtureMap> map(
      new MixtureMap(std::move(plan), std::move(order)));
  PONIENTE_RETURN_IF_ERROR(
      map->AddComponents(std::move(components), seed, rules));
  PONIENTE_RETURN_IF_ERROR(map->FindEnd(rules));
  map->FindReadable();
  map->has_one_epoch_ = map->FindWhetherOneEpoch();
  return map;
}

absl::Status MixtureMap::AddComponents(std::vector<MapComponent> components,
                                       uint64_t seed,
                                       const MixtureRules& rules) {
  seed_ = seed;
  rules_ = rules;
  const auto count = static_cast<uint32_t>(components.size());
  children_.resize(count);
  components_.reserve(count);
  table_.Reserve(count);
  std::vector<uint32_t> later(count);  // first child of the later views
  uint32_t next = count;
  for (uint32_t d = 0; d < count; ++d) {
    later[d] = next;
    next += static_cast<uint32_t>(components[d].views.size()) - 1;
  }
  children_.resize(next);
  for (uint32_t c = 0; c < count; ++c) {
    const uint32_t d = order_.declared[c];
    MapComponent& component = components[d];
    PONIENTE_RETURN_IF_ERROR(CheckViews(*plan_, component, c));
    PONIENTE_ASSIGN_OR_RETURN(ItemDraws draws,
                              MakeDraws(*plan_, component, c, seed, rules));
    for (MapComponentView& view : component.views) view.sets = nullptr;
    std::vector<uint32_t> children;
    for (uint32_t v = 0; v < component.views.size(); ++v) {
      children.push_back(v == 0 ? d : later[d] + v - 1);
      children_[children.back()] = {c, v};
    }
    components_.push_back({std::move(component.name),
                           std::move(component.views), std::move(children),
                           component.max_epochs, std::move(draws), 0});
    const Component& added = components_.back();
    std::vector<OrderSpec> orders;
    for (const MapComponentView& view : added.views) {
      orders.push_back(view.order);
    }
    table_.Add(added.draws, orders, added.children);
  }
  return absl::OkStatus();
}

std::optional<uint64_t> MixtureMap::SampleOfEpoch(const Component& component,
                                                  uint64_t epoch) const {
  const std::optional<uint64_t> ordinal = component.draws.FirstOfEpoch(epoch);
  if (!ordinal) return std::nullopt;
  return plan_->PositionOf(NumberOf(component), *ordinal);
}

// Returns the end of the block that completes the first epoch of every
// component.
absl::StatusOr<uint64_t> MixtureMap::EndOfAll() const {
  uint64_t end = 0;
  for (const Component& component : components_) {
    const bool is_empty =
        std::all_of(component.views.begin(), component.views.end(),
                    [](const MapComponentView& view) {
                      return view.length == uint64_t{0};
                    });
    if (is_empty) continue;
    const std::optional<uint64_t> second = component.draws.FirstOfEpoch(1);
    if (second == uint64_t{0}) {
      // Nothing was left of its first epoch when its first draw came. The run
      // goes on at least to where the view begins that is drawn then.
      const uint32_t drawn = component.draws.segments()[0].view.number;
      end = std::max(end, component.views[drawn].start);
      continue;
    }
    std::optional<uint64_t> last;
    if (second) last = plan_->PositionOf(NumberOf(component), *second - 1);
    if (!last) {
      return absl::InvalidArgumentError(absl::StrCat(
          "all_exhausted never comes about: component '", component.name, "' ",
          component.views[0].length
              ? "is not drawn often enough to complete an epoch; give it a "
                "weight in the last stage, or take it out"
              : "is endless"));
    }
    const Block block = plan_->BlockOf(*last);
    end = std::max(end, block.first + block.size);
  }
  if (end == 0) {
    return absl::InvalidArgumentError(
        "all_exhausted: all components are empty");
  }
  return end;
}

absl::Status MixtureMap::FindEnd(const MixtureRules& rules) {
  const bool first_ends = rules.stop_rule == StopRule::kFirstExhausted;
  std::optional<uint64_t> all_end;
  if (rules.stop_rule == StopRule::kAllExhausted) {
    PONIENTE_ASSIGN_OR_RETURN(all_end, EndOfAll());
  }
  std::optional<uint64_t> runs_out;
  for (const Component& component : components_) {
    std::optional<uint64_t> epochs = component.max_epochs;
    if (first_ends) epochs = 1;
    if (!epochs) continue;
    const std::optional<uint64_t> sample = SampleOfEpoch(component, *epochs);
    if (!sample || (runs_out && *runs_out <= *sample)) continue;
    runs_out = sample;
    end_reason_ =
        absl::StrCat("component '", component.name, "' has served its ",
                     *epochs == 1 ? "epoch" : "epochs", " (", *epochs,
                     ") at sample ", *sample);
  }
  if (all_end) {
    if (runs_out && *runs_out < *all_end) {
      return absl::InvalidArgumentError(absl::StrCat(
          "all_exhausted is reached at sample ", *all_end, ", but ",
          end_reason_, "; raise its max_epochs or lower its weight"));
    }
    length_ = *all_end;
    end_reason_ = "every component has served an epoch";
  } else if (runs_out) {
    length_ = plan_->BlockOf(*runs_out).first;
    if (*length_ == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the mixture ends within its first block of ", plan_->block_size(),
          " samples: ", end_reason_, "; choose a smaller block_size"));
    }
  } else if (first_ends) {
    return absl::InvalidArgumentError(
        "first_exhausted never comes about: no component is ever drawn to its "
        "end");
  }
  if (!length_) return absl::OkStatus();
  for (Component& component : components_) {
    component.draws_per_epoch = plan_->Count(NumberOf(component), *length_);
  }
  return absl::OkStatus();
}

// The block with the first draw of an item that is not there yet is the first
// that cannot be read.
void MixtureMap::FindReadable() {
  for (const Component& component : components_) {
    if (!component.views[0].grows) continue;
    if (!readable_) readable_ = length_.value_or(kEndOfDraws);
    const std::optional<uint64_t> missing =
        component.views[0].length == uint64_t{0}
            ? 0
            : component.draws.FirstOfEpoch(1);
    std::optional<uint64_t> sample;
    if (missing) sample = plan_->PositionOf(NumberOf(component), *missing);
    if (!sample) continue;
    const uint64_t end = plan_->BlockOf(*sample).first;
    if (waits_for_ && end >= *readable_) continue;
    readable_ = std::min(*readable_, end);
    waits_for_ = component.children[0];
  }
}

MixtureMap::EpochSoFar MixtureMap::ReadSoFar(uint32_t number,
                                             uint64_t samples) const {
  const Component& component = components_[number];
  const ItemDraws& draws = component.draws;
  const uint64_t end = plan_->Count(number, samples);
  const ItemDraws::Item next = draws.At(end);
  EpochSoFar read;
  read.child = component.children[next.view];
  std::vector<uint64_t> items;
  for (uint64_t ordinal = draws.FirstOfEpoch(next.epoch).value_or(end);
       ordinal < end; ++ordinal) {
    items.push_back(draws.At(ordinal).place);
  }
  // What the epoch leaves out counts as read.
  for (const ItemDraws::Segment& segment : draws.segments()) {
    if (segment.dropped == nullptr || segment.epoch != next.epoch ||
        segment.view.number != next.view) {
      continue;
    }
    items = segment.dropped->With(std::move(items));
    break;
  }
  std::sort(items.begin(), items.end());  // parts of a group are shuffled
  items.erase(std::unique(items.begin(), items.end()), items.end());
  if (!items.empty() && component.views[next.view].is_permuted()) {
    EpochOrder(component, next.view, next.epoch).Forward(items, items);
  }
  read.epoch = next.epoch;
  read.items = std::move(items);
  return read;
}

bool MixtureMap::limits_epochs() const {
  return std::any_of(components_.begin(), components_.end(),
                     [](const Component& component) {
                       return component.max_epochs.has_value();
                     });
}

bool MixtureMap::FindWhetherOneEpoch() const {
  const bool changes = std::any_of(
      components_.begin(), components_.end(),
      [](const Component& component) { return component.draws.changes(); });
  return length_ && (changes || limits_epochs());
}

std::optional<Position> MixtureMap::PositionOf(const Component& component,
                                               uint64_t ordinal,
                                               const Position& position) const {
  uint64_t epoch = 0;
  if (length_) {
    if (component.draws_per_epoch == 0) return std::nullopt;
    epoch = ordinal / component.draws_per_epoch;
    ordinal %= component.draws_per_epoch;
  }
  const std::optional<uint64_t> sample =
      plan_->FindSample(NumberOf(component), ordinal, seed_);
  if (!sample) return std::nullopt;
  Position found = position;
  found.index = *sample;
  found.epoch = epoch;
  return found;
}

std::vector<ItemDraws::Reading> MixtureMap::ReadingsOf(
    uint32_t child, const Position& position) const {
  if (child >= children_.size()) return {};
  const auto [number, view] = children_[child];
  const Component& component = components_[number];
  const std::optional<uint64_t>& length = component.views[view].length;
  if (length && position.index >= *length) return {};
  const uint64_t place =
      component.views[view].is_permuted()
          ? EpochOrder(component, view, position.epoch).Inverse(position.index)
          : position.index;
  return component.draws.ReadingsOf(view, position.epoch, place);
}

std::optional<Position> MixtureMap::Find(uint32_t child,
                                         const Position& position) const {
  for (const ItemDraws::Reading& reading : ReadingsOf(child, position)) {
    if (!HoldsPart(reading, position)) continue;
    return PositionOf(components_[ComponentOf(child)], reading.ordinal,
                      WithoutPart(reading, position));
  }
  return std::nullopt;
}

void MixtureMap::FindParts(uint32_t child, const Position& whole,
                           std::vector<FoundPart>* found) const {
  for (const ItemDraws::Reading& reading : ReadingsOf(child, whole)) {
    const auto position = PositionOf(components_[ComponentOf(child)],
                                     reading.ordinal, Position());
    if (position) found->push_back(FoundAt(*position, reading));
  }
}

std::optional<IndexSpan> MixtureMap::SpanBelow(uint32_t child,
                                               const IndexSpan& span) const {
  const auto [number, view] = children_[child];
  const Component& component = components_[number];
  const uint64_t most = length_.value_or(kEndOfDraws) - 1;
  const Block first = plan_->BlockOf(std::min(span.first.index, most));
  const uint64_t begin = DrawsBefore(component, span.first.epoch) +
                         plan_->Count(number, first.first);
  return component.draws.SpanBetween(view, begin,
                                     DrawsUpTo(component, span.last));
}

std::optional<IndexSpan> MixtureMap::DrawnOf(uint32_t child,
                                             const IndexSpan& span) const {
  const uint64_t draws = DrawsUpTo(components_[ComponentOf(child)], span.last);
  if (draws == 0) return std::nullopt;
  uint64_t last = draws - 1;
  const MapComponentView& of_child = view(child);
  if (of_child.is_permuted() && of_child.order.kind == ShuffleKind::kEras) {
    // They lie all over the era, which has to be there as a whole.
    const uint64_t era_items = of_child.order.era_items;
    last += era_items - 1 - last % era_items;
  }
  return IndexSpan{{.index = 0}, {.index = last}};
}

uint64_t MixtureMap::DrawsUpTo(const Component& component,
                               const Position& position) const {
  const uint64_t most = length_.value_or(kEndOfDraws) - 1;
  const Block last = plan_->BlockOf(std::min(position.index, most));
  return DrawsBefore(component, position.epoch) +
         plan_->Count(NumberOf(component),
                      std::min(last.first + last.size, kEndOfDraws));
}

}  // namespace poniente::internal
