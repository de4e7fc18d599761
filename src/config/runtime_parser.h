// SPDX-License-Identifier: Apache-2.0
// The table [runtime]: how a run is read and delivered. Never changes a token.

#ifndef PONIENTE_CONFIG_RUNTIME_PARSER_H_
#define PONIENTE_CONFIG_RUNTIME_PARSER_H_

#include "config/spec.h"
#include "config/toml_reader.h"

namespace poniente::internal {

void ParseRuntime(TableReader& runtime, RunSpec* run);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_RUNTIME_PARSER_H_
