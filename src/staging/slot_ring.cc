// SPDX-License-Identifier: Apache-2.0
#include "staging/slot_ring.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <limits>

#include "absl/strings/str_cat.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

namespace asio = boost::asio;

// Sizes are multiples of this, so that a batch that grows a little does not
// need a new registration each time.
constexpr size_t kGranule = size_t{64} << 10;
// A copy of a batch takes some 10 us to some ms.
constexpr std::chrono::microseconds kLookAgainAfter{30};

size_t InGranules(size_t bytes) {
  return (bytes + kGranule - 1) / kGranule * kGranule;
}

// Makes the buffer large enough. Frees the old memory first, so that the old
// and the new memory never exist at the same time.
absl::Status MakeRoom(ReadBuffer* buffer, size_t bytes) {
  if (buffer->bytes().size() >= bytes) return absl::OkStatus();
  *buffer = ReadBuffer();
  if (bytes > std::numeric_limits<size_t>::max() - kGranule) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a batch of ", bytes, " bytes does not fit in memory"));
  }
  PONIENTE_ASSIGN_OR_RETURN(*buffer, ReadBuffer::Allocate(InGranules(bytes)));
  return absl::OkStatus();
}

}  // namespace

// ---- Slot

Slot::~Slot() { Release(); }

void Slot::Release() {
  Accelerator* const accelerator = ring_->accelerator_.get();
  if (accelerator == nullptr) return;
  WaitUntilUnused();
  if (on_device_ != nullptr) accelerator->Free(on_device_);
  on_device_ = nullptr;
  stored_bytes_ = 0;
  if (is_locked_) accelerator->Unlock(host_.bytes());
  is_locked_ = false;
}

void Slot::WaitUntilUnused() {
  bool is_known = !is_broken_;
  if (copied_ != nullptr) is_known = copied_->Wait().ok() && is_known;
  for (const std::unique_ptr<DeviceEvent>& event : released_) {
    is_known = event->Wait().ok() && is_known;
  }
  if (!is_known) ring_->accelerator_->WaitForAll();
  released_.clear();
}

const Device& Slot::device() const { return ring_->device(); }

absl::Status Slot::Grow(size_t bytes, size_t stored_bytes) {
  if (host_.bytes().size() >= bytes && stored_bytes_ >= stored_bytes) {
    return absl::OkStatus();
  }
  Release();
  PONIENTE_RETURN_IF_ERROR(MakeRoom(&host_, bytes));
  Accelerator* const accelerator = ring_->accelerator_.get();
  if (accelerator == nullptr) return absl::OkStatus();
  const absl::Status locked = accelerator->Lock(host_.bytes());
  is_locked_ = locked.ok();
  if (!is_locked_) ring_->WarnUnlocked(locked);
  if (copied_ == nullptr) {
    PONIENTE_ASSIGN_OR_RETURN(copied_, accelerator->MakeEvent());
  }
  const size_t room = InGranules(stored_bytes);
  PONIENTE_ASSIGN_OR_RETURN(on_device_,
                            accelerator->Allocate(host_.bytes().size() + room));
  stored_bytes_ = room;
  return absl::OkStatus();
}

void Slot::MarkHeld() {
  MutexLock lock(&ring_->mu_);
  is_held_ = true;
  ++ring_->held_;
}

absl::StatusOr<std::span<std::byte>> Slot::Scratch(size_t bytes) {
  PONIENTE_RETURN_IF_ERROR(MakeRoom(&scratch_, bytes));
  return scratch_.bytes().first(bytes);
}

absl::Status Slot::Upload(size_t bytes, const Widening& ids) {
  has_content_ = bytes > 0;
  if (ring_->accelerator_ == nullptr || bytes == 0) return absl::OkStatus();
  const absl::Status queued = QueueCopies(bytes, ids);
  if (!queued.ok()) is_broken_ = true;
  return queued;
}

