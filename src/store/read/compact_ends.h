// SPDX-License-Identifier: Apache-2.0
// Consecutive lengths and their sums in little memory.

#ifndef PONIENTE_STORE_READ_COMPACT_ENDS_H_
#define PONIENTE_STORE_READ_COMPACT_ENDS_H_

#include <cstdint>
#include <vector>

namespace poniente::internal {

// Lengths, appended one by one, and look-ups in their sums.
//
// Memory: per length, as many bits as the greatest of its 64 neighbours needs,
//     and 3 more.
// Thread safety: as a value.
class CompactEnds {
 public:
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
  // Returns the item that contains position `at` of the concatenation; never an
  // empty one. REQUIRES: at < total().
  uint64_t At(uint64_t at) const;

  uint64_t memory_bytes() const;

 private:
  static constexpr uint64_t kBlock = 64;
  struct Block {
    uint64_t begin = 0;  // sum of the lengths before
    uint64_t bit = 0;    // where its lengths begin in bits_
    uint64_t width = 0;
  };

  // Packs the last block.
  void Pack();
  uint64_t Packed(const Block& block, uint64_t i) const;

  std::vector<Block> blocks_;  // packed ones
  std::vector<uint64_t> bits_;
  uint64_t end_bit_ = 0;
  std::vector<uint64_t> last_;  // lengths of the last block, not packed
  uint64_t last_begin_ = 0;
  uint64_t size_ = 0;
  uint64_t total_ = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_READ_COMPACT_ENDS_H_
