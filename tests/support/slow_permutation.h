// SPDX-License-Identifier: Apache-2.0
// The permutation of docs/index-math.md 1.2, written down a second time from
// its text, one index after the other, for small sizes: what shuffling nodes
// are compared with. Shares nothing with the library.

#ifndef PONIENTE_TESTS_SUPPORT_SLOW_PERMUTATION_H_
#define PONIENTE_TESTS_SUPPORT_SLOW_PERMUTATION_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace poniente::testing {

inline uint64_t SlowMix(uint64_t z) {
  z ^= z >> 30;
  z *= 0xbf58476d1ce4e5b9u;
  z ^= z >> 27;
  z *= 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

inline uint64_t SlowAbsorb(uint64_t state, uint64_t word) {
  return SlowMix(state ^ SlowMix(word + 0x9e3779b97f4a7c15u));
}

inline uint64_t SlowBegin(uint64_t seed) {
  return SlowMix(seed + 0x632be59bd9b4e019u);
}

// Bytes of `text`, little-endian, in words; without a length.
inline uint64_t SlowText(uint64_t state, const std::string& text) {
  for (size_t at = 0; at < text.size(); at += 8) {
    uint64_t word = 0;
    for (size_t i = 0; i < 8 && at + i < text.size(); ++i) {
      word |= uint64_t{static_cast<uint8_t>(text[at + i])} << (8 * i);
    }
    state = SlowAbsorb(state, word);
  }
  return state;
}

// derive(seed, "name", name).
inline uint64_t SlowChildSeed(uint64_t seed, const std::string& name) {
  return SlowAbsorb(SlowText(SlowText(SlowBegin(seed), "name"), name),
                    name.size());
}

// derive(seed, tag, epoch).
inline uint64_t SlowEpochKey(uint64_t seed, const std::string& tag,
                             uint64_t epoch) {
  return SlowAbsorb(SlowText(SlowBegin(seed), tag), epoch);
}

// derive(seed, "epoc", name, epoch).
inline uint64_t SlowComponentKey(uint64_t seed, const std::string& name,
                                 uint64_t epoch) {
  const uint64_t named = SlowAbsorb(
      SlowText(SlowText(SlowBegin(seed), "epoc"), name), name.size());
  return SlowAbsorb(named, epoch);
}

// All of Perm(n, key), for n < 2^32.
inline std::vector<uint64_t> SlowPermutation(uint64_t n, uint64_t key) {
  uint64_t state = SlowBegin(key);
  const auto next = [&state] {
    state += 0x9e3779b97f4a7c15u;
    return SlowMix(state);
  };
  std::vector<uint64_t> to(n);
  for (uint64_t i = 0; i < n; ++i) to[i] = i;
  if (n <= 64) {
    for (uint64_t i = n; i >= 2; --i) {
      const uint64_t unfair = (UINT64_MAX % i + 1) % i;
      __extension__ unsigned __int128 product = next();
      product *= i;
      while (static_cast<uint64_t>(product) < unfair) {
        product = next();
        product *= i;
      }
      std::swap(to[i - 1], to[static_cast<uint64_t>(product >> 64)]);
    }
    return to;
  }
  int bits = 0;
  while (((n - 1) >> bits) != 0) ++bits;
  const int low_bits = bits / 2;
  const int high_bits = bits - low_bits;
  const int rounds = bits <= 16 ? 10 : 8;
  const uint64_t offset = next() & ((uint64_t{1} << bits) - 1);
  std::vector<std::pair<uint64_t, uint64_t>> keys;
  for (int r = 0; r < rounds; ++r) {
    const uint64_t word = next();
    keys.push_back({word & 0xffff, word >> 48});
  }
  const auto round = [&](int r, uint64_t v, int from, int wanted) {
    const uint64_t u = (v << (16 - from)) ^ keys[r].first;
    const uint64_t t = ((u * keys[r].second) & 0xffff) ^ ((u * u) >> 16);
    return t >> (16 - wanted);
  };
  for (uint64_t i = 0; i < n; ++i) {
    uint64_t x = i;
    do {
      x = (x + offset) & ((uint64_t{1} << bits) - 1);
      uint64_t high = x >> low_bits;
      uint64_t low = x & ((uint64_t{1} << low_bits) - 1);
      for (int r = 0; r < rounds; r += 2) {
        high ^= round(r, low, low_bits, high_bits);
        low ^= round(r + 1, high, high_bits, low_bits);
      }
      x = high << low_bits | low;
    } while (x >= n);
    to[i] = x;
  }
  return to;
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_SUPPORT_SLOW_PERMUTATION_H_
