// SPDX-License-Identifier: Apache-2.0
// What never changes a token, as keys of TOML.

#ifndef PONIENTE_CONFIG_WRITE_RUNTIME_WRITER_H_
#define PONIENTE_CONFIG_WRITE_RUNTIME_WRITER_H_

#include <string>
#include <vector>

#include "config/write/toml_text.h"
#include "poniente/run.h"

namespace poniente::internal {

// Returns the keys of [runtime], with `catalogs` in place of the run's.
// `all`: also those that have their defaults.
Keys RuntimeKeys(const Run& run, const std::vector<std::string>& catalogs,
                 bool all);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_WRITE_RUNTIME_WRITER_H_