absl::Status Slot::QueueCopies(size_t bytes, const Widening& ids) {
  Accelerator& accelerator = *ring_->accelerator_;
  for (const std::unique_ptr<DeviceEvent>& event : released_) {
    PONIENTE_RETURN_IF_ERROR(accelerator.HoldCopiesFor(event.get()));
  }
  released_.clear();
  const size_t widened = ids.bytes_after();
  PONIENTE_CHECK(widened <= bytes) << widened << " of " << bytes;
  if (ids.count > 0) PONIENTE_RETURN_IF_ERROR(QueueIds(ids));
  if (widened < bytes) {
    PONIENTE_RETURN_IF_ERROR(accelerator.Copy(
        host().subspan(widened, bytes - widened), on_device_ + widened));
  }
  return accelerator.RecordCopies(copied_.get());
}

absl::Status Slot::QueueIds(const Widening& ids) {
  Accelerator& accelerator = *ring_->accelerator_;
  PONIENTE_CHECK(ids.bytes_before() <= stored_bytes_)
      << ids.bytes_before() << " of " << stored_bytes_;
  std::byte* const stored = on_device_ + host().size();
  PONIENTE_RETURN_IF_ERROR(
      accelerator.Copy(host().first(ids.bytes_before()), stored));
  return accelerator.Widen(stored, on_device_, ids);
}

absl::Status Slot::WaitOn(DeviceStream stream) {
  Accelerator* const accelerator = ring_->accelerator_.get();
  if (accelerator == nullptr) {
    return absl::FailedPreconditionError(
        "the batch is in the memory of the host, where no stream waits for it; "
        "look at its device first");
  }
  if (!has_content_) return absl::OkStatus();
  MutexLock lock(&mu_);
  PONIENTE_RETURN_IF_ERROR(copied_->MakeWait(stream));
  const bool is_known = std::any_of(
      consumers_.begin(), consumers_.end(),
      [stream](const Consumer& one) { return one.stream == stream; });
  if (is_known) return absl::OkStatus();
  PONIENTE_ASSIGN_OR_RETURN(std::unique_ptr<DeviceEvent> done,
                            accelerator->MakeEvent());
  // Tests the stream now: an unusable one, such as that of another GPU, must be
  // an error here and not when the batch is destroyed.
  PONIENTE_RETURN_IF_ERROR(done->Record(stream));
  consumers_.push_back({stream, std::move(done)});
  // LetConsumersGo() must not allocate.
  released_.reserve(released_.size() + consumers_.size());
  return absl::OkStatus();
}

absl::Status Slot::WaitUntilCopied() {
  return copied_ == nullptr ? absl::OkStatus() : copied_->Wait();
}

absl::StatusOr<bool> Slot::IsCopied() {
  if (copied_ == nullptr) return true;
  return copied_->IsDone();
}

absl::Status Slot::LetConsumersGo() {
  MutexLock lock(&mu_);
  for (Consumer& consumer : consumers_) {
    PONIENTE_RETURN_IF_ERROR(consumer.done->Record(consumer.stream));
    released_.push_back(std::move(consumer.done));
  }
  consumers_.clear();
  return absl::OkStatus();
}

// ---- SlotRing

std::shared_ptr<SlotRing> SlotRing::Create(const Device& device, uint32_t limit,
                                           const WarningSink& warn) {
  std::unique_ptr<Accelerator> accelerator;
  if (device.type == DeviceType::kCuda) {
    absl::StatusOr<std::unique_ptr<Accelerator>> opened =
        OpenCuda(device.ordinal);
    if (opened.ok()) {
      accelerator = *std::move(opened);
    } else {
      warn(absl::StrCat("batches stay in the memory of the host, not on ",
                        DeviceName(device), ": ", opened.status().message()));
    }
  }
  const Device got = accelerator == nullptr ? Device() : device;
  return std::make_shared<SlotRing>(got, std::move(accelerator), limit, warn);
}

SlotRing::SlotRing(const Device& device,
                   std::unique_ptr<Accelerator> accelerator, uint32_t limit,
                   WarningSink warn)
    : device_(device),
      accelerator_(std::move(accelerator)),
      limit_(limit),
      warn_(std::move(warn)) {}

SlotRing::~SlotRing() = default;

