// SPDX-License-Identifier: Apache-2.0
#include "config/tree/stored_width.h"

#include "poniente/token_source.h"

namespace poniente::internal {

uint32_t StoredWidth(const ConfigSource* source, const Vocabulary* vocabulary) {
  if (source != nullptr && source->data != nullptr) {
    return StoredTypeBytes(source->data->stored_type());
  }
  if (vocabulary == nullptr || vocabulary->size > uint64_t{1} << 16) return 4;
  return vocabulary->size > uint64_t{1} << 8 ? 2 : 1;
}

}  // namespace poniente::internal
