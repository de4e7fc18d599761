// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <limits>

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

// A rank that has room for more samples.
struct OpenRank {
  internal::Uint128 load;
  uint32_t rank;
  uint64_t next;  // place in the order of the rank's next sample
  uint64_t end;   // of the rank's share

  bool operator<(const OpenRank& other) const {
    return load != other.load ? load < other.load : rank < other.rank;
  }
};

std::vector<WeighedSample> HeaviestFirst(std::span<const uint64_t> work) {
  std::vector<WeighedSample> samples(work.size());
  for (size_t i = 0; i < work.size(); ++i) samples[i] = {work[i], i};
  std::sort(samples.begin(), samples.end(),
            [](const WeighedSample& a, const WeighedSample& b) {
              return a.work != b.work ? a.work > b.work : a.sample < b.sample;
            });
  return samples;
}

// Returns the ranks whose shares are not empty, in order. Adds where
// RankShare() would multiply and divide: share r ends at
// (r + 1) * batch_size / ranks, rounded down.
std::vector<OpenRank> RanksWithRoom(uint64_t batch_size, uint32_t ranks) {
  std::vector<OpenRank> open;
  open.reserve(std::min<uint64_t>(batch_size, ranks));
  uint64_t begin = 0;
  uint64_t remainder = 0;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    uint64_t end = begin + batch_size / ranks;
    remainder += batch_size % ranks;
    if (remainder >= ranks) {
      remainder -= ranks;
      ++end;
    }
    if (end > begin) open.push_back({0, rank, begin, end});
    begin = end;
  }
  return open;
}

// Restores the order of a heap, with the least rank on top, after the top has
// grown.
void SiftDown(std::vector<OpenRank>& heap) {
  const OpenRank top = heap.front();
  size_t at = 0;
  for (size_t child = 1; child < heap.size(); child = 2 * at + 1) {
    if (child + 1 < heap.size() && heap[child + 1] < heap[child]) ++child;
    if (!(heap[child] < top)) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = top;
}

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
  // Equal loads and ascending ranks: already a heap.
  std::vector<OpenRank> open = RanksWithRoom(work.size(), ranks);
  std::vector<uint64_t> order(work.size());
  for (const WeighedSample& heaviest : HeaviestFirst(work)) {
    OpenRank& least = open.front();
    order[least.next++] = heaviest.sample;
    least.load += heaviest.work;
    if (least.next == least.end) {
      least = open.back();
      open.pop_back();
      if (open.empty()) break;  // this was the last sample
    }
    SiftDown(open);
  }
  return order;
}

}  // namespace poniente
