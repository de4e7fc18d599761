// SPDX-License-Identifier: Apache-2.0
// The orders of docs/index-math.md 3, written down a second time from its text,
// as lists: what eras and blocks are compared with. Shares nothing with the
// library.

#ifndef PONIENTE_TESTS_SUPPORT_SLOW_ORDER_H_
#define PONIENTE_TESTS_SUPPORT_SLOW_ORDER_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/support/slow_permutation.h"

namespace poniente::testing {

// Item of each place, for n items in eras of `era`, under the key K.
inline std::vector<uint64_t> SlowEras(uint64_t n, uint64_t era, uint64_t key) {
  std::vector<uint64_t> items;
  for (uint64_t j = 0; items.size() < n; ++j) {
    const uint64_t begin = items.size();
    for (const uint64_t place : SlowPermutation(std::min(era, n - begin),
                                                SlowEpochKey(key, "era", j))) {
      items.push_back(begin + place);
    }
  }
  return items;
}

// The same for chunks of `chunk` <= n items and windows of `window` chunks.
inline std::vector<uint64_t> SlowBlocks(uint64_t n, uint64_t chunk,
                                        uint64_t window, uint64_t key) {
  const uint64_t chunks = n / chunk + (n % chunk != 0);
  // The padded items, chunk by chunk in the chunks' order.
  std::vector<uint64_t> in_chunks;
  for (const uint64_t q :
       SlowPermutation(chunks, SlowAbsorb(SlowBegin(key), 0x6e756863))) {
    for (uint64_t i = 0; i < chunk; ++i) in_chunks.push_back(q * chunk + i);
  }
  // Each window of that list permuted.
  std::vector<uint64_t> padded;
  for (uint64_t w = 0; padded.size() < in_chunks.size(); ++w) {
    const uint64_t begin = padded.size();
    const uint64_t size = std::min(window, chunks - begin / chunk) * chunk;
    for (const uint64_t place :
         SlowPermutation(size, SlowEpochKey(key, "wind", w))) {
      padded.push_back(in_chunks[begin + place]);
    }
  }
  // What is not an item goes on from the place of its own number.
  std::vector<uint64_t> items;
  for (uint64_t x = 0; x < n; ++x) {
    uint64_t item = padded[x];
    while (item >= n) item = padded[item];
    items.push_back(item);
  }
  return items;
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_SUPPORT_SLOW_ORDER_H_
