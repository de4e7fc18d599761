// SPDX-License-Identifier: Apache-2.0
// An object that is created when it is first needed.

#ifndef PONIENTE_IO_LAZILY_MADE_H_
#define PONIENTE_IO_LAZILY_MADE_H_

#include <atomic>
#include <utility>

#include "absl/status/status.h"
#include "util/mutex.h"
#include "util/status_macros.h"

namespace poniente::internal {

// Holds an object that is created at most once and lives as long as this one.
// Any number of threads may use it.
template <class T>
class LazilyMade {
 public:
  LazilyMade() = default;
  ~LazilyMade() { delete made_.load(std::memory_order_acquire); }
  LazilyMade(const LazilyMade&) = delete;
  LazilyMade& operator=(const LazilyMade&) = delete;

  // Returns the object; null if it has not been created.
  const T* get() const { return made_.load(std::memory_order_acquire); }

  // Stores the object. REQUIRES: no one has created it or is creating it.
  void Set(T made) {
    // Release: get() hands it out without a lock.
    made_.store(new T(std::move(made)), std::memory_order_release);
  }

  // Creates the object with `make`, which returns StatusOr<T>, unless it
  // exists. Objects that share `mutex` are created one at a time.
  template <class Make>
  absl::Status Ensure(Mutex* mutex, Make&& make) {
    if (get() != nullptr) return absl::OkStatus();
    MutexLock lock(mutex);
    if (get() != nullptr) return absl::OkStatus();
    PONIENTE_ASSIGN_OR_RETURN(T made, make());
    Set(std::move(made));
    return absl::OkStatus();
  }

 private:
  std::atomic<const T*> made_ = nullptr;
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_LAZILY_MADE_H_
