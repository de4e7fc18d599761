// SPDX-License-Identifier: Apache-2.0
// Parses the header of NumPy's array files, versions 1 to 3.

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
// Bytes of the magic, the version and the length of the header, at most.
inline constexpr uint64_t kNpyPrefixBytes = 12;
inline constexpr uint64_t kMaxNpyHeaderBytes = 65536;

// An array, as its header describes it.
struct NpyArray {
  char kind = 'f';     // 'f', 'i', 'u' or 'b'
  uint32_t width = 4;  // bytes per element: 1, 2, 4 or 8
  uint64_t count = 0;  // of elements in all rows, below 2^60
  uint64_t data_offset = 0;
};

// The shapes that a caller accepts.
enum class NpyShape {
  kList,        // one dimension, as NumPy writes it
  kListOrRows,  // one dimension, or rows one after another
};

// Returns whether the bytes begin with NumPy's magic.
bool IsNpy(std::span<const std::byte> bytes);

// Returns where the data begins, given the first kNpyPrefixBytes of the file,
// or all if it has fewer. DataLoss if the file ends within them;
// InvalidArgument for an unknown version or a header of more than
// kMaxNpyHeaderBytes. REQUIRES: IsNpy(bytes).
absl::StatusOr<uint64_t> NpyDataOffset(std::span<const std::byte> bytes);

// Parses all bytes before the data. InvalidArgument unless they describe a
// little-endian array of numbers or bools of that shape; messages do not name
// the path. REQUIRES: NpyDataOffset(bytes) is bytes.size().
absl::StatusOr<NpyArray> ParseNpy(std::span<const std::byte> bytes,
                                  NpyShape shape = NpyShape::kList);

// Fills `into` from byte `offset` on. Errors name the path.
using ReadBytesAt =
    std::function<absl::Status(uint64_t offset, std::span<std::byte> into)>;

// Returns the array of a NumPy file of `size` bytes; nullopt for any other
// file. DataLoss unless the file ends where its array does. Other errors are
// those of the functions above. All errors name the path.
absl::StatusOr<std::optional<NpyArray>> FindNpy(
    const std::string& path, uint64_t size, const ReadBytesAt& read,
    NpyShape shape = NpyShape::kList);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_SELECTION_FILES_NPY_H_
