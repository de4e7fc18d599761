// SPDX-License-Identifier: Apache-2.0
// A zarr array of one dimension in a folder: its metadata, and the places of
// its stored chunks.

#ifndef PONIENTE_FORMATS_LEVANTER_ZARR_ARRAY_H_
#define PONIENTE_FORMATS_LEVANTER_ZARR_ARRAY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/levanter/zarr3.h"
#include "formats/levanter/zarr_shard.h"

namespace poniente::internal {

// Keeps no file open. Memory: 16 bytes per chunk.
//
// Thread safety: any number of threads.
class ZarrArray {
 public:
  struct File {
    uint64_t number = 0;  // c/<number>
    std::string path;
    uint64_t bytes = 0;
    std::vector<StoredChunk> chunks;
  };

  // Reads zarr.json and the index of each file. Unimplemented if its chunks
  // cannot be decoded; else errors of ParseZarr3() and ReadShardIndex().
  static absl::StatusOr<ZarrArray> Open(const std::string& folder);

  const std::string& folder() const { return folder_; }
  const Zarr3Array& metadata() const { return metadata_; }
  // Returns the files that exist, sorted by number.
  const std::vector<File>& files() const { return files_; }
  // Returns the bytes of zarr.json and the files.
  uint64_t bytes() const { return bytes_; }

  // Drops all files except those of the first `chunks` chunks.
  void CutTo(uint64_t chunks);
  // Returns how many of the first `chunks` chunks are stored.
  uint64_t CountStored(uint64_t chunks) const;

  // Returns the file of chunk `chunk`; null if it does not exist.
  const File* FileOf(uint64_t chunk) const;
  StoredChunk ChunkIn(const File& file, uint64_t chunk) const;
  // Returns "'path': chunk n at byte b", for messages. REQUIRES: FileOf(chunk)
  // is not null.
  std::string Where(uint64_t chunk) const;

 private:
  ZarrArray() = default;

  std::string folder_;
  Zarr3Array metadata_;
  std::vector<File> files_;
  uint64_t bytes_ = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_LEVANTER_ZARR_ARRAY_H_
