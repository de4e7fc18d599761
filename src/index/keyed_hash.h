// SPDX-License-Identifier: Apache-2.0
// Keys: every order in the library is chosen by a 64-bit key, derived from the
// user's seed and from words that say what the key is for (docs/index-math.md
// 1.1). Part of the order since version 1: a change here reorders every run.
//
// A word is an integer, a Tag (what the key is for; one word) or a name (what
// the user called something; its bytes and its length). A string literal does
// not compile, because tags and names are absorbed differently. Never derive a
// key by adding to a seed: (seed, epoch + 1) and (seed + 1, epoch) must differ.

#ifndef PONIENTE_INDEX_KEYED_HASH_H_
#define PONIENTE_INDEX_KEYED_HASH_H_

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "index/int128.h"
#include "util/byte_order.h"

namespace poniente::internal {

inline constexpr uint64_t kGoldenGamma = 0x9e3779b97f4a7c15;
inline constexpr uint64_t kSeedOffset = 0x632be59bd9b4e019;

// SplitMix64's finaliser: a bijection.
constexpr uint64_t Mix64(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

constexpr uint64_t Absorb(uint64_t state, uint64_t word) {
  return Mix64(state ^ Mix64(word + kGoldenGamma));
}

// The purpose of a key: at most 8 characters of ASCII, fixed at compile time.
class Tag {
 public:
  template <size_t n>
  requires(n <= 9) consteval explicit Tag(const char (&text)[n]) {
    for (size_t i = 0; i + 1 < n; ++i) {
      word_ |= uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
    }
  }
  constexpr uint64_t word() const { return word_; }

 private:
  uint64_t word_ = 0;
};

inline constexpr Tag kNameTag("name");
inline constexpr Tag kBlockTag("bloc");
inline constexpr Tag kEpochTag("epoc");
inline constexpr Tag kFlatTag("flat");
inline constexpr Tag kShuffleTag("shuf");
inline constexpr Tag kRandomMapTag("rmap");
inline constexpr Tag kPrefixTag("pref");
inline constexpr Tag kEraTag("era");
inline constexpr Tag kChunksTag("chun");
inline constexpr Tag kWindowTag("wind");
inline constexpr Tag kSubWindowTag("subw");
inline constexpr Tag kHoldTag("hold");
inline constexpr Tag kBudgetTag("budg");
inline constexpr Tag kInfillingTag("fim");

// A key under construction, for lists of words of any length.
class KeyHash {
 public:
  explicit constexpr KeyHash(uint64_t seed)
      : state_(Mix64(seed + kSeedOffset)) {}

  constexpr KeyHash& Add(std::integral auto word) {
    state_ = Absorb(state_, static_cast<uint64_t>(word));
    return *this;
  }
  constexpr KeyHash& Add(Tag tag) { return Add(tag.word()); }
  KeyHash& Add(std::string_view name) {
    for (size_t at = 0; at < name.size(); at += 8) {
      char bytes[8] = {};
      std::copy_n(name.data() + at, std::min<size_t>(8, name.size() - at),
                  bytes);
      Add(LoadLittle<uint64_t>(bytes));
    }
    return Add(name.size());
  }
  KeyHash& Add(const char* tag_or_name) = delete;

  constexpr uint64_t key() const { return state_; }

 private:
  uint64_t state_;
};

template <class... Words>
constexpr uint64_t Derive(uint64_t seed, const Words&... words) {
  KeyHash hash(seed);
  (hash.Add(words), ...);
  return hash.key();
}

// Returns the seed that a node with several children passes to the one called
// `name`.
inline uint64_t ChildSeed(uint64_t seed, std::string_view name) {
  return Derive(seed, kNameTag, name);
}

// A sequence of pseudo-random words from a key.
class KeyStream {
 public:
  explicit constexpr KeyStream(uint64_t key)
      : state_(Mix64(key + kSeedOffset)) {}

  constexpr uint64_t Next() { return Mix64(state_ += kGoldenGamma); }

  // Returns a number uniform below n (Lemire's method). REQUIRES: n > 0.
  constexpr uint64_t Bounded(uint64_t n) {
    Uint128 product = Uint128{Next()} * n;
    const uint64_t unfair = (0 - n) % n;  // 2^64 mod n
    while (static_cast<uint64_t>(product) < unfair) {
      product = Uint128{Next()} * n;
    }
    return static_cast<uint64_t>(product >> 64);
  }

 private:
  uint64_t state_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_KEYED_HASH_H_
