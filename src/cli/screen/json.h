// SPDX-License-Identifier: Apache-2.0
// How the commands print JSON.

#ifndef PONIENTE_CLI_SCREEN_JSON_H_
#define PONIENTE_CLI_SCREEN_JSON_H_

#include <iostream>
#include <nlohmann/json.hpp>

namespace poniente::cli {

using Json = nlohmann::ordered_json;

// To standard output, whatever bytes the strings hold: those that are no UTF-8
// are replaced, and characters beyond ASCII are escaped (no terminal acts on
// them).
inline void PrintJson(const Json& json) {
  std::cout << json.dump(2, ' ', true, Json::error_handler_t::replace) << '\n';
}

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_SCREEN_JSON_H_
