// SPDX-License-Identifier: Apache-2.0
#include "io/mmap/mmap_reader.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "io/blocking_reader.h"
#include "io/files/fault_hooks.h"
#include "io/mmap/fault_watch.h"
#include "io/mmap/guarded_copy.h"
#include "io/mmap/stream_copy.h"
#include "io/read_ends.h"
#include "util/memory_sizes.h"

namespace poniente::internal {
namespace {

// A batch counts its faults after every group of this many copies, or of fewer
// that have as many bytes: without cached pages, each page is a fault.
constexpr size_t kLookEvery = 32;
constexpr uint64_t kLookEveryBytes = kLookEvery * 8192;

// Handles a SIGBUS: the file has become shorter, or the disk has failed. In the
// latter case, reads with pread, which returns the bytes or the error.
void ReadAfterFault(PendingRead* read) {
  const uint64_t size = read->opened().SizeNow();
  if (size < read->end()) return read->FailAtEnd(size);
  read->CountRetry();
  ReadBlocking(std::span(read, 1));
}

// Maps the pages around the read in the page table, if the recent batches of
// its reader met no major faults. Stops for a while after a major fault.
void EnterAround(const Mapping& mapping, const PendingRead& read) {
  std::atomic<int>& calm = read.reader().calm_batches;
  if (calm.load(std::memory_order_relaxed) < ReaderState::kCalmBatches) return;
  if (mapping.Enter(read.begin(), read.size())) {
    calm.store(0, std::memory_order_relaxed);
  }
}

const Mapping& MappingOf(const PendingRead& read) {
  return *read.reader().mappings[read.file_number()].get();
}

std::span<const std::byte> SourceOf(const PendingRead& read) {
  return {MappingOf(read).begin() + read.begin(),
          static_cast<size_t>(read.size())};
}

// Copies one read. `next`: the source of the copy after it, if copies are
// streamed.
void CopyOne(bool streams, std::span<const std::byte> next, PendingRead* read) {
  const iovec& place = read->places().front();
  const auto from = SourceOf(*read).first(place.iov_len);
  auto* const to = static_cast<std::byte*>(place.iov_base);
  std::byte last;
  if (FaultAt(SystemCall::kCopy) == 0 &&
      (streams ? GuardedStreamCopy(from, to, next, &last)
               : GuardedCopy(from, to, &last))) {
    if (last == std::byte{0}) read->SetEndsInZero();
    read->TakeResult(static_cast<int64_t>(from.size()));
  } else {
    FinishStreams();  // before the kernel writes to the same place
    ReadAfterFault(read);
  }
}

// Starts the page walks and loads the first lines of the next copy, which the
// processor would otherwise begin only after the current copy. With this, a
// random copy of 8 KiB costs as much as in a plain loop; without it, 0.2 us
// more.
void PrefetchPages(const PendingRead& read) {
  const std::byte* line = MappingOf(read).begin() + read.begin();
  const std::byte* const end = line + std::min(read.size(), 4 * kPageBytes);
  for (const std::byte* page = line + kPageBytes; page < end;
       page += kPageBytes) {
    __builtin_prefetch(page);
  }
  for (int i = 0; i < 4; ++i) __builtin_prefetch(line + i * 64);
}

// Prefetches a planned read, which the copies since have evicted from the
// caches.
void PrefetchRead(const PendingRead* read) {
  const auto* const begin = reinterpret_cast<const char*>(read);
  for (size_t at = 0; at < sizeof(PendingRead); at += 64) {
    __builtin_prefetch(begin + at);
  }
}

uint64_t BytesOf(std::span<const PendingRead> reads) {
  uint64_t bytes = 0;
  for (const PendingRead& read : reads) bytes += read.size();
  return bytes;
}

// Returns the first reads, up to the next look at the faults.
std::span<PendingRead> NextGroup(std::span<PendingRead> reads) {
  uint64_t bytes = 0;
  size_t count = 0;
  while (count < std::min(kLookEvery, reads.size()) &&
         bytes < kLookEveryBytes) {
    bytes += reads[count++].size();
  }
  return reads.first(count);
}

// Copies the first `count` reads.
void CopyFirst(size_t count, std::span<PendingRead> reads, bool streams) {
  for (size_t i = 0; i < count; ++i) {
    PendingRead& read = reads[i];
    EnterAround(MappingOf(read), read);
    std::span<const std::byte> next;
    if (i + 1 < reads.size() && streams) {
      next = SourceOf(reads[i + 1]);
    } else if (i + 1 < reads.size()) {
      PrefetchPages(reads[i + 1]);
    }
    if (i + 2 < reads.size()) PrefetchRead(&reads[i + 2]);
    CopyOne(streams, next, &read);
  }
  if (streams) FinishStreams();
}

// Copies the reads whose readers must use the mapping.
void CopyForced(std::span<PendingRead> reads) {
  for (PendingRead& read : reads) {
    if (read.reader().policy() == nullptr) {
      CopyFirst(1, std::span(&read, 1), false);
    }
  }
}

// Appends the readers of the reads, once for each run of reads of one reader.
void AddReaders(std::span<const PendingRead> reads,
                std::vector<ReaderState*>* readers) {
  for (const PendingRead& read : reads) {
    if (readers->empty() || readers->back() != &read.reader()) {
      readers->push_back(&read.reader());
    }
  }
}

}  // namespace

void ReadMapped(std::span<PendingRead> reads) {
  if (reads.empty()) return;
  using Clock = std::chrono::steady_clock;
  thread_local FaultWatch watch(MajorFaults);
  const Clock::time_point begin = Clock::now();
  const uint64_t before = watch.Begin(begin);
  const bool streams = BytesOf(reads) >= kLeastStreamedBytes;
  Clock::time_point looked = begin;
  uint64_t faults = 0;
  uint64_t copies = 0;
  std::vector<ReaderState*> readers;
  for (size_t done = 0; done < reads.size();) {
    const std::span<PendingRead> some = NextGroup(reads.subspan(done));
    const size_t count = some.size();
    if (IsBadBatch(done, faults)) {  // let the disk read several at once
      CopyForced(some);
      ReadBlocking(some);
    } else {
      CopyFirst(count, reads.subspan(done), streams);
      copies += count;
    }
    const Clock::time_point now = Clock::now();
    faults = watch.After(BytesOf(some), looked, now) - before;
    looked = now;
    AddReaders(some, &readers);
    done += count;
  }
  // It is not known which copies met the faults, so all readers get the totals.
  for (ReaderState* reader : readers) reader->ReportMapped(copies, faults);
  if (faults > 0) CountWait(reads, std::chrono::steady_clock::now() - begin);
}

}  // namespace poniente::internal
