// SPDX-License-Identifier: Apache-2.0
// Checks a run that was described in C++.

#ifndef PONIENTE_CONFIG_CHECKED_RUN_H_
#define PONIENTE_CONFIG_CHECKED_RUN_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "config/parse/run_parser.h"
#include "config/run_checks.h"
#include "poniente/run.h"

namespace poniente::internal {

// Returns the run as a parser of its text would, with defaults and places
// resolved. InvalidArgument, with one line per mistake.
absl::StatusOr<ParsedRun> CheckedRun(const Run& run);

// Returns the error of a run with these mistakes. REQUIRES: there are some.
absl::Status AsError(const RunMistakes& mistakes);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_CHECKED_RUN_H_
