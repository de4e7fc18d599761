// SPDX-License-Identifier: Apache-2.0
// Parses a configuration.

#ifndef PONIENTE_CONFIG_PARSE_SPEC_PARSER_H_
#define PONIENTE_CONFIG_PARSE_SPEC_PARSER_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "config/spec.h"

namespace poniente::internal {

// Parses TOML text to a checked RunSpec. Messages use `file` as the name of the
// text. InvalidArgument, with one line per error; after an error of syntax the
// parser stops, so only the first of these is reported.
absl::StatusOr<RunSpec> ParseSpec(std::string_view text,
                                  const std::string& file);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_PARSE_SPEC_PARSER_H_
