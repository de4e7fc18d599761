// SPDX-License-Identifier: Apache-2.0
// What a zarr.json says of an array, as far as it is read: version 3 of the
// format, one dimension, integers, the codec sharding_indexed.

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
  // In items: of the array (some writers claim much and use little of it), of
  // each file, of each chunk in a file.
  uint64_t length = 0;
  uint64_t file_length = 0;
  uint64_t chunk_length = 0;
  // The compressor in blosc's frames; empty: chunks are not compressed.
  std::string blosc;
  // Of the index in each file.
  bool index_is_first = false;
  bool index_has_checksum = false;

  uint64_t chunks_per_file() const { return file_length / chunk_length; }
  uint64_t chunk_bytes() const { return chunk_length * StoredTypeBytes(type); }
  uint64_t index_bytes() const {
    return chunks_per_file() * 16 + (index_has_checksum ? 4 : 0);
  }
};

// Chunks of more bytes are refused.
inline constexpr uint64_t kMaxZarrChunkBytes = uint64_t{8} << 20;

// `path` is for messages. InvalidArgument: an array that is not read, with the
// key that says so. DataLoss: it contradicts itself.
absl::StatusOr<Zarr3Array> ParseZarr3(const std::string& path,
                                      std::string_view text);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_LEVANTER_ZARR3_H_
