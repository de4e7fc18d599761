// SPDX-License-Identifier: Apache-2.0
// A run under the changes that were decided while it went on.

#ifndef PONIENTE_DATASET_STEERING_STEERED_RUN_H_
#define PONIENTE_DATASET_STEERING_STEERED_RUN_H_

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/async_dataset.h"
#include "poniente/extend/opened_component.h"
#include "poniente/journal.h"
#include "poniente/schedule.h"
#include "poniente/token_window.h"

namespace poniente::internal {

struct SteeredRun {
  DatasetPtr<TokenWindow> dataset;
  Schedule schedule;
  // Of sources that were added, by path.
  std::map<std::string, float> loss_weights = {};
  // Of components that were added: to be called, and cleared, once the change
  // has been made (OpenedComponent::when_made).
  std::vector<std::function<void()>> when_made = {};

  // Calls them.
  void TellMade() {
    for (const auto& made : when_made) made();
    when_made.clear();
  }
};

// Returns the run under further entries of its journal. `run` is under all
// entries before them. Samples before an entry's are served as before, if it is
// at EarliestChange() or behind it. `open` opens what entries add.
//
// An entry about a mixture below the root holds there from the first of its
// blocks on that the samples of the run before the entry's have not begun.
//
// Determinism: a function of run and entries, whether they come one by one or
//     all at once.
// Complexity: O(nodes on the way to the mixture that changes) for each entry,
//     or for consecutive ones about the same mixture; the stores stay open.
// Errors: InvalidArgument, with "change N: " in front, for components that do
//     not exist and weights that their mixture refuses; errors of OpenAdded().
absl::StatusOr<SteeredRun> Steered(SteeredRun run,
                                   std::span<const JournalEntry> entries,
                                   const ComponentOpener& open = nullptr);

// Returns the first sample for which a change may hold, once the samples before
// `sample` have been handed out: that of the first block of the root mixture
// that none of them lies in, or `sample` if the root is no mixture. Above 0,
// unless items are dropped from a mixture of which nothing was handed out.
uint64_t EarliestChange(const AsyncDataset<TokenWindow>& root,
                        const RunChange& change, uint64_t sample);

}  // namespace poniente::internal

#endif  // PONIENTE_DATASET_STEERING_STEERED_RUN_H_
