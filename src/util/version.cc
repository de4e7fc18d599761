// SPDX-License-Identifier: Apache-2.0
#include "poniente/version.h"

namespace poniente {

std::string_view Version() { return PONIENTE_VERSION; }

}  // namespace poniente
