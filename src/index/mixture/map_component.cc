// SPDX-License-Identifier: Apache-2.0
#include "index/mixture/map_component.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "poniente/extend/item_sets.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr OrderSpec kUnpermuted = {.kind = ShuffleKind::kNone};

// Returns the first stage that begins in [begin, end) and gives the component a
// weight; nullopt if there is none.
std::optional<size_t> StageThatDraws(const StagePlan& plan, size_t component,
                                     uint64_t begin, uint64_t end) {
  for (size_t s = 0; s < plan.stages(); ++s) {
    if (plan.stage_start(s) >= end) break;
    if (plan.stage_start(s) < begin) continue;
    if (plan.quanta(s)[component] > 0) return s;
  }
  return std::nullopt;
}

bool IsStageStart(const StagePlan& plan, uint64_t sample) {
  return plan.BlockOf(sample).first == sample &&
         plan.stage_start(plan.BlockOf(sample).stage) == sample;
}

// Returns the name of a stage of the plan for errors, as it was stated.
std::string PlanStageLabel(const StagePlan& plan, size_t stage) {
  if (plan.stated().empty()) return absl::StrCat("stage ", stage);
  const StatedStage& stated =
      plan.stated()[plan.StatedAt(plan.stage_start(stage))];
  return stated.label.empty() ? "the first stage" : stated.label;
}

// Checks that items can be dropped where the view begins.
absl::Status CheckDrop(const StagePlan& plan, const MapComponent& component,
                       size_t view) {
  const uint64_t start = component.views[view].start;
  if (plan.BlockOf(start).first != start) {
    return absl::InvalidArgumentError(absl::StrCat(
        "items of component '", component.name, "' are dropped at sample ",
        start, ", which is not the first of a block; that of its block is ",
        plan.BlockOf(start).first));
  }
  if (component.views[view].length != uint64_t{0}) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("all items of component '", component.name,
                   "' are dropped; retire the component instead"));
}

// Checks that the view can continue the epoch of the one before.
absl::Status CheckSets(const MapComponent& component, size_t view) {
  PONIENTE_CHECK(view > 0 && component.is_whole) << component.name;
  const ItemSets* const before = component.views[view - 1].sets;
  const ItemSets* const sets = component.views[view].sets;
  if (sets != nullptr && before != nullptr &&
      sets->identity() == before->identity() &&
      sets->num_sets() == before->num_sets()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "view ", view, " of component '", component.name,
      "' is to continue the epoch of the view before, ",
      sets == nullptr || before == nullptr
          ? "which needs datasets whose items come set by set: pack documents "
            "by chunks (chunk_documents)"
          : "but it is made of other documents, or in other chunks"));
}

}  // namespace

absl::Status CheckViews(const StagePlan& plan, const MapComponent& component,
                        size_t number) {
  const std::vector<MapComponentView>& views = component.views;
  PONIENTE_CHECK(!views.empty() && views[0].start == 0) << component.name;
  for (size_t v = 0; v < views.size(); ++v) {
    const bool is_drop = views[v].dropped != nullptr;
    PONIENTE_CHECK(v == 0 || (views[v].start + is_drop > views[v - 1].start &&
                              (is_drop || IsStageStart(plan, views[v].start))))
        << component.name << " view " << v;
    if (is_drop) PONIENTE_RETURN_IF_ERROR(CheckDrop(plan, component, v));
    if (views[v].keeps_epoch) {
      PONIENTE_RETURN_IF_ERROR(CheckSets(component, v));
    }
    if (views.size() > 1 && !views[v].length) {
      return absl::InvalidArgumentError(
          absl::StrCat("component '", component.name,
                       "' changes its view, so none of them may be endless"));
    }
    const uint64_t end =
        v + 1 < views.size() ? views[v + 1].start : kEndOfDraws;
    const auto stage = StageThatDraws(plan, number, views[v].start, end);
    if (views[v].length) {
      const absl::Status fits = CheckOrder(views[v].order, *views[v].length);
      if (!fits.ok()) {
        return Prepend(fits, absl::StrCat("component '", component.name, "'"));
      }
    }
    if (views[v].length != 0 || views[v].grows || !stage) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("component '", component.name,
                     "' is empty, but has a weight above 0 in ",
                     PlanStageLabel(plan, *stage)));
  }
  return absl::OkStatus();
}

// A new segment begins where parts or view change.
absl::StatusOr<ItemDraws> MakeDraws(const StagePlan& plan,
                                    const MapComponent& component,
                                    uint32_t number, uint64_t seed,
                                    const MixtureRules& rules) {
  const auto parts_at = [&](uint64_t sample) {
    ItemParts parts;
    if (component.is_whole) return parts;
    for (const PartsChange& change : rules.parts) {
      if (change.start <= sample) parts = change.parts;
    }
    return parts;
  };
  const std::vector<MapComponentView>& views = component.views;
  // An empty component is not drawn, or not yet: any length will do.
  const auto item_view = [&views](size_t v) {
    ItemView view = {views[v].length, static_cast<uint32_t>(v)};
    if (view.length == 0) view.length = 1;
    return view;
  };
  std::vector<uint64_t> starts;
  for (const PartsChange& change : rules.parts) starts.push_back(change.start);
  for (const MapComponentView& view : views) starts.push_back(view.start);
  std::sort(starts.begin(), starts.end());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  ItemDraws draws(seed, component.name, item_view(0), parts_at(0), rules.group);
  const auto places_of = [&](const DroppedItems& dropped) {
    return [&](uint32_t view, uint64_t epoch,
               const std::shared_ptr<const Omissions>& before) {
      return dropped.Places(
          {.view = view,
           .number = epoch,
           .length = *views[view].length,
           .key = draws.EpochKey(epoch),
           .order =
               views[view].is_permuted() ? views[view].order : kUnpermuted},
          before);
    };
  };
  size_t v = 0;
  for (const uint64_t start : starts) {
    const uint64_t ordinal = plan.Count(number, start);
    const ItemParts parts = parts_at(start);
    // Other parts of the view in force, unless other views begin here.
    if (start > 0 && (v + 1 == views.size() || views[v + 1].start > start)) {
      draws.Continue(ordinal, item_view(v), parts);
    }
    while (v + 1 < views.size() && views[v + 1].start == start) {
      const MapComponentView& view = views[++v];
      if (view.dropped != nullptr) {
        PONIENTE_RETURN_IF_ERROR(
            draws.Drop(ordinal, item_view(v), parts, places_of(*view.dropped),
                       view.dropped->leaves_out_of_whole_epoch()));
        continue;
      }
      const SetChange sets = {view.keeps_epoch ? views[v - 1].sets : nullptr,
                              view.sets};
      draws.Continue(ordinal, item_view(v), parts,
                     view.keeps_epoch ? &sets : nullptr);
    }
  }
  return draws;
}

}  // namespace poniente::internal
