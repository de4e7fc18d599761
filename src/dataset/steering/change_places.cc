// SPDX-License-Identifier: Apache-2.0
#include "dataset/steering/change_places.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "index/max_samples.h"
#include "index/schedule/step_changes.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using Mixture = MixtureDataset<TokenWindow>;

// Returns the end of the first block from `sample` on behind which the mixture
// serves no sample of its component before `start`.
std::optional<uint64_t> EndOfBefore(const MixtureLevel& level, uint64_t start,
                                    uint64_t sample) {
  // Only at the ends of blocks is it exact what has been served.
  const auto end = [&](uint64_t from) {
    return from == 0 ? 0 : level.plan.EarliestStart(from);
  };
  const auto first_end = [&](uint64_t served) -> std::optional<uint64_t> {
    uint64_t low = sample;
    uint64_t high = kMaxSamples;
    while (low < high) {
      const uint64_t middle = low + (high - low) / 2;
      if (level.Served(end(middle)) >= served) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    if (low == kMaxSamples) return std::nullopt;
    return end(low);
  };
  const std::optional<uint64_t> begun = first_end(start);
  if (!begun || level.plan.seq_lens().empty()) return begun;
  // Parts of a group of items come in any order: the group is over where the
  // next has begun.
  return first_end(level.Served(*begun) + 1);
}

}  // namespace

absl::StatusOr<std::vector<MixtureLevel>> LevelsAbove(const DatasetNode& root,
                                                      std::string_view path) {
  std::vector<MixtureLevel> levels;
  const auto* mixture = dynamic_cast<const Mixture*>(&BelowInfilling(root));
  for (const absl::string_view name : absl::StrSplit(Absl(path), '/')) {
    if (mixture == nullptr) return std::vector<MixtureLevel>();
    PONIENTE_ASSIGN_OR_RETURN(MixturePlan plan, mixture->plan());
    DatasetPtr<TokenWindow> below = mixture->component(std::string(name));
    const auto number = plan.Find(std::string(name));
    if (below == nullptr || !number || below->IsFinite()) {
      return std::vector<MixtureLevel>();
    }
    mixture = dynamic_cast<const Mixture*>(below.get());
    levels.push_back({std::move(plan), *number, std::move(below)});
  }
  return levels;
}

std::optional<uint64_t> HoldsFromSample(std::span<const MixtureLevel> levels,
                                        uint64_t start) {
  std::optional<uint64_t> sample = start;
  for (size_t i = levels.size(); i > 0 && sample; --i) {
    sample = EndOfBefore(levels[i - 1], *sample, 0);
  }
  return sample;
}

absl::StatusOr<ChangePlace> FindChangePlace(const DatasetNode& root,
                                            const JournalEntry& entry) {
  const RunChange& change = entry.change;
  ChangePlace place = {.start = entry.sample, .holds_from = entry.sample};
  if (change.path.empty() || change.masks) return place;
  const std::vector<std::string> names = absl::StrSplit(change.path, '/');
  // The last name is that of the source where something is dropped from one.
  const bool is_drop = change.kind == RunChange::Kind::kDrop;
  std::vector<MixtureLevel> levels;
  std::vector<uint64_t> starts;
  const auto* mixture = dynamic_cast<const Mixture*>(&BelowInfilling(root));
  while (mixture != nullptr) {
    const size_t depth = levels.size();
    PONIENTE_ASSIGN_OR_RETURN(const MixturePlan plan, mixture->plan());
    if (depth > 0) place.start = BeginOf(plan, change, place.start);
    place.depth = depth;
    starts.push_back(place.start);
    if (depth == names.size()) break;
    const DatasetPtr<TokenWindow> below = mixture->component(names[depth]);
    const auto number = plan.Find(names[depth]);
    if (below == nullptr || !number || below->IsFinite()) break;
    if (is_drop && depth + 1 == names.size()) break;
    levels.push_back({plan, *number, below});
    place.start = levels.back().Served(place.start);
    mixture = dynamic_cast<const Mixture*>(below.get());
  }
  if (starts.empty()) return place;
  place.start = starts.back();
  place.holds_from = place.start;
  for (size_t depth = place.depth; depth > 0 && place.holds_from; --depth) {
    place.holds_from =
        EndOfBefore(levels[depth - 1], *place.holds_from, starts[depth - 1]);
  }
  return place;
}

absl::StatusOr<uint64_t> HoldsFromStep(const DatasetNode& root,
                                       const Schedule& schedule,
                                       const JournalEntry& entry) {
  PONIENTE_ASSIGN_OR_RETURN(const ChangePlace place,
                            FindChangePlace(root, entry));
  if (place.holds_from) return StepOrEnd(schedule, *place.holds_from);
  return schedule.steps() > 0 ? schedule.steps() : UINT64_MAX;
}

}  // namespace poniente::internal
