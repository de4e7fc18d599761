// SPDX-License-Identifier: Apache-2.0
#include "poniente/extend/busy_time.h"

#include <algorithm>

namespace poniente::internal {

std::chrono::nanoseconds BusyTime::InProgress(Clock::time_point now) const {
  if (calls_ == 0) return std::chrono::nanoseconds(0);
  return std::max(now, counted_until_) - counted_until_;
}

void BusyTime::Count(Clock::time_point now) {
  counted_ += InProgress(now);
  counted_until_ = std::max(now, counted_until_);
}

void BusyTime::Began(Clock::time_point now) {
  std::lock_guard lock(mu_);
  Count(now);
  ++calls_;
}

void BusyTime::Ended(Clock::time_point now) {
  std::lock_guard lock(mu_);
  Count(now);
  --calls_;
}

std::chrono::nanoseconds BusyTime::Until(Clock::time_point now) const {
  std::lock_guard lock(mu_);
  return counted_ + InProgress(now);
}

}  // namespace poniente::internal
