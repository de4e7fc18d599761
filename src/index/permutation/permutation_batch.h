// SPDX-License-Identifier: Apache-2.0
// The batch form of a permutation, compiled once for each instruction set:
// plain loops for the compiler's vectoriser, and explicit vector code where the
// vectoriser's is too slow.
//
// An inline function or template of external linkage exists once in the whole
// program, and the linker keeps any copy of it. If that copy were one compiled
// here for AVX-512, a machine without AVX-512 would fail somewhere else. So
// everything here has internal linkage and calls nothing that has external
// linkage, not even std::min.
//
// A chunk of indices takes one pass through the network together. Results that
// lie outside of the range are then gathered at the front, with their places in
// the batch, and take another pass, until few are left.

#ifndef PONIENTE_INDEX_PERMUTATION_PERMUTATION_BATCH_H_
#define PONIENTE_INDEX_PERMUTATION_PERMUTATION_BATCH_H_

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <cstddef>
#include <cstdint>

#include "index/permutation/feistel.h"
#include "poniente/permutation.h"

namespace poniente::internal {
namespace {

constexpr size_t kChunk = 1024;
// Passes work on whole groups.
constexpr size_t kGroup = 32;
// At most this many remaining indices are mapped one by one, because that is
// faster than together.
constexpr size_t kFew = 2;

#if defined(__AVX512F__)
constexpr size_t kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr size_t kVectorBytes = 32;
#else
constexpr size_t kVectorBytes = 16;
#endif

using Vector __attribute__((vector_size(kVectorBytes), may_alias)) = uint64_t;
constexpr size_t kVectorLanes = kVectorBytes / sizeof(uint64_t);

// Multiplies the low halves of each lane. The vectoriser would multiply whole
// lanes.
PONIENTE_ALWAYS_INLINE void Multiply(const Vector& a, const Vector& b,
                                     Vector* product) {
#if defined(__AVX512F__)
  *product = (Vector)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  *product = (Vector)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
  *product = (Vector)_mm_mul_epu32((__m128i)a, (__m128i)b);
#else
  *product = (a & 0xffffffff) * (b & 0xffffffff);
#endif
}

PONIENTE_ALWAYS_INLINE void WideRound(const FeistelNetwork& network, int round,
                                      uint64_t keep, const Vector& source,
                                      Vector* target) {
  const Vector u = source ^ uint64_t { network.mask[round] };
  const Vector multiplier = Vector{} + uint64_t{network.multiplier[round]};
  Vector low;
  Vector square;
  Multiply(u, multiplier, &low);
  Multiply(u, u, &square);
  *target ^= (low ^ (square >> 32)) & keep;
}

// ImageOf() in the lanes of two vectors, each half in a lane of its own.
template <int rounds, bool forward>
PONIENTE_ALWAYS_INLINE void WideImageOf(const FeistelNetwork& network,
                                        Vector* x) {
  const int high_shift = HighShift<Wide>(network);
  const int low_shift = LowShift<Wide>(network);
  const uint64_t high_keep = uint32_t{0xffffffff} << high_shift;
  const uint64_t low_keep = uint32_t{0xffffffff} << low_shift;
  Vector high[2];
  Vector low[2];
  for (int i = 0; i < 2; ++i) {
    if (forward) x[i] = (x[i] + network.offset) & IndexMask(network);
    high[i] = (x[i] >> network.low_bits) << high_shift;
    low[i] = (x[i] << low_shift) & low_keep;
  }
#pragma GCC unroll 10
  for (int r = 0; r < rounds; ++r) {
    const int round = forward ? r : rounds - 1 - r;
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      if (round % 2 == 0) {
        WideRound(network, round, high_keep, low[i], &high[i]);
      } else {
        WideRound(network, round, low_keep, high[i], &low[i]);
      }
    }
  }
  for (int i = 0; i < 2; ++i) {
    x[i] = (high[i] >> high_shift) << network.low_bits | low[i] >> low_shift;
    if (!forward) x[i] = (x[i] - network.offset) & IndexMask(network);
  }
}

// Replaces the first `groups` groups of values by their images.
template <class Word, int rounds, bool forward>
void Pass(const FeistelNetwork& shared, typename Word::Index* values,
          size_t groups) {
  // A copy, so that no store to `values` can alias it.
  const FeistelNetwork network = shared;
  if constexpr (sizeof(typename Word::Index) == sizeof(uint64_t)) {
    Vector* const vectors = reinterpret_cast<Vector*>(values);
    for (size_t i = 0; i < groups * (kGroup / kVectorLanes); i += 2) {
      WideImageOf<rounds, forward>(network, vectors + i);
    }
  } else {
    for (size_t i = 0; i < groups * kGroup; ++i) {
      values[i] = ImageOf<Word, rounds, forward>(network, values[i]);
    }
  }
}

// Values that are still outside of the range, and their places in the batch.
template <class Index>
struct Walkers {
  alignas(64) Index values[kChunk];
  alignas(64) Index places[kChunk];
};

// Keeps the values at or above `size`, in order, and returns their number. If
// `first`, value i belongs to place i.
template <bool first, class Index>
size_t KeepOutside(uint64_t size, size_t count, Walkers<Index>* walkers) {
  size_t left = 0;
  for (size_t i = 0; i < count; ++i) {
    const Index value = walkers->values[i];
    const Index place = first ? static_cast<Index>(i) : walkers->places[i];
    walkers->values[left] = value;
    walkers->places[left] = place;
    left += value >= size;
  }
  return left;
}

#if defined(__AVX512F__)
template <bool first>
size_t KeepOutside(uint64_t size, size_t count, Walkers<uint32_t>* walkers) {
  const __m512i last = _mm512_set1_epi32(static_cast<int>(size - 1));
  __m512i place =
      _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  size_t left = 0;
  for (size_t i = 0; i < count; i += 16) {
    const __m512i value = _mm512_load_si512(walkers->values + i);
    if (!first) place = _mm512_load_si512(walkers->places + i);
    __mmask16 outside = _mm512_cmpgt_epu32_mask(value, last);
    if (count - i < 16) outside &= (1u << (count - i)) - 1;
    _mm512_storeu_si512(walkers->values + left,
                        _mm512_maskz_compress_epi32(outside, value));
    _mm512_storeu_si512(walkers->places + left,
                        _mm512_maskz_compress_epi32(outside, place));
    left += static_cast<size_t>(__builtin_popcount(outside));
    place = _mm512_add_epi32(place, _mm512_set1_epi32(16));
  }
  return left;
}

template <bool first>
size_t KeepOutside(uint64_t size, size_t count, Walkers<uint64_t>* walkers) {
  const __m512i last = _mm512_set1_epi64(static_cast<int64_t>(size - 1));
  __m512i place = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
  size_t left = 0;
  for (size_t i = 0; i < count; i += 8) {
    const __m512i value = _mm512_load_si512(walkers->values + i);
    if (!first) place = _mm512_load_si512(walkers->places + i);
    __mmask8 outside = _mm512_cmpgt_epu64_mask(value, last);
    if (count - i < 8) outside &= (1u << (count - i)) - 1;
    _mm512_storeu_si512(walkers->values + left,
                        _mm512_maskz_compress_epi64(outside, value));
    _mm512_storeu_si512(walkers->places + left,
                        _mm512_maskz_compress_epi64(outside, place));
    left += static_cast<size_t>(__builtin_popcount(outside));
    place = _mm512_add_epi64(place, _mm512_set1_epi64(8));
  }
  return left;
}
#elif defined(__AVX2__)
// The numbers of the bits that are set in each byte, lowest first.
struct SetBits {
  constexpr SetBits() : of{} {
    for (int byte = 0; byte < 256; ++byte) {
      for (uint8_t bit = 0, at = 0; bit < 8; ++bit) {
        if (byte >> bit & 1) of[byte][at++] = bit;
      }
    }
  }
  uint8_t of[256][8];
};
constexpr SetBits kSetBits;

template <bool first>
size_t KeepOutside(uint64_t size, size_t count, Walkers<uint32_t>* walkers) {
  __m256i* const values = reinterpret_cast<__m256i*>(walkers->values);
  __m256i* const places = reinterpret_cast<__m256i*>(walkers->places);
  const __m256i bound = _mm256_set1_epi32(static_cast<int>(size));
  __m256i place = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  size_t left = 0;
  for (size_t i = 0; i < count; i += 8) {
    const __m256i value = _mm256_load_si256(values + i / 8);
    if (!first) place = _mm256_load_si256(places + i / 8);
    const __m256i larger = _mm256_max_epu32(value, bound);
    unsigned outside = static_cast<unsigned>(_mm256_movemask_ps(
        _mm256_castsi256_ps(_mm256_cmpeq_epi32(larger, value))));
    if (count - i < 8) outside &= (1u << (count - i)) - 1;
    const __m256i from = _mm256_cvtepu8_epi32(_mm_loadl_epi64(
        reinterpret_cast<const __m128i*>(kSetBits.of[outside])));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(walkers->values + left),
                        _mm256_permutevar8x32_epi32(value, from));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(walkers->places + left),
                        _mm256_permutevar8x32_epi32(place, from));
    left += static_cast<size_t>(__builtin_popcount(outside));
    place = _mm256_add_epi32(place, _mm256_set1_epi32(8));
  }
  return left;
}
#endif

