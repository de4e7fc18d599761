// SPDX-License-Identifier: Apache-2.0
// Opens the order of documents by length, or makes it.

#ifndef PONIENTE_STORE_PACKING_OPEN_LENGTH_ORDER_H_
#define PONIENTE_STORE_PACKING_OPEN_LENGTH_ORDER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/selection.h"
#include "poniente/token_source.h"
#include "store/packing/length_order.h"

namespace poniente::internal {

// Returns an error if the documents of the source, or the selected ones, cannot
// be packed: FailedPrecondition if they are not known; InvalidArgument if the
// selection is of another number of documents.
absl::Status CheckPackable(const TokenSource& source,
                           const Selection* selection);

// Returns the path of a file that helps to pack these documents: `named` or, if
// that is empty, a file of the name `usual` in the folder of a token store.
// Empty if there is no such folder, or only some documents are selected.
std::string PackingFile(const TokenSource& source, const Selection* selection,
                        const std::string& named, std::string_view usual);

// Opens the order of all documents or, if `selection` is not null, of the
// selected ones. Takes it from `file` if that holds the order of these
// documents; else makes it, which reads the lengths of all documents twice,
// on several threads, and writes `file`. If `file` is empty, uses a file in
// the folder of a token store and, if that cannot be written or `selection`
// is not null, memory.
//
// `end_tokens` tokens at the end of each document are left out, 0 or 1; if 1,
// making the order calls CheckEnds() first.
//
// Errors: those of CheckPackable(); errors of reading the lengths and, if
// `file` is not empty, of writing it.
absl::StatusOr<LengthOrder> OpenLengthOrder(const TokenSource& source,
                                            const Selection* selection,
                                            const std::string& file,
                                            uint32_t end_tokens = 0);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_PACKING_OPEN_LENGTH_ORDER_H_
