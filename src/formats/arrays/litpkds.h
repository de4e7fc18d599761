// SPDX-License-Identifier: Apache-2.0
// Chunks of lit-llama's and TinyLlama's packed datasets: 24 bytes, then ids.

#ifndef PONIENTE_FORMATS_ARRAYS_LITPKDS_H_
#define PONIENTE_FORMATS_ARRAYS_LITPKDS_H_

#include "absl/status/statusor.h"
#include "formats/core/file_arrays.h"
#include "formats/core/input_bytes.h"

namespace poniente::internal {

absl::StatusOr<FileArray> ParseLitpkds(const InputBytes& input);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_ARRAYS_LITPKDS_H_
