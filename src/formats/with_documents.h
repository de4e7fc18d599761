// SPDX-License-Identifier: Apache-2.0
// Opens token files together with their documents, even if only an id separates
// the documents.

#ifndef PONIENTE_FORMATS_WITH_DOCUMENTS_H_
#define PONIENTE_FORMATS_WITH_DOCUMENTS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "poniente/open_token_source.h"
#include "poniente/token_source.h"

namespace poniente::internal {

// Returns `source`, which was opened with `options`, if it knows its documents.
// Otherwise opens it again and finds the documents by the id that separates
// them. FailedPrecondition if that id is not known.
absl::StatusOr<std::shared_ptr<const TokenSource>> WithDocuments(
    std::shared_ptr<const TokenSource> source,
    const TokenSourceOptions& options);

// Opens the source at `path` and does the same.
absl::StatusOr<std::shared_ptr<const TokenSource>> OpenWithDocuments(
    const std::string& path, const TokenSourceOptions& options);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_WITH_DOCUMENTS_H_
