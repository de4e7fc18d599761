// SPDX-License-Identifier: Apache-2.0
#include "io/mmap/mapping.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "io/files/fault_hooks.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22  // Linux 5.14, before the C library's headers
#endif

namespace poniente::internal {
namespace {

constexpr uint64_t kRegionBytes = uint64_t{512} << 10;
constexpr int kMaxMappings = 16384;

std::atomic<int> mappings = 0;

absl::Status MapError(const OpenFile& file, int error) {
  return absl::Status(
      absl::ErrnoToStatusCode(error),
      absl::StrCat(file.path(), ": cannot map ", file.size(),
                   " bytes: ", std::generic_category().message(error),
                   "; choose another I/O backend (auto, buffered, pread)"));
}

}  // namespace

absl::StatusOr<Mapping> Mapping::Map(const OpenFile& file) {
  if (file.size() == 0) return Mapping(nullptr, 0);
  if (const int fault = FaultAt(SystemCall::kMapFile); fault != 0) {
    return MapError(file, fault);
  }
  if (mappings.load(std::memory_order_relaxed) >= kMaxMappings) {
    return absl::ResourceExhaustedError(
        absl::StrCat(file.path(), ": ", kMaxMappings,
                     " files are mapped already; choose another I/O backend "
                     "(auto, buffered, pread) for some of them"));
  }
  const FileDescriptor fd(file);
  if (fd.get() < 0) return MapError(file, -fd.get());
  void* const begin =
      ::mmap(nullptr, file.size(), PROT_READ, MAP_SHARED, fd.get(), 0);
  if (begin == MAP_FAILED) return MapError(file, errno);
  // Otherwise a fault reads up to read_ahead_kb: 16 times too much.
  (void)::madvise(begin, file.size(), MADV_RANDOM);
  return Mapping(static_cast<const std::byte*>(begin), file.size());
}

Mapping::Mapping(const std::byte* begin, uint64_t size)
    : begin_(begin),
      size_(size),
      entered_(std::make_unique<std::atomic<uint64_t>[]>(
          size / (64 * kRegionBytes) + 1)) {
  if (begin_ != nullptr) mappings.fetch_add(1, std::memory_order_relaxed);
}

Mapping::~Mapping() {
  if (begin_ == nullptr) return;
  ::munmap(const_cast<std::byte*>(begin_), size_);
  mappings.fetch_sub(1, std::memory_order_relaxed);
}

bool Mapping::Enter(uint64_t offset, uint64_t bytes) const {
  const uint64_t end = std::min(size_, offset + bytes);
  bool entered = false;
  for (uint64_t at = offset / kRegionBytes * kRegionBytes; at < end;
       at += kRegionBytes) {
    const uint64_t region = at / kRegionBytes;
    std::atomic<uint64_t>& word = entered_[region / 64];
    const uint64_t bit = uint64_t{1} << (region % 64);
    if ((word.load(std::memory_order_relaxed) & bit) != 0) continue;
    word.fetch_or(bit, std::memory_order_relaxed);
    entered = true;
    if (FaultAt(SystemCall::kPopulate) != 0) continue;
    // Only advice: pages that it does not map are mapped by the copy.
    (void)::madvise(const_cast<std::byte*>(begin_) + at,
                    std::min(kRegionBytes, size_ - at), MADV_POPULATE_READ);
  }
  return entered;
}

}  // namespace poniente::internal
