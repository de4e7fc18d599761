// SPDX-License-Identifier: Apache-2.0
// Whether documents end with the end-of-document id.

#ifndef PONIENTE_STORE_PACKING_DOCUMENT_ENDS_H_
#define PONIENTE_STORE_PACKING_DOCUMENT_ENDS_H_

#include "absl/status/status.h"
#include "poniente/selection.h"
#include "poniente/token_source.h"

namespace poniente::internal {

// Reads the last token of each document or, if `selection` is not null, of each
// selected one, on several threads. InvalidArgument if the source states no
// end-of-document id, or if a document that is not empty ends with another
// token: the first such document is named. Errors of the reads.
absl::Status CheckEnds(const TokenSource& source, const Selection* selection);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_PACKING_DOCUMENT_ENDS_H_
