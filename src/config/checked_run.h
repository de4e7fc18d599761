// SPDX-License-Identifier: Apache-2.0
// Checks a run that was described in C++.

#ifndef PONIENTE_CONFIG_CHECKED_RUN_H_
#define PONIENTE_CONFIG_CHECKED_RUN_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "config/parse/run_parser.h"
#include "poniente/run.h"

namespace poniente::internal {

// Returns the run as a parser of its text would, with defaults and places
// resolved. InvalidArgument, with one line per mistake.
absl::StatusOr<ParsedRun> CheckedRun(const Run& run);

// Returns the run as TOML states it. InvalidArgument for mistakes that this
// text would not show, for integers that it cannot state, and for datasets of
// the program, "which " `cannot`: "which TOML cannot state; pack the data".
absl::StatusOr<std::string> StatedText(const Run& run, std::string_view cannot);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_CHECKED_RUN_H_
