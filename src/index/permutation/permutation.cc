// SPDX-License-Identifier: Apache-2.0
#include "poniente/permutation.h"

#include <bit>
#include <cstddef>
#include <utility>

#include "index/keyed_hash.h"
#include "index/permutation/feistel.h"
#include "index/permutation/permutation_kernels.h"
#include "util/check.h"

namespace poniente {
namespace {

using internal::BestPermutationKernel;
using internal::FeistelNetwork;
using internal::KeyStream;
using internal::MakeFeistelNetwork;
using internal::Narrow;
using internal::PermutationKernel;
using internal::ShuffleTable;
using internal::WalkOne;
using internal::Wide;

constexpr uint64_t kMaxSize = uint64_t{1} << 63;
// Up to 16 bits the network has 10 rounds, above that 8 (docs/index-math.md
// 1.2).
constexpr int kMaxManyRoundsBits = 16;
// Up to this number, single look-ups cost less than a batch.
constexpr size_t kFewEntries = 4;

// The Fisher-Yates shuffle of docs/index-math.md 1.2, and its inverse.
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

template <bool forward>
uint64_t Walk(const FeistelNetwork& network, uint64_t size, uint64_t index) {
  if (!internal::IsNarrow(network)) {
    return WalkOne<Wide, 8, forward>(network, size, index);
  }
  const uint32_t narrow = static_cast<uint32_t>(index);
  if (network.rounds == 8) {
    return WalkOne<Narrow, 8, forward>(network, size, narrow);
  }
  return WalkOne<Narrow, 10, forward>(network, size, narrow);
}

template <bool forward>
void WalkAll(const FeistelNetwork& network, uint64_t size,
             std::span<const uint64_t> in, std::span<uint64_t> out) {
  if (in.size() <= kFewEntries) {
    for (size_t i = 0; i < in.size(); ++i) {
      PONIENTE_CHECK(in[i] < size) << in[i] << " of " << size;
      out[i] = Walk<forward>(network, size, in[i]);
    }
    return;
  }
  const PermutationKernel& kernel = BestPermutationKernel();
  const uint64_t outside = (forward ? kernel.forward : kernel.inverse)(
      network, size, in.data(), out.data(), in.size());
  PONIENTE_CHECK(outside == 0) << outside << " of " << size;
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

FeistelNetwork internal::MakeFeistelNetwork(uint64_t size, uint64_t key) {
  FeistelNetwork network;
  // k = bits(n - 1); the upper half has ceil(k/2) bits, the lower floor(k/2).
  const int bits = std::bit_width(size - 1);
  network.high_bits = static_cast<uint8_t>((bits + 1) / 2);
  network.low_bits = static_cast<uint8_t>(bits / 2);
  network.rounds = bits <= kMaxManyRoundsBits ? 10 : 8;
  const int word = IsNarrow(network) ? Narrow::kBits : Wide::kBits;
  const uint64_t mask = ~uint64_t{0} >> (64 - word);
  KeyStream stream(key);
  // a: the first word mod 2^k (docs/index-math.md 1.2).
  network.offset = stream.Next() & IndexMask(network);
  for (int r = 0; r < network.rounds; ++r) {
    const uint64_t bits_of_round = stream.Next();
    // One word per round: A_r from its low bits, m_r from its high bits.
    network.mask[r] = static_cast<uint32_t>(bits_of_round & mask);
    network.multiplier[r] = static_cast<uint32_t>(bits_of_round >> (64 - word));
  }
  // The unused rounds of a network of 8. Clearing the whole network first would
  // cost as much as filling it.
  for (int r = network.rounds; r < 10; ++r) {
    network.mask[r] = 0;
    network.multiplier[r] = 0;
  }
  return network;
}

Permutation::Permutation(uint64_t n, uint64_t key) : size_(n) {
  PONIENTE_CHECK(n >= 1 && n <= kMaxSize) << "n = " << n;
  if (is_table()) {
    new (&table_) ShuffleTable(MakeTable(n, key));
  } else {
    new (&network_) FeistelNetwork(MakeFeistelNetwork(n, key));
  }
}

uint64_t Permutation::Forward(uint64_t index) const {
  PONIENTE_CHECK(index < size_) << index << " of " << size_;
  if (is_table()) return table_.forward[index];
  return Walk<true>(network_, size_, index);
}

uint64_t Permutation::Inverse(uint64_t place) const {
  PONIENTE_CHECK(place < size_) << place << " of " << size_;
  if (is_table()) return table_.inverse[place];
  return Walk<false>(network_, size_, place);
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
