// SPDX-License-Identifier: Apache-2.0
// Batches of packed documents as a plain loop makes them.

#ifndef PONIENTE_BENCH_READERS_PLAIN_PACKING_H_
#define PONIENTE_BENCH_READERS_PLAIN_PACKING_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace poniente::bench {

// Tokens [begin, begin + length) of a store, or padding.
struct PlainPiece {
  uint64_t begin = 0;
  uint32_t length = 0;
  bool is_padding = false;
};

// Windows as lists of pieces, end to end.
struct PlainWindows {
  std::vector<PlainPiece> pieces;
  std::vector<size_t> ends;  // by window, in `pieces`

  std::span<const PlainPiece> Of(size_t window) const {
    const size_t begin = window == 0 ? 0 : ends[window - 1];
    return std::span(pieces).subspan(begin, ends[window] - begin);
  }
  size_t size() const { return ends.size(); }
};

// The memory of a batch: n windows of L tokens, at most D documents in each.
struct PlainBatch {
  int32_t* tokens = nullptr;           // [n, L]
  int32_t* labels = nullptr;           // [n, L]
  uint8_t* loss_mask = nullptr;        // [n, L]
  int32_t* document_ids = nullptr;     // [n, L]
  int32_t* positions = nullptr;        // [n, L]
  int32_t* cu_seqlens = nullptr;       // [n * D + 1]
  int32_t* document_counts = nullptr;  // [n]
  int32_t* max_seqlens = nullptr;      // [n]

  static size_t Bytes(size_t windows, size_t seq_len, size_t documents) {
    return windows * seq_len * 17 + 4 * (windows * (documents + 2) + 1) +
           8 * kAlignment;
  }
  // Lays the tensors out in `memory`, of as many bytes.
  static PlainBatch At(std::byte* memory, size_t windows, size_t seq_len,
                       size_t documents);

 private:
  static constexpr size_t kAlignment = 256;
};

// Writes all tensors of a batch, of `count` windows from `first` on. `ids`: all
// of the store.
void WritePlainBatch(const PlainWindows& windows, size_t first, size_t count,
                     const uint16_t* ids, size_t seq_len, size_t documents,
                     const PlainBatch& batch);

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_READERS_PLAIN_PACKING_H_
