// SPDX-License-Identifier: Apache-2.0
// Exit codes, one-line errors, and numbers for people.

#ifndef PONIENTE_CLI_SCREEN_CONSOLE_H_
#define PONIENTE_CLI_SCREEN_CONSOLE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "util/one_line.h"

namespace poniente::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitError = 1;  // the work could not be done
inline constexpr int kExitUsage = 2;  // the command line is wrong

// Prints "poniente: message" as one line and returns the exit code.
int Fail(const absl::Status& status);
int FailUsage(std::string_view message);
// Does the same for errors of a configuration, of which there may be several:
// one line each.
int FailConfig(const absl::Status& status);
void Warn(std::string_view message);

using internal::OneLine;

// Returns "1,234,567".
std::string Count(uint64_t number);
// Returns "12.3 MB", in powers of ten.
std::string Bytes(double bytes);
// Returns "1 file", "2 files", ...
std::string Plural(uint64_t number, std::string_view thing);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_SCREEN_CONSOLE_H_
