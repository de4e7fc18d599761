// SPDX-License-Identifier: Apache-2.0
// How the items of one dataset are ordered within an epoch.

#ifndef PONIENTE_SHUFFLE_H_
#define PONIENTE_SHUFFLE_H_

#include <cstdint>
#include <optional>

namespace poniente {

enum class ShuffleKind : uint8_t {
  kNone,    // as stored
  kFull,    // one permutation of all items
  kEras,    // each run of era_items items permuted in itself
  kBlocks,  // chunks permuted, then the items within windows of chunks
};

// 1 MiB of two-byte tokens, 2 MiB of four-byte ones.
inline constexpr uint64_t kDefaultChunkTokens = uint64_t{1} << 19;

// A shuffle that reads its dataset a chunk at a time: consecutive items are cut
// into chunks, the chunks are permuted, and the items are permuted within each
// window of consecutive chunks of that order. A reader that keeps one window of
// chunks reads each chunk once per epoch. The ragged last chunk takes a random
// place: for its sake fewer items than one chunk holds leave their window.
struct BlockShuffleOptions {
  // Tokens per chunk, at least 1; a chunk holds as many whole items as fit, one
  // at least. Needs items of one length in tokens. Unset, without chunk_items:
  // kDefaultChunkTokens.
  std::optional<uint64_t> chunk_tokens = std::nullopt;
  // Items per chunk, at least 1; of a dataset with fewer, all of them. State
  // this or chunk_tokens, not both.
  std::optional<uint64_t> chunk_items = std::nullopt;
  // Chunks per window, at least 1; all there are if they are fewer. A sample
  // has about batch / window_chunks others of its chunk in its batch: make it
  // at least the global batch size in samples. Memory: one window of chunks,
  // two while one gives way to the next.
  uint64_t window_chunks = 1024;

  friend bool operator==(const BlockShuffleOptions&,
                         const BlockShuffleOptions&) = default;
};

struct ShuffleOptions {
  ShuffleKind kind = ShuffleKind::kFull;
  // kEras: items per era, at least 1.
  uint64_t era_items = 0;
  // kBlocks.
  BlockShuffleOptions blocks;

  static ShuffleOptions None() { return {ShuffleKind::kNone, 0, {}}; }
  static ShuffleOptions Full() { return {ShuffleKind::kFull, 0, {}}; }
  static ShuffleOptions Eras(uint64_t era_items) {
    return {ShuffleKind::kEras, era_items, {}};
  }
  static ShuffleOptions Blocks(const BlockShuffleOptions& blocks = {}) {
    return {ShuffleKind::kBlocks, 0, blocks};
  }

  friend bool operator==(const ShuffleOptions&,
                         const ShuffleOptions&) = default;
};

}  // namespace poniente

#endif  // PONIENTE_SHUFFLE_H_
