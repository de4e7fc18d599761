// SPDX-License-Identifier: Apache-2.0
// Values that are made when they are needed, of which a few are kept.

#ifndef PONIENTE_STORE_PACKING_LIVE_VALUES_H_
#define PONIENTE_STORE_PACKING_LIVE_VALUES_H_

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "util/mutex.h"

namespace poniente::internal {

// The values used last, by key. A value that is not kept is made again when it
// is needed.
//
// Thread safety: any number of threads. Threads that need the same value at the
//     same time make it once.
// Complexity: Find() O(1); Get() O(values kept) when it makes one.
template <class T>
class LiveValues {
 public:
  using Ptr = std::shared_ptr<const T>;

  // Keeps up to `most` values. REQUIRES: most >= 1.
  explicit LiveValues(size_t most) : most_(most) {}

  // Keeps up to `most` values from now on, but no fewer than before.
  void KeepAtLeast(size_t most) const {
    const MutexLock lock(&mu_);
    most_ = std::max(most_, most);
  }

  // Returns the value if it is kept, else null. Does not wait for a thread that
  // makes it.
  Ptr Find(uint64_t key) const {
    const MutexLock lock(&mu_);
    return FindLocked(key);
  }

  // Returns the value; make(key), which returns a StatusOr<Ptr>, makes it if it
  // is not kept. Errors are returned and not kept.
  template <class Make>
  absl::StatusOr<Ptr> Get(uint64_t key, const Make& make) const {
    std::shared_ptr<Mutex> making;
    {
      const MutexLock lock(&mu_);
      if (Ptr kept = FindLocked(key)) return kept;
      Entry& entry = entries_[key];
      if (entry.making == nullptr) entry.making = std::make_shared<Mutex>();
      making = entry.making;
    }
    const MutexLock one_at_a_time(making.get());
    if (Ptr kept = Find(key)) return kept;
    absl::StatusOr<Ptr> made = make(key);
    const MutexLock lock(&mu_);
    if (!made.ok()) {
      entries_.erase(key);
      return made;
    }
    Entry& entry = entries_[key];
    entry.value = *made;
    entry.last_use = ++uses_;
    DropOldest();
    return made;
  }

 private:
  struct Entry {
    Ptr value;                      // null while it is made
    std::shared_ptr<Mutex> making;  // held by the thread that makes it
    uint64_t last_use = 0;
  };

  Ptr FindLocked(uint64_t key) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto at = entries_.find(key);
    if (at == entries_.end() || at->second.value == nullptr) return nullptr;
    at->second.last_use = ++uses_;
    return at->second.value;
  }

  void DropOldest() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    size_t kept = 0;
    auto oldest = entries_.end();
    for (auto at = entries_.begin(); at != entries_.end(); ++at) {
      if (at->second.value == nullptr) continue;
      ++kept;
      if (oldest == entries_.end() ||
          at->second.last_use < oldest->second.last_use) {
        oldest = at;
      }
    }
    if (kept > most_) entries_.erase(oldest);
  }

  mutable Mutex mu_;
  mutable size_t most_ ABSL_GUARDED_BY(mu_);
  mutable boost::unordered_flat_map<uint64_t, Entry> entries_
      ABSL_GUARDED_BY(mu_);
  mutable uint64_t uses_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_PACKING_LIVE_VALUES_H_
