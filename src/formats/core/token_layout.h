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

// Where tokens lie that are no plain arrays, shard by shard: rows, batches,
// compressed blocks.
//
// Thread safety: any number of threads. May read, and block for it.
class TokenPlaces {
 public:
  virtual ~TokenPlaces() = default;

  // Appends runs that hold the tokens, in order, none empty. Every run lies in
  // its file or block. REQUIRES: the tokens lie in the source.
  virtual absl::Status Locate(TokenRange tokens,
                              std::vector<TokenRun>* runs) const = 0;
};

// Blocks that must be decoded before ids can be read in them. What is decoded
// is kept for a while by those who call.
//
// Thread safety: any number of threads. May read, and block for it.
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
  // The same for every block but for those that are shorter at the end of
  // something. At most 256 MiB.
  virtual uint64_t DecodedBytes(uint64_t block) const = 0;
  // Fills `decoded`, of DecodedBytes(). DataLoss, naming path and place, if
  // `stored` is not what decodes to so many bytes.
  virtual absl::Status Decode(uint64_t block, std::span<const std::byte> stored,
                              std::span<std::byte> decoded) const = 0;
};

// A shard: what its own project calls a file or chunk of its dataset, and cuts
// windows from by itself.
struct TokenShard {
  uint64_t tokens = 0;
  // Where its array begins; ignored with `places`.
  uint32_t file = 0;
  uint64_t offset = 0;
};

struct TokenLayout {
  // As the table of formats calls it.
  std::string format;
  StoredType type = StoredType::kU16;
  // Those that hold ids.
  std::vector<std::string> files;
  // Of everything that was read or will be.
  uint64_t bytes = 0;
  std::vector<TokenShard> shards;
  // Null: each shard is an array in its file or, with `decoder`, block.
  std::shared_ptr<const TokenPlaces> places;
  // Null: runs and shards lie in `files`; else runs lie in blocks.
  std::shared_ptr<const BlockDecoder> decoder;
  // Null: not known.
  std::shared_ptr<const DocumentTable> documents;
  // How its own project cuts windows.
  WindowRule windows;
  // What the files say of it.
  std::optional<DocumentDelimiter> delimiter;
  std::string tokenizer;         // empty: nothing
  uint64_t vocabulary_size = 0;  // 0: nothing
  // Read on, but somebody should look at it.
  std::vector<std::string> warnings;
  // Of what decides tokens beside the bytes of the arrays: row tables and the
  // like. Documents and shards are covered without it.
  uint64_t structure = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_CORE_TOKEN_LAYOUT_H_
