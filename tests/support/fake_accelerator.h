// SPDX-License-Identifier: Apache-2.0
// A device that does what it is told when the test says so, in the memory of
// the host.

#ifndef PONIENTE_TESTS_SUPPORT_FAKE_ACCELERATOR_H_
#define PONIENTE_TESTS_SUPPORT_FAKE_ACCELERATOR_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <span>
#include <utility>

#include "staging/accelerator.h"
#include "staging/widen_ids.h"

namespace poniente::testing {

// Streams are queues of work; null is the consumer's, `kCopies` the device's
// own. Work waits where its queue's front does not run yet.
class FakeDevice {
 public:
  using Work = std::function<bool()>;  // false: not yet

  void Queue(internal::DeviceStream stream, Work work) {
    queues_[stream].push_back(std::move(work));
  }
  // Runs what can run, on all streams.
  void Run() {
    for (bool any = true; any;) {
      any = false;
      for (auto& [stream, queue] : queues_) {
        while (!queue.empty() && queue.front()()) {
          queue.pop_front();
          any = true;
        }
      }
    }
  }
  bool is_idle() const {
    for (const auto& [stream, queue] : queues_) {
      if (!queue.empty()) return false;
    }
    return true;
  }

  std::set<const std::byte*> locked;
  size_t allocated = 0;
  absl::Status lock_result;
  absl::Status allocate_result;
  absl::Status record_result;
  absl::Status widen_result;
  bool can_widen = true;
  uint64_t copied = 0;  // bytes
  bool throws_once = false;

 private:
  std::map<internal::DeviceStream, std::deque<Work>> queues_;
};

class FakeEvent final : public internal::DeviceEvent {
 public:
  explicit FakeEvent(FakeDevice* device) : device_(device) {}

  absl::Status Record(internal::DeviceStream stream) override {
    if (!device_->record_result.ok()) return device_->record_result;
    done_ = std::make_shared<bool>(false);
    device_->Queue(stream, [done = done_] { return *done = true; });
    return absl::OkStatus();
  }
  absl::Status MakeWait(internal::DeviceStream stream) override {
    device_->Queue(stream, [done = done_] { return *done; });
    return absl::OkStatus();
  }
  absl::StatusOr<bool> IsDone() override { return *done_; }
  absl::Status Wait() override {
    device_->Run();
    return *done_ ? absl::OkStatus() : absl::InternalError("hangs");
  }

 private:
  FakeDevice* const device_;
  std::shared_ptr<bool> done_ = std::make_shared<bool>(true);
};

// The kernel, its threads one after the other, the last first.
template <class From, class To>
void WidenByThreads(const std::byte* from, std::byte* to, uint64_t count) {
  constexpr uint64_t kThreads = 5;
  for (uint64_t thread = kThreads; thread-- > 0;) {
    internal::WidenShare(reinterpret_cast<const From*>(from), count, thread,
                         kThreads, reinterpret_cast<To*>(to));
  }
}
inline void WidenByThreads(const std::byte* from, std::byte* to,
                           const internal::Widening& ids) {
  switch (ids.from_bytes * 10 + ids.to_bytes) {
    case 12:
      return WidenByThreads<uint8_t, uint16_t>(from, to, ids.count);
    case 14:
      return WidenByThreads<uint8_t, uint32_t>(from, to, ids.count);
    case 18:
      return WidenByThreads<uint8_t, uint64_t>(from, to, ids.count);
    case 24:
      return WidenByThreads<uint16_t, uint32_t>(from, to, ids.count);
    case 28:
      return WidenByThreads<uint16_t, uint64_t>(from, to, ids.count);
    case 48:
      return WidenByThreads<uint32_t, uint64_t>(from, to, ids.count);
    default:
      ADD_FAILURE() << ids.from_bytes << " to " << ids.to_bytes;
  }
}

class FakeAccelerator final : public internal::Accelerator {
 public:
  explicit FakeAccelerator(FakeDevice* device) : device_(device) {}

  absl::Status Lock(std::span<std::byte> memory) override {
    if (device_->lock_result.ok()) device_->locked.insert(memory.data());
    return device_->lock_result;
  }
  void Unlock(std::span<std::byte> memory) override {
    EXPECT_EQ(device_->locked.erase(memory.data()), 1u);
  }
  absl::StatusOr<std::byte*> Allocate(size_t bytes) override {
    if (std::exchange(device_->throws_once, false)) throw std::bad_alloc();
    if (!device_->allocate_result.ok()) return device_->allocate_result;
    ++device_->allocated;
    return new (kAlignment) std::byte[bytes];
  }
  void Free(std::byte* memory) override {
    --device_->allocated;
    ::operator delete[](memory, kAlignment);
  }
  absl::StatusOr<std::unique_ptr<internal::DeviceEvent>> MakeEvent() override {
    return std::make_unique<FakeEvent>(device_);
  }
  absl::Status Copy(std::span<const std::byte> from, std::byte* to) override {
    device_->copied += from.size();
    device_->Queue(this, [from, to] {
      std::memcpy(to, from.data(), from.size());
      return true;
    });
    return absl::OkStatus();
  }
  bool can_widen() override { return device_->can_widen; }
  absl::Status Widen(const std::byte* from, std::byte* to,
                     const internal::Widening& ids) override {
    if (!device_->widen_result.ok()) return device_->widen_result;
    device_->Queue(this, [from, to, ids] {
      WidenByThreads(from, to, ids);
      return true;
    });
    return absl::OkStatus();
  }
  absl::Status RecordCopies(internal::DeviceEvent* event) override {
    return event->Record(this);
  }
  absl::Status HoldCopiesFor(internal::DeviceEvent* event) override {
    return event->MakeWait(this);
  }
  void WaitForAll() override { device_->Run(); }

 private:
  static constexpr std::align_val_t kAlignment{256};

  FakeDevice* const device_;
};

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_SUPPORT_FAKE_ACCELERATOR_H_
