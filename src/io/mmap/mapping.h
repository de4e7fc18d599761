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

// Ownership: unmaps; does not need the file open.
// Thread safety: any number of threads.
// The pages past the end of a file that was cut short raise SIGBUS: read them
// with GuardedCopy only.
class Mapping {
 public:
  // ResourceExhausted if this process has mapped 16384 files already: a process
  // may have 65530 mappings, which are not ours alone.
  static absl::StatusOr<Mapping> Map(const OpenFile& file);

  Mapping(Mapping&& other) noexcept
      : begin_(std::exchange(other.begin_, nullptr)),
        size_(other.size_),
        entered_(std::move(other.entered_)) {}
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping();

  // Null for an empty file.
  const std::byte* begin() const { return begin_; }

  // Brings what Enter() reads into the caches.
  void Prefetch() const { __builtin_prefetch(entered_.get()); }

  // Enters the pages around [offset, offset + bytes) into the page table, whole
  // regions of 512 KiB, once each; a page fault would enter 64 KiB. Reads those
  // that are not in memory from the disk: for files that are. False if they
  // had been entered before.
  bool Enter(uint64_t offset, uint64_t bytes) const;

 private:
  Mapping(const std::byte* begin, uint64_t size);

  const std::byte* begin_;
  uint64_t size_;
  // A bit per region. Relaxed: a region entered twice is entered twice.
  std::unique_ptr<std::atomic<uint64_t>[]> entered_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_MMAP_MAPPING_H_
