// SPDX-License-Identifier: Apache-2.0
// Maps one index by each of many permutations, one permutation per lane. A
// mixture of a thousand components needs this: a block has only a draw or two
// of each. Compiled and linked like permutation_batch.h, whose rules hold here.

#ifndef PONIENTE_INDEX_PERMUTATION_PERMUTATION_EACH_H_
#define PONIENTE_INDEX_PERMUTATION_PERMUTATION_EACH_H_

#include <cstddef>
#include <cstdint>

#include "index/permutation/feistel.h"

namespace poniente::internal {
namespace {

constexpr size_t kEachLanes = 64;
constexpr int kMaxRounds = 10;

// Networks of at most 32 bits, one per lane; see FeistelNetwork.
struct EachNetwork {
  alignas(64) uint32_t last[kEachLanes];  // size - 1
  alignas(64) uint32_t index_mask[kEachLanes];
  alignas(64) uint32_t offset[kEachLanes];
  alignas(64) uint32_t low_bits[kEachLanes];
  alignas(64) uint32_t high_shift[kEachLanes];
  alignas(64) uint32_t low_shift[kEachLanes];
  // The bits of a half that a round changes: [0] in the first eight rounds, [1]
  // in the rounds after them, which change nothing in networks of eight rounds.
  alignas(64) uint16_t high_keep[2][kEachLanes];
  alignas(64) uint16_t low_keep[2][kEachLanes];
  alignas(64) uint16_t mask[kMaxRounds][kEachLanes];
  alignas(64) uint16_t multiplier[kMaxRounds][kEachLanes];
};

PONIENTE_ALWAYS_INLINE uint64_t MixWord(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// Words of KeyStream(key) are MixWord(state + i * kGamma), i = 1, 2, ...
constexpr uint64_t kGamma = 0x9e3779b97f4a7c15;
constexpr uint64_t kStreamOffset = 0x632be59bd9b4e019;

void MakeEach(const uint64_t* sizes, const uint64_t* keys, EachNetwork* each) {
  for (size_t i = 0; i < kEachLanes; ++i) {
    const uint32_t last = static_cast<uint32_t>(sizes[i] - 1);
    const uint32_t bits = 32 - static_cast<uint32_t>(__builtin_clz(last));
    each->last[i] = last;
    each->low_bits[i] = bits / 2;
    each->low_shift[i] = 16 - bits / 2;
    each->high_shift[i] = 16 - (bits + 1) / 2;
    each->index_mask[i] = ~uint32_t{0} >> (32 - bits);
  }
  for (size_t i = 0; i < kEachLanes; ++i) {
    const uint32_t high_keep = uint32_t{0xffff} << each->high_shift[i];
    const uint32_t low_keep = uint32_t{0xffff} << each->low_shift[i];
    const uint32_t has_more = each->index_mask[i] < 65536 ? 0xffff : 0;
    each->high_keep[0][i] = static_cast<uint16_t>(high_keep);
    each->low_keep[0][i] = static_cast<uint16_t>(low_keep);
    each->high_keep[1][i] = static_cast<uint16_t>(high_keep & has_more);
    each->low_keep[1][i] = static_cast<uint16_t>(low_keep & has_more);
  }
  alignas(64) uint64_t state[kEachLanes];
  for (size_t i = 0; i < kEachLanes; ++i) {
    state[i] = MixWord(keys[i] + kStreamOffset);
  }
  for (size_t i = 0; i < kEachLanes; ++i) {
    each->offset[i] =
        static_cast<uint32_t>(MixWord(state[i] + kGamma)) & each->index_mask[i];
  }
  for (int round = 0; round < kMaxRounds; ++round) {
    const uint64_t step = static_cast<uint64_t>(round + 2) * kGamma;
    for (size_t i = 0; i < kEachLanes; ++i) {
      const uint64_t word = MixWord(state[i] + step);
      each->mask[round][i] = static_cast<uint16_t>(word);
      each->multiplier[round][i] = static_cast<uint16_t>(word >> 48);
    }
  }
}

PONIENTE_ALWAYS_INLINE void RoundOfEach(const uint16_t* mask,
                                        const uint16_t* multiplier,
                                        const uint16_t* keep,
                                        const uint16_t* source,
                                        uint16_t* target) {
  for (size_t i = 0; i < kEachLanes; ++i) {
    const uint16_t u = source[i] ^ mask[i];
    const uint16_t low = static_cast<uint16_t>(uint32_t{u} * multiplier[i]);
    const uint16_t high = static_cast<uint16_t>((uint32_t{u} * u) >> 16);
    target[i] = target[i] ^ ((low ^ high) & keep[i]);
  }
}

// Passes the marked values through the network once more, and keeps the mark
// only of those that are still outside of the range. Returns whether any are.
bool PassEach(const EachNetwork& each, uint32_t* values, uint32_t* walks) {
  alignas(64) uint16_t high[kEachLanes];
  alignas(64) uint16_t low[kEachLanes];
  for (size_t i = 0; i < kEachLanes; ++i) {
    const uint32_t x = (values[i] + each.offset[i]) & each.index_mask[i];
    high[i] =
        static_cast<uint16_t>((x >> each.low_bits[i]) << each.high_shift[i]);
    low[i] = static_cast<uint16_t>(x << each.low_shift[i]);
  }
  for (int round = 0; round < kMaxRounds; round += 2) {
    const int more = round < 8 ? 0 : 1;
    RoundOfEach(each.mask[round], each.multiplier[round], each.high_keep[more],
                low, high);
    RoundOfEach(each.mask[round + 1], each.multiplier[round + 1],
                each.low_keep[more], high, low);
  }
  uint32_t any = 0;
  for (size_t i = 0; i < kEachLanes; ++i) {
    const uint32_t x = (uint32_t{high[i]} >> each.high_shift[i])
                           << each.low_bits[i] |
                       uint32_t{low[i]} >> each.low_shift[i];
    values[i] = walks[i] ? x : values[i];
    walks[i] = values[i] > each.last[i] ? ~uint32_t{0} : 0;
    any |= walks[i];
  }
  return any != 0;
}

// A PermutationKernel::EachFunction.
void MapEach(const uint64_t* sizes, const uint64_t* keys, uint64_t* values,
             size_t count) {
  for (size_t at = 0; at < count; at += kEachLanes) {
    const size_t here = count - at < kEachLanes ? count - at : kEachLanes;
    alignas(64) uint64_t lane_sizes[kEachLanes];
    alignas(64) uint64_t lane_keys[kEachLanes];
    alignas(64) uint32_t lane_values[kEachLanes];
    alignas(64) uint32_t walks[kEachLanes];
    for (size_t i = 0; i < kEachLanes; ++i) {
      const size_t from = at + (i < here ? i : 0);
      lane_sizes[i] = sizes[from];
      lane_keys[i] = keys[from];
      lane_values[i] = static_cast<uint32_t>(values[from]);
      walks[i] = ~uint32_t{0};
    }
    EachNetwork each;
    MakeEach(lane_sizes, lane_keys, &each);
    while (PassEach(each, lane_values, walks)) {
    }
    for (size_t i = 0; i < here; ++i) values[at + i] = lane_values[i];
  }
}

}  // namespace
}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_PERMUTATION_PERMUTATION_EACH_H_
