// SPDX-License-Identifier: Apache-2.0
// Orders to hold statistics against: the library's, a control that must pass
// every one, and permutations known to be weak that must not.

#ifndef PONIENTE_TESTS_INDEX_SHUFFLE_SOURCES_H_
#define PONIENTE_TESTS_INDEX_SHUFFLE_SOURCES_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <unordered_set>
#include <utility>
#include <vector>

#include "poniente/permutation.h"
#include "tests/support/slow_permutation.h"

namespace poniente::testing {

using Order = std::vector<uint64_t>;
// Where the first `count` of n items lie in the order of a key.
using Source = Order (*)(uint64_t n, uint64_t key, size_t count);

inline Order OurOrder(uint64_t n, uint64_t key, size_t count) {
  Order order(count);
  std::iota(order.begin(), order.end(), uint64_t{0});
  Permutation(n, key).Forward(order, order);
  return order;
}

// The control.
inline Order FisherYatesOrder(uint64_t n, uint64_t key, size_t count) {
  std::mt19937_64 random(SlowMix(key + 12345));
  Order order;
  if (n > 8 * count) {
    std::unordered_set<uint64_t> taken;
    while (order.size() < count) {
      const uint64_t item =
          std::uniform_int_distribution<uint64_t>(0, n - 1)(random);
      if (taken.insert(item).second) order.push_back(item);
    }
    return order;
  }
  order.resize(n);
  std::iota(order.begin(), order.end(), uint64_t{0});
  for (uint64_t i = 0; i < count; ++i) {
    std::swap(order[i],
              order[std::uniform_int_distribution<uint64_t>(i, n - 1)(random)]);
  }
  order.resize(count);
  return order;
}

inline uint64_t CountCycles(const Order& order) {
  std::vector<bool> seen(order.size());
  uint64_t cycles = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    cycles += !seen[i];
    for (size_t at = i; !seen[at]; at = order[at]) seen[at] = true;
  }
  return cycles;
}

inline bool IsOdd(const Order& order) {
  return (order.size() - CountCycles(order)) % 2 == 1;
}

// Five Feistel rounds of a product modulo a power of two, which carries
// information upwards only, on an even number of bits (Levanter's default).
inline Order LevanterOrder(uint64_t n, uint64_t key, size_t count) {
  const int half = std::max<int>(1, (std::bit_width(n - 1) + 1) / 2);
  const uint64_t mask = (uint64_t{1} << half) - 1;
  uint64_t round_keys[5];
  for (uint64_t r = 0; r < 5; ++r) round_keys[r] = SlowMix(key * 8 + r + 1);
  Order order(count);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t x = i;
    do {
      uint64_t left = x >> half;
      uint64_t right = x & mask;
      for (const uint64_t round_key : round_keys) {
        const uint64_t mixed = (right * 2654435761u + round_key) & mask;
        left = std::exchange(right, left ^ mixed);
      }
      x = left << half | right;
    } while (x >= n);
    order[i] = x;
  }
  return order;
}

// i * a + b modulo n (Levanter's "linear").
inline Order LinearOrder(uint64_t n, uint64_t key, size_t count) {
  uint64_t a = SlowMix(key) % n;
  while (a < 2 || std::gcd(a, n) != 1) a = (a + 1) % n;
  Order order(count);
  uint64_t x = SlowMix(key + 1) % n;
  for (uint64_t& item : order) {
    item = x;
    x = x >= n - a ? x - (n - a) : x + a;
  }
  return order;
}

// Every 64th item, then every 64th from the next on.
inline Order ColumnOrder(uint64_t n, uint64_t key, size_t count) {
  Order order;
  for (uint64_t column = 0; order.size() < count; ++column) {
    for (uint64_t item = (column + key) % 64; item < n; item += 64) {
      if (order.size() < count) order.push_back(item);
    }
  }
  return order;
}

// A fair shuffle that is made even by one more swap where it is not.
inline Order EvenOrder(uint64_t n, uint64_t key, size_t count) {
  Order order = FisherYatesOrder(n, key, count);
  if (IsOdd(order)) std::swap(order[0], order[1]);
  return order;
}

// What a shuffle buffer of 16 items lets out.
inline Order BufferOrder(uint64_t n, uint64_t key, size_t count) {
  std::mt19937_64 random(SlowMix(key));
  Order buffer(std::min<uint64_t>(n, 16));
  std::iota(buffer.begin(), buffer.end(), uint64_t{0});
  Order order;
  for (uint64_t next = buffer.size(); order.size() < count; ++next) {
    uint64_t& item = buffer[random() % buffer.size()];
    order.push_back(item);
    item = next < n ? next : buffer.back();
    if (next >= n) buffer.pop_back();
  }
  return order;
}

// Shuffles pairs of items, not items. REQUIRES: n is even.
inline Order PairOrder(uint64_t n, uint64_t key, size_t count) {
  const Order pairs = FisherYatesOrder(n / 2, key, (count + 1) / 2);
  Order order(count);
  for (size_t i = 0; i < count; ++i) order[i] = 2 * pairs[i / 2] + i % 2;
  return order;
}

constexpr double kMaxScore = 4.5;
constexpr double kClearScore = 20;

// A score in standard deviations from what a fair shuffle gives.
using Statistic = std::function<double(Source)>;

inline void ExpectFair(const Statistic& statistic) {
  EXPECT_LT(std::abs(statistic(OurOrder)), kMaxScore);
  EXPECT_LT(std::abs(statistic(FisherYatesOrder)), kMaxScore) << "control";
}

inline void ExpectFault(const Statistic& statistic, Source weak) {
  EXPECT_GT(std::abs(statistic(weak)), kClearScore) << "weak permutation";
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_INDEX_SHUFFLE_SOURCES_H_
