// SPDX-License-Identifier: Apache-2.0
// Ids in NumPy's array files.

#ifndef PONIENTE_FORMATS_ARRAYS_NPY_ARRAYS_H_
#define PONIENTE_FORMATS_ARRAYS_NPY_ARRAYS_H_

#include "absl/status/statusor.h"
#include "formats/core/file_arrays.h"
#include "formats/core/input_bytes.h"

namespace poniente::internal {

// Rows of an array of two dimensions follow each other.
// Errors: InvalidArgument for what is no NumPy file, or one of anything but
//     little-endian integers of one or two dimensions in C order; DataLoss
//     where sizes disagree.
absl::StatusOr<FileArray> FindNpyIds(const InputBytes& input);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_ARRAYS_NPY_ARRAYS_H_