// Returns a free slot whose copy is done; null if the caller must wait for a
// copy.
// On the host, all free slots can be taken at once. Prefers the last one that
// this thread has filled, which its core may still have in its cache, then the
// last one returned. On a device, the consumers of the first one are the
// likeliest to be done.
size_t SlotRing::Preferred(size_t looked_at) const {
  if (accelerator_ != nullptr) return looked_at;
  const auto own = std::find_if(
      free_.rbegin(), free_.rend(),
      [me = std::this_thread::get_id()](const std::unique_ptr<Slot>& slot) {
        return slot->filled_by_ == me;
      });
  return free_.size() - 1 -
         (own == free_.rend() ? 0 : static_cast<size_t>(own - free_.rbegin()));
}

absl::StatusOr<std::unique_ptr<Slot>> SlotRing::TakeFree() {
  std::unique_ptr<Slot> slot;  // freed without the lock
  MutexLock lock(&mu_);
  for (size_t i = 0; i < free_.size(); ++i) {
    const size_t at = Preferred(i);
    const absl::StatusOr<bool> copied = free_[at]->IsCopied();
    if (copied.ok() && !*copied) continue;
    slot = std::move(free_[at]);
    free_.erase(free_.begin() + static_cast<ptrdiff_t>(at));
    PONIENTE_RETURN_IF_ERROR(copied.status());
    slot->filled_by_ = std::this_thread::get_id();
    ++in_use_;
    return slot;
  }
  if (in_use_ + free_.size() < limit_) {
    slot = std::make_unique<Slot>(this);
    slot->filled_by_ = std::this_thread::get_id();
    free_.reserve(free_.size() + in_use_ + 1);  // for Return()
    ++in_use_;
    return slot;
  }
  if (!free_.empty()) return nullptr;
  return absl::ResourceExhaustedError(
      absl::StrCat("all ", limit_, " slots are in use"));
}

SlotPtr SlotRing::Share(std::unique_ptr<Slot> slot) {
  return SlotPtr(slot.release(), [ring = shared_from_this()](Slot* one) {
    ring->Return(std::unique_ptr<Slot>(one));
  });
}

Task<SlotPtr> SlotRing::Take(size_t bytes, size_t stored_bytes) {
  while (true) {
    absl::StatusOr<std::unique_ptr<Slot>> taken = TakeFree();
    if (!taken.ok()) co_return taken.status();
    if (*taken != nullptr) {
      SlotPtr slot = Share(*std::move(taken));
      absl::Status grown = slot->Grow(bytes, stored_bytes);
      if (!grown.ok()) co_return grown;
      co_return slot;
    }
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, kLookAgainAfter);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

uint32_t SlotRing::num_held() const {
  MutexLock lock(&mu_);
  return held_;
}

void SlotRing::Return(std::unique_ptr<Slot> slot) {
  if (!slot->LetConsumersGo().ok()) slot->is_broken_ = true;
  const bool is_whole = !slot->is_broken_ && (slot->host_.bytes().empty() ||
                                              (slot->on_device_ != nullptr) ==
                                                  (accelerator_ != nullptr));
  const bool was_held = std::exchange(slot->is_held_, false);
  // Frees a slot that may not be usable. Does so without the lock, because it
  // waits for the device.
  if (!is_whole) slot.reset();
  {
    MutexLock lock(&mu_);
    --in_use_;
    if (slot != nullptr) free_.push_back(std::move(slot));
    if (!was_held) return;
    --held_;
    if (!is_watched_) return;
  }
  MutexLock calling(&calling_);
  if (returned_) returned_();
}

void SlotRing::OnReturn(std::function<void()> returned) {
  MutexLock calling(&calling_);
  returned_ = std::move(returned);
  MutexLock lock(&mu_);
  is_watched_ = returned_ != nullptr;
}

void SlotRing::WarnUnlocked(const absl::Status& why) {
  {
    MutexLock lock(&mu_);
    if (std::exchange(has_warned_, true)) return;
  }
  warn_(absl::StrCat("memory of batches is not page-locked, copies to ",
                     DeviceName(device_), " are slower: ", why.message()));
}

}  // namespace poniente::internal
