// SPDX-License-Identifier: Apache-2.0
// A keyed shuffle of [0, n) that is computed, not stored: forwards or
// backwards, for one index or a batch.
//
// For up to 64 items it is a Fisher-Yates table. For more items it is an offset
// followed by a balanced Feistel network on the k bits of n - 1. Offset and
// network are applied again until the result is below n; fewer than two passes
// are expected. docs/index-math.md 1.2 defines the permutation, which has been
// part of the order since version 1. It is statistically strong, but not
// cryptographically.

#ifndef PONIENTE_PERMUTATION_H_
#define PONIENTE_PERMUTATION_H_

#include <array>
#include <cstdint>
#include <span>

namespace poniente {
namespace internal {

inline constexpr uint64_t kShuffleTableSize = 64;

struct ShuffleTable {
  std::array<uint8_t, kShuffleTableSize> forward;
  std::array<uint8_t, kShuffleTableSize> inverse;
};

struct FeistelNetwork {
  uint64_t offset;
  // Keys of each round.
  uint32_t mask[10];
  uint32_t multiplier[10];
  // Bits of the two halves of an index.
  uint8_t high_bits;
  uint8_t low_bits;
  uint8_t rounds;
};

}  // namespace internal

// A bijection on [0, n), chosen by a key.
//
// Determinism: n, the key and the index decide the result, on every machine.
// Thread safety: immutable; any number of threads.
// Complexity: O(1) for every n: about 15 ns to create, 15 ns for one index, 1
//     to 5 ns for each index of a batch of 64 or more. 136 bytes, no heap
//     memory.
// Errors: an argument out of range is a bug of the caller and aborts.
class Permutation {
 public:
  // Creates the permutation of [0, n) under `key`. REQUIRES: 1 <= n <= 2^63.
  Permutation(uint64_t n, uint64_t key);

  uint64_t size() const { return size_; }

  // Returns where `index` is mapped to. REQUIRES: index < size().
  uint64_t Forward(uint64_t index) const;
  // Returns the index that is mapped to `place`. REQUIRES: place < size().
  uint64_t Inverse(uint64_t place) const;

  // Map each entry of `in` and write the result to `out`. REQUIRES: out.size()
  // == in.size(), and the two are the same span or do not overlap.
  void Forward(std::span<const uint64_t> in, std::span<uint64_t> out) const;
  void Inverse(std::span<const uint64_t> in, std::span<uint64_t> out) const;

 private:
  bool is_table() const { return size_ <= internal::kShuffleTableSize; }

  uint64_t size_;
  union {
    internal::ShuffleTable table_;
    internal::FeistelNetwork network_;
  };
};

}  // namespace poniente

#endif  // PONIENTE_PERMUTATION_H_
