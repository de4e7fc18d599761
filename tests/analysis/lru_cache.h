// SPDX-License-Identifier: Apache-2.0
// A cache as one would write it, to compare with.

#ifndef PONIENTE_TESTS_ANALYSIS_LRU_CACHE_H_
#define PONIENTE_TESTS_ANALYSIS_LRU_CACHE_H_

#include <algorithm>
#include <cstdint>
#include <list>
#include <utility>

namespace poniente::testing {

// Keeps the objects used last, as many as fit.
template <class Key>
class LruCache {
 public:
  explicit LruCache(uint64_t room) : room_(room) {}

  // Whether the object was there.
  bool Use(const Key& object, uint64_t bytes) {
    const auto at =
        std::find_if(kept_.begin(), kept_.end(),
                     [&](const auto& kept) { return kept.first == object; });
    const bool was_there = at != kept_.end();
    if (was_there) {
      used_ -= bytes;
      kept_.erase(at);
    }
    kept_.emplace_front(object, bytes);
    used_ += bytes;
    while (used_ > room_) {
      used_ -= kept_.back().second;
      kept_.pop_back();
    }
    return was_there;
  }

 private:
  const uint64_t room_;
  uint64_t used_ = 0;
  std::list<std::pair<Key, uint64_t>> kept_;
};

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_ANALYSIS_LRU_CACHE_H_
