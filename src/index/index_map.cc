// SPDX-License-Identifier: Apache-2.0
#include "poniente/index_map.h"

namespace poniente {

IndexMap::~IndexMap() = default;

}  // namespace poniente
