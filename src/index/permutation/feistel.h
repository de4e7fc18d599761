// SPDX-License-Identifier: Apache-2.0
// The Feistel network of one permutation, applied to one index
// (docs/index-math.md 1.2).
//
// Both halves of an index are kept in the upper bits of their words. A round
// function can then use its argument unchanged and produce its result by
// masking, and a round is the same two multiplications for every size.
//
// Everything here has internal linkage and calls nothing that has external
// linkage: see permutation_batch.h.

#ifndef PONIENTE_INDEX_PERMUTATION_FEISTEL_H_
#define PONIENTE_INDEX_PERMUTATION_FEISTEL_H_

#include <cstdint>

#include "poniente/permutation.h"

#define PONIENTE_ALWAYS_INLINE inline __attribute__((always_inline))

namespace poniente::internal {
namespace {

// Halves of up to 16 bits are mixed in 16-bit words, longer ones in 32-bit
// words. A single index is faster in wider registers, whose surplus upper bits
// are masked off together with the lower ones.
struct Narrow {
  static constexpr int kBits = 16;
  using Half = uint32_t;
  using Index = uint32_t;
};
struct NarrowLanes {
  static constexpr int kBits = 16;
  using Half = uint16_t;
  using Index = uint32_t;
  using Alone = Narrow;
};
struct Wide {
  static constexpr int kBits = 32;
  using Half = uint32_t;
  using Index = uint64_t;
  using Alone = Wide;
};

PONIENTE_ALWAYS_INLINE int IndexBits(const FeistelNetwork& network) {
  return network.high_bits + network.low_bits;
}

PONIENTE_ALWAYS_INLINE uint64_t IndexMask(const FeistelNetwork& network) {
  return ~uint64_t{0} >> (64 - IndexBits(network));
}

// Returns whether the network's word is Narrow; if not, it is Wide.
PONIENTE_ALWAYS_INLINE bool IsNarrow(const FeistelNetwork& network) {
  return IndexBits(network) <= 32;
}

// Return how far the halves are shifted to lie in the upper bits of a word.
template <class Word>
PONIENTE_ALWAYS_INLINE int HighShift(const FeistelNetwork& network) {
  return Word::kBits - network.high_bits;
}
template <class Word>
PONIENTE_ALWAYS_INLINE int LowShift(const FeistelNetwork& network) {
  return Word::kBits - network.low_bits;
}

// Xors F_r(source) into `target`.
template <class Word>
PONIENTE_ALWAYS_INLINE void Round(const FeistelNetwork& network, int round,
                                  typename Word::Half keep,
                                  typename Word::Half source,
                                  typename Word::Half* target) {
  using Half = typename Word::Half;
  using Index = typename Word::Index;
  // u = (v << (B - c)) ^ A_r; the source already lies in the upper bits.
  const Half u = source ^ static_cast<Half>(network.mask[round]);
  const Half multiplier = static_cast<Half>(network.multiplier[round]);
  // u * m_r mod 2^B: the low half of one product.
  const Half low = static_cast<Half>(Index{u} * multiplier);
  // u * u >> B: the high half of the other.
  const Half high = static_cast<Half>((Index{u} * u) >> Word::kBits);
  // t >> (B - b), left in the upper bits by `keep`.
  *target ^= (low ^ high) & keep;
}

// Returns the image of x in [0, 2^bits) after one pass, forwards or backwards,
// without the walk. REQUIRES: rounds == network.rounds.
template <class Word, int rounds, bool forward>
PONIENTE_ALWAYS_INLINE typename Word::Index ImageOf(
    const FeistelNetwork& network, typename Word::Index x) {
  using Half = typename Word::Half;
  using Index = typename Word::Index;
  const Index index_mask = static_cast<Index>(IndexMask(network));
  const Index offset = static_cast<Index>(network.offset);
  const int high_shift = HighShift<Word>(network);
  const int low_shift = LowShift<Word>(network);
  const Half word_mask = static_cast<Half>(~uint64_t{0} >> (64 - Word::kBits));
  const Half high_keep = static_cast<Half>(word_mask << high_shift) & word_mask;
  const Half low_keep = static_cast<Half>(word_mask << low_shift) & word_mask;
  // x = (x + a) mod 2^k, then H and L in the upper bits of their words.
  if (forward) x = (x + offset) & index_mask;
  Half high = static_cast<Half>((x >> network.low_bits) << high_shift);
  Half low = static_cast<Half>(x << low_shift) & low_keep;
#pragma GCC unroll 10
  for (int i = 0; i < rounds; ++i) {
    const int round = forward ? i : rounds - 1 - i;
    // Even rounds change H by F_r(L), odd ones L by F_r(H).
    if (round % 2 == 0) {
      Round<Word>(network, round, high_keep, low, &high);
    } else {
      Round<Word>(network, round, low_keep, high, &low);
    }
  }
  // x = H * 2^floor(k/2) + L.
  x = (Index{high} >> high_shift) << network.low_bits | Index{low} >> low_shift;
  return forward ? x : (x - offset) & index_mask;
}

// Applies the network until the result is below `size`: at least half of all
// values are, so fewer than two passes are expected.
template <class Word, int rounds, bool forward>
PONIENTE_ALWAYS_INLINE typename Word::Index WalkOne(
    const FeistelNetwork& network, uint64_t size, typename Word::Index x) {
  do {
    x = ImageOf<Word, rounds, forward>(network, x);
  } while (x >= size);
  return x;
}

}  // namespace
}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_PERMUTATION_FEISTEL_H_
