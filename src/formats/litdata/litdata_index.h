// SPDX-License-Identifier: Apache-2.0
// The index.json of litdata's chunks, and the table of a chunk.

#ifndef PONIENTE_FORMATS_LITDATA_LITDATA_INDEX_H_
#define PONIENTE_FORMATS_LITDATA_LITDATA_INDEX_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/core/input_bytes.h"
#include "poniente/token_source.h"
#include "store/read/compact_ends.h"

namespace poniente::internal {

struct LitdataChunk {
  std::string name;
  uint64_t items = 0;
  // Size of the file before compression. Early versions of litdata wrote the
  // size of the items alone.
  uint64_t bytes = 0;
  // nullopt if the chunk's first item is empty.
  std::optional<uint64_t> tokens;
};

struct LitdataIndex {
  StoredType type = StoredType::kI64;
  std::string compression;  // "zstd:4"; empty: none
  std::vector<LitdataChunk> chunks;
};

// Returns whether a text that begins with `head` is a litdata index.
bool IsLitdataIndex(std::string_view head);

// Parses an index. Errors name `path`. InvalidArgument: not an index, or the
// items are not tokens; Unimplemented: encrypted, or compressed by something
// other than zstd.
absl::StatusOr<LitdataIndex> ParseLitdataIndex(const std::string& path,
                                               std::string_view text);

// Returns where the ids of a chunk begin. A chunk is u32 items | u32
// offset[items + 1] | ids.
constexpr uint64_t LitdataHeadBytes(uint64_t items) { return 4 * (items + 2); }

struct LitdataItems {
  uint64_t tokens = 0;
  // False if the offsets and the file's size differ by a multiple of 4 GiB,
  // which means that an item is that large. Nothing was appended then.
  bool known = true;
};

// Reads the head of a chunk and appends the lengths of its items to `ends`.
// DataLoss if the head, the index and the size disagree.
absl::StatusOr<LitdataItems> AppendLitdataItems(const InputBytes& bytes,
                                                const LitdataChunk& chunk,
                                                StoredType type,
                                                CompactEnds* ends);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_LITDATA_LITDATA_INDEX_H_
