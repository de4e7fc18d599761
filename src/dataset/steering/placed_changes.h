// SPDX-License-Identifier: Apache-2.0
// In which steps a steered run changes (Schedule::changes()).

#ifndef PONIENTE_DATASET_STEERING_PLACED_CHANGES_H_
#define PONIENTE_DATASET_STEERING_PLACED_CHANGES_H_

#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "poniente/extend/dataset_node.h"
#include "poniente/journal.h"
#include "poniente/schedule.h"

namespace poniente::internal {

// Returns how a decision is labelled: "change 3 at sample 4096 (why)".
std::string LabelOf(const JournalEntry& entry);

// Returns `schedule`, that of the run `root` under `entries` and others before
// them, with the changes of mixtures below the root: what `entries` change
// there, and the stages of such mixtures, which come in other steps once a
// share above them is another.
//
// Complexity: O(log steps) look-ups of samples for each change behind the first
//     entry.
absl::StatusOr<Schedule> WithPlacedChanges(
    const DatasetNode& root, const Schedule& schedule,
    std::span<const JournalEntry> entries);

}  // namespace poniente::internal

#endif  // PONIENTE_DATASET_STEERING_PLACED_CHANGES_H_
