// SPDX-License-Identifier: Apache-2.0
// The head of NumPy's array files, versions 1 to 3.

#ifndef PONIENTE_STORE_NPY_H_
#define PONIENTE_STORE_NPY_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"

namespace poniente::internal {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";
// Of magic, version and the length of the rest.
inline constexpr uint64_t kNpyPrefixBytes = 12;
inline constexpr uint64_t kMaxNpyHeaderBytes = 65536;

struct NpyArray {
  char kind = 'f';     // 'f', 'i', 'u' or 'b'
  uint32_t width = 4;  // bytes per element: 1, 2, 4 or 8
  uint64_t count = 0;
  uint64_t data_offset = 0;
};

bool IsNpy(std::span<const std::byte> bytes);

// Where the data begins, from the first kNpyPrefixBytes or all if there are
// fewer. DataLoss if they end early, InvalidArgument for an unknown version.
// REQUIRES: IsNpy(bytes).
absl::StatusOr<uint64_t> NpyDataOffset(std::span<const std::byte> bytes);

// From all bytes before the data. InvalidArgument for what is not a
// one-dimensional little-endian array of numbers in C order; messages do not
// name the path. REQUIRES: NpyDataOffset(bytes) is bytes.size().
absl::StatusOr<NpyArray> ParseNpy(std::span<const std::byte> bytes);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_NPY_H_
