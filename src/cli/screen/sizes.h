// SPDX-License-Identifier: Apache-2.0
// Sizes in bytes, as people say them: 64KiB, 1 MiB, 4096.

#ifndef PONIENTE_CLI_SCREEN_SIZES_H_
#define PONIENTE_CLI_SCREEN_SIZES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace poniente::cli {

// "64 KiB" where that is exact, else as Bytes() in console.h.
std::string BinarySize(uint64_t bytes);

// Sizes with commas between them, each a whole number and, if it is not in
// bytes, KiB, MiB, GiB, TiB or kB, MB, GB, TB. InvalidArgument, naming the one,
// for anything else, and for sizes not from `min` to `max`.
absl::StatusOr<std::vector<uint64_t>> ParseSizes(std::string_view text,
                                                 uint64_t min, uint64_t max);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_SCREEN_SIZES_H_
