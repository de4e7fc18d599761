// SPDX-License-Identifier: Apache-2.0
// std::mutex with clang's thread-safety annotations. Not absl::Mutex: the
// distribution's Abseil is built without TSan, which then reports each one.

#ifndef PONIENTE_UTIL_MUTEX_H_
#define PONIENTE_UTIL_MUTEX_H_

#include <mutex>

#include "absl/base/thread_annotations.h"

namespace poniente::internal {

class ABSL_LOCKABLE Mutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : mutex_(mutex) {
    mutex_->Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* const mutex_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_UTIL_MUTEX_H_
