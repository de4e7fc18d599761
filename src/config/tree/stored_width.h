// SPDX-License-Identifier: Apache-2.0
// Bytes of a stored token, also for a store that does not exist yet.

#ifndef PONIENTE_CONFIG_TREE_STORED_WIDTH_H_
#define PONIENTE_CONFIG_TREE_STORED_WIDTH_H_

#include <cstdint>

#include "poniente/config.h"
#include "poniente/token_window.h"

namespace poniente::internal {

// Returns the width of the source's ids. If there is no data (`source` is null
// or only a number of tokens), returns the bytes that the ids of the vocabulary
// need, or 4 if the vocabulary is not known (null).
uint32_t StoredWidth(const ConfigSource* source, const Vocabulary* vocabulary);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_TREE_STORED_WIDTH_H_
