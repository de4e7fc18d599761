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
#include "formats/core/compact_ends.h"
#include "formats/core/input_bytes.h"
#include "poniente/token_source.h"

namespace poniente::internal {

struct LitdataChunk {
  std::string name;
  uint64_t items = 0;
  // Of the file before compression; of its items alone if an early litdata
  // wrote it.
  uint64_t bytes = 0;
  // None if the chunk's first item is empty.
  std::optional<uint64_t> tokens;
};

struct LitdataIndex {
  StoredType type = StoredType::kI64;
  std::string compression;  // "zstd:4"; empty: none
  std::vector<LitdataChunk> chunks;
};

// Whether a text that begins so is a litdata index.
bool IsLitdataIndex(std::string_view head);

// Errors name `path`. InvalidArgument: no index, or of items that are no
// tokens; Unimplemented: encrypted, or compressed otherwise than by zstd.
absl::StatusOr<LitdataIndex> ParseLitdataIndex(const std::string& path,
                                               std::string_view text);

// u32 items | u32 offset[items + 1] | ids.
constexpr uint64_t LitdataHeadBytes(uint64_t items) { return 4 * (items + 2); }

struct LitdataItems {
  uint64_t tokens = 0;
  // False if the offsets say otherwise than the file's size, by multiples of
  // 4 GiB: an item is as large. Nothing was appended then.
  bool known = true;
};

// Reads the head of a chunk and appends the lengths of its items to `ends`.
// DataLoss if what it says, the index and the size disagree.
absl::StatusOr<LitdataItems> AppendLitdataItems(const InputBytes& bytes,
                                                const LitdataChunk& chunk,
                                                StoredType type,
                                                CompactEnds* ends);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_LITDATA_LITDATA_INDEX_H_
