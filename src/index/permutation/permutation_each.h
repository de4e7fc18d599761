// SPDX-License-Identifier: Apache-2.0
// Maps two indices by each of many permutations, one permutation per lane. A
// mixture of a thousand components needs this: a block has only a draw or two
// of each, and making a network takes longer than a pass through it. Derives
// the permutations' keys in the same way. Compiled and linked like
// permutation_batch.h, whose rules hold here.
//
// A group of indices takes two passes. Those that are still outside of their
// range, about one in ten, come together in new groups, whose networks are made
// anew: with all of a group's lanes waiting for the last one, it would take six
// passes.

#ifndef PONIENTE_INDEX_PERMUTATION_PERMUTATION_EACH_H_
#define PONIENTE_INDEX_PERMUTATION_PERMUTATION_EACH_H_

#include <cstddef>
#include <cstdint>

#include "index/permutation/feistel.h"
#include "index/permutation/permutation_batch.h"

namespace poniente::internal {
namespace {

constexpr size_t kEachLanes = 64;
constexpr int kMaxRounds = 10;
// Rounds of networks of more than 16 bits.
constexpr int kWideRounds = 8;
// Passes of a group before its remaining indices join others.
constexpr int kEachPasses = 2;
// Permutations whose remaining indices are collected together.
constexpr size_t kEachChunk = 2048;

PONIENTE_ALWAYS_INLINE uint64_t MixWord(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// Words of KeyStream(key) are MixWord(state + i * kGamma), i = 1, 2, ...
constexpr uint64_t kGamma = 0x9e3779b97f4a7c15;
constexpr uint64_t kStreamOffset = 0x632be59bd9b4e019;

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
  bool has_more;  // some network has more than eight rounds
};

PONIENTE_ALWAYS_INLINE void MakeRoundsOfEach(const uint64_t* state, int begin,
                                             int end, EachNetwork* each) {
  for (int round = begin; round < end; ++round) {
    const uint64_t step = static_cast<uint64_t>(round + 2) * kGamma;
    for (size_t i = 0; i < kEachLanes; ++i) {
      const uint64_t word = MixWord(state[i] + step);
      each->mask[round][i] = static_cast<uint16_t>(word);
      each->multiplier[round][i] = static_cast<uint16_t>(word >> 48);
    }
  }
}

void MakeEach(const uint64_t* sizes, const uint64_t* keys, EachNetwork* each) {
  for (size_t i = 0; i < kEachLanes; ++i) {
    const uint32_t last = static_cast<uint32_t>(sizes[i] - 1);
    uint32_t mask = last | last >> 1;
    mask |= mask >> 2;
    mask |= mask >> 4;
    mask |= mask >> 8;
    mask |= mask >> 16;
    // The exponent of the top bit, because vectors cannot count bits: floats
    // hold powers of two exactly, -2^31 among them.
    const float top =
        static_cast<float>(static_cast<int32_t>(mask ^ mask >> 1));
    const uint32_t bits =
        (__builtin_bit_cast(uint32_t, top) >> 23 & 0xff) - 126;
    each->last[i] = last;
    each->index_mask[i] = mask;
    each->low_bits[i] = bits / 2;
    each->low_shift[i] = 16 - bits / 2;
    each->high_shift[i] = 16 - (bits + 1) / 2;
  }
  uint32_t any_more = 0;
  for (size_t i = 0; i < kEachLanes; ++i) {
    const uint32_t high_keep = uint32_t{0xffff} << each->high_shift[i];
    const uint32_t low_keep = uint32_t{0xffff} << each->low_shift[i];
    const uint32_t has_more = each->index_mask[i] < 65536 ? 0xffff : 0;
    each->high_keep[0][i] = static_cast<uint16_t>(high_keep);
    each->low_keep[0][i] = static_cast<uint16_t>(low_keep);
    each->high_keep[1][i] = static_cast<uint16_t>(high_keep & has_more);
    each->low_keep[1][i] = static_cast<uint16_t>(low_keep & has_more);
    any_more |= has_more;
  }
  each->has_more = any_more != 0;
  alignas(64) uint64_t state[kEachLanes];
  for (size_t i = 0; i < kEachLanes; ++i) {
    state[i] = MixWord(keys[i] + kStreamOffset);
  }
  for (size_t i = 0; i < kEachLanes; ++i) {
    each->offset[i] =
        static_cast<uint32_t>(MixWord(state[i] + kGamma)) & each->index_mask[i];
  }
  MakeRoundsOfEach(state, 0, kWideRounds, each);
  if (each->has_more) MakeRoundsOfEach(state, kWideRounds, kMaxRounds, each);
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

// One value for each lane, and whether it is outside of its range.
struct EachValues {
  alignas(64) uint32_t values[kEachLanes];
  alignas(64) uint32_t walks[kEachLanes];
};

// Passes the marked values of several sets through the network once more, and
// keeps the mark only of those that are still outside of the range. Returns
// whether any are. The sets' rounds overlap: each waits for the one before.
template <size_t sets>
bool PassEach(const EachNetwork& each, EachValues* all) {
  alignas(64) uint16_t high[sets][kEachLanes];
  alignas(64) uint16_t low[sets][kEachLanes];
  for (size_t s = 0; s < sets; ++s) {
    for (size_t i = 0; i < kEachLanes; ++i) {
      const uint32_t x =
          (all[s].values[i] + each.offset[i]) & each.index_mask[i];
      high[s][i] =
          static_cast<uint16_t>((x >> each.low_bits[i]) << each.high_shift[i]);
      low[s][i] = static_cast<uint16_t>(x << each.low_shift[i]);
    }
  }
  const int rounds = each.has_more ? kMaxRounds : kWideRounds;
  for (int round = 0; round < rounds; round += 2) {
    const int keep = round < kWideRounds ? 0 : 1;
    for (size_t s = 0; s < sets; ++s) {
      RoundOfEach(each.mask[round], each.multiplier[round],
                  each.high_keep[keep], low[s], high[s]);
    }
    for (size_t s = 0; s < sets; ++s) {
      RoundOfEach(each.mask[round + 1], each.multiplier[round + 1],
                  each.low_keep[keep], high[s], low[s]);
    }
  }
  uint32_t any = 0;
  for (size_t s = 0; s < sets; ++s) {
    for (size_t i = 0; i < kEachLanes; ++i) {
      const uint32_t x = (uint32_t{high[s][i]} >> each.high_shift[i])
                             << each.low_bits[i] |
                         uint32_t{low[s][i]} >> each.low_shift[i];
      const uint32_t value = all[s].walks[i] ? x : all[s].values[i];
      const uint32_t walks = value > each.last[i] ? ~uint32_t{0} : 0;
      all[s].values[i] = value;
      all[s].walks[i] = walks;
      any |= walks;
    }
  }
  return any != 0;
}

// Calls pass() up to `passes` times, or to the end if 0, while values are left
// outside of their range; returns whether any are.
template <class Pass>
PONIENTE_ALWAYS_INLINE bool PassUpTo(int passes, const Pass& pass) {
  bool any = pass();
  for (int done = 1; any && done != passes; ++done) any = pass();
  return any;
}

// A lane's permutation, of at most 32 bits.
struct NarrowEach {
  using Network = EachNetwork;

  static void Make(const uint64_t* sizes, const uint64_t* keys,
                   Network* network) {
    MakeEach(sizes, keys, network);
  }
  // Passes sets of lanes up to `passes` times, or to the end if 0. Marks in
  // `walks` which values are still outside of their range; returns whether any
  // are.
  template <size_t sets>
  static bool Walk(const Network& each, uint64_t* const* values, int passes,
                   uint32_t (*walks)[kEachLanes]) {
    EachValues all[sets];
    for (size_t s = 0; s < sets; ++s) {
      for (size_t i = 0; i < kEachLanes; ++i) {
        all[s].values[i] = static_cast<uint32_t>(values[s][i]);
        all[s].walks[i] = ~uint32_t{0};
      }
    }
    const bool any =
        PassUpTo(passes, [&] { return PassEach<sets>(each, all); });
    for (size_t s = 0; s < sets; ++s) {
      for (size_t i = 0; i < kEachLanes; ++i) {
        values[s][i] = all[s].values[i];
        walks[s][i] = all[s].walks[i];
      }
    }
    return any;
  }
};

// Networks of more than 32 bits, one per lane; see FeistelNetwork.
struct WideEachNetwork {
  alignas(64) uint64_t last[kEachLanes];  // size - 1
  alignas(64) uint64_t index_mask[kEachLanes];
  alignas(64) uint64_t offset[kEachLanes];
  alignas(64) uint64_t low_bits[kEachLanes];
  alignas(64) uint64_t high_shift[kEachLanes];
  alignas(64) uint64_t low_shift[kEachLanes];
  // A_r, and above it m_r.
  alignas(64) uint64_t words[kWideRounds][kEachLanes];
};

void MakeWideEach(const uint64_t* sizes, const uint64_t* keys,
                  WideEachNetwork* each) {
  for (size_t i = 0; i < kEachLanes; ++i) {
    const uint64_t last = sizes[i] - 1;
    uint64_t mask = last | last >> 1;
    mask |= mask >> 2;
    mask |= mask >> 4;
    mask |= mask >> 8;
    mask |= mask >> 16;
    mask |= mask >> 32;
    // The exponent of the top bit, which lies in the upper half: 2^52 is added
    // to the half by its bits, and subtracted as a number.
    constexpr uint64_t kTwo52 = 0x4330000000000000;
    const uint64_t top = (mask ^ mask >> 1) >> 32;
    const double number = __builtin_bit_cast(double, kTwo52 | top) -
                          __builtin_bit_cast(double, kTwo52);
    const uint64_t bits =
        (__builtin_bit_cast(uint64_t, number) >> 52) - 1023 + 33;
    each->last[i] = last;
    each->index_mask[i] = mask;
    each->low_bits[i] = bits / 2;
    each->low_shift[i] = 32 - bits / 2;
    each->high_shift[i] = 32 - (bits + 1) / 2;
  }
  alignas(64) uint64_t state[kEachLanes];
  for (size_t i = 0; i < kEachLanes; ++i) {
    state[i] = MixWord(keys[i] + kStreamOffset);
    each->offset[i] = MixWord(state[i] + kGamma) & each->index_mask[i];
  }
  for (int round = 0; round < kWideRounds; ++round) {
    const uint64_t step = static_cast<uint64_t>(round + 2) * kGamma;
    for (size_t i = 0; i < kEachLanes; ++i) {
      each->words[round][i] = MixWord(state[i] + step);
    }
  }
}

PONIENTE_ALWAYS_INLINE void WideRoundOfEach(const Vector& word,
                                            const Vector& keep,
                                            const Vector& source,
                                            Vector* target) {
  // Above A_r and the half, u has other bits, which Multiply() ignores.
  const Vector u = source ^ word;
  Vector low;
  Vector square;
  Multiply(u, word >> 32, &low);
  Multiply(u, u, &square);
  *target ^= (low ^ (square >> 32)) & keep;
}

// PassEach() for wide networks; marks are whole lanes.
bool PassWideEach(const WideEachNetwork& each, uint64_t* values,
                  uint64_t* walks) {
  constexpr size_t kVectors = 2;  // at a time
  const auto at = [](const uint64_t* lanes, size_t i) -> const Vector& {
    return reinterpret_cast<const Vector*>(lanes)[i];
  };
  Vector any = {};
  for (size_t from = 0; from < kEachLanes / kVectorLanes; from += kVectors) {
    Vector high[kVectors];
    Vector low[kVectors];
    Vector high_keep[kVectors];
    Vector low_keep[kVectors];
#pragma GCC unroll 2
    for (size_t j = 0; j < kVectors; ++j) {
      const size_t i = from + j;
      const Vector x =
          (at(values, i) + at(each.offset, i)) & at(each.index_mask, i);
      const Vector all = Vector{} + uint64_t{0xffffffff};
      high_keep[j] = (all << at(each.high_shift, i)) & all;
      low_keep[j] = (all << at(each.low_shift, i)) & all;
      high[j] = (x >> at(each.low_bits, i)) << at(each.high_shift, i);
      low[j] = (x << at(each.low_shift, i)) & low_keep[j];
    }
#pragma GCC unroll 4
    for (int round = 0; round < kWideRounds; round += 2) {
#pragma GCC unroll 2
      for (size_t j = 0; j < kVectors; ++j) {
        WideRoundOfEach(at(each.words[round], from + j), high_keep[j], low[j],
                        &high[j]);
      }
#pragma GCC unroll 2
      for (size_t j = 0; j < kVectors; ++j) {
        WideRoundOfEach(at(each.words[round + 1], from + j), low_keep[j],
                        high[j], &low[j]);
      }
    }
#pragma GCC unroll 2
    for (size_t j = 0; j < kVectors; ++j) {
      const size_t i = from + j;
      const Vector x = (high[j] >> at(each.high_shift, i))
                           << at(each.low_bits, i) |
                       low[j] >> at(each.low_shift, i);
      Vector* const value = reinterpret_cast<Vector*>(values) + i;
      Vector* const walk = reinterpret_cast<Vector*>(walks) + i;
      *value = (x & *walk) | (*value & ~*walk);
      // Both are below 2^63: the difference wraps if the value is outside.
      *walk = Vector{} - ((at(each.last, i) - *value) >> 63);
      any |= *walk;
    }
  }
  uint64_t found = 0;
  for (size_t lane = 0; lane < kVectorLanes; ++lane) found |= any[lane];
  return found != 0;
}

// A lane's permutation, of more than 32 bits.
struct WideEach {
  using Network = WideEachNetwork;

  static void Make(const uint64_t* sizes, const uint64_t* keys,
                   Network* network) {
    MakeWideEach(sizes, keys, network);
  }
  // Like NarrowEach::Walk(). One set after the other: each fills the vector
  // registers.
  template <size_t sets>
  static bool Walk(const Network& each, uint64_t* const* values, int passes,
                   uint32_t (*walks)[kEachLanes]) {
    bool any = false;
    for (size_t s = 0; s < sets; ++s) {
      any |= WalkSet(each, values[s], passes, walks[s]);
    }
    return any;
  }

 private:
  static bool WalkSet(const Network& each, uint64_t* values, int passes,
                      uint32_t* walks) {
    alignas(64) uint64_t lanes[kEachLanes];
    alignas(64) uint64_t wide_walks[kEachLanes];
    for (size_t i = 0; i < kEachLanes; ++i) {
      lanes[i] = values[i];
      wide_walks[i] = ~uint64_t{0};
    }
    const bool any =
        PassUpTo(passes, [&] { return PassWideEach(each, lanes, wide_walks); });
    for (size_t i = 0; i < kEachLanes; ++i) {
      values[i] = lanes[i];
      walks[i] = static_cast<uint32_t>(wide_walks[i]);
    }
    return any;
  }
};

// Keeps the places of the marked values, in order, and returns their number.
// `left` is `places` or lies before it.
PONIENTE_ALWAYS_INLINE size_t KeepMarked(const uint32_t* walks, size_t count,
                                         const uint32_t* places,
                                         uint32_t* left) {
  size_t kept = 0;
#if defined(__AVX512F__)
  for (size_t i = 0; i < count; i += 16) {
    const __m512i walk = _mm512_loadu_si512(walks + i);
    const __m512i place = _mm512_loadu_si512(places + i);
    __mmask16 marked = _mm512_test_epi32_mask(walk, walk);
    if (count - i < 16) marked &= (1u << (count - i)) - 1;
    _mm512_storeu_si512(left + kept,
                        _mm512_maskz_compress_epi32(marked, place));
    kept += static_cast<size_t>(__builtin_popcount(marked));
  }
#else
  for (size_t i = 0; i < count; ++i) {
    left[kept] = places[i];
    kept += walks[i] & 1;
  }
#endif
  return kept;
}

// The indices of a chunk: the first and the second of each permutation. The
// place of a second one is kEachChunk more than its permutation's number.
struct EachChunk {
  const uint64_t* sizes;
  const uint64_t* keys;
  uint64_t* values[2];

  uint64_t& value(size_t place) const {
    return values[place / kEachChunk][place % kEachChunk];
  }
};

// Maps a group of values that lie at `places`, and keeps the places of those
// that have to walk on; returns their number.
template <class Each>
size_t MapPlaces(const EachChunk& chunk, uint32_t* places, size_t count,
                 int passes, uint32_t* left) {
  alignas(64) uint64_t sizes[kEachLanes];
  alignas(64) uint64_t keys[kEachLanes];
  alignas(64) uint64_t values[kEachLanes];
  alignas(64) uint32_t walks[1][kEachLanes];
  for (size_t i = 0; i < kEachLanes; ++i) {
    // Lanes too many repeat the first.
    const size_t from = places[i < count ? i : 0];
    sizes[i] = chunk.sizes[from % kEachChunk];
    keys[i] = chunk.keys[from % kEachChunk];
    values[i] = chunk.value(from);
  }
  typename Each::Network network;
  Each::Make(sizes, keys, &network);
  uint64_t* const set = values;
  const bool any = Each::template Walk<1>(network, &set, passes, walks);
  for (size_t i = 0; i < count; ++i) chunk.value(places[i]) = values[i];
  return any ? KeepMarked(walks[0], count, places, left) : 0;
}

template <class Each>
void MapChunkOfEach(const EachChunk& chunk, size_t count) {
  // Whole vectors are stored at the end.
  alignas(64) uint32_t places[2 * kEachChunk + kEachLanes];
  size_t left = 0;
  size_t i = 0;
  for (; i + kEachLanes <= count; i += kEachLanes) {
    typename Each::Network network;
    Each::Make(chunk.sizes + i, chunk.keys + i, &network);
    uint64_t* const sets[] = {chunk.values[0] + i, chunk.values[1] + i};
    alignas(64) uint32_t walks[2][kEachLanes];
    if (!Each::template Walk<2>(network, sets, kEachPasses, walks)) continue;
    for (size_t s = 0; s < 2; ++s) {
      alignas(64) uint32_t group[kEachLanes];
      const size_t first = s * kEachChunk + i;
      for (size_t j = 0; j < kEachLanes; ++j) {
        group[j] = static_cast<uint32_t>(first + j);
      }
      left += KeepMarked(walks[s], kEachLanes, group, places + left);
    }
  }
  // The last values are few; they begin like those that walk on.
  for (; i < count; ++i) {
    places[left++] = static_cast<uint32_t>(i);
    places[left++] = static_cast<uint32_t>(kEachChunk + i);
  }
  while (left > 0) {
    const int passes = left > kEachLanes ? kEachPasses : 0;
    size_t kept = 0;
    for (size_t j = 0; j < left; j += kEachLanes) {
      const size_t lanes = left - j < kEachLanes ? left - j : kEachLanes;
      kept += MapPlaces<Each>(chunk, places + j, lanes, passes, places + kept);
    }
    left = kept;
  }
}

// A PermutationKernel::EachFunction.
template <class Each>
void MapEach(const uint64_t* sizes, const uint64_t* keys, uint64_t* first,
             uint64_t* second, size_t count) {
  for (size_t at = 0; at < count; at += kEachChunk) {
    const size_t here = count - at < kEachChunk ? count - at : kEachChunk;
    MapChunkOfEach<Each>({sizes + at, keys + at, {first + at, second + at}},
                         here);
  }
}

// Absorb() of keyed_hash.h, which has external linkage.
PONIENTE_ALWAYS_INLINE uint64_t AbsorbWord(uint64_t state, uint64_t word) {
  return MixWord(state ^ MixWord(word + kGamma));
}

// A PermutationKernel::AddFunction.
void AddToEach(const uint64_t* words, uint64_t* keys, size_t count) {
  for (size_t i = 0; i < count; ++i) keys[i] = AbsorbWord(keys[i], words[i]);
}

// A PermutationKernel::DeriveFunction.
void DeriveEach(uint64_t tag, uint64_t* keys, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    keys[i] = AbsorbWord(MixWord(keys[i] + kStreamOffset), tag);
  }
}

}  // namespace
}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_PERMUTATION_PERMUTATION_EACH_H_
