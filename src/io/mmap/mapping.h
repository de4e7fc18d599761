// SPDX-License-Identifier: Apache-2.0
// A whole file mapped for reading.

#ifndef PONIENTE_IO_MMAP_MAPPING_H_
#define PONIENTE_IO_MMAP_MAPPING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "io/files/open_file.h"

namespace poniente::internal {

// A read-only mapping. Pages past the end of a file that was cut short raise
// SIGBUS, so read them only with GuardedCopy().
//
// Ownership: unmaps on destruction; does not need the file open.
// Thread safety: any number of threads.
class Mapping {
 public:
  // Maps the file. ResourceExhausted if this process has mapped 16384 files
  // already: a process may have 65530 mappings, and other code needs some.
  static absl::StatusOr<Mapping> Map(const OpenFile& file);

  Mapping(Mapping&& other) noexcept
      : begin_(std::exchange(other.begin_, nullptr)),
        size_(other.size_),
        entered_(std::move(other.entered_)) {}
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping();

  // Returns the first byte; null for an empty file.
  const std::byte* begin() const { return begin_; }

  // Brings what Enter() reads into the caches.
  void Prefetch() const { __builtin_prefetch(entered_.get()); }

  // Enters the pages around [offset, offset + bytes) into the page table in
  // whole regions of 512 KiB, once each; a page fault would enter 64 KiB. Pages
  // that are not in memory are read from the disk, so use it for cached files.
  // Returns false if the regions had been entered before.
  bool Enter(uint64_t offset, uint64_t bytes) const;

 private:
  Mapping(const std::byte* begin, uint64_t size);

  const std::byte* begin_;
  uint64_t size_;
  // One bit per region. Relaxed: a region may be entered twice.
  std::unique_ptr<std::atomic<uint64_t>[]> entered_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_MMAP_MAPPING_H_
