// SPDX-License-Identifier: Apache-2.0
// Checks how documents are to be packed.

#ifndef PONIENTE_INDEX_PACKING_PACKING_OPTIONS_H_
#define PONIENTE_INDEX_PACKING_PACKING_OPTIONS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "poniente/packing.h"

namespace poniente::internal {

// Most chunks whose windows are shuffled together.
inline constexpr uint32_t kMaxShuffleChunks = 1 << 16;

// Returns how many tokens at the end of each document are left out.
inline uint32_t EndTokens(const PackingOptions& options) {
  return options.end_of_document == EndOfDocument::kDrop ? 1 : 0;
}

// Returns InvalidArgument, with values and remedy, for options out of range, or
// that do not fit windows of so many tokens.
absl::Status CheckPackingOptions(uint32_t window_tokens,
                                 const PackingOptions& options);

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_PACKING_PACKING_OPTIONS_H_
