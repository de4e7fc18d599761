// SPDX-License-Identifier: Apache-2.0
// Parses the table [runtime]: how a run is read and delivered. Never changes a
// token.

#ifndef PONIENTE_CONFIG_PARSE_RUNTIME_PARSER_H_
#define PONIENTE_CONFIG_PARSE_RUNTIME_PARSER_H_

#include "config/parse/toml_reader.h"
#include "config/run_nodes.h"

namespace poniente::internal {

void ParseRuntime(TableReader& runtime, Run* run);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_PARSE_RUNTIME_PARSER_H_
