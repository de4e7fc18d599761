// SPDX-License-Identifier: Apache-2.0
// Prints JSON for the commands.

#ifndef PONIENTE_CLI_SCREEN_JSON_H_
#define PONIENTE_CLI_SCREEN_JSON_H_

#include <iostream>
#include <nlohmann/json.hpp>

namespace poniente::cli {

using Json = nlohmann::ordered_json;

// Prints to standard output. Strings may hold any bytes: bytes that are not
// UTF-8 are replaced, and characters beyond ASCII are escaped, so that no
// terminal acts on them.
inline void PrintJson(const Json& json) {
  std::cout << json.dump(2, ' ', true, Json::error_handler_t::replace) << '\n';
}

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_SCREEN_JSON_H_
