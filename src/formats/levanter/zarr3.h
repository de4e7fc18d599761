// SPDX-License-Identifier: Apache-2.0
// Parses the zarr.json of an array. Supported are version 3 of the format, one
// dimension, integers, and the codec sharding_indexed.

#ifndef PONIENTE_FORMATS_LEVANTER_ZARR3_H_
#define PONIENTE_FORMATS_LEVANTER_ZARR3_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "poniente/token_source.h"

namespace poniente::internal {

struct Zarr3Array {
  StoredType type = StoredType::kI32;
  // Lengths in items: of the array (some writers state much more than they
  // use), of each file, and of each chunk in a file.
  uint64_t length = 0;
  uint64_t file_length = 0;
  uint64_t chunk_length = 0;
  // The compressor inside blosc's frames; empty if chunks are not compressed.
  std::string blosc;
  // The place of the index in each file, and whether it has a checksum.
  bool index_is_first = false;
  bool index_has_checksum = false;

  uint64_t chunks_per_file() const { return file_length / chunk_length; }
  uint64_t chunk_bytes() const { return chunk_length * StoredTypeBytes(type); }
  uint64_t index_bytes() const {
    return chunks_per_file() * 16 + (index_has_checksum ? 4 : 0);
  }
};

// Larger chunks are refused.
inline constexpr uint64_t kMaxZarrChunkBytes = uint64_t{8} << 20;

// `path` is for messages. InvalidArgument: the array is not supported; the
// message names the key that says so. DataLoss: it contradicts itself.
absl::StatusOr<Zarr3Array> ParseZarr3(const std::string& path,
                                      std::string_view text);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_LEVANTER_ZARR3_H_
