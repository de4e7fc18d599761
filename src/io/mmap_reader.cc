// SPDX-License-Identifier: Apache-2.0
#include "io/mmap_reader.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <span>

#include "io/blocking_reader.h"
#include "io/fault_hooks.h"
#include "io/guarded_copy.h"

namespace poniente::internal {
namespace {

// Batches without a major fault after which a file counts as cached.
constexpr int kCalm = 8;

uint64_t MajorFaults() {
  rusage usage;
  ::getrusage(RUSAGE_THREAD, &usage);
  return static_cast<uint64_t>(usage.ru_majflt);
}

// The file's size now; as when opened, if it cannot be told.
uint64_t SizeNow(const OpenFile& file) {
  struct stat info;
  return ::fstat(file.fd(), &info) == 0 ? static_cast<uint64_t>(info.st_size)
                                        : file.size();
}

// After a SIGBUS the file has become shorter, or the disk failed: what a pread
// says tells, or gives the bytes.
void ReadAfterFault(PendingRead* read) {
  const uint64_t size = SizeNow(read->opened());
  if (size < read->end()) return read->FailAtEnd(size);
  read->CountRetry();
  ReadBlocking(std::span(read, 1));
}

// Enters what surrounds the read into the page table, if files like it have
// been in memory lately; stops for a while once one is not.
void EnterAround(const Mapping& mapping, const PendingRead& read,
                 uint64_t faults_before) {
  std::atomic<int>& calm = read.reader().calm_batches;
  if (calm.load(std::memory_order_relaxed) < kCalm) return;
  if (mapping.Enter(read.begin(), read.size()) &&
      MajorFaults() != faults_before) {
    calm.store(0, std::memory_order_relaxed);
  }
}

void CopyOne(const Mapping& mapping, PendingRead* read) {
  const iovec& place = read->places().front();
  if (FaultAt(SystemCall::kCopy) == 0 &&
      GuardedCopy(mapping.begin() + read->begin(), place.iov_len,
                  static_cast<std::byte*>(place.iov_base))) {
    read->TakeResult(static_cast<int64_t>(place.iov_len));
  } else {
    ReadAfterFault(read);
  }
}

bool EndsInZero(const PendingRead& read) {
  const iovec& place = read.places().front();
  return read.status().ok() && read.backend() == IoBackend::kMmap &&
         static_cast<const std::byte*>(place.iov_base)[place.iov_len - 1] ==
             std::byte{0};
}

// A file cut short inside a page shows zeros up to the page's end, without a
// SIGBUS: a range that ends in a zero may have run into them.
void CheckEnds(std::span<PendingRead> reads) {
  const OpenFile* seen = nullptr;
  uint64_t size = 0;
  for (PendingRead& read : reads) {
    if (!EndsInZero(read)) continue;
    if (&read.opened() != seen) {
      seen = &read.opened();
      size = SizeNow(*seen);
    }
    if (size < read.end()) read.FailAtEnd(size);
  }
}

// Which of the copies met the faults is not known: each reader is told of all.
void Report(std::span<const PendingRead> reads, uint64_t faults) {
  const ReaderState* told = nullptr;
  for (const PendingRead& read : reads) {
    if (&read.reader() == told) continue;
    told = &read.reader();
    read.reader().ReportMapped(reads.size(), faults);
  }
}

}  // namespace

void ReadMapped(std::span<PendingRead> reads) {
  if (reads.empty()) return;
  const uint64_t before = MajorFaults();
  for (PendingRead& read : reads) {
    const Mapping& mapping = *read.reader().mappings[read.file_number()].get();
    EnterAround(mapping, read, before);
    CopyOne(mapping, &read);
  }
  CheckEnds(reads);
  Report(reads, MajorFaults() - before);
}

}  // namespace poniente::internal
