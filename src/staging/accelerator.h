// SPDX-License-Identifier: Apache-2.0
// The interface of an accelerator for staging. One file per vendor implements
// it, so that the vendor's headers are included nowhere else.

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

// A queue of work on the device, of the vendor's type (cudaStream_t); null is
// the default queue.
using DeviceStream = void*;

// A point in a queue of work; each Record() moves it.
class DeviceEvent {
 public:
  virtual ~DeviceEvent() = default;

  // Moves the point behind everything queued on `stream` so far.
  virtual absl::Status Record(DeviceStream stream) = 0;
  // Makes the work queued on `stream` from now on wait for the point; the
  // calling thread does not wait. Has no effect if nothing was recorded.
  virtual absl::Status MakeWait(DeviceStream stream) = 0;
  // Returns whether the work up to the point is done; true if nothing was
  // recorded.
  virtual absl::StatusOr<bool> IsDone() = 0;
  // Blocks until the work up to the point is done.
  virtual absl::Status Wait() = 0;
};

// One device. Thread safety: any number of threads.
class Accelerator {
 public:
  virtual ~Accelerator() = default;

  // Page-locks host memory, so that copies from it run in the background.
  // REQUIRES: it is unlocked before it is freed, and only when no copy reads
  // it.
  virtual absl::Status Lock(std::span<std::byte> memory) = 0;
  virtual void Unlock(std::span<std::byte> memory) = 0;

  virtual absl::StatusOr<std::byte*> Allocate(size_t bytes) = 0;
  // Frees device memory. REQUIRES: nothing on the device uses it, because
  // freeing may or may not wait.
  virtual void Free(std::byte* memory) = 0;

  virtual absl::StatusOr<std::unique_ptr<DeviceEvent>> MakeEvent() = 0;

  // Queues a copy from host memory to device memory on the accelerator's own
  // stream. Leave both untouched until an event recorded after it is done.
  virtual absl::Status Copy(std::span<const std::byte> from, std::byte* to) = 0;
  // Returns whether Widen() may be called. The first call may take a while.
  virtual bool can_widen() = 0;
  // Queues, on the same stream, the widening of ids at `from` to ids at `to`.
  // Both are device memory, aligned to 16 bytes, and do not overlap.
  virtual absl::Status Widen(const std::byte* from, std::byte* to,
                             const Widening& ids) = 0;
  // Moves the event behind everything queued on that stream so far.
  virtual absl::Status RecordCopies(DeviceEvent* event) = 0;
  // Makes everything queued on that stream from now on wait for `event`.
  virtual absl::Status HoldCopiesFor(DeviceEvent* event) = 0;
  // Blocks until the device has done everything that anyone has queued.
  virtual void WaitForAll() = 0;
};

// Opens a GPU. FailedPrecondition: built without CUDA, or no driver. NotFound:
// no such GPU. Defined in cuda_accelerator.cc or no_accelerator.cc, depending
// on whether CMake finds the toolkit.
absl::StatusOr<std::unique_ptr<Accelerator>> OpenCuda(int32_t ordinal);

}  // namespace poniente::internal

#endif  // PONIENTE_STAGING_ACCELERATOR_H_