// Replaces the first `count` values by their images, and the rest of the last
// group by arbitrary values.
template <class Word, int rounds, bool forward>
void PadAndPass(const FeistelNetwork& network, size_t count,
                typename Word::Index* values) {
  const size_t groups = (count + kGroup - 1) / kGroup;
  for (size_t i = count; i < groups * kGroup; ++i) values[i] = 0;
  Pass<Word, rounds, forward>(network, values, groups);
}

// Maps a chunk. REQUIRES: 0 < count <= kChunk, and all entries are below size.
template <class Word, int rounds, bool forward>
void MapChunk(const FeistelNetwork& network, uint64_t size, const uint64_t* in,
              uint64_t* out, size_t count) {
  using Index = typename Word::Index;
  Walkers<Index> walkers;
  Index* const values = walkers.values;
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<Index>(in[i]);
  PadAndPass<Word, rounds, forward>(network, count, values);
  for (size_t i = 0; i < count; ++i) out[i] = values[i];
  if (size - 1 == IndexMask(network)) return;
  size_t left = KeepOutside<true>(size, count, &walkers);
  while (left > kFew) {
    PadAndPass<Word, rounds, forward>(network, left, values);
    for (size_t i = 0; i < left; ++i) out[walkers.places[i]] = values[i];
    left = KeepOutside<false>(size, left, &walkers);
  }
  using Single = typename Word::Alone;
  for (size_t i = 0; i < left; ++i) {
    out[walkers.places[i]] =
        WalkOne<Single, rounds, forward>(network, size, values[i]);
  }
}

