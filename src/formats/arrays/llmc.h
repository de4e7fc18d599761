// SPDX-License-Identifier: Apache-2.0
// llm.c's .bin: 256 integers of 4 bytes, then ids.

#ifndef PONIENTE_FORMATS_ARRAYS_LLMC_H_
#define PONIENTE_FORMATS_ARRAYS_LLMC_H_

#include "absl/status/statusor.h"
#include "formats/core/file_arrays.h"
#include "formats/core/input_bytes.h"

namespace poniente::internal {

absl::StatusOr<FileArray> ParseLlmc(const InputBytes& input);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_ARRAYS_LLMC_H_
