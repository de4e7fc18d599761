// SPDX-License-Identifier: Apache-2.0
// How many windows each chunk of packed documents has, and the file of these
// numbers (docs/packing.md).

#ifndef PONIENTE_STORE_PACKING_CHUNK_TABLE_H_
#define PONIENTE_STORE_PACKING_CHUNK_TABLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/packing.h"
#include "poniente/selection.h"
#include "poniente/token_source.h"

namespace poniente::internal {

struct ChunkTable {
  std::vector<uint64_t> windows;  // of each chunk
  PackingSummary summary;         // of all chunks together
};

// Opens the table of all documents or, if `selection` is not null, of the
// selected ones. Takes it from a file if there is one, as OpenLengthOrder()
// does; else makes it, which reads the lengths of all documents and packs each
// chunk, on several threads.
//
// Errors: those of CheckPackable(); InvalidArgument for options out of range,
//     too many chunks, or a document too long if they are refused; errors of
//     reading the lengths and, if options.index_file is stated, of writing it.
// REQUIRES: options.chunk_documents > 0.
absl::StatusOr<std::shared_ptr<const ChunkTable>> OpenChunkTable(
    const TokenSource& source, const Selection* selection,
    uint32_t window_tokens, const PackingOptions& options);

// Reads the file. Returns null if there is no such file, or if its key is
// another one. Errors: InvalidArgument if it is another kind of file, or of a
// later version; DataLoss if it is damaged.
absl::StatusOr<std::shared_ptr<const ChunkTable>> ReadChunkTable(
    const std::string& path, uint64_t key);

// Writes the table to an open, empty file.
absl::Status WriteChunkTable(int fd, const std::string& path, uint64_t key,
                             const ChunkTable& table);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_PACKING_CHUNK_TABLE_H_