// Returns 0, or an entry that is not below size.
uint64_t EntryOutside(uint64_t size, const uint64_t* in, size_t count) {
  // size <= 2^63, so the top bit is set if and only if an entry is outside.
  uint64_t top = 0;
  for (size_t i = 0; i < count; ++i) top |= in[i] | (size - 1 - in[i]);
  if (top >> 63 == 0) return 0;
  size_t i = 0;
  while (in[i] < size) ++i;
  return in[i];
}

template <class Word, int rounds, bool forward>
uint64_t MapChunks(const FeistelNetwork& network, uint64_t size,
                   const uint64_t* in, uint64_t* out, size_t count) {
  for (size_t at = 0; at < count; at += kChunk) {
    const size_t here = count - at < kChunk ? count - at : kChunk;
    const uint64_t outside = EntryOutside(size, in + at, here);
    if (outside != 0) return outside;
    MapChunk<Word, rounds, forward>(network, size, in + at, out + at, here);
  }
  return 0;
}

// A PermutationKernel::Function.
template <bool forward>
uint64_t MapBatch(const FeistelNetwork& network, uint64_t size,
                  const uint64_t* in, uint64_t* out, size_t count) {
  if (!IsNarrow(network)) {
    return MapChunks<Wide, 8, forward>(network, size, in, out, count);
  }
  if (network.rounds == 8) {
    return MapChunks<NarrowLanes, 8, forward>(network, size, in, out, count);
  }
  return MapChunks<NarrowLanes, 10, forward>(network, size, in, out, count);
}

}  // namespace
}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_PERMUTATION_PERMUTATION_BATCH_H_
