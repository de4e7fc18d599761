// SPDX-License-Identifier: Apache-2.0
// Whether steps of a run read what its journal has dropped.

#ifndef PONIENTE_ANALYSIS_TRACE_DROP_PROOF_H_
#define PONIENTE_ANALYSIS_TRACE_DROP_PROOF_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/journal.h"
#include "poniente/run_trace.h"
#include "poniente/trace.h"

namespace poniente::internal {

// A sample that reads something behind the change that drops it.
struct DroppedReading {
  uint64_t change = 0;  // number of the entry
  // False in a block of a mixture below the root that had begun: there the
  // change holds from the next one on.
  bool is_in_force = true;
  SampleOrigin origin;
};

struct DropProof {
  StepRange steps;       // that were looked at
  uint64_t samples = 0;  // of these steps
  uint64_t changes = 0;  // before their end, that drop something
  uint64_t items = 0;    // of sources, that these changes drop
  uint64_t masked = 0;   // documents that they mask
  // The first of them; none if the proof holds.
  std::vector<DroppedReading> readings;
};

// Resolves every sample of the steps, and compares its item with those that the
// journal's entries before it drop: from its source, or from a component that
// the source is a part of. Which items hold a dropped document is asked of the
// source: nothing is taken from the tree without them. Of samples with masked
// documents, the tokens are read, and must be padding there.
//
// Complexity: O(samples log items).
// Errors: FailedPrecondition if no change before the end of the steps drops
//     anything; OutOfRange if the
//     run does not reach the first of the steps; errors of reads.
absl::StatusOr<DropProof> ProveDropped(const Journal& journal,
                                       const TracedRun& run, StepRange steps);

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_TRACE_DROP_PROOF_H_
