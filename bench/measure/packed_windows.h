// SPDX-License-Identifier: Apache-2.0
// Windows of documents, made up for measurements of balance.

#ifndef PONIENTE_BENCH_MEASURE_PACKED_WINDOWS_H_
#define PONIENTE_BENCH_MEASURE_PACKED_WINDOWS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/measure/document_lengths.h"
#include "bench/measure/length_histograms.h"
#include "bench/measure/require.h"
#include "index/packing/window_packing.h"

namespace poniente::bench {

// The lengths of the documents of a window, in tokens.
using PackedWindow = std::vector<uint32_t>;

enum class Packing {
  // As the library packs them (docs/packing.md).
  kPacked,
  // Each document, as they come, goes to the window with the least room that
  // suffices; of one longer than a window, all pieces but the last fill windows
  // of their own.
  kAsTheyCome,
  // Documents follow one another and are cut where a window ends.
  kConcatenated
};

inline std::vector<PackedWindow> PackByLibrary(std::vector<uint32_t> documents,
                                               uint32_t seq_len) {
  const absl::StatusOr<internal::WindowPacking> packing =
      internal::WindowPacking::Create(HistogramOf(std::move(documents)),
                                      seq_len, {});
  Require(packing.ok(), "documents cannot be packed");
  std::vector<PackedWindow> windows(packing->num_windows());
  std::vector<internal::PackedPiece> pieces;
  for (size_t w = 0; w < windows.size(); ++w) {
    pieces.clear();
    packing->AppendPieces(w, internal::PackingOrder(), &pieces);
    for (const internal::PackedPiece& piece : pieces) {
      windows[w].push_back(piece.length);
    }
  }
  return windows;
}

// Packs documents of these lengths.
inline std::vector<PackedWindow> Pack(std::vector<uint32_t> documents,
                                      uint32_t seq_len, Packing packing) {
  if (packing == Packing::kPacked) {
    return PackByLibrary(std::move(documents), seq_len);
  }
  std::vector<PackedWindow> windows;
  for (uint32_t& length : documents) {
    if (packing == Packing::kConcatenated) break;
    for (; length > seq_len; length -= seq_len) windows.push_back({seq_len});
  }
  std::multimap<uint32_t, size_t> open;  // by the room that is left
  for (uint32_t left_of_it : documents) {
    while (left_of_it > 0) {
      auto place = packing == Packing::kConcatenated
                       ? open.begin()
                       : open.lower_bound(left_of_it);
      if (place == open.end()) {
        place = open.emplace(seq_len, windows.size());
        windows.emplace_back();
      }
      const auto [room, window] = *place;
      const uint32_t taken = std::min(room, left_of_it);
      windows[window].push_back(taken);
      open.erase(place);
      if (room > taken) open.emplace(room - taken, window);
      left_of_it -= taken;
    }
  }
  return windows;
}

// Returns `count` windows of `seq_len` tokens, in random order, of documents
// of these lengths.
inline std::vector<PackedWindow> MakePackedWindows(
    size_t count, uint32_t seq_len, Packing packing, uint64_t seed,
    DrawLength length = LogNormalLength) {
  std::mt19937_64 random(seed);
  std::vector<uint32_t> documents;
  for (uint64_t tokens = 0; tokens < count * seq_len;) {
    documents.push_back(length(random));
    tokens += documents.back();
  }
  std::vector<PackedWindow> windows = Pack(documents, seq_len, packing);
  std::shuffle(windows.begin(), windows.end(), random);
  windows.resize(count);
  return windows;
}

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_MEASURE_PACKED_WINDOWS_H_
