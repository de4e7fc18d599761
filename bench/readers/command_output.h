// SPDX-License-Identifier: Apache-2.0
// Other programs, and this one in new processes.

#ifndef PONIENTE_BENCH_READERS_COMMAND_OUTPUT_H_
#define PONIENTE_BENCH_READERS_COMMAND_OUTPUT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace poniente::bench {

// `text` as one word of the shell.
std::string ShellQuoted(const std::string& text);

// What a command prints; Unavailable if it fails.
absl::StatusOr<std::string> OutputOf(const std::string& command);

// The number that this program prints in a new process under these arguments.
// One that fails, or prints anything else, ends this one.
double NumberFromSelf(const std::vector<std::string>& arguments);

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_READERS_COMMAND_OUTPUT_H_
