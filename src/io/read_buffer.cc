// SPDX-License-Identifier: Apache-2.0
#include "io/read_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <system_error>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "io/files/fault_hooks.h"
#include "io/uring/ring_registry.h"
#include "poniente/byte_reader.h"
#include "util/mutex.h"
#include "util/status_macros.h"

namespace poniente {
namespace internal {
namespace {

// All live buffers. Never destroyed: buffers may outlive the end of main().
struct LiveBuffers {
  Mutex mutex;
  std::map<const std::byte*, LiveBuffer> by_begin ABSL_GUARDED_BY(mutex);
  uint64_t last_id ABSL_GUARDED_BY(mutex) = 0;
};

LiveBuffers& Buffers() {
  static auto* const buffers = new LiveBuffers;
  return *buffers;
}

constexpr size_t kHugePage = size_t{2} << 20;

// Returns `bytes` that begin at a huge page, out of `bytes` + kHugePage at
// `mapped`; gives back the rest.
std::byte* CutToHugePages(std::byte* mapped, size_t bytes) {
  static const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(mapped);
  const size_t head = (kHugePage - address % kHugePage) % kHugePage;
  const size_t used = head + (bytes + page - 1) / page * page;
  if (head > 0) (void)::munmap(mapped, head);
  if (used < bytes + kHugePage) {
    (void)::munmap(mapped + used, bytes + kHugePage - used);
  }
  return mapped + head;
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

LiveBuffer FindLiveBuffer(const std::byte* address) {
  LiveBuffers& buffers = Buffers();
  MutexLock lock(&buffers.mutex);
  auto after = buffers.by_begin.upper_bound(address);
  if (after == buffers.by_begin.begin()) return {};
  const LiveBuffer& buffer = std::prev(after)->second;
  return address < buffer.begin + buffer.bytes ? buffer : LiveBuffer{};
}

}  // namespace internal

absl::StatusOr<ReadBuffer> ReadBuffer::Allocate(size_t bytes) {
  if (bytes == 0) return ReadBuffer();
  const bool is_large =
      bytes >= internal::kHugePage && bytes <= SIZE_MAX - internal::kHugePage;
  PONIENTE_ASSIGN_OR_RETURN(
      std::byte * begin,
      internal::MapMemory(is_large ? bytes + internal::kHugePage : bytes));
  if (is_large) {
    begin = internal::CutToHugePages(begin, bytes);
    // All of it is going to be written, again and again. If there are no huge
    // pages, it is as good as other memory.
    (void)::madvise(begin, bytes, MADV_HUGEPAGE);
  }
  internal::LiveBuffers& buffers = internal::Buffers();
  internal::MutexLock lock(&buffers.mutex);
  const uint64_t id = ++buffers.last_id;
  buffers.by_begin[begin] = {begin, bytes, id};
  return ReadBuffer(std::span(begin, bytes), id);
}

ReadBuffer::~ReadBuffer() {
  if (bytes_.empty()) return;
  {
    internal::LiveBuffers& buffers = internal::Buffers();
    internal::MutexLock lock(&buffers.mutex);
    buffers.by_begin.erase(bytes_.data());
  }
  internal::ForgetBuffer(id_);
  ::munmap(bytes_.data(), bytes_.size());
}

}  // namespace poniente
