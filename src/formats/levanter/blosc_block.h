// SPDX-License-Identifier: Apache-2.0
// Frames of c-blosc (version 1), decoded by the system's library if the build
// has it.

#ifndef PONIENTE_FORMATS_LEVANTER_BLOSC_BLOCK_H_
#define PONIENTE_FORMATS_LEVANTER_BLOSC_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace poniente::internal {

// A frame is at most this many bytes longer than its content.
inline constexpr uint64_t kMaxBloscOverhead = 16;

// Returns Unimplemented, saying what to install, if this build cannot decode
// frames of the compressor ("lz4", "zstd", ...).
absl::Status CheckBloscDecodes(const std::string& compressor);

// Fills `decoded` from a frame. DataLoss, beginning with `where`, unless the
// frame holds exactly decoded.size() bytes. Memory: at most 3 decoded.size().
absl::Status DecodeBlosc(std::string_view where,
                         std::span<const std::byte> frame,
                         std::span<std::byte> decoded);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_LEVANTER_BLOSC_BLOCK_H_
