// SPDX-License-Identifier: Apache-2.0
// Files that are compressed as a whole by zstd.

#ifndef PONIENTE_FORMATS_CORE_ZSTD_BLOCK_H_
#define PONIENTE_FORMATS_CORE_ZSTD_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/core/input_bytes.h"

namespace poniente::internal {

// Returns Unimplemented, naming `path` and the package to build with, if this
// build is without zstd.
absl::Status CheckZstd(const std::string& path);

// Fills `decoded` from all of `stored`, one frame or several. DataLoss, naming
// `path`, unless they hold exactly that many bytes.
absl::Status DecodeZstd(const std::string& path,
                        std::span<const std::byte> stored,
                        std::span<std::byte> decoded);

// Returns the decoded size that the head of the first frame states, if it does.
std::optional<uint64_t> ZstdDecodedBytes(std::span<const std::byte> head);

// Opens a file as its decoded bytes; `size` is how many there should be. Reads
// in ascending order decode the file once; a read that goes back starts again.
// Memory: what the frame asks for; InvalidArgument if that is above 64 MiB.
// REQUIRES: `input` outlives the result; CheckZstd() is OK.
absl::StatusOr<std::unique_ptr<InputBytes>> OpenZstdBytes(
    const InputBytes& input, uint64_t size);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_CORE_ZSTD_BLOCK_H_
