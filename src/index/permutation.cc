// SPDX-License-Identifier: Apache-2.0
// Both halves of an index are kept at the top of their words. A round function
// then takes its argument as it is and gives its result by masking, and a round
// is the same three multiplications and xors for every size, over 64 lanes.
#include "poniente/permutation.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "index/keyed_hash.h"
#include "util/check.h"

namespace poniente {
namespace {

using internal::FeistelNetwork;
using internal::KeyStream;
using internal::ShuffleTable;

constexpr uint64_t kMaxSize = uint64_t{1} << 63;
constexpr size_t kLanes = 64;

// Halves of up to 16 bits are mixed in 16-bit words, longer ones in 32-bit.
constexpr int kMaxNarrowBits = 32;
constexpr int kMaxManyRoundsBits = 16;

template <class Word>
constexpr int kBits = 8 * sizeof(Word);

int IndexBits(const FeistelNetwork& network) {
  return network.high_bits + network.low_bits;
}

uint64_t IndexMask(const FeistelNetwork& network) {
  return (uint64_t{1} << IndexBits(network)) - 1;
}

ShuffleTable MakeTable(uint64_t size, uint64_t key) {
  ShuffleTable table = {};
  for (uint64_t i = 0; i < size; ++i) {
    table.forward[i] = static_cast<uint8_t>(i);
  }
  KeyStream stream(key);
  for (uint64_t i = size; i >= 2; --i) {
    std::swap(table.forward[i - 1], table.forward[stream.Bounded(i)]);
  }
  for (uint64_t i = 0; i < size; ++i) {
    table.inverse[table.forward[i]] = static_cast<uint8_t>(i);
  }
  return table;
}

FeistelNetwork MakeNetwork(uint64_t size, uint64_t key) {
  FeistelNetwork network = {};
  const int bits = std::bit_width(size - 1);
  const bool narrow = bits <= kMaxNarrowBits;
  network.high_bits = static_cast<uint8_t>((bits + 1) / 2);
  network.low_bits = static_cast<uint8_t>(bits / 2);
  network.rounds = bits <= kMaxManyRoundsBits ? 10 : 8;
  KeyStream stream(key);
  network.offset = stream.Next() & IndexMask(network);
  for (size_t r = 0; r < network.rounds; ++r) {
    const uint64_t word = stream.Next();
    network.mask[r] = static_cast<uint32_t>(narrow ? word & 0xffff : word);
    network.multiplier[r] = static_cast<uint32_t>(word >> (narrow ? 48 : 32));
  }
  return network;
}

template <class Word>
inline Word Mix(Word half, Word mask, Word multiplier) {
  using Wide =
      std::conditional_t<std::is_same_v<Word, uint16_t>, uint32_t, uint64_t>;
  const Word u = half ^ mask;
  const Word low = static_cast<Word>(Wide{u} * multiplier);
  const Word high = static_cast<Word>((Wide{u} * u) >> kBits<Word>);
  return low ^ high;
}

// target ^= F_round(source), in every lane.
template <class Word, size_t lanes>
inline void Round(const FeistelNetwork& network, size_t round, Word keep,
                  const Word* source, Word* target) {
  const Word mask = static_cast<Word>(network.mask[round]);
  const Word multiplier = static_cast<Word>(network.multiplier[round]);
  for (size_t i = 0; i < lanes; ++i) {
    target[i] ^= Mix(source[i], mask, multiplier) & keep;
  }
}

// Replaces each value by its image in [0, 2^bits), without the walk.
template <class Word, size_t lanes, bool forward>
inline void Pass(const FeistelNetwork& network, uint64_t* values) {
  const uint64_t index_mask = IndexMask(network);
  const int low_bits = network.low_bits;
  const int high_shift = kBits<Word> - network.high_bits;
  const int low_shift = kBits<Word> - network.low_bits;
  const Word high_keep = static_cast<Word>(~uint64_t{0} << high_shift);
  const Word low_keep = static_cast<Word>(~uint64_t{0} << low_shift);
  Word high[lanes];
  Word low[lanes];
  for (size_t i = 0; i < lanes; ++i) {
    const uint64_t x =
        forward ? (values[i] + network.offset) & index_mask : values[i];
    high[i] = static_cast<Word>((x >> low_bits) << high_shift);
    low[i] = static_cast<Word>(x << low_shift);
  }
  for (size_t r = 0; r < network.rounds; r += 2) {
    if constexpr (forward) {
      Round<Word, lanes>(network, r, high_keep, low, high);
      Round<Word, lanes>(network, r + 1, low_keep, high, low);
    } else {
      const size_t back = network.rounds - 1 - r;
      Round<Word, lanes>(network, back, low_keep, high, low);
      Round<Word, lanes>(network, back - 1, high_keep, low, high);
    }
  }
  for (size_t i = 0; i < lanes; ++i) {
    const uint64_t x = (uint64_t{high[i]} >> high_shift) << low_bits |
                       uint64_t{low[i]} >> low_shift;
    values[i] = forward ? x : (x - network.offset) & index_mask;
  }
}

template <class Word, bool forward>
uint64_t WalkOne(const FeistelNetwork& network, uint64_t size, uint64_t index) {
  do {
    Pass<Word, 1, forward>(network, &index);
  } while (index >= size);
  return index;
}

template <bool forward>
uint64_t WalkOne(const FeistelNetwork& network, uint64_t size, uint64_t index) {
  return IndexBits(network) <= kMaxNarrowBits
             ? WalkOne<uint16_t, forward>(network, size, index)
             : WalkOne<uint32_t, forward>(network, size, index);
}

// Places in `out` whose walk has not ended; `out` holds how far it has come.
struct Worklist {
  size_t places[2 * kLanes];
  size_t count = 0;
};

// One more pass over up to kLanes entries of the worklist.
template <class Word, bool forward>
void WalkOn(const FeistelNetwork& network, uint64_t size,
            std::span<uint64_t> out, Worklist* work) {
  const size_t taken = std::min(work->count, kLanes);
  size_t* const places = work->places + work->count - taken;
  uint64_t values[kLanes] = {};
  for (size_t i = 0; i < taken; ++i) values[i] = out[places[i]];
  Pass<Word, kLanes, forward>(network, values);
  size_t left = 0;
  for (size_t i = 0; i < taken; ++i) {
    const size_t place = places[i];
    out[place] = values[i];
    places[left] = place;
    left += values[i] >= size;
  }
  work->count -= taken - left;
}

template <class Word, bool forward>
void WalkAll(const FeistelNetwork& network, uint64_t size,
             std::span<const uint64_t> in, std::span<uint64_t> out) {
  Worklist work;
  uint64_t values[kLanes] = {};
  for (size_t at = 0; at < in.size(); at += kLanes) {
    const size_t count = std::min(kLanes, in.size() - at);
    std::copy_n(in.data() + at, count, values);
    const uint64_t largest = *std::max_element(values, values + count);
    PONIENTE_CHECK(largest < size) << largest << " of " << size;
    Pass<Word, kLanes, forward>(network, values);
    std::copy_n(values, count, out.data() + at);
    bool outside = false;
    for (size_t i = 0; i < kLanes; ++i) outside |= values[i] >= size;
    if (!outside) continue;
    for (size_t i = 0; i < count; ++i) {
      work.places[work.count] = at + i;
      work.count += values[i] >= size;
    }
    while (work.count >= kLanes) {
      WalkOn<Word, forward>(network, size, out, &work);
    }
  }
  while (work.count > 0) WalkOn<Word, forward>(network, size, out, &work);
}

template <bool forward>
void WalkAll(const FeistelNetwork& network, uint64_t size,
             std::span<const uint64_t> in, std::span<uint64_t> out) {
  if (IndexBits(network) <= kMaxNarrowBits) {
    WalkAll<uint16_t, forward>(network, size, in, out);
  } else {
    WalkAll<uint32_t, forward>(network, size, in, out);
  }
}

void LookUpAll(const std::array<uint8_t, internal::kShuffleTableSize>& table,
               uint64_t size, std::span<const uint64_t> in,
               std::span<uint64_t> out) {
  for (size_t i = 0; i < in.size(); ++i) {
    PONIENTE_CHECK(in[i] < size) << in[i] << " of " << size;
    out[i] = table[in[i]];
  }
}

}  // namespace

Permutation::Permutation(uint64_t n, uint64_t key) : size_(n) {
  PONIENTE_CHECK(n >= 1 && n <= kMaxSize) << "n = " << n;
  if (is_table()) {
    table_ = MakeTable(n, key);
  } else {
    network_ = MakeNetwork(n, key);
  }
}

uint64_t Permutation::Forward(uint64_t index) const {
  PONIENTE_CHECK(index < size_) << index << " of " << size_;
  if (is_table()) return table_.forward[index];
  return WalkOne<true>(network_, size_, index);
}

uint64_t Permutation::Inverse(uint64_t place) const {
  PONIENTE_CHECK(place < size_) << place << " of " << size_;
  if (is_table()) return table_.inverse[place];
  return WalkOne<false>(network_, size_, place);
}

void Permutation::Forward(std::span<const uint64_t> in,
                          std::span<uint64_t> out) const {
  PONIENTE_CHECK(in.size() == out.size()) << in.size() << ' ' << out.size();
  if (is_table()) return LookUpAll(table_.forward, size_, in, out);
  WalkAll<true>(network_, size_, in, out);
}

void Permutation::Inverse(std::span<const uint64_t> in,
                          std::span<uint64_t> out) const {
  PONIENTE_CHECK(in.size() == out.size()) << in.size() << ' ' << out.size();
  if (is_table()) return LookUpAll(table_.inverse, size_, in, out);
  WalkAll<false>(network_, size_, in, out);
}

}  // namespace poniente
