// SPDX-License-Identifier: Apache-2.0
// Changes of one mixture of a run.

#ifndef PONIENTE_DATASET_STEERING_MIXTURE_CHANGES_H_
#define PONIENTE_DATASET_STEERING_MIXTURE_CHANGES_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "dataset/steering/opened_component.h"
#include "poniente/async_dataset.h"
#include "poniente/journal.h"
#include "poniente/mixture_plan.h"
#include "poniente/schedule.h"
#include "poniente/token_window.h"

namespace poniente::internal {

// Entries about one mixture.
struct MixtureChanges {
  std::span<const JournalEntry> entries;
  std::vector<std::string> path;  // to the mixture
  // What the only entry adds; empty for other kinds.
  std::vector<OpenedComponent> added = {};
};

// Returns what an entry decides, from sample `start` of the mixture on, apart
// from what it adds.
MixtureDecision DecisionOf(const JournalEntry& entry, uint64_t start);

// Puts `*dataset`, the root of a run, under the changes, and `*schedule` if
// they are about the root mixture. See Steered().
absl::Status ChangeMixture(const MixtureChanges& changes,
                           DatasetPtr<TokenWindow>* dataset,
                           Schedule* schedule);

}  // namespace poniente::internal

#endif  // PONIENTE_DATASET_STEERING_MIXTURE_CHANGES_H_
