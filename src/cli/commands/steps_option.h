// SPDX-License-Identifier: Apache-2.0
// The option --steps a..b.

#ifndef PONIENTE_CLI_COMMANDS_STEPS_OPTION_H_
#define PONIENTE_CLI_COMMANDS_STEPS_OPTION_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "index/max_samples.h"
#include "poniente/trace.h"

namespace poniente::cli {

// Reads "a..b". InvalidArgument, without the command's name, for another text.
inline absl::StatusOr<StepRange> ParseSteps(const std::string& text) {
  const size_t dots = text.find("..");
  StepRange steps;
  if (dots != std::string::npos &&
      absl::SimpleAtoi(text.substr(0, dots), &steps.begin) &&
      absl::SimpleAtoi(text.substr(dots + 2), &steps.end) &&
      steps.begin < steps.end && steps.end <= internal::kMaxSamples) {
    return steps;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--steps must be a range a..b (a included, b not) with 0 <= a < b, got '",
      text, "'"));
}

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_COMMANDS_STEPS_OPTION_H_
