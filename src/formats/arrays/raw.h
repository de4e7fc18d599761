// SPDX-License-Identifier: Apache-2.0
// Ids without a header, as nanoGPT and many scripts write them.

#ifndef PONIENTE_FORMATS_ARRAYS_RAW_H_
#define PONIENTE_FORMATS_ARRAYS_RAW_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "poniente/token_source.h"

namespace poniente::internal {

// Returns the InvalidArgument error for a file whose type of ids is not stated.
// The message lists the usual types that the file's size allows.
absl::Status NeedsType(const std::string& path, uint64_t bytes);

// Returns why `type` is doubtful, judging by the first bytes of a file; nullopt
// if it is not.
std::optional<std::string> DoubtOfType(const std::string& path,
                                       std::span<const std::byte> head,
                                       StoredType type);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_ARRAYS_RAW_H_
