// SPDX-License-Identifier: Apache-2.0
#include "index/packing/chunk_order.h"

#include <algorithm>
#include <numeric>

#include "index/keyed_hash.h"

namespace poniente::internal {

ChunkOrder::ChunkOrder(std::span<const uint64_t> windows,
                       uint64_t shuffle_chunks, const PackingOrder& order)
    : shuffle_chunks_(shuffle_chunks), order_(order) {
  std::vector<uint64_t> chunks(windows.size());
  std::iota(chunks.begin(), chunks.end(), 0);
  if (order_.is_shuffled && !chunks.empty()) {
    chunks_.emplace(chunks.size(), Derive(order_.key, kChunksTag));
    chunks_->Forward(chunks, chunks);
  }
  starts_.reserve(chunks.size() + 1);
  starts_.push_back(0);
  for (const uint64_t chunk : chunks) {
    starts_.push_back(starts_.back() + windows[chunk]);
  }
}

ChunkOrder::Span ChunkOrder::SpanAt(uint64_t place) const {
  const uint64_t number = place / shuffle_chunks_;
  const uint64_t first = number * shuffle_chunks_;
  const uint64_t chunks = starts_.size() - 1;
  const uint64_t end = first + std::min(shuffle_chunks_, chunks - first);
  return {number, starts_[first], starts_[end]};
}

Permutation ChunkOrder::WithinSpan(const Span& span) const {
  return Permutation(span.end - span.begin,
                     Derive(order_.key, kWindowTag, span.number));
}

// The last place with a start of at most `at`: chunks without windows begin
// where the next one does.
uint64_t ChunkOrder::PlaceOf(uint64_t at) const {
  return static_cast<uint64_t>(
      std::upper_bound(starts_.begin(), starts_.end(), at) - starts_.begin() -
      1);
}

ChunkBin ChunkOrder::BinAt(uint64_t window) const {
  uint64_t place = PlaceOf(window);
  if (!chunks_.has_value()) return {place, window - starts_[place]};
  const Span span = SpanAt(place);
  const uint64_t at =
      span.begin + WithinSpan(span).Forward(window - span.begin);
  place = PlaceOf(at);
  return {chunks_->Forward(place), at - starts_[place]};
}

uint64_t ChunkOrder::WindowOf(const ChunkBin& bin) const {
  if (!chunks_.has_value()) return starts_[bin.chunk] + bin.bin;
  const uint64_t place = chunks_->Inverse(bin.chunk);
  const Span span = SpanAt(place);
  return span.begin +
         WithinSpan(span).Inverse(starts_[place] + bin.bin - span.begin);
}

uint64_t ChunkOrder::num_sets() const {
  const uint64_t chunks = starts_.size() - 1;
  const uint64_t each = ChunksPerSet();
  return std::max<uint64_t>(1, chunks / each + (chunks % each != 0));
}

uint64_t ChunkOrder::SetOf(uint64_t window) const {
  return PlaceOf(window) / ChunksPerSet();
}

uint64_t ChunkOrder::FirstOfSet(uint64_t set) const {
  const uint64_t chunks = starts_.size() - 1;
  return starts_[std::min(set * ChunksPerSet(), chunks)];
}

}  // namespace poniente::internal
