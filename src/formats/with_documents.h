// SPDX-License-Identifier: Apache-2.0
// Token files with their documents, also those that only an id separates.

#ifndef PONIENTE_FORMATS_WITH_DOCUMENTS_H_
#define PONIENTE_FORMATS_WITH_DOCUMENTS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "poniente/open_token_source.h"
#include "poniente/token_source.h"

namespace poniente::internal {

// `source`, opened with `options`, or the same with its documents: those that
// only an id separates are looked for. FailedPrecondition if no id is known.
absl::StatusOr<std::shared_ptr<const TokenSource>> WithDocuments(
    std::shared_ptr<const TokenSource> source,
    const TokenSourceOptions& options);

// What is at `path`, with its documents.
absl::StatusOr<std::shared_ptr<const TokenSource>> OpenWithDocuments(
    const std::string& path, const TokenSourceOptions& options);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_WITH_DOCUMENTS_H_
