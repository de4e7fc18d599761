// SPDX-License-Identifier: Apache-2.0
// TOML text to a checked RunSpec.

#ifndef PONIENTE_CONFIG_PARSE_SPEC_PARSER_H_
#define PONIENTE_CONFIG_PARSE_SPEC_PARSER_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "config/spec.h"

namespace poniente::internal {

// Parses TOML text to a checked RunSpec. `file` stands for the text in
// messages. InvalidArgument with one line per error; of syntax errors only the
// first, where the parser stops.
absl::StatusOr<RunSpec> ParseSpec(std::string_view text,
                                  const std::string& file);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_PARSE_SPEC_PARSER_H_
