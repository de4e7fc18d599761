// SPDX-License-Identifier: Apache-2.0
// Parses and prints sizes in bytes: 64KiB, 1 MiB, 4096.

#ifndef PONIENTE_CLI_SCREEN_SIZES_H_
#define PONIENTE_CLI_SCREEN_SIZES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace poniente::cli {

// Returns "64 KiB" if that is exact, else the text of Bytes() in console.h.
std::string BinarySize(uint64_t bytes);

// Parses sizes separated by commas: whole numbers of bytes, or with a unit
// (KiB, MiB, GiB, TiB, kB, MB, GB, TB). InvalidArgument, naming the wrong size,
// for anything else and for sizes not from `min` to `max`.
absl::StatusOr<std::vector<uint64_t>> ParseSizes(std::string_view text,
                                                 uint64_t min, uint64_t max);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_SCREEN_SIZES_H_
