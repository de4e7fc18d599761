// SPDX-License-Identifier: Apache-2.0
// Waits for another thread without sleeping, for a short time.

#ifndef PONIENTE_UTIL_SHORT_SPIN_H_
#define PONIENTE_UTIL_SHORT_SPIN_H_

#include <chrono>

#include "util/usable_cores.h"

namespace poniente::internal {

// Tells the core that the thread only waits.
inline void PauseSpin() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Decides how long a thread spins before it sleeps while it waits for another
// thread. Going to sleep and waking up takes 10 us, and 100 us on virtual
// machines whose cores go idle. So two threads that exchange work every few
// microseconds must not sleep at all, and a thread that waits for milliseconds
// should sleep at once. A wait spins for 200 us if the previous one took less
// than 1 ms (most of which may have been the waking up), otherwise for 20 us.
// A process that may run on one core only never spins.
//
// Thread safety: as a value.
class ShortSpin {
 public:
  // Calls `is_over` until it returns true or the time to spin is over. Returns
  // its last result. If that is false, sleep, and then call Slept().
  template <class IsOver>
  bool Wait(IsOver&& is_over) {
    if (is_over()) return true;
    if (!MaySpin()) return false;
    began_ = Clock::now();
    const Clock::time_point end = began_ + (is_short_ ? kLong : kShort);
    do {
      for (int i = 0; i < kLooks; ++i) {
        if (is_over()) {
          is_short_ = true;
          return true;
        }
        PauseSpin();
      }
    } while (Clock::now() < end);
    return false;
  }
  // Records how long the whole wait was. Call it after sleeping.
  void Slept() { is_short_ = Clock::now() - began_ < kRare; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kLong{200};
  static constexpr std::chrono::microseconds kShort{20};
  static constexpr std::chrono::milliseconds kRare{1};
  static constexpr int kLooks = 20;  // between two looks at the clock

  static bool MaySpin() {
    static const bool may = UsableCores() > 1;
    return may;
  }

  Clock::time_point began_ = {};
  bool is_short_ = false;
};

}  // namespace poniente::internal

#endif  // PONIENTE_UTIL_SHORT_SPIN_H_
