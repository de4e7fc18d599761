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

// InvalidArgument: nothing tells the type of the ids of `path`; which of the
// usual ones its size allows.
absl::Status NeedsType(const std::string& path, uint64_t bytes);

// What makes `type` doubtful, from the first bytes of a file.
std::optional<std::string> DoubtOfType(const std::string& path,
                                       std::span<const std::byte> head,
                                       StoredType type);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_ARRAYS_RAW_H_
