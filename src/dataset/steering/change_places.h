// SPDX-License-Identifier: Apache-2.0
// From which sample of a mixture on a change of the run holds
// (docs/journal.md).

#ifndef PONIENTE_DATASET_STEERING_CHANGE_PLACES_H_
#define PONIENTE_DATASET_STEERING_CHANGE_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/extend/dataset_node.h"
#include "poniente/extend/infilled_dataset.h"
#include "poniente/journal.h"
#include "poniente/mixture_dataset.h"
#include "poniente/mixture_plan.h"
#include "poniente/schedule.h"

namespace poniente::internal {

// Returns the root, or what lies below what fills documents in the middle.
inline const DatasetNode& BelowInfilling(const DatasetNode& root) {
  const InfilledDataset* const infilled = InfilledOf(root);
  return infilled == nullptr ? root : *infilled->child();
}

// Returns the first sample of a mixture for which a change can hold, if
// `served` samples may have been served before it: that of the first block that
// none of them lies in. Above 0, where a plan begins; but items can be dropped
// from the beginning on where nothing has been served.
inline uint64_t BeginOf(const MixturePlan& plan, const RunChange& change,
                        uint64_t served) {
  if (served > 0) return plan.EarliestStart(served);
  return change.kind == RunChange::Kind::kDrop ? 0 : plan.EarliestStart(1);
}

// Returns how many samples of an endless component, `below`, may have been
// served by the first `samples` samples of its mixture.
inline uint64_t ServedBelow(const MixturePlan& plan, uint32_t component,
                            const DatasetNode& below, uint64_t samples) {
  // Windows of packed documents are not cut: each sample is one of them.
  return IsAllPacked(below) ? plan.Count(component, samples)
                            : plan.ItemsBefore(component, samples);
}

// An endless component on the way to a mixture below the root.
struct MixtureLevel {
  MixturePlan plan;
  uint32_t component;
  DatasetPtr<TokenWindow> below;

  uint64_t Served(uint64_t samples) const {
    return ServedBelow(plan, component, *below, samples);
  }
};

// Returns the levels from the root down to the mixture of this path ("a/b");
// none if there is no such mixture, or something finite above it. Errors of
// lengths that are not final.
absl::StatusOr<std::vector<MixtureLevel>> LevelsAbove(const DatasetNode& root,
                                                      std::string_view path);

// Returns a sample of the run behind which no sample of the mixture below
// `levels` comes that is before its sample `start`; nullopt if there is none.
std::optional<uint64_t> HoldsFromSample(std::span<const MixtureLevel> levels,
                                        uint64_t start);

// Where an entry of the journal holds.
struct ChangePlace {
  // The first sample that it holds for: of the mixture that changes, which lies
  // `depth` mixtures below the root.
  uint64_t start = 0;
  size_t depth = 0;
  // A sample of the run from which on it holds for all samples: the entry's own
  // for the root mixture and for masks; for a mixture below it, the end of the
  // block of the mixture above within which the samples before `start` end;
  // nullopt if there is none.
  std::optional<uint64_t> holds_from;
};

// Returns where the entry holds in a run under it. Errors of lengths that are
// not final.
absl::StatusOr<ChangePlace> FindChangePlace(const DatasetNode& root,
                                            const JournalEntry& entry);

// Returns the step from which on the entry holds for all samples of the run;
// its number of steps (2^64 - 1 if it has no end) if there is none.
absl::StatusOr<uint64_t> HoldsFromStep(const DatasetNode& root,
                                       const Schedule& schedule,
                                       const JournalEntry& entry);

}  // namespace poniente::internal

#endif  // PONIENTE_DATASET_STEERING_CHANGE_PLACES_H_
