// SPDX-License-Identifier: Apache-2.0
// Counts how long calls take that may overlap.

#ifndef PONIENTE_EXTEND_BUSY_TIME_H_
#define PONIENTE_EXTEND_BUSY_TIME_H_

#include <chrono>
#include <cstdint>
#include <mutex>

namespace poniente::internal {

// The time during which at least one call is in progress. It does not read a
// clock: the caller passes the time.
//
// Thread safety: any number of threads.
class BusyTime {
 public:
  using Clock = std::chrono::steady_clock;

  // Call these two when a call begins and when it ends.
  void Began(Clock::time_point now);
  void Ended(Clock::time_point now);

  // Returns the time counted until `now`, with that of calls still in progress.
  std::chrono::nanoseconds Until(Clock::time_point now) const;

 private:
  // Returns the time since a call last began or ended; 0 if none is in
  // progress. REQUIRES: mu_ is held.
  std::chrono::nanoseconds InProgress(Clock::time_point now) const;
  void Count(Clock::time_point now);  // REQUIRES: mu_ is held

  mutable std::mutex mu_;
  std::chrono::nanoseconds counted_{0};  // guarded by mu_
  Clock::time_point counted_until_;      // guarded by mu_
  uint32_t calls_ = 0;                   // guarded by mu_
};

// A call that lasts as long as this object.
class BusyCall {
 public:
  // Counts nothing if `time` is null. Otherwise, `time` must outlive this
  // object.
  explicit BusyCall(BusyTime* time) : time_(time) {
    if (time_ != nullptr) time_->Began(BusyTime::Clock::now());
  }
  BusyCall(const BusyCall&) = delete;
  BusyCall& operator=(const BusyCall&) = delete;
  ~BusyCall() {
    if (time_ != nullptr) time_->Ended(BusyTime::Clock::now());
  }

 private:
  BusyTime* const time_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_EXTEND_BUSY_TIME_H_
