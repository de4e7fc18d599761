// SPDX-License-Identifier: Apache-2.0
// Parses the stages of a mixture below the root.

#ifndef PONIENTE_CONFIG_PARSE_NESTED_STAGE_PARSER_H_
#define PONIENTE_CONFIG_PARSE_NESTED_STAGE_PARSER_H_

#include "config/parse/toml_reader.h"
#include "config/run_nodes.h"

namespace poniente::internal {

// Reads `stages` of a nested mixture. `share_of` is what shares of the run are
// shares of. A stage that starts at the run's start is not kept: its weights
// and thresholds become the components' own.
void ParseMixtureStages(TableReader& node, ShareOf share_of, Node* mixture);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_PARSE_NESTED_STAGE_PARSER_H_
