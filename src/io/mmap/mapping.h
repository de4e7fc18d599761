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

// A read-only mapping. If the file is truncated, reading the pages past its end
// raises SIGBUS, so read only with GuardedCopy().
//
// Ownership: unmaps on destruction; the file need not stay open.
// Thread safety: any number of threads.
class Mapping {
 public:
  // Maps the file. ResourceExhausted if 16384 files are mapped already: a
  // process may have 65530 mappings, and other code needs some.
  static absl::StatusOr<Mapping> Map(const OpenFile& file);

  Mapping(Mapping&& other) noexcept
      : begin_(std::exchange(other.begin_, nullptr)),
        size_(other.size_),
        entered_(std::move(other.entered_)) {}
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping();

  // Returns the first byte; null for an empty file.
  const std::byte* begin() const { return begin_; }

  // Prefetches the data that Enter() reads.
  void Prefetch() const { __builtin_prefetch(entered_.get()); }

  // Maps the pages around [offset, offset + bytes) in the page table, in whole
  // regions of 512 KiB; a page fault would map 64 KiB. Each region is entered
  // once, and only if it is in memory, as far as can be seen: the kernel reads
  // missing pages one after the other. Returns whether it had to.
  bool Enter(uint64_t offset, uint64_t bytes) const;

 private:
  Mapping(const std::byte* begin, uint64_t size);

  // Whether the region is in memory, as far as can be seen. All of its pages
  // are looked up until some regions in a row have been whole, as looking costs
  // half as much as entering; then four of them.
  bool IsWhole(std::byte* region, uint64_t bytes) const;

  const std::byte* begin_;
  uint64_t size_;
  // Regions in a row that were whole; kNever once the kernel was wrong: it says
  // that all is in memory of a file that belongs to another user.
  mutable std::atomic<int> whole_ = 0;
  // One bit per region. Relaxed: a region may be entered twice.
  std::unique_ptr<std::atomic<uint64_t>[]> entered_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_MMAP_MAPPING_H_
