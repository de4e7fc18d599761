// SPDX-License-Identifier: Apache-2.0
// The list of the process's rings, which must release files and buffers before
// these are destroyed.

#ifndef PONIENTE_IO_URING_RING_REGISTRY_H_
#define PONIENTE_IO_URING_RING_REGISTRY_H_

#include <cstdint>

namespace poniente::internal {

// A ring that has registered files and buffers with the kernel.
class RingRegistrant {
 public:
  virtual ~RingRegistrant() = default;
  virtual void ForgetFile(uint64_t id) = 0;
  virtual void ForgetBuffer(uint64_t id) = 0;
};

// Add a ring to the list, once, or remove it. Any thread may call them. A ring
// is in the list from its first batch until it is shut down or destroyed.
void AddRing(RingRegistrant* ring);
void RemoveRing(RingRegistrant* ring);

// Make every ring release the file or the buffer.
void ForgetFile(uint64_t id);
void ForgetBuffer(uint64_t id);

}  // namespace poniente::internal

#endif  // PONIENTE_IO_URING_RING_REGISTRY_H_
