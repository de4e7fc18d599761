// SPDX-License-Identifier: Apache-2.0
// The number that stands for a type in the headers of Megatron, Fairseq, their
// predecessor and lit-llama.

#ifndef PONIENTE_FORMATS_CORE_TYPE_CODES_H_
#define PONIENTE_FORMATS_CORE_TYPE_CODES_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/open_token_source.h"
#include "poniente/token_source.h"

namespace poniente::internal {

// `code`, found at byte `offset` of `path`. InvalidArgument if it stands for no
// integers.
absl::StatusOr<StoredType> TypeOfCode(const std::string& path, uint64_t offset,
                                      uint64_t code);

// InvalidArgument if options.dtype is stated and another than `path` holds.
absl::Status CheckStatedType(const std::string& path, StoredType type,
                             const TokenSourceOptions& options);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_CORE_TYPE_CODES_H_
