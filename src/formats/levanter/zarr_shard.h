// SPDX-License-Identifier: Apache-2.0
// Reads a file of many chunks of a zarr array (codec sharding_indexed): the
// place of each chunk, and its items.

#ifndef PONIENTE_FORMATS_LEVANTER_ZARR_SHARD_H_
#define PONIENTE_FORMATS_LEVANTER_ZARR_SHARD_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/core/input_bytes.h"
#include "formats/levanter/zarr3.h"

namespace poniente::internal {

// The place of a chunk. 0 bytes: it is not stored, and its items are all 0.
struct StoredChunk {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// Returns the chunks of a file up to the last one that is stored. DataLoss,
// naming path and place, if the file is cut short, for a checksum mismatch, and
// if chunks lie outside the file or overlap.
absl::StatusOr<std::vector<StoredChunk>> ReadShardIndex(
    const InputBytes& file, const Zarr3Array& array);

// Fills `decoded`, which has chunk_bytes() bytes. DataLoss, beginning with
// `where`, if `stored` does not hold a chunk.
absl::Status DecodeChunk(const Zarr3Array& array, std::string_view where,
                         std::span<const std::byte> stored,
                         std::span<std::byte> decoded);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_LEVANTER_ZARR_SHARD_H_
