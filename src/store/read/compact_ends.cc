// SPDX-License-Identifier: Apache-2.0
#include "store/read/compact_ends.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>
#include <span>

#include "util/byte_order.h"

namespace poniente::internal {

void CompactEnds::Append(uint64_t length) {
  if (last_.size() == kBlock) {
    Pack(Lengths(last_));
    last_.clear();
  }
  last_.push_back(length);
  ++size_;
  total_ += length;
}

CompactEnds CompactEnds::Of(std::span<const uint64_t> lengths) {
  CompactEnds ends;
  const size_t blocks = lengths.size() / kBlock;
  uint64_t words = ends.bits_.size();
  for (size_t b = 0; b < blocks; ++b) {
    words += WidthOf(lengths.subspan(b * kBlock).first<kBlock>());
  }
  ends.bits_.reserve(words);
  ends.blocks_.reserve(blocks);
  for (size_t b = 0; b < blocks; ++b) {
    const Lengths block = lengths.subspan(b * kBlock).first<kBlock>();
    ends.total_ = std::accumulate(block.begin(), block.end(), ends.total_);
    ends.Pack(block);
  }
  ends.size_ = blocks * kBlock;
  for (const uint64_t length : lengths.subspan(ends.size_)) ends.Append(length);
  return ends;
}

uint64_t CompactEnds::WidthOf(Lengths lengths) {
  uint64_t bits = 0;  // that any of them has
  for (const uint64_t length : lengths) bits |= length;
  return static_cast<uint64_t>(std::bit_width(bits));
}

void CompactEnds::Pack(Lengths lengths) {
  const uint64_t width = WidthOf(lengths);
  const uint64_t middle = std::accumulate(
      lengths.begin(), lengths.begin() + kBlock / 2, last_begin_);
  // The word of zeros becomes the first one of the block. It is kept behind
  // them, because Unpacker reads up to 9 bytes from any byte on.
  size_t at = bits_.size() - 1;
  blocks_.push_back({last_begin_, middle, at * 64, width});
  bits_.resize(bits_.size() + width);
  uint64_t word = 0;
  uint64_t used = 0;  // bits of it
  for (const uint64_t length : lengths) {
    word |= length << used;
    used += width;
    if (used < 64) continue;
    bits_[at++] = word;
    used -= 64;
    // What did not fit begins the next word.
    word = used == 0 ? 0 : length >> (width - used);
  }
  last_begin_ = total_;
}

void CompactEnds::Shrink() {
  blocks_.shrink_to_fit();
  bits_.shrink_to_fit();
}

// Reads the lengths of a packed block one after the other.
class CompactEnds::Unpacker {
 public:
  // Begins at length `i` of the block.
  Unpacker(const CompactEnds& ends, const Block& block, uint64_t i)
      : bytes_(reinterpret_cast<const std::byte*>(ends.bits_.data())),
        bit_(block.bit + i * block.width),
        width_(block.width),
        mask_(width_ == 64 ? UINT64_MAX : (uint64_t{1} << width_) - 1) {}

  uint64_t Next() {
    const std::byte* const from = bytes_ + bit_ / 8;
    const uint64_t shift = bit_ % 8;
    uint64_t value = LoadLittle<uint64_t>(from) >> shift;
    // Of more than 57 bits, some may lie in a ninth byte.
    if (shift + width_ > 64)
      value |= static_cast<uint64_t>(from[8]) << (64 - shift);
    bit_ += width_;
    return value & mask_;
  }

 private:
  const std::byte* const bytes_;
  uint64_t bit_;
  const uint64_t width_;
  const uint64_t mask_;
};

uint64_t CompactEnds::Length(uint64_t item) const {
  const uint64_t block = item / kBlock;
  if (block == blocks_.size()) return last_[item % kBlock];
  return Unpacker(*this, blocks_[block], item % kBlock).Next();
}

uint64_t CompactEnds::Sum(const Block& block, uint64_t from,
                          uint64_t to) const {
  uint64_t sum = 0;
  Unpacker lengths(*this, block, from);
  for (uint64_t i = from; i < to; ++i) sum += lengths.Next();
  return sum;
}

uint64_t CompactEnds::Begin(uint64_t item) const {
  if (item == size_) return total_;
  const uint64_t i = item % kBlock;
  if (item / kBlock == blocks_.size()) {
    return std::accumulate(
        last_.begin(), last_.begin() + static_cast<ptrdiff_t>(i), last_begin_);
  }
  // From the nearest place whose sum is known.
  constexpr uint64_t kHalf = kBlock / 2;
  const Block& block = blocks_[item / kBlock];
  if (i <= kHalf / 2) return block.begin + Sum(block, 0, i);
  if (i <= kHalf) return block.middle - Sum(block, i, kHalf);
  if (i <= kHalf + kHalf / 2) return block.middle + Sum(block, kHalf, i);
  const uint64_t next = item / kBlock + 1;
  const uint64_t end =
      next < blocks_.size() ? blocks_[next].begin : last_begin_;
  return end - Sum(block, i, kBlock);
}

CompactEnds::Place CompactEnds::Find(uint64_t at) const {
  if (at >= last_begin_) {
    Place place = {blocks_.size() * kBlock, last_begin_};
    for (const uint64_t length : last_) {
      if (at < place.begin + length) break;
      place.begin += length;
      ++place.item;
    }
    return place;
  }
  // The last block that begins at or before it. Steps without branches, which
  // could not be foreseen.
  const Block* block = blocks_.data();
  for (size_t left = blocks_.size(); left > 1;) {
    const size_t half = left / 2;
    block += block[half].begin <= at ? half : 0;
    left -= half;
  }
  const uint64_t first = at >= block->middle ? kBlock / 2 : 0;
  Place place = {static_cast<uint64_t>(block - blocks_.data()) * kBlock + first,
                 first > 0 ? block->middle : block->begin};
  Unpacker lengths(*this, *block, first);
  for (;; ++place.item) {
    const uint64_t length = lengths.Next();
    if (at < place.begin + length) return place;
    place.begin += length;
  }
}

uint64_t CompactEnds::memory_bytes() const {
  return blocks_.capacity() * sizeof(Block) +
         (bits_.capacity() + last_.capacity()) * sizeof(uint64_t);
}

}  // namespace poniente::internal
