// SPDX-License-Identifier: Apache-2.0
// CMakeLists.txt compiles this file with -O3, as the library's own loops.
#include "bench/readers/plain_packing.h"

#include <algorithm>
#include <numeric>

namespace poniente::bench {
namespace {

constexpr int32_t kIgnored = -100;

}  // namespace

PlainBatch PlainBatch::At(std::byte* memory, size_t windows, size_t seq_len,
                          size_t documents) {
  const auto take = [&](size_t bytes) {
    std::byte* const here = memory;
    memory += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return here;
  };
  const auto numbers = [&](size_t count) {
    return reinterpret_cast<int32_t*>(take(4 * count));
  };
  const size_t tokens = windows * seq_len;
  PlainBatch batch;
  batch.tokens = numbers(tokens);
  batch.labels = numbers(tokens);
  batch.loss_mask = reinterpret_cast<uint8_t*>(take(tokens));
  batch.document_ids = numbers(tokens);
  batch.positions = numbers(tokens);
  batch.cu_seqlens = numbers(windows * documents + 1);
  batch.document_counts = numbers(windows);
  batch.max_seqlens = numbers(windows);
  return batch;
}

void WritePlainBatch(const PlainWindows& windows, size_t first, size_t count,
                     const uint16_t* ids, size_t seq_len, size_t documents,
                     const PlainBatch& batch) {
  int32_t* end = batch.cu_seqlens;
  *end++ = 0;
  size_t at = 0;
  for (size_t w = 0; w < count; ++w) {
    int32_t number = 0;
    int32_t longest = 0;
    for (const PlainPiece& piece : windows.Of(first + w)) {
      const size_t length = piece.length;
      int32_t* const tokens = batch.tokens + at;
      int32_t* const labels = batch.labels + at;
      if (piece.is_padding) {
        std::fill_n(tokens, length, 0);
        std::fill_n(labels, length, kIgnored);
        std::fill_n(batch.loss_mask + at, length, uint8_t{0});
        std::fill_n(batch.document_ids + at, length, -1);
        std::fill_n(batch.positions + at, length, 0);
      } else {
        std::copy_n(ids + piece.begin, length, tokens);
        std::copy_n(tokens + 1, length - 1, labels);
        labels[length - 1] = kIgnored;
        std::fill_n(batch.loss_mask + at, length - 1, uint8_t{1});
        batch.loss_mask[at + length - 1] = 0;
        std::fill_n(batch.document_ids + at, length, number);
        std::iota(batch.positions + at, batch.positions + at + length, 0);
      }
      ++number;
      longest = std::max(longest, static_cast<int32_t>(length));
      at += length;
      *end++ = static_cast<int32_t>(at);
    }
    batch.document_counts[w] = number;
    batch.max_seqlens[w] = longest;
  }
  std::fill(end, batch.cu_seqlens + count * documents + 1,
            static_cast<int32_t>(count * seq_len));
}

}  // namespace poniente::bench
