// SPDX-License-Identifier: Apache-2.0
// Consecutive lengths and their sums in little memory.

#ifndef PONIENTE_STORE_READ_COMPACT_ENDS_H_
#define PONIENTE_STORE_READ_COMPACT_ENDS_H_

#include <cstdint>
#include <span>
#include <vector>

namespace poniente::internal {

// Lengths, appended one by one or all at once, and look-ups in their sums.
//
// Memory: per length, as many bits as the greatest of its 64 neighbours needs,
//     and 3 more.
// Complexity: Begin() adds up 16 lengths at most.
// Thread safety: as a value.
class CompactEnds {
 public:
  // Returns these lengths, in no more memory than they need. REQUIRES: their
  // sum is below 2^64.
  static CompactEnds Of(std::span<const uint64_t> lengths);

  // Appends a length. REQUIRES: total() + length < 2^64.
  void Append(uint64_t length);
  // Releases the memory that Append() reserved for growth.
  void Shrink();

  uint64_t size() const { return size_; }
  // Returns the sum of all lengths.
  uint64_t total() const { return total_; }
  // Returns the sum of the first `item` lengths. REQUIRES: item <= size().
  uint64_t Begin(uint64_t item) const;
  uint64_t Length(uint64_t item) const;
  struct Place {
    uint64_t item = 0;
    uint64_t begin = 0;  // Begin(item)
  };
  // Returns the item that contains position `at` of the concatenation; never an
  // empty one. REQUIRES: at < total().
  Place Find(uint64_t at) const;
  uint64_t At(uint64_t at) const { return Find(at).item; }

  // Bring what Begin() and Length() read into the caches: first the one, and
  // when that is there, the other. For many look-ups at once. REQUIRES: item <
  // size().
  void PrefetchBlock(uint64_t item) const {
    if (item / kBlock < blocks_.size()) {
      __builtin_prefetch(&blocks_[item / kBlock]);
    }
  }
  void PrefetchLengths(uint64_t item) const {
    if (item / kBlock == blocks_.size()) return;
    const Block& block = blocks_[item / kBlock];
    __builtin_prefetch(&bits_[(block.bit + item % kBlock * block.width) / 64]);
  }

  uint64_t memory_bytes() const;

 private:
  static constexpr uint64_t kBlock = 64;
  struct Block {
    uint64_t begin = 0;     // sum of the lengths before
    uint64_t middle = 0;    // and that before its second half
    uint64_t bit : 57 = 0;  // where its lengths begin in bits_
    uint64_t width : 7 = 0;
  };

  class Unpacker;

  using Lengths = std::span<const uint64_t, kBlock>;

  // Returns the bits that each length of a block takes.
  static uint64_t WidthOf(Lengths lengths);
  // Appends a block behind packed ones.
  void Pack(Lengths lengths);
  // Returns the sum of lengths [from, to) of a block.
  uint64_t Sum(const Block& block, uint64_t from, uint64_t to) const;

  std::vector<Block> blocks_;  // packed ones
  // A block takes as many words as a length takes bits. And a word of zeros.
  std::vector<uint64_t> bits_ = {0};
  std::vector<uint64_t> last_;  // lengths of the last block, not packed
  uint64_t last_begin_ = 0;
  uint64_t size_ = 0;
  uint64_t total_ = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_READ_COMPACT_ENDS_H_
