// SPDX-License-Identifier: Apache-2.0
// Parses the keys that modify a node: documents, order_documents, filter,
// order, slice, take, repeat, and those of shuffles.

#ifndef PONIENTE_CONFIG_PARSE_MODIFIER_PARSER_H_
#define PONIENTE_CONFIG_PARSE_MODIFIER_PARSER_H_

#include "config/parse/toml_reader.h"
#include "config/run_nodes.h"

namespace poniente::internal {

// Reads these keys. REQUIRES: the node's kind has been parsed.
void ParseModifiers(TableReader& node, Node* spec);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_PARSE_MODIFIER_PARSER_H_
