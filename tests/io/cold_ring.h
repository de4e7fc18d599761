// SPDX-License-Identifier: Apache-2.0
// Execution contexts whose batches are half the second ring's, and which thread
// submits reads.

#ifndef PONIENTE_TESTS_IO_COLD_RING_H_
#define PONIENTE_TESTS_IO_COLD_RING_H_

#include <atomic>
#include <cerrno>
#include <optional>
#include <thread>

#include "io/files/fault_hooks.h"
#include "io/uring/second_ring.h"
#include "io/uring/uring_ring.h"

namespace poniente::testing {

inline void MakeCold(internal::SecondRing* ring) {
  ring->Learn({.known_reads = 1000, .known = 0, .all = 0});
}

// As after many batches of which the page cache had nothing.
template <class Context>
internal::SecondRing& ColdRingOf(Context* context) {
  internal::UringRing::Of(context->get_executor());  // first, as a batch does
  auto& ring = internal::SecondRing::Of(context->get_executor());
  MakeCold(&ring);
  return ring;
}

// Counts the submissions of the thread that made it, and of others. Fails a
// call of the others.
class SubmittingThreads final : public internal::FaultHooks {
 public:
  explicit SubmittingThreads(std::optional<internal::SystemCall> failing = {})
      : failing_(failing) {}

  int Error(internal::SystemCall call) override {
    const bool is_other = std::this_thread::get_id() != test_;
    if (call == internal::SystemCall::kUringEnter) {
      ++(is_other ? others_calls_ : own_calls_);
    }
    return is_other && call == failing_ ? EINVAL : 0;
  }
  int own_calls() const { return own_calls_; }
  int others_calls() const { return others_calls_; }

 private:
  const std::thread::id test_ = std::this_thread::get_id();
  const std::optional<internal::SystemCall> failing_;
  std::atomic<int> own_calls_ = 0;
  std::atomic<int> others_calls_ = 0;
};

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_IO_COLD_RING_H_
