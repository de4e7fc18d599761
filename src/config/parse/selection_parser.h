// SPDX-License-Identifier: Apache-2.0
// Parses the keys that choose and order items and documents: filter, documents,
// order, order_documents.

#ifndef PONIENTE_CONFIG_PARSE_SELECTION_PARSER_H_
#define PONIENTE_CONFIG_PARSE_SELECTION_PARSER_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "config/parse/toml_reader.h"
#include "config/run_nodes.h"

namespace poniente::internal {

// Returns the one of `keys` that stands in the table, by number; adds an error
// if none does, or several.
std::optional<size_t> OnlyOne(TableReader& table,
                              std::span<const std::string_view> keys);

// Each reads a key of a node; nullopt if the node does not state it.
std::optional<NodeFilter> ParseFilter(TableReader& node, std::string_view key);
std::optional<NodeOrder> ParseOrder(TableReader& node, std::string_view key);
// Reads order_documents. REQUIRES: the node's kind, and how its documents are
// packed, have been parsed.
std::optional<NodeOrder> ParseDocumentOrder(TableReader& node,
                                            const Node& spec);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_PARSE_SELECTION_PARSER_H_
