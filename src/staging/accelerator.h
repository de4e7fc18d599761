// SPDX-License-Identifier: Apache-2.0
// What staging needs of an accelerator. One file per vendor implements it, so
// that its headers are included nowhere else.

#ifndef PONIENTE_STAGING_ACCELERATOR_H_
#define PONIENTE_STAGING_ACCELERATOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "staging/widening.h"

namespace poniente::internal {

// A queue of the device's work, of the vendor's type (cudaStream_t); null is
// the default one.
using DeviceStream = void*;

// A point in a queue of work, moved by each Record().
class DeviceEvent {
 public:
  virtual ~DeviceEvent() = default;

  // The point is behind what has been queued on `stream` so far.
  virtual absl::Status Record(DeviceStream stream) = 0;
  // What is queued on `stream` from now on waits for the point; the calling
  // thread does not. Nothing if none was recorded.
  virtual absl::Status MakeWait(DeviceStream stream) = 0;
  // The work up to the point is done. True if none was recorded.
  virtual absl::StatusOr<bool> IsDone() = 0;
  // Blocks until it is.
  virtual absl::Status Wait() = 0;
};

// Thread safety: any number of threads.
class Accelerator {
 public:
  virtual ~Accelerator() = default;

  // Page-locks memory of the host, so that copies from it run beside
  // everything else. REQUIRES: unlocked again before it is freed, and once no
  // copy reads it.
  virtual absl::Status Lock(std::span<std::byte> memory) = 0;
  virtual void Unlock(std::span<std::byte> memory) = 0;

  virtual absl::StatusOr<std::byte*> Allocate(size_t bytes) = 0;
  // REQUIRES: nothing on the device uses it: freeing may or may not wait.
  virtual void Free(std::byte* memory) = 0;

  virtual absl::StatusOr<std::unique_ptr<DeviceEvent>> MakeEvent() = 0;

  // Queues a copy from the host's memory to the device's on a stream of its
  // own. Both stay untouched until an event recorded behind it is done.
  virtual absl::Status Copy(std::span<const std::byte> from, std::byte* to) = 0;
  // Whether Widen() may be called. May take a while, the first time.
  virtual bool can_widen() = 0;
  // Queues, on that stream, that ids at `from` become ids at `to`, both of the
  // device, aligned to 16 bytes and not overlapping.
  virtual absl::Status Widen(const std::byte* from, std::byte* to,
                             const Widening& ids) = 0;
  // Records the event behind what has been queued on that stream so far.
  virtual absl::Status RecordCopies(DeviceEvent* event) = 0;
  // What is queued there from now on waits for `event`.
  virtual absl::Status HoldCopiesFor(DeviceEvent* event) = 0;
  // Blocks until the device has done all that anybody has queued.
  virtual void WaitForAll() = 0;
};

// FailedPrecondition: built without CUDA, or no driver. NotFound: no such GPU.
// cuda_accelerator.cc or no_accelerator.cc, as CMake finds the toolkit.
absl::StatusOr<std::unique_ptr<Accelerator>> OpenCuda(int32_t ordinal);

}  // namespace poniente::internal

#endif  // PONIENTE_STAGING_ACCELERATOR_H_
