// SPDX-License-Identifier: Apache-2.0
// What is common to the ends of reads, whatever served them.

#ifndef PONIENTE_IO_READ_ENDS_H_
#define PONIENTE_IO_READ_ENDS_H_

#include <chrono>
#include <cstdint>
#include <span>

#include "io/pending_read.h"

namespace poniente::internal {

// Looks at the files after their reads. False if one that was relied on is not
// as it was when it was verified; what was verified of it is forgotten.
//
// Fails reads of a file that has been cut short: they may have got zeros for
// what is gone. That all bytes came is no proof: the kernel shows zeros up to
// the end of the page while a file is cut within it, on some file systems
// before its size changes. Nor is a last byte that is not zero, since zeros are
// written from the front.
bool FindUnchanged(std::span<PendingRead> reads);

// Reads that were complete right after the call that submitted them.
struct Hits {
  // Of those submitted in short calls: they were cached.
  uint64_t known_reads = 0;
  uint64_t known = 0;
  // Of all: of the others, which the disk may have completed while a long call
  // lasted, no greater share than of the known ones.
  uint64_t all = 0;
};
Hits CountHits(std::span<const PendingRead> reads);

// Adds the time to what the batch waited for each reader and backend, once.
void CountWait(std::span<const PendingRead> reads,
               std::chrono::steady_clock::duration time);

}  // namespace poniente::internal

#endif  // PONIENTE_IO_READ_ENDS_H_
