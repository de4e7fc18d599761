// SPDX-License-Identifier: Apache-2.0
// Parses evaluations, and what is held out for them.

#ifndef PONIENTE_CONFIG_PARSE_EVAL_PARSER_H_
#define PONIENTE_CONFIG_PARSE_EVAL_PARSER_H_

#include <optional>
#include <vector>

#include "config/parse/node_parser.h"
#include "config/parse/toml_reader.h"
#include "config/run_nodes.h"

namespace poniente::internal {

// Parses [data.eval]. `nodes` knows the definitions of [data.nodes].
void ParseEvals(TableReader& data, NodeParser* nodes,
                std::vector<RunEval>* evals);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_PARSE_EVAL_PARSER_H_
