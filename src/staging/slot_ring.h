// SPDX-License-Identifier: Apache-2.0
// Memory of batches, used again and again: page-aligned, registered with rings,
// page-locked, with its counterpart on the device.
//
// The life of a slot: Take() -> filled by reads -> Upload() -> handed to the
// consumer -> the last SlotPtr dies -> free. On a GPU two points in time guard
// its reuse. The copy must have left the host's side before that is filled
// again: Take() gives only slots whose copy is done. And the consumer must be
// done with the device's side before the next copy writes to it: the copy
// stream waits for that, on the device.

#ifndef PONIENTE_STAGING_SLOT_RING_H_
#define PONIENTE_STAGING_SLOT_RING_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
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

// One batch's memory. Its holder may use it from one thread at a time; all
// holders may call WaitOn().
class Slot {
 public:
  explicit Slot(SlotRing* ring) : ring_(ring) {}
  ~Slot();
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  // At least what Take() was asked for.
  std::span<std::byte> host() const { return host_.bytes(); }
  // As large on the device; null without one.
  const std::byte* device_bytes() const { return on_device_; }
  const Device& device() const;

  // From now on the slot counts as held by the consumer.
  void MarkHeld();

  // Memory for what is read but not delivered as it is, holding anything.
  absl::StatusOr<std::span<std::byte>> Scratch(size_t bytes);

  // Queues the copy of the first `bytes` to the same places on the device.
  // Nothing without a device.
  absl::Status Upload(size_t bytes) { return Upload(bytes, Widening()); }
  // As if the host had widened these ids: on the device the first
  // ids.bytes_after() of the `bytes` are what the first ids.bytes_before()
  // become, and what lies between the two on the host is not looked at.
  // REQUIRES: SlotRing::can_widen(), if there are ids; Take() was asked for
  // `bytes`, and for room for ids.bytes_before().
  absl::Status Upload(size_t bytes, const Widening& ids);

  // What is queued on `stream` from now on finds the copy done, and the slot is
  // not filled again before what will have been queued there when it is
  // returned. Errors: Internal, from the driver; FailedPrecondition without a
  // device.
  absl::Status WaitOn(DeviceStream stream);
  // Blocks the thread until the copy is there. Ok without a device.
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
  // Blocks until the device does nothing with it.
  void WaitUntilUnused();
  absl::StatusOr<bool> IsCopied();
  // Notes on the streams of consumers where they have got to. The streams are
  // not touched afterwards.
  absl::Status LetConsumersGo();

  SlotRing* const ring_;
  ReadBuffer host_;
  ReadBuffer scratch_;
  bool is_locked_ = false;
  bool is_held_ = false;
  bool has_content_ = false;  // by the last Upload()
  // As many bytes as on the host, then ids as they are stored.
  std::byte* on_device_ = nullptr;
  size_t stored_bytes_ = 0;
  std::unique_ptr<DeviceEvent> copied_;
  bool is_broken_ = false;  // what the device does with it is not known
  // Of earlier holders: the next copy waits for them.
  std::vector<std::unique_ptr<DeviceEvent>> released_;
  Mutex mu_;
  std::vector<Consumer> consumers_ ABSL_GUARDED_BY(mu_);
};

// The last holder's thread returns it to its ring, which it keeps alive.
using SlotPtr = std::shared_ptr<Slot>;

// Thread safety: any number of threads.
class SlotRing : public std::enable_shared_from_this<SlotRing> {
 public:
  // Receives one line per warning.
  using WarningSink = std::function<void(std::string_view)>;

  // Slots on `device`, at most `limit`, made as they are needed; on the host,
  // with one warning, where the device cannot be had.
  static std::shared_ptr<SlotRing> Create(const Device& device, uint32_t limit,
                                          const WarningSink& warn);
  // With this accelerator, null for the host.
  SlotRing(const Device& device, std::unique_ptr<Accelerator> accelerator,
           uint32_t limit, WarningSink warn);
  ~SlotRing();

  // A slot of at least `bytes`, with room on the device for `stored_bytes` of
  // ids to be widened there. Suspends while the only free ones are being copied
  // from. ResourceExhausted: all are in use, or there is no memory.
  Task<SlotPtr> Take(size_t bytes, size_t stored_bytes = 0);

  // The device can widen ids. May take a while, the first time.
  bool can_widen() const {
    return accelerator_ != nullptr && accelerator_->can_widen();
  }

  // Slots marked as held and not returned.
  uint32_t num_held() const;

  // Where batches end up: the host, if the device could not be had.
  const Device& device() const { return device_; }

 private:
  friend class Slot;

  absl::StatusOr<std::unique_ptr<Slot>> TakeFree();
  // From now on it goes back by itself.
  SlotPtr Share(std::unique_ptr<Slot> slot);
  void Return(std::unique_ptr<Slot> slot);
  void WarnUnlocked(const absl::Status& why);

  const Device device_;
  const std::unique_ptr<Accelerator> accelerator_;
  const uint32_t limit_;
  const WarningSink warn_;
  mutable Mutex mu_;
  // In the order of their return.
  std::vector<std::unique_ptr<Slot>> free_ ABSL_GUARDED_BY(mu_);
  uint32_t in_use_ ABSL_GUARDED_BY(mu_) = 0;
  uint32_t held_ ABSL_GUARDED_BY(mu_) = 0;
  bool has_warned_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STAGING_SLOT_RING_H_
