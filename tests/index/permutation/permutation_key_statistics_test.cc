// SPDX-License-Identifier: Apache-2.0
// Orders of keys derived from neighbouring seeds and epochs: the one must say
// nothing of the other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "index/keyed_hash.h"
#include "tests/index/shuffle_scores.h"
#include "tests/index/shuffle_sources.h"

namespace poniente::testing {
namespace {

// The first items of an epoch of a seed.
using Epoch = Order (*)(uint64_t n, uint64_t seed, uint64_t epoch,
                        size_t count);

Order OurEpoch(uint64_t n, uint64_t seed, uint64_t epoch, size_t count) {
  return OurOrder(n, internal::Derive(seed, epoch), count);
}

Order FisherYatesEpoch(uint64_t n, uint64_t seed, uint64_t epoch,
                       size_t count) {
  return FisherYatesOrder(n, SlowAbsorb(SlowBegin(seed), epoch) ^ 99, count);
}

// A good shuffle by a bad key: (s, e + 1) and (s + 1, e) are one epoch.
Order SeedPlusEpoch(uint64_t n, uint64_t seed, uint64_t epoch, size_t count) {
  return FisherYatesOrder(n, seed + epoch, count);
}

// One good shuffle, moved on by a place in each epoch and each seed.
Order MovedOnEpoch(uint64_t n, uint64_t seed, uint64_t epoch, size_t count) {
  Order order = FisherYatesOrder(n, 1, count);
  for (uint64_t& item : order) item = (item + 7 * seed + epoch) % n;
  return order;
}

// From one epoch to its neighbour.
struct Neighbour {
  const char* name;
  uint64_t seed_step;
  uint64_t epoch_step;
  Epoch weak;
};

class PermutationKeyStatisticsTest
    : public ::testing::TestWithParam<Neighbour> {
 protected:
  // Calls visit(a, b) for the items a and b at one place of two neighbouring
  // epochs, about 200,000 times.
  template <class Visit>
  void VisitPairs(Epoch epoch, uint64_t n, Visit visit) {
    const size_t count = std::min<uint64_t>(n, 4096);
    for (uint64_t i = 0; i < 200000 / count; ++i) {
      const uint64_t seed = 7 + 5 * i;
      const uint64_t number = 1 + 3 * i % 11;
      const Order one = epoch(n, seed, number, count);
      const Order other = epoch(n, seed + GetParam().seed_step,
                                number + GetParam().epoch_step, count);
      for (size_t at = 0; at < count; ++at) visit(one[at], other[at]);
    }
  }

  // `score` of an Epoch.
  template <class Score>
  void ExpectUnrelated(Score score) {
    EXPECT_LT(std::abs(score(OurEpoch)), kMaxScore);
    EXPECT_LT(std::abs(score(FisherYatesEpoch)), kMaxScore) << "control";
    EXPECT_GT(std::abs(score(GetParam().weak)), kClearScore) << "bad key";
  }
};

TEST_P(PermutationKeyStatisticsTest, ItemsMeetAsOftenAsByChance) {
  for (const uint64_t n : {10, 64, 100, 300}) {
    SCOPED_TRACE(n);
    ExpectUnrelated([=, this](Epoch epoch) {
      double pairs = 0;
      double matches = 0;
      VisitPairs(epoch, n, [&](uint64_t a, uint64_t b) {
        ++pairs;
        matches += a == b;
      });
      const double expected = pairs / static_cast<double>(n);
      return (matches - expected) / std::sqrt(expected);
    });
  }
}

TEST_P(PermutationKeyStatisticsTest, LowBitsAreUnrelated) {
  for (const uint64_t n : {100ull, 1000ull, 65537ull, 3400000000ull}) {
    SCOPED_TRACE(n);
    ExpectUnrelated([=, this](Epoch epoch) {
      PairTable table(64);
      VisitPairs(epoch, n,
                 [&](uint64_t a, uint64_t b) { table.Add(a % 64, b % 64); });
      return table.Score();
    });
  }
}

TEST_P(PermutationKeyStatisticsTest, RegionsAreUnrelated) {
  for (const uint64_t n : {100ull, 1000ull, 65537ull, 3400000000ull}) {
    SCOPED_TRACE(n);
    ExpectUnrelated([=, this](Epoch epoch) {
      PairTable table(32);
      VisitPairs(epoch, n, [&](uint64_t a, uint64_t b) {
        table.Add(a * 32 / n, b * 32 / n);
      });
      return table.Score();
    });
  }
}

TEST_P(PermutationKeyStatisticsTest, DistancesAreOfAllLengths) {
  for (const uint64_t n : {64ull, 1000ull, 65537ull, 3400000000ull}) {
    SCOPED_TRACE(n);
    ExpectUnrelated([=, this](Epoch epoch) {
      // As many parts as divide n evenly, or nearly.
      std::vector<uint32_t> counts(n == 1000 ? 50 : 64);
      VisitPairs(epoch, n, [&](uint64_t a, uint64_t b) {
        ++counts[(b + n - a) % n * counts.size() / n];
      });
      return UniformScore(counts);
    });
  }
}

constexpr uint64_t kBack = ~uint64_t{0};

INSTANTIATE_TEST_SUITE_P(
    Neighbours, PermutationKeyStatisticsTest,
    ::testing::Values(Neighbour{"NextEpoch", 0, 1, MovedOnEpoch},
                      Neighbour{"NextSeed", 1, 0, MovedOnEpoch},
                      Neighbour{"NextSeedLastEpoch", 1, kBack, SeedPlusEpoch}),
    [](const auto& neighbour) { return std::string(neighbour.param.name); });

}  // namespace
}  // namespace poniente::testing
