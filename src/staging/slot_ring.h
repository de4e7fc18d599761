// SPDX-License-Identifier: Apache-2.0
// Memory of batches that is reused: page-aligned, registered with rings,
// page-locked, with a counterpart on the device.
//
// The life of a slot: Take() -> filled by reads -> Upload() -> handed to the
// consumer -> the last SlotPtr is destroyed -> free. On a GPU, two conditions
// guard its reuse. The copy must have read the host's side before that is
// filled again: Take() returns only slots whose copy is done. The consumer must
// be done with the device's side before the next copy writes to it: the copy
// stream waits for that, on the device.

#ifndef PONIENTE_STAGING_SLOT_RING_H_
#define PONIENTE_STAGING_SLOT_RING_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/byte_reader.h"
#include "poniente/device.h"
#include "poniente/task.h"
#include "staging/accelerator.h"
#include "util/mutex.h"

namespace poniente::internal {

class SlotRing;

// The memory of one batch. Its holder may use it from one thread at a time; all
// holders may call WaitOn().
class Slot {
 public:
  explicit Slot(SlotRing* ring) : ring_(ring) {}
  ~Slot();
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  // Returns the host's memory, at least as many bytes as Take() was asked for.
  std::span<std::byte> host() const { return host_.bytes(); }
  // Returns the device's memory, of the same size; null without a device.
  const std::byte* device_bytes() const { return on_device_; }
  const Device& device() const;

  // Marks the slot as held by the consumer from now on.
  void MarkHeld();

  // Returns memory, with arbitrary contents, for data that is read but not
  // delivered as it is.
  absl::StatusOr<std::span<std::byte>> Scratch(size_t bytes);

  // Keeps what belongs to the batch but not into its memory; the next holder of
  // the slot finds it. Null at first.
  std::shared_ptr<void>& companion() { return companion_; }

  // Queues the copy of the first `bytes` to the same places on the device. Has
  // no effect without a device.
  absl::Status Upload(size_t bytes) { return Upload(bytes, Widening()); }
  // Does the same as if the host had widened the ids first: on the device, the
  // first ids.bytes_after() of the `bytes` are the widened form of the host's
  // first ids.bytes_before(); the host's bytes between the two are ignored.
  // REQUIRES: SlotRing::can_widen() if there are ids; Take() was asked for
  // `bytes`, and for room for ids.bytes_before().
  absl::Status Upload(size_t bytes, const Widening& ids);

  // Makes the work queued on `stream` from now on wait for the copy. The slot
  // is not filled again before the work queued there at the time of its return
  // has run. Errors: Internal, from the driver; FailedPrecondition without a
  // device.
  absl::Status WaitOn(DeviceStream stream);
  // Blocks the thread until the copy is done. Returns OK without a device.
  absl::Status WaitUntilCopied();

 private:
  friend class SlotRing;
  struct Consumer {
    DeviceStream stream;
    std::unique_ptr<DeviceEvent> done;
  };

  absl::Status QueueCopies(size_t bytes, const Widening& ids);
  absl::Status QueueIds(const Widening& ids);

  absl::Status Grow(size_t bytes, size_t stored_bytes);
  void Release();
  // Blocks until the device no longer uses the slot.
  void WaitUntilUnused();
  absl::StatusOr<bool> IsCopied();
  // Records how far the streams of the consumers have got. The streams are not
  // touched afterwards.
  absl::Status LetConsumersGo();

  SlotRing* const ring_;
  ReadBuffer host_;
  ReadBuffer scratch_;
  std::shared_ptr<void> companion_;
  bool is_locked_ = false;
  bool is_held_ = false;
  std::thread::id filled_by_;  // the last thread that took it
  bool has_content_ = false;   // whether the last Upload() had any bytes
  // Memory of the same size as on the host, followed by room for the ids as
  // they are stored (stored_bytes_).
  std::byte* on_device_ = nullptr;
  size_t stored_bytes_ = 0;
  std::unique_ptr<DeviceEvent> copied_;
  bool is_broken_ = false;  // the device may still use it; not to be reused
  // Events of earlier holders, which the next copy waits for.
  std::vector<std::unique_ptr<DeviceEvent>> released_;
  Mutex mu_;
  std::vector<Consumer> consumers_ ABSL_GUARDED_BY(mu_);
};

// A shared slot. The last holder's thread returns it to its ring, which it
// keeps alive.
using SlotPtr = std::shared_ptr<Slot>;

// Owns the slots of one loader. Thread safety: any number of threads.
class SlotRing : public std::enable_shared_from_this<SlotRing> {
 public:
  // Receives one line per warning.
  using WarningSink = std::function<void(std::string_view)>;

  // Creates a ring of at most `limit` slots on `device`, allocated when needed.
  // If the device is not available, the slots are on the host, with one
  // warning.
  static std::shared_ptr<SlotRing> Create(const Device& device, uint32_t limit,
                                          const WarningSink& warn);
  // Creates a ring with this accelerator; null for the host.
  SlotRing(const Device& device, std::unique_ptr<Accelerator> accelerator,
           uint32_t limit, WarningSink warn);
  ~SlotRing();

  // Returns a slot of at least `bytes`, with room on the device for
  // `stored_bytes` of ids to be widened there. Suspends while the only free
  // slots are still being copied. ResourceExhausted: all slots are in use, or
  // there is no memory.
  Task<SlotPtr> Take(size_t bytes, size_t stored_bytes = 0);

  // Returns whether the device can widen ids. The first call may take a while.
  bool can_widen() const {
    return accelerator_ != nullptr && accelerator_->can_widen();
  }

  // Returns the number of slots that are marked as held and not returned.
  uint32_t num_held() const;
  // Calls `returned` whenever a held slot has been returned, on the thread that
  // returns it, one call at a time; null: no longer, and no call is in
  // progress. `returned` may call num_held(), but must not release held slots.
  void OnReturn(std::function<void()> returned);

  // Returns where batches are delivered: the host, if the device is not
  // available.
  const Device& device() const { return device_; }

 private:
  friend class Slot;

  absl::StatusOr<std::unique_ptr<Slot>> TakeFree();
  // Returns the index of the free slot to look at after `looked_at` others.
  size_t Preferred(size_t looked_at) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Makes the slot return to the ring by itself.
  SlotPtr Share(std::unique_ptr<Slot> slot);
  void Return(std::unique_ptr<Slot> slot);
  void WarnUnlocked(const absl::Status& why);

  const Device device_;
  const std::unique_ptr<Accelerator> accelerator_;
  const uint32_t limit_;
  const WarningSink warn_;
  Mutex calling_;  // locked before mu_
  std::function<void()> returned_ ABSL_GUARDED_BY(calling_);
  mutable Mutex mu_;
  // In the order of their return.
  std::vector<std::unique_ptr<Slot>> free_ ABSL_GUARDED_BY(mu_);
  uint32_t in_use_ ABSL_GUARDED_BY(mu_) = 0;
  uint32_t held_ ABSL_GUARDED_BY(mu_) = 0;
  bool is_watched_ ABSL_GUARDED_BY(mu_) = false;  // returned_ is not null
  bool has_warned_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STAGING_SLOT_RING_H_
