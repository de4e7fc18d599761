// SPDX-License-Identifier: Apache-2.0
// Reads tables of one value per component of a mixture, or per name.

#ifndef PONIENTE_CONFIG_PARSE_BY_COMPONENT_H_
#define PONIENTE_CONFIG_PARSE_BY_COMPONENT_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/parse/toml_reader.h"
#include "config/run_nodes.h"

namespace poniente::internal {

// Calls read(table, name) for each key of a table of one value per name. For
// names that are not known, `others` is the error, with the nearest names.
void ForEachName(
    TableReader& stage, std::string_view key,
    const std::vector<std::string>& known, std::string_view others,
    const std::function<void(TableReader&, const std::string&)>& read);

// Calls it for those of the components of `mixture`.
void ForEachComponent(
    TableReader& stage, std::string_view key, const Node& mixture,
    const std::function<void(TableReader&, const std::string&)>& read);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_PARSE_BY_COMPONENT_H_
