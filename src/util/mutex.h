// SPDX-License-Identifier: Apache-2.0
// std::mutex with clang's thread-safety annotations. absl::Mutex is not used
// because the distribution's Abseil is built without TSan, which then reports
// every use.

#ifndef PONIENTE_UTIL_MUTEX_H_
#define PONIENTE_UTIL_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "util/short_spin.h"

namespace poniente::internal {

class ABSL_LOCKABLE Mutex {
 public:
  // Locks the mutex. Tries again for about 2 us before it sleeps, because most
  // sections are shorter than going to sleep and waking up.
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    for (int i = 0; i < kLooks; ++i) {
      if (mutex_.try_lock()) return;
      PauseSpin();
    }
    mutex_.lock();
  }
  // Locks the mutex if it is free, without waiting. Returns whether it did.
  bool TryLock() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) {
    return mutex_.try_lock();
  }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class ConditionVariable;
  static constexpr int kLooks = 100;

  std::mutex mutex_;
};

// Constructs a MutexLock for a mutex that the caller has already locked.
struct AdoptLock {};
inline constexpr AdoptLock kAdoptLock;

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : mutex_(mutex) {
    mutex_->Lock();
  }
  MutexLock(Mutex* mutex, AdoptLock) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex)
      : mutex_(mutex) {}
  ~MutexLock() ABSL_UNLOCK_FUNCTION() {
    if (is_held_) mutex_->Unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  // Unlocks in the middle of the scope, for code that runs without the lock.
  void Unlock() ABSL_UNLOCK_FUNCTION() {
    is_held_ = false;
    mutex_->Unlock();
  }
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    mutex_->Lock();
    is_held_ = true;
  }

 private:
  Mutex* const mutex_;
  bool is_held_ = true;
};

// A std::condition_variable. Call Wait() in a loop that tests the condition: it
// may return early, and in a loop, clang can check the reads of the condition.
class ConditionVariable {
 public:
  void Wait(Mutex* mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock held(mutex->mutex_, std::adopt_lock);
    changed_.wait(held);
    held.release();
  }
  void WaitFor(Mutex* mutex, std::chrono::nanoseconds timeout)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock held(mutex->mutex_, std::adopt_lock);
    changed_.wait_for(held, timeout);
    held.release();
  }
  void NotifyOne() { changed_.notify_one(); }
  void NotifyAll() { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_UTIL_MUTEX_H_
