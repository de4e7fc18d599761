// SPDX-License-Identifier: Apache-2.0
#include "store/read/compact_ends.h"

#include <algorithm>
#include <bit>

namespace poniente::internal {

void CompactEnds::Append(uint64_t length) {
  if (last_.size() == kBlock) Pack();
  last_.push_back(length);
  ++size_;
  total_ += length;
}

void CompactEnds::Pack() {
  const uint64_t greatest = *std::max_element(last_.begin(), last_.end());
  const auto width = static_cast<uint64_t>(std::bit_width(greatest));
  blocks_.push_back({last_begin_, end_bit_, width});
  bits_.resize((end_bit_ + width * kBlock + 63) / 64);
  for (const uint64_t length : last_) {
    if (width == 0) break;
    const uint64_t word = end_bit_ / 64;
    const uint64_t shift = end_bit_ % 64;
    bits_[word] |= length << shift;
    if (shift + width > 64) bits_[word + 1] |= length >> (64 - shift);
    end_bit_ += width;
  }
  last_.clear();
  last_begin_ = total_;
}

void CompactEnds::Shrink() {
  blocks_.shrink_to_fit();
  bits_.shrink_to_fit();
}

uint64_t CompactEnds::Packed(const Block& block, uint64_t i) const {
  if (block.width == 0) return 0;
  const uint64_t bit = block.bit + i * block.width;
  const uint64_t shift = bit % 64;
  uint64_t value = bits_[bit / 64] >> shift;
  if (shift + block.width > 64) value |= bits_[bit / 64 + 1] << (64 - shift);
  return block.width == 64 ? value : value & ((uint64_t{1} << block.width) - 1);
}

uint64_t CompactEnds::Length(uint64_t item) const {
  const uint64_t block = item / kBlock;
  if (block == blocks_.size()) return last_[item % kBlock];
  return Packed(blocks_[block], item % kBlock);
}

uint64_t CompactEnds::Begin(uint64_t item) const {
  if (item == size_) return total_;
  const uint64_t block = item / kBlock;
  const bool is_packed = block < blocks_.size();
  uint64_t begin = is_packed ? blocks_[block].begin : last_begin_;
  for (uint64_t i = 0; i < item % kBlock; ++i) {
    begin += is_packed ? Packed(blocks_[block], i) : last_[i];
  }
  return begin;
}

uint64_t CompactEnds::At(uint64_t at) const {
  uint64_t block = blocks_.size();
  uint64_t begin = last_begin_;
  if (at < last_begin_) {
    const auto after = std::upper_bound(
        blocks_.begin(), blocks_.end(), at,
        [](uint64_t position, const Block& b) { return position < b.begin; });
    block = static_cast<uint64_t>(after - blocks_.begin()) - 1;
    begin = blocks_[block].begin;
  }
  for (uint64_t item = block * kBlock;; ++item) {
    const uint64_t length = Length(item);
    if (at < begin + length) return item;
    begin += length;
  }
}

uint64_t CompactEnds::memory_bytes() const {
  return blocks_.capacity() * sizeof(Block) +
         (bits_.capacity() + last_.capacity()) * sizeof(uint64_t);
}

}  // namespace poniente::internal
