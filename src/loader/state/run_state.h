// SPDX-License-Identifier: Apache-2.0
// A place in a run and what decided the samples before it: as a value, as text,
// and as a list of differences between two of them.
//
// The text consists of lines; the last one is a checksum of the others.
// docs/compatibility.md has an example. Its size is bounded: if there are many
// batch sizes, only the last are listed and the others hashed; if there are
// many sources, they become groups by the hash of their path.

#ifndef PONIENTE_LOADER_STATE_RUN_STATE_H_
#define PONIENTE_LOADER_STATE_RUN_STATE_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataset/tree_past.h"
#include "loader/state/schedule_agreement.h"
#include "poniente/journal.h"
#include "poniente/loader.h"
#include "poniente/schedule.h"

namespace poniente::internal {

// Steps of one batch size and sequence length, up to the next change.
struct PastBatches {
  uint64_t first_step = 0;
  uint64_t batch_size = 1;
  uint32_t seq_len = 1;

  friend bool operator==(const PastBatches&, const PastBatches&) = default;
};

struct RunState {
  static constexpr size_t kMaxBatches = 8;
  static constexpr size_t kGroups = 16;
  using Groups = std::array<uint32_t, kGroups>;

  // The next step and its first sample; for a run that ends before that step,
  // the number of the run's samples.
  uint64_t step = 0;
  uint64_t sample = 0;
  // The changes that had been decided when the step was next, and a hash of
  // them.
  uint64_t changes = 0;
  uint64_t changes_hash = 0;
  uint32_t order_version = 0;
  uint32_t max_seq_len = 0;
  // Parts of items were left out in the past.
  bool is_trimmed = false;
  // The last changes that begin before the step; how many came before these,
  // and a hash of them.
  std::vector<PastBatches> batches;
  uint64_t earlier_batches = 0;
  uint64_t earlier_hash = 0;
  // Sources are listed here unless there are too many; then only their number
  // is stated, and a hash of each group.
  TreePast tree;
  // The root mixture's shares at the last sample before the step, for the
  // messages: tree.weights decides. Empty without such a sample or mixture, in
  // states of earlier versions, and where they would take too much text.
  std::vector<NamedShare> shares;
  uint64_t grouped_sources = 0;
  Groups groups = {};

  friend bool operator==(const RunState&, const RunState&) = default;
};

// Returns the state with all sources listed, however many there are. `root` and
// `schedule` are under all entries of `journal`.
RunState RunStateAt(const DatasetNode& root, const Schedule& schedule,
                    uint64_t step, const Journal& journal = Journal());

size_t GroupOf(std::string_view path);
RunState::Groups GroupsOf(const std::vector<PastSource>& sources);

// Returns the text of a state. Equal states have equal texts.
std::string PrintRunState(RunState state);

// Parses a text of PrintRunState(). InvalidArgument, naming the line, for any
// other text.
absl::StatusOr<RunState> ParseRunState(std::string_view text);

// Checks whether a run that was saved as `saved` can continue with this tree
// and schedule. FailedPrecondition, naming all differences, if not.
absl::Status CheckGoesOn(const RunState& saved, const DatasetNode& root,
                         const Schedule& schedule,
                         const Journal& journal = Journal());

// Returns the text of RunStateAt(). If a function of a dataset throws, returns
// the error of ErrorOfNode().
absl::StatusOr<std::string> StateText(const DatasetNode& root,
                                      const Schedule& schedule, uint64_t step,
                                      const Journal& journal = Journal());

// Returns the same text, also if a function of a dataset throws: then it says
// nothing of the tree except the seed, as if lengths were not final, so that a
// run can go on from it all the same. Sets `warning` then.
std::string StateTextAnyway(const DatasetNode& root, const Schedule& schedule,
                            uint64_t step, const Journal& journal,
                            std::string* warning);

// Returns the step from which the run of a saved text goes on. Errors of
// ParseRunState() and CheckGoesOn(), and those of ErrorOfNode() if a function
// of a dataset throws.
absl::StatusOr<uint64_t> StepOfState(std::string_view text,
                                     const DatasetNode& root,
                                     const Schedule& schedule,
                                     const Journal& journal = Journal());

// Checks whether the run has a state before `step`: OutOfRange beyond the end
// of the schedule, or of the dataset if its length is final; errors of
// ErrorOfNode() if a function of a dataset throws.
absl::Status CheckHasState(const DatasetNode& root, const Schedule& schedule,
                           LastBatch last_batch, uint64_t step);

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_STATE_RUN_STATE_H_
