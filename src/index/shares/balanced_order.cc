// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <limits>
#include <numeric>

#include "index/int128.h"
#include "poniente/shares.h"
#include "util/check.h"

namespace poniente {

BatchShare RankShare(uint64_t batch_size, uint32_t rank, uint32_t ranks) {
  PONIENTE_CHECK(rank < ranks) << rank << " of " << ranks;
  const auto edge = [&](uint64_t r) {
    return static_cast<uint64_t>(internal::Uint128{r} * batch_size / ranks);
  };
  return {edge(rank), edge(uint64_t{rank} + 1)};
}

namespace {

struct WeighedSample {
  uint64_t work;
  uint64_t sample;
};

// Returns the samples by descending work, those of equal work in their order.
// Sorts by one byte of the work after the other, from the lowest on, and passes
// over bytes that are the same in all: comparing takes four times as long.
std::vector<WeighedSample> HeaviestFirst(std::span<const uint64_t> work) {
  constexpr size_t kValues = 256;
  std::vector<WeighedSample> samples(work.size());
  uint64_t differs = 0;
  for (size_t i = 0; i < work.size(); ++i) {
    samples[i] = {work[i], i};
    differs |= work[i] ^ work[0];
  }
  std::vector<WeighedSample> sorted(work.size());
  for (int shift = 0; shift < 64; shift += 8) {
    if ((differs >> shift & (kValues - 1)) == 0) continue;
    const auto value_of = [shift](const WeighedSample& sample) {
      return kValues - 1 - (sample.work >> shift & (kValues - 1));
    };
    std::array<uint64_t, kValues> next = {};
    for (const WeighedSample& sample : samples) ++next[value_of(sample)];
    std::exclusive_scan(next.begin(), next.end(), next.begin(), uint64_t{0});
    for (const WeighedSample& sample : samples) {
      sorted[next[value_of(sample)]++] = sample;
    }
    samples.swap(sorted);
  }
  return samples;
}

// The share of a rank, as it is filled.
struct OpenShare {
  uint64_t next;  // place in the order of the rank's next sample
  uint64_t end;
};

// Returns the shares of the ranks. Adds where RankShare() would multiply and
// divide: share r ends at (r + 1) * batch_size / ranks, rounded down.
std::vector<OpenShare> SharesOf(uint64_t batch_size, uint32_t ranks) {
  std::vector<OpenShare> shares(ranks);
  uint64_t begin = 0;
  uint64_t remainder = 0;
  for (OpenShare& share : shares) {
    share.next = begin;
    begin += batch_size / ranks;
    remainder += batch_size % ranks;
    if (remainder >= ranks) {
      remainder -= ranks;
      ++begin;
    }
    share.end = begin;
  }
  return shares;
}

// Finds the rank of the least load; the first of them, if several have it. A
// tree of matches: node n is won by the lesser of nodes 2n and 2n + 1. Without
// branches that depend on the loads, which cannot be predicted.
//
// REQUIRES: fewer than 2^32 samples of work below 2^64 are added.
class LeastLoaded {
 public:
  explicit LeastLoaded(uint32_t ranks)
      : leaves_(std::bit_ceil(uint64_t{ranks})), nodes_(2 * leaves_, kFull) {
    std::iota(Leaf(0), Leaf(ranks), internal::Uint128{0});
    for (size_t node = leaves_ - 1; node >= 1; --node) {
      nodes_[node] = std::min(nodes_[2 * node], nodes_[2 * node + 1]);
    }
  }

  uint32_t rank() const { return static_cast<uint32_t>(nodes_[1]); }
  // Adds to the load of rank().
  void Add(uint64_t work) {
    Set(rank(), nodes_[1] + (internal::Uint128{work} << 32));
  }
  // Takes a rank out.
  void Close(uint32_t rank) { Set(rank, kFull); }

 private:
  // A node is its winner's load, then 32 bits of the winner's rank.
  static constexpr internal::Uint128 kFull = ~internal::Uint128{0};

  std::vector<internal::Uint128>::iterator Leaf(uint32_t rank) {
    return nodes_.begin() + static_cast<ptrdiff_t>(leaves_ + rank);
  }
  void Set(uint32_t rank, internal::Uint128 least) {
    size_t node = leaves_ + rank;
    nodes_[node] = least;
    for (; node > 1; node /= 2) {
      least = std::min(least, nodes_[node ^ 1]);
      nodes_[node / 2] = least;
    }
  }

  const uint64_t leaves_;
  std::vector<internal::Uint128> nodes_;  // from node 1 on
};

}  // namespace

uint64_t SampleWork(std::span<const uint32_t> document_lengths, uint64_t tokens,
                    uint64_t linear_cost) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  internal::Uint128 squares = 0;
  for (const uint64_t length : document_lengths) squares += length * length;
  const internal::Uint128 linear = internal::Uint128{tokens} * linear_cost;
  if (squares > kMost || linear > kMost || squares + linear > kMost) {
    return kMost;
  }
  return static_cast<uint64_t>(squares + linear);
}

std::vector<uint64_t> BalancedOrder(std::span<const uint64_t> work,
                                    uint32_t ranks) {
  PONIENTE_CHECK(ranks > 0) << "BalancedOrder() of 0 ranks";
  PONIENTE_CHECK(work.size() <= UINT32_MAX)
      << "BalancedOrder() of " << work.size() << " samples";
  std::vector<OpenShare> shares = SharesOf(work.size(), ranks);
  LeastLoaded least(ranks);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    if (shares[rank].next == shares[rank].end) least.Close(rank);
  }
  std::vector<uint64_t> order(work.size());
  for (const WeighedSample& heaviest : HeaviestFirst(work)) {
    const uint32_t rank = least.rank();
    OpenShare& share = shares[rank];
    order[share.next++] = heaviest.sample;
    least.Add(heaviest.work);
    if (share.next == share.end) least.Close(rank);
  }
  return order;
}

}  // namespace poniente
