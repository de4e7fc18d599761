// SPDX-License-Identifier: Apache-2.0
// The rings of the process, which must release files and buffers that are
// destroyed.

#ifndef PONIENTE_IO_URING_RING_REGISTRY_H_
#define PONIENTE_IO_URING_RING_REGISTRY_H_

#include <cstdint>

namespace poniente::internal {

// A ring that holds files and buffers it has registered.
class RingRegistrant {
 public:
  virtual ~RingRegistrant() = default;
  virtual void ForgetFile(uint64_t id) = 0;
  virtual void ForgetBuffer(uint64_t id) = 0;
};

// Adds and removes a ring, on any thread. A ring is listed from its creation
// until before its end.
void AddRing(RingRegistrant* ring);
void RemoveRing(RingRegistrant* ring);

// Make every ring release the file or the memory; afterwards none holds it.
void ForgetFile(uint64_t id);
void ForgetBuffer(uint64_t id);

}  // namespace poniente::internal

#endif  // PONIENTE_IO_URING_RING_REGISTRY_H_
