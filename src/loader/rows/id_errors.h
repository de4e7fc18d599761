// SPDX-License-Identifier: Apache-2.0
// The errors of token ids that are none.

#ifndef PONIENTE_LOADER_ROWS_ID_ERRORS_H_
#define PONIENTE_LOADER_ROWS_ID_ERRORS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "poniente/dataset_tree.h"

namespace poniente::internal {

// Returns the DataLoss error that an item that a dataset gave holds an id that
// is not below `limit`. Its remedy is the one for the item's origin: a store, a
// dataset of the program's own, or a function above them.
absl::Status NotAnIdOf(const TreeLeaf& leaf, uint64_t item, uint64_t id,
                       uint64_t limit);

// The same for an id that was read from the leaf's files. `id`: as it is
// stored, as an unsigned number.
absl::Status NotAnIdOfFile(const TreeLeaf& leaf, uint64_t item, uint64_t id,
                           uint64_t limit);

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_ROWS_ID_ERRORS_H_
