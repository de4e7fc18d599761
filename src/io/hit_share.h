// SPDX-License-Identifier: Apache-2.0
// The share of reads that the page cache had, as a running average.

#ifndef PONIENTE_IO_HIT_SHARE_H_
#define PONIENTE_IO_HIT_SHARE_H_

#include <atomic>
#include <cstdint>

namespace poniente::internal {

// Thread safety: any number of threads. Accesses are relaxed. Two updates at
//     the same time may overwrite each other; the average then misses one
//     batch.
class HitShare {
 public:
  // A batch of `memory` reads has half of the weight in the new average.
  HitShare(double initial, double memory) : memory_(memory), share_(initial) {}

  // Adds a batch of `reads`, of which `hits` were cached. Returns the average.
  // REQUIRES: reads > 0.
  double Follow(uint64_t reads, uint64_t hits) {
    const auto count = static_cast<double>(reads);
    double share = value();
    share += (static_cast<double>(hits) / count - share) *
             (count / (count + memory_));
    Set(share);
    return share;
  }
  void Set(double share) { share_.store(share, std::memory_order_relaxed); }
  double value() const { return share_.load(std::memory_order_relaxed); }

 private:
  const double memory_;
  std::atomic<double> share_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_HIT_SHARE_H_
