// SPDX-License-Identifier: Apache-2.0
// Converts token ids from the width in which they are stored to a batch's type.

#ifndef PONIENTE_LOADER_WIDEN_H_
#define PONIENTE_LOADER_WIDEN_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "poniente/token_window.h"

namespace poniente::internal {

// Writes from.size() / from_bytes ids to `to` and returns the greatest. Ids
// that `type` cannot hold lose their upper bits, so check the returned id
// before you use them. `from` need not be aligned. It may be the same memory as
// `to` if the widths are equal; otherwise the two must not overlap.
// REQUIRES: from_bytes is 1, 2, 4 or 8; `to` has room for the ids.
uint64_t Widen(std::span<const std::byte> from, uint32_t from_bytes,
               TokenType type, std::span<std::byte> to);

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_WIDEN_H_
