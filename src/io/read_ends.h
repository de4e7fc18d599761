// SPDX-License-Identifier: Apache-2.0
// Checks and counts finished reads, for every backend.

#ifndef PONIENTE_IO_READ_ENDS_H_
#define PONIENTE_IO_READ_ENDS_H_

#include <chrono>
#include <cstdint>
#include <span>

#include "io/pending_read.h"

namespace poniente::internal {

// Checks the files of finished reads. Returns false if a file whose verified
// blocks were relied on has changed; none of its blocks then counts as
// verified.
//
// Fails reads through the cache of a file that has been truncated, because they
// may have returned zeros instead of data, even if they are complete: while a
// file is truncated within a page, the kernel shows zeros up to the end of that
// page, on some file systems before the size changes. A last byte that is not
// zero does not prove that the other bytes are right, because the kernel writes
// the zeros from the front.
bool FindUnchanged(std::span<PendingRead> reads);

// Counts of reads that were complete right after the call that submitted them
// (hits).
struct Hits {
  // Reads that were submitted in short calls. Their hits were cached.
  uint64_t known_reads = 0;
  // Hits among these.
  uint64_t known = 0;
  // Hits among all reads. A disk may complete reads during a long call, so the
  // share of hits in long calls is limited to the share in short ones.
  uint64_t all = 0;
};
// Counts the hits among `reads`.
Hits CountHits(std::span<const PendingRead> reads);

// Adds `time` to the waiting time of each reader and backend among the reads,
// once each.
void CountWait(std::span<const PendingRead> reads,
               std::chrono::steady_clock::duration time);

}  // namespace poniente::internal

#endif  // PONIENTE_IO_READ_ENDS_H_
