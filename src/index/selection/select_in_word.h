// SPDX-License-Identifier: Apache-2.0
// The k-th set bit of a word, without instructions beyond the baseline.

#ifndef PONIENTE_INDEX_SELECTION_SELECT_IN_WORD_H_
#define PONIENTE_INDEX_SELECTION_SELECT_IN_WORD_H_

#include <bit>
#include <cstdint>

namespace poniente::internal {

// Returns the place of set bit number k, counted from 0 at the low end. Finds
// the byte first, from the running sums of the bytes' counts in one word, then
// the bit within it. REQUIRES: k < popcount(word).
constexpr uint64_t SelectInWord(uint64_t word, uint64_t k) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  constexpr uint64_t kHigh = 0x8080808080808080;
  uint64_t sums = word - (word >> 1 & 0x5555555555555555);
  sums = (sums & 0x3333333333333333) + (sums >> 2 & 0x3333333333333333);
  sums = ((sums + (sums >> 4)) & 0x0f0f0f0f0f0f0f0f) * kOnes;
  // One high bit for each byte whose sum is at most k. No byte borrows from the
  // next.
  const uint64_t passed = ((k * kOnes | kHigh) - sums) & kHigh;
  const auto begin = 8 * static_cast<uint64_t>(std::popcount(passed));
  k -= (sums << 8) >> begin & 0xff;
  uint64_t bits = word >> begin & 0xff;
  for (; k > 0; --k) bits &= bits - 1;
  return begin + static_cast<uint64_t>(std::countr_zero(bits));
}

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_SELECTION_SELECT_IN_WORD_H_
