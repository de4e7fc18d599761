// SPDX-License-Identifier: Apache-2.0
// What a format's reader finds out about a path: where the ids lie, and how.

#ifndef PONIENTE_FORMATS_CORE_TOKEN_LAYOUT_H_
#define PONIENTE_FORMATS_CORE_TOKEN_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/core/document_table.h"
#include "poniente/open_token_source.h"
#include "poniente/token_source.h"

namespace poniente::internal {

// Ids that lie end to end: in a file at byte `offset`, or in a decoded block.
struct TokenRun {
  uint64_t place = 0;  // number of the file or block
  uint64_t offset = 0;
  uint64_t tokens = 0;
};

// Where tokens lie that are not plain arrays, shard by shard: rows, batches,
// compressed blocks.
//
// Thread safety: any number of threads. Calls may read, and block meanwhile,
// unless is_in_memory().
class TokenLocator {
 public:
  virtual ~TokenLocator() = default;

  // Returns whether Locate() never reads and never fails.
  virtual bool is_in_memory() const { return false; }

  // Appends the runs that hold the tokens, in order, none empty. Every run lies
  // within its file or block. REQUIRES: the tokens lie in the source.
  virtual absl::Status Locate(TokenRange tokens,
                              std::vector<TokenRun>* runs) const = 0;
};

// Decodes blocks, for ids that can only be read in decoded blocks. The callers
// keep decoded blocks for a while.
//
// Thread safety: any number of threads. Calls may read, and block meanwhile.
class BlockDecoder {
 public:
  // A block as it is stored.
  struct Stored {
    uint32_t file = 0;
    uint64_t offset = 0;
    uint64_t bytes = 0;  // 0: nothing is stored, the block is all zeros
  };

  virtual ~BlockDecoder() = default;

  virtual absl::StatusOr<Stored> Find(uint64_t block) const = 0;
  // Returns the size of a decoded block: the same for all blocks except shorter
  // ones at an end. At most 256 MiB.
  virtual uint64_t DecodedBytes(uint64_t block) const = 0;
  // Fills `decoded`, which has DecodedBytes(). DataLoss, naming path and place,
  // if `stored` does not decode to that many bytes.
  virtual absl::Status Decode(uint64_t block, std::span<const std::byte> stored,
                              std::span<std::byte> decoded) const = 0;
};

// Returns the most bytes that a compressor makes of `decoded_bytes`, with a
// margin. A block of more is damaged. The bound keeps a file from deciding how
// much memory its blocks take before they are decoded.
constexpr uint64_t MostStoredBytes(uint64_t decoded_bytes) {
  return decoded_bytes + decoded_bytes / 128 + 65536;
}

// A shard: what its own project calls a file or chunk of its dataset, and cuts
// windows from separately.
struct TokenShard {
  uint64_t tokens = 0;
  // Where the shard's array begins; ignored if TokenLayout::locator is set.
  uint32_t file = 0;
  uint64_t offset = 0;
};

struct TokenLayout {
  // Name in the table of formats.
  std::string format;
  StoredType type = StoredType::kU16;
  // The files that hold ids, then those of the loss mask.
  std::vector<std::string> files;
  // Bytes of everything that was read or will be.
  uint64_t bytes = 0;
  std::vector<TokenShard> shards;
  // Null: each shard is an array in its file or, with `decoder`, block.
  std::shared_ptr<const TokenLocator> locator;
  // Null: runs and shards lie in `files`; else runs lie in blocks.
  std::shared_ptr<const BlockDecoder> decoder;
  // Null: not known.
  std::shared_ptr<const DocumentTable> documents;
  // The arrays of the loss mask, as TokenSource has them; their files are in
  // `files`. Empty: no mask.
  std::vector<LossMaskArray> loss_mask;
  // How the files' own project cuts windows.
  WindowRule windows;
  // What the files state: the id between documents, and the tokenizer.
  std::optional<DocumentDelimiter> delimiter;
  std::string tokenizer;         // empty: not stated
  uint64_t vocabulary_size = 0;  // 0: not stated
  // What is unusual but accepted, one line each.
  std::vector<std::string> warnings;
  // Hash of what decides tokens besides the bytes of the arrays: row tables and
  // the like. Documents and shards are covered separately.
  uint64_t structure = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_CORE_TOKEN_LAYOUT_H_
