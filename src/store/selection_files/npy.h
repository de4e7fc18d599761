// SPDX-License-Identifier: Apache-2.0
// The head of NumPy's array files, versions 1 to 3.

#ifndef PONIENTE_STORE_SELECTION_FILES_NPY_H_
#define PONIENTE_STORE_SELECTION_FILES_NPY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace poniente::internal {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";
// Of magic, version and the length of the rest.
inline constexpr uint64_t kNpyPrefixBytes = 12;
inline constexpr uint64_t kMaxNpyHeaderBytes = 65536;

struct NpyArray {
  char kind = 'f';     // 'f', 'i', 'u' or 'b'
  uint32_t width = 4;  // bytes per element: 1, 2, 4 or 8
  uint64_t count = 0;  // elements of all rows, below 2^60
  uint64_t data_offset = 0;
};

enum class NpyShape {
  kList,        // one dimension, as NumPy writes it
  kListOrRows,  // one dimension, or rows one after another
};

bool IsNpy(std::span<const std::byte> bytes);

// Where the data begins, from the first kNpyPrefixBytes or all if there are
// fewer. DataLoss if they end early, InvalidArgument for an unknown version.
// REQUIRES: IsNpy(bytes).
absl::StatusOr<uint64_t> NpyDataOffset(std::span<const std::byte> bytes);

// From all bytes before the data. InvalidArgument for what is not a
// little-endian array of numbers of that shape; messages do not name the path.
// REQUIRES: NpyDataOffset(bytes) is bytes.size().
absl::StatusOr<NpyArray> ParseNpy(std::span<const std::byte> bytes,
                                  NpyShape shape = NpyShape::kList);

// Fills `into` from `offset`; errors name the path.
using ReadBytesAt =
    std::function<absl::Status(uint64_t offset, std::span<std::byte> into)>;

// The array of a NumPy file of `size` bytes, nullopt for any other file.
// DataLoss, naming the path, unless the file ends with its array.
absl::StatusOr<std::optional<NpyArray>> FindNpy(
    const std::string& path, uint64_t size, const ReadBytesAt& read,
    NpyShape shape = NpyShape::kList);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_SELECTION_FILES_NPY_H_
