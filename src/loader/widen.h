// SPDX-License-Identifier: Apache-2.0
// Token ids from the width in which they are stored to a batch's type.

#ifndef PONIENTE_LOADER_WIDEN_H_
#define PONIENTE_LOADER_WIDEN_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "poniente/token_window.h"

namespace poniente::internal {

// Writes from.size() / from_bytes ids to `to` and gives the greatest. Ids that
// `type` cannot hold are cut off, so look at what is returned before use.
// `from` need not be aligned. It may be `to` where the widths are equal, else
// the two must not overlap.
// REQUIRES: from_bytes is 1, 2, 4 or 8; to.size() fits.
uint64_t Widen(std::span<const std::byte> from, uint32_t from_bytes,
               TokenType type, std::span<std::byte> to);

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_WIDEN_H_
