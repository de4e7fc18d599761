// SPDX-License-Identifier: Apache-2.0
// The rings of the process, which must let go of files and buffers that die.

#ifndef PONIENTE_IO_URING_RING_REGISTRY_H_
#define PONIENTE_IO_URING_RING_REGISTRY_H_

#include <cstdint>

namespace poniente::internal {

// A ring that holds on to files and buffers it has registered.
class RingRegistrant {
 public:
  virtual ~RingRegistrant() = default;
  virtual void ForgetFile(uint64_t id) = 0;
  virtual void ForgetBuffer(uint64_t id) = 0;
};

// Any thread. A ring is in from its making until before its end.
void AddRing(RingRegistrant* ring);
void RemoveRing(RingRegistrant* ring);

// Has every ring let go. After it no ring has the file, or the memory.
void ForgetFile(uint64_t id);
void ForgetBuffer(uint64_t id);

}  // namespace poniente::internal

#endif  // PONIENTE_IO_URING_RING_REGISTRY_H_
