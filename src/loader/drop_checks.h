// SPDX-License-Identifier: Apache-2.0
// Whether a change that drops or masks documents reaches all that reads them.

#ifndef PONIENTE_LOADER_DROP_CHECKS_H_
#define PONIENTE_LOADER_DROP_CHECKS_H_

#include <string>

#include "absl/status/status.h"
#include "poniente/dataset_tree.h"
#include "poniente/journal.h"

namespace poniente::internal {

// Returns InvalidArgument, naming the parts, if `change` drops something from a
// component that a change of the journal has split: nothing reads it any more,
// its parts have its documents. Other changes are OK.
absl::Status CheckIsNotSplit(const RunChange& change, const Journal& journal);

// Returns a warning if other sources of the run read the same data as the one
// from which `entry`, the last of the journal, drops something, and it was not
// dropped from them; "" if there are none.
std::string WarningOfOthers(const JournalEntry& entry, const Journal& journal,
                            const DatasetTree& tree);

// Returns a warning if `entry` drops documents, not many, of which the run
// reads nothing; else "". May read the ends of documents, and block meanwhile.
std::string WarningOfNothing(const JournalEntry& entry,
                             const DatasetTree& tree);

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_DROP_CHECKS_H_
