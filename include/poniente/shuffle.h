// SPDX-License-Identifier: Apache-2.0
// How the items of one dataset are ordered within an epoch.

#ifndef PONIENTE_SHUFFLE_H_
#define PONIENTE_SHUFFLE_H_

#include <cstdint>
#include <optional>

namespace poniente {

// The kinds of order that the items of a dataset can have in an epoch.
enum class ShuffleKind : uint8_t {
  kNone,    // as stored
  kFull,    // one permutation of all items
  kEras,    // each run of era_items items permuted within itself
  kBlocks,  // chunks permuted, then the items within windows of chunks
};

// 1 MiB of two-byte tokens, 2 MiB of four-byte tokens.
inline constexpr uint64_t kDefaultChunkTokens = uint64_t{1} << 19;

// A shuffle that reads its dataset chunk by chunk. Consecutive items form
// chunks, the chunks are permuted, and the items are permuted within each
// window of consecutive chunks of that order. A reader that keeps one window of
// chunks in memory reads each chunk once per epoch.
//
// The last chunk may be shorter and has a random place among the others. For
// this reason a few items, fewer than a chunk has, lie outside of their window.
struct BlockShuffleOptions {
  // Tokens per chunk, at least 1; a chunk has as many whole items as fit, and
  // at least one. Needs items of one length. If this and chunk_items are unset:
  // kDefaultChunkTokens.
  std::optional<uint64_t> chunk_tokens = std::nullopt;
  // Items per chunk, at least 1; a dataset with fewer items is one chunk. State
  // either this or chunk_tokens.
  std::optional<uint64_t> chunk_items = std::nullopt;
  // Chunks per window, at least 1; a dataset with fewer chunks is one window. A
  // batch has about batch size / window_chunks samples of each chunk in its
  // window, so make this at least the global batch size in samples. The reader
  // needs memory for one window of chunks, and for two at the transition to the
  // next. Default: 1024.
  uint64_t window_chunks = 1024;

  friend bool operator==(const BlockShuffleOptions&,
                         const BlockShuffleOptions&) = default;
};

// The order of a dataset's items in an epoch.
struct ShuffleOptions {
  ShuffleKind kind = ShuffleKind::kFull;
  // Items per era, at least 1; only for kEras.
  uint64_t era_items = 0;
  // Sizes of chunks and windows; only for kBlocks.
  BlockShuffleOptions blocks = {};

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
