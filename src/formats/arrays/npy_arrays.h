// SPDX-License-Identifier: Apache-2.0
// Finds ids in NumPy's array files.

#ifndef PONIENTE_FORMATS_ARRAYS_NPY_ARRAYS_H_
#define PONIENTE_FORMATS_ARRAYS_NPY_ARRAYS_H_

#include "absl/status/statusor.h"
#include "formats/core/file_arrays.h"
#include "formats/core/found_path.h"
#include "formats/core/input_bytes.h"
#include "formats/core/token_layout.h"
#include "poniente/open_token_source.h"

namespace poniente::internal {

// Returns the ids of an array. If it has two dimensions, its rows follow each
// other.
// Errors: InvalidArgument if it is not a NumPy file, or not an array of
//     little-endian integers of one or two dimensions in C order; DataLoss if
//     sizes disagree.
absl::StatusOr<FileArray> FindNpyIds(const InputBytes& input);

// Lays out NumPy arrays of a loss mask: like kNpyFormat, but bools are read,
// too, as u8.
absl::StatusOr<TokenLayout> LayOutNpyNumbers(const FoundPath& found,
                                             const TokenSourceOptions& options);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_ARRAYS_NPY_ARRAYS_H_
