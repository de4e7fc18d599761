// SPDX-License-Identifier: Apache-2.0
#include "io/buffer_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <list>
#include <system_error>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "io/files/fault_hooks.h"
#include "util/mutex.h"

namespace poniente::internal {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kUnit = size_t{64} << 10;
constexpr size_t kUnits = kHugePage / kUnit;

// A huge page that several buffers share.
struct SharedPage {
  std::byte* begin = nullptr;
  uint64_t used = 0;  // bit i: unit i belongs to a buffer
};

// Never destroyed: buffers may outlive the end of main().
struct SharedPages {
  Mutex mutex;
  std::list<SharedPage> pages ABSL_GUARDED_BY(mutex);
};

SharedPages& Shared() {
  static auto* const shared = new SharedPages;
  return *shared;
}

// Returns `bytes` that begin at a huge page; null if there is no memory, or no
// room to choose from.
std::byte* MapHugePages(size_t bytes) {
  if (bytes > SIZE_MAX - kHugePage) return nullptr;
  const absl::StatusOr<std::byte*> mapped = MapMemory(bytes + kHugePage);
  if (!mapped.ok()) return nullptr;
  static const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(*mapped);
  // Gives back what is before the huge page, and behind the bytes.
  const size_t head = (kHugePage - address % kHugePage) % kHugePage;
  const size_t used = head + (bytes + page - 1) / page * page;
  if (head > 0) (void)::munmap(*mapped, head);
  if (used < bytes + kHugePage) {
    (void)::munmap(*mapped + used, bytes + kHugePage - used);
  }
  std::byte* const begin = *mapped + head;
  // If there are no huge pages, it is as good as other memory.
  (void)::madvise(begin, bytes, MADV_HUGEPAGE);
  return begin;
}

bool MayShare(size_t bytes) { return bytes >= kUnit && bytes < kHugePage; }

// Returns the bits of the units that `bytes` take from the first one on.
uint64_t UnitsOf(size_t bytes) {
  return (uint64_t{1} << (bytes + kUnit - 1) / kUnit) - 1;
}

// Returns the first unit from which on `units` are free; kUnits if none is.
size_t FindFree(const SharedPage& page, uint64_t units) {
  const uint64_t end = uint64_t{1} << kUnits;
  for (size_t first = 0; units << first < end; ++first) {
    if ((page.used & units << first) == 0) return first;
  }
  return kUnits;
}

// Returns null if there is no memory.
std::byte* TakeShared(size_t bytes) {
  const uint64_t units = UnitsOf(bytes);
  SharedPages& shared = Shared();
  MutexLock lock(&shared.mutex);
  for (SharedPage& page : shared.pages) {
    const size_t first = FindFree(page, units);
    if (first == kUnits) continue;
    page.used |= units << first;
    std::byte* const begin = page.begin + first * kUnit;
    std::memset(begin, 0, bytes);
    return begin;
  }
  std::list<SharedPage> one(1);  // may throw, so before the memory is mapped
  one.front() = {MapHugePages(kHugePage), units};
  if (one.front().begin == nullptr) return nullptr;
  shared.pages.splice(shared.pages.begin(), one);
  return shared.pages.front().begin;
}

// Returns false if it is no shared memory.
bool GiveBackShared(std::byte* begin, size_t bytes) {
  const uint64_t units = UnitsOf(bytes);
  SharedPages& shared = Shared();
  MutexLock lock(&shared.mutex);
  for (auto page = shared.pages.begin(); page != shared.pages.end(); ++page) {
    if (begin < page->begin || begin >= page->begin + kHugePage) continue;
    page->used &= ~(units << static_cast<size_t>(begin - page->begin) / kUnit);
    if (page->used != 0) return true;
    (void)::munmap(page->begin, kHugePage);
    shared.pages.erase(page);
    return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<std::byte*> MapMemory(size_t bytes) {
  int error = FaultAt(SystemCall::kMapMemory);
  if (error == 0) {
    void* const begin =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (begin != MAP_FAILED) return static_cast<std::byte*>(begin);
    error = errno;
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "cannot get ", bytes,
      " bytes of memory to read into: ", std::generic_category().message(error),
      "; read less at a time, or free memory (ulimit -v, free)"));
}

absl::StatusOr<std::byte*> AllocateMemory(size_t bytes) {
  std::byte* begin = nullptr;
  if (bytes >= kHugePage) begin = MapHugePages(bytes);
  if (MayShare(bytes)) begin = TakeShared(bytes);
  if (begin != nullptr) return begin;
  return MapMemory(bytes);
}

void FreeMemory(std::byte* begin, size_t bytes) {
  if (MayShare(bytes) && GiveBackShared(begin, bytes)) return;
  (void)::munmap(begin, bytes);
}

}  // namespace poniente::internal
