// SPDX-License-Identifier: Apache-2.0
// Finds the files at a path, and which format they have.

#ifndef PONIENTE_FORMATS_CHOOSE_FORMAT_H_
#define PONIENTE_FORMATS_CHOOSE_FORMAT_H_

#include <string>

#include "absl/status/statusor.h"
#include "formats/core/found_path.h"
#include "formats/core/token_format.h"
#include "poniente/open_token_source.h"

namespace poniente::internal {

// Examines the path. If nothing is there, it may be the prefix that stands for
// Megatron's two files: then examines their index. Errors are those of
// FindPath().
absl::StatusOr<FoundPath> FindFiles(const std::string& path);

// Returns the format that recognises the path; nullptr if none does.
const TokenFormat* RecognizedFormat(const FoundPath& found);

// Returns the stated format, or the one that recognises the path, or kRawFormat
// if a dtype is stated. InvalidArgument, saying what is there, if there is
// none.
absl::StatusOr<const TokenFormat*> ChooseFormat(
    const FoundPath& found, const TokenSourceOptions& options);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_CHOOSE_FORMAT_H_
