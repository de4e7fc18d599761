// SPDX-License-Identifier: Apache-2.0
#include "io/read_buffer.h"

#include <cstdint>
#include <map>

#include "absl/base/thread_annotations.h"
#include "io/buffer_memory.h"
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

}  // namespace

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
  PONIENTE_ASSIGN_OR_RETURN(std::byte* const begin,
                            internal::AllocateMemory(bytes));
  // Owns the memory from here on, whatever is thrown.
  ReadBuffer buffer(std::span(begin, bytes), /*id=*/0);
  internal::LiveBuffers& buffers = internal::Buffers();
  internal::MutexLock lock(&buffers.mutex);
  buffer.id_ = ++buffers.last_id;
  buffers.by_begin[begin] = {begin, bytes, buffer.id_};
  return buffer;
}

ReadBuffer::~ReadBuffer() {
  if (bytes_.empty()) return;
  {
    internal::LiveBuffers& buffers = internal::Buffers();
    internal::MutexLock lock(&buffers.mutex);
    buffers.by_begin.erase(bytes_.data());
  }
  internal::ForgetBuffer(id_);
  internal::FreeMemory(bytes_.data(), bytes_.size());
}

}  // namespace poniente
