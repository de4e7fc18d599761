// SPDX-License-Identifier: Apache-2.0
#include "io/mmap/mapping.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "io/files/fault_hooks.h"
#include "io/mmap/fault_watch.h"
#include "util/memory_sizes.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22  // Linux 5.14, before the C library's headers
#endif

namespace poniente::internal {
namespace {

constexpr uint64_t kRegionBytes = uint64_t{512} << 10;
constexpr int kMaxMappings = 16384;
// Regions in a row after which the next ones are taken for whole.
constexpr int kTrusted = 8;
constexpr int kNever = -1;
constexpr uint64_t kLooks = 4;

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
                     " files are mapped already; choose another I/O backend: "
                     "auto maps as many, and reads the others otherwise"));
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

bool Mapping::IsWhole(std::byte* region, uint64_t bytes) const {
  const int whole = whole_.load(std::memory_order_relaxed);
  if (whole == kNever) return false;
  const uint64_t step = whole < kTrusted ? kRegionBytes : kRegionBytes / kLooks;
  const uint64_t look = whole < kTrusted ? kRegionBytes : 1;
  for (uint64_t at = 0; at < bytes; at += step) {
    // Where pages have more than 4 KiB, there are fewer.
    unsigned char pages[kRegionBytes / kPageBytes];
    std::fill(std::begin(pages), std::end(pages), 1);
    (void)::mincore(region + at, std::min(look, bytes - at), pages);
    const bool is_missing =
        FaultAt(SystemCall::kMincore) != 0 ||
        std::any_of(std::begin(pages), std::end(pages),
                    [](unsigned char page) { return (page & 1) == 0; });
    if (is_missing) {
      whole_.store(0, std::memory_order_relaxed);
      return false;
    }
  }
  if (whole < kTrusted) whole_.store(whole + 1, std::memory_order_relaxed);
  return true;
}

bool Mapping::Enter(uint64_t offset, uint64_t bytes) const {
  const uint64_t end = std::min(size_, offset + bytes);
  bool has_waited = false;
  for (uint64_t at = offset / kRegionBytes * kRegionBytes; at < end;
       at += kRegionBytes) {
    const uint64_t region = at / kRegionBytes;
    std::atomic<uint64_t>& word = entered_[region / 64];
    const uint64_t bit = uint64_t{1} << (region % 64);
    if ((word.load(std::memory_order_relaxed) & bit) != 0) continue;
    word.fetch_or(bit, std::memory_order_relaxed);
    std::byte* const begin = const_cast<std::byte*>(begin_) + at;
    const uint64_t size = std::min(kRegionBytes, size_ - at);
    const bool looks_at_all = whole_.load(std::memory_order_relaxed) < kTrusted;
    if (!IsWhole(begin, size)) continue;
    if (FaultAt(SystemCall::kPopulate) != 0) continue;
    const uint64_t faults = MajorFaults();
    // Only advice: pages that it does not map are mapped by the copy.
    (void)::madvise(begin, size, MADV_POPULATE_READ);
    if (MajorFaults() == faults) continue;
    has_waited = true;
    whole_.store(looks_at_all ? kNever : 0, std::memory_order_relaxed);
  }
  return has_waited;
}

}  // namespace poniente::internal
