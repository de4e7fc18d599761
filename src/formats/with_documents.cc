// SPDX-License-Identifier: Apache-2.0
#include "formats/with_documents.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "util/status_macros.h"

namespace poniente::internal {

absl::StatusOr<std::shared_ptr<const TokenSource>> WithDocuments(
    std::shared_ptr<const TokenSource> source,
    const TokenSourceOptions& options) {
  if (source->knows_documents()) return source;
  TokenSourceOptions with_delimiter = options;
  with_delimiter.delimiter = DelimiterOf(*source);
  if (!with_delimiter.delimiter) {
    return absl::FailedPreconditionError(absl::StrCat(
        "'", source->path(), "': ", Absl(source->format()),
        " does not say where documents end; state the id between them: "
        "--document-end ID or --document-begin ID"));
  }
  return OpenTokenSource(source->path(), with_delimiter);
}

absl::StatusOr<std::shared_ptr<const TokenSource>> OpenWithDocuments(
    const std::string& path, const TokenSourceOptions& options) {
  PONIENTE_ASSIGN_OR_RETURN(auto source, OpenTokenSource(path, options));
  return WithDocuments(std::move(source), options);
}

}  // namespace poniente::internal
