// SPDX-License-Identifier: Apache-2.0
// Bytes of a stored token, where the store may not be there yet.

#ifndef PONIENTE_CONFIG_TREE_STORED_WIDTH_H_
#define PONIENTE_CONFIG_TREE_STORED_WIDTH_H_

#include <cstdint>

#include "poniente/config.h"
#include "poniente/token_window.h"

namespace poniente::internal {

// The store's own width; of a number of tokens what ids of the vocabulary need,
// 4 if that is not known (null). `source` may be null: nothing is known of it.
uint32_t StoredWidth(const ConfigSource* source, const Vocabulary* vocabulary);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_TREE_STORED_WIDTH_H_
