// SPDX-License-Identifier: Apache-2.0
// Opens the order of documents by length, or makes it.

#ifndef PONIENTE_STORE_PACKING_OPEN_LENGTH_ORDER_H_
#define PONIENTE_STORE_PACKING_OPEN_LENGTH_ORDER_H_

#include <string>

#include "absl/status/statusor.h"
#include "poniente/selection.h"
#include "poniente/token_source.h"
#include "store/packing/length_order.h"

namespace poniente::internal {

// Opens the order of all documents or, if `selection` is not null, of the
// selected ones. Takes it from `file` if that holds the order of these
// documents; else makes it, which reads the lengths of all documents twice,
// on several threads, and writes `file`. If `file` is empty, uses a file in
// the folder of a token store and, if that cannot be written or `selection`
// is not null, memory.
//
// Errors: FailedPrecondition if the documents are not known; InvalidArgument
// if the selection is of another number of documents; errors of reading the
// lengths and, if `file` is not empty, of writing it.
absl::StatusOr<LengthOrder> OpenLengthOrder(const TokenSource& source,
                                            const Selection* selection,
                                            const std::string& file);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_PACKING_OPEN_LENGTH_ORDER_H_
