// SPDX-License-Identifier: Apache-2.0
// The numbers that stand for types in the headers of Megatron, Fairseq, their
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

// Returns the type of `code`, found at byte `offset` of `path`. InvalidArgument
// if it is not an integer type.
absl::StatusOr<StoredType> TypeOfCode(const std::string& path, uint64_t offset,
                                      uint64_t code);

// Returns InvalidArgument if options.dtype is stated and differs from the type
// that `path` holds.
absl::Status CheckStatedType(const std::string& path, StoredType type,
                             const TokenSourceOptions& options);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_CORE_TYPE_CODES_H_
