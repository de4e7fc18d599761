// SPDX-License-Identifier: Apache-2.0
// What is common to the ends of reads, for every backend.

#ifndef PONIENTE_IO_READ_ENDS_H_
#define PONIENTE_IO_READ_ENDS_H_

#include <chrono>
#include <cstdint>
#include <span>

#include "io/pending_read.h"

namespace poniente::internal {

// Checks the files after their reads. Returns false if a file that was relied
// on has changed since it was verified; its verified blocks are then forgotten.
//
// Fails reads of a file that has been cut short, because they may have returned
// zeros instead of its data. A complete read does not prove the contrary: while
// a file is cut within a page, the kernel shows zeros up to the end of that
// page, on some file systems before the size changes. Nor does a last byte that
// is not zero, because zeros are written from the front.
bool FindUnchanged(std::span<PendingRead> reads);

// Reads that were complete right after the call that submitted them.
struct Hits {
  // Those submitted in short calls: they were cached.
  uint64_t known_reads = 0;
  uint64_t known = 0;
  // All of them; of reads that the disk may have completed during a long call,
  // at most the same share as of the known ones.
  uint64_t all = 0;
};
Hits CountHits(std::span<const PendingRead> reads);

// Adds the time to what the batch waited for each reader and backend, once.
void CountWait(std::span<const PendingRead> reads,
               std::chrono::steady_clock::duration time);

}  // namespace poniente::internal

#endif  // PONIENTE_IO_READ_ENDS_H_
