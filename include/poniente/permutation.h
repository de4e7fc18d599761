// SPDX-License-Identifier: Apache-2.0
// A keyed shuffle of [0, n) that is computed, not stored: one index or a batch,
// forwards or backwards.
//
// Up to 64 items: a Fisher-Yates table. Above: a balanced Feistel network on
// the k bits of n - 1, an offset in front of it, and a walk along the cycle
// until the result is below n (expected less than two passes). Part of order
// version 1; statistically, not cryptographically, strong.

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
  // Per round.
  uint32_t mask[10];
  uint32_t multiplier[10];
  // Of the two halves of an index.
  uint8_t high_bits;
  uint8_t low_bits;
  uint8_t rounds;
};

}  // namespace internal

// A bijection on [0, n), chosen by a key.
//
// Determinism: n, the key and the index decide, on every machine.
// Thread safety: immutable; any number of threads.
// Complexity: O(1), whatever n: about 15 ns to make, 15 ns for one index, 1 to
//     5 ns for each of a batch of 64 or more. 136 bytes, no heap memory.
// Errors: an argument out of range is the caller's bug and aborts.
class Permutation {
 public:
  // REQUIRES: 1 <= n <= 2^63.
  Permutation(uint64_t n, uint64_t key);

  uint64_t size() const { return size_; }

  // Where item `index` of the order lies. REQUIRES: index < size().
  uint64_t Forward(uint64_t index) const;
  // The item that lies at `place`. REQUIRES: place < size().
  uint64_t Inverse(uint64_t place) const;

  // The same for each entry. REQUIRES: out.size() == in.size(), and the two are
  // one and the same span or do not overlap.
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
