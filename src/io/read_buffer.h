// SPDX-License-Identifier: Apache-2.0
// The ReadBuffers of the process, which rings register at their first use.

#ifndef PONIENTE_IO_READ_BUFFER_H_
#define PONIENTE_IO_READ_BUFFER_H_

#include <cstddef>
#include <cstdint>

namespace poniente::internal {

// The memory of a ReadBuffer that has not been destroyed.
struct LiveBuffer {
  const std::byte* begin = nullptr;
  size_t bytes = 0;
  uint64_t id = 0;  // never used twice in a process; 0: no buffer
};

// Returns the live buffer that contains `address`; one with id 0 if none does.
// Any thread may call it.
LiveBuffer FindLiveBuffer(const std::byte* address);

}  // namespace poniente::internal

#endif  // PONIENTE_IO_READ_BUFFER_H_
