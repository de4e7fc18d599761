// SPDX-License-Identifier: Apache-2.0
// The ReadBuffers of the process, where rings look up what to register.

#ifndef PONIENTE_IO_READ_BUFFER_H_
#define PONIENTE_IO_READ_BUFFER_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"

namespace poniente::internal {

// Page-aligned memory that reads as zeros; whole pages. Unmap it with munmap.
absl::StatusOr<std::byte*> MapMemory(size_t bytes);

struct LiveBuffer {
  const std::byte* begin = nullptr;
  size_t bytes = 0;
  uint64_t id = 0;  // never used twice in a process; 0: no buffer
};

// The live buffer that holds `address`, if any. Any thread.
LiveBuffer FindLiveBuffer(const std::byte* address);

}  // namespace poniente::internal

#endif  // PONIENTE_IO_READ_BUFFER_H_
