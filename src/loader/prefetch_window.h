// SPDX-License-Identifier: Apache-2.0
// Which steps to start next: pure bookkeeping, no threads, no batches.

#ifndef PONIENTE_LOADER_PREFETCH_WINDOW_H_
#define PONIENTE_LOADER_PREFETCH_WINDOW_H_

#include <cstdint>
#include <optional>

namespace poniente::internal {

// Steps are started in order, ahead of the one to be delivered next, at most
// `limit` of them undelivered. Until the first one since a restart has arrived,
// only that one is started, so that it does not share the disk.
class PrefetchWindow {
 public:
  // REQUIRES: limit >= 1.
  PrefetchWindow(uint64_t first_step, uint32_t limit)
      : limit_(limit), next_(first_step), start_(first_step) {}

  // The step to start now, counted as started; nullopt if none.
  std::optional<uint64_t> Start() {
    const uint64_t ahead = is_warm_ ? limit_ : 1;
    if (start_ - next_ >= ahead || under_way_ >= limit_) return std::nullopt;
    if (end_.has_value() && start_ >= *end_) return std::nullopt;
    ++under_way_;
    return start_++;
  }

  // A step that was started in this generation or an earlier one has arrived.
  // True if it is still wanted.
  bool Arrive(uint64_t generation) {
    --under_way_;
    if (generation != generation_) return false;
    is_warm_ = true;
    return true;
  }

  // The next step has been handed out.
  void Deliver() { ++next_; }

  // There is no such step, nor one after it.
  void EndAt(uint64_t step) {
    if (!end_.has_value() || step < *end_) end_ = step;
  }

  // Forgets what was started; begins anew.
  void Restart(uint64_t step) {
    ++generation_;
    next_ = step;
    start_ = step;
    is_warm_ = false;
  }

  uint64_t next() const { return next_; }
  bool at_end() const { return end_.has_value() && next_ >= *end_; }
  uint64_t generation() const { return generation_; }
  // Started and not arrived, of all generations.
  uint32_t under_way() const { return under_way_; }

 private:
  const uint32_t limit_;
  uint64_t next_;
  uint64_t start_;
  uint64_t generation_ = 0;
  uint32_t under_way_ = 0;
  bool is_warm_ = false;
  std::optional<uint64_t> end_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_PREFETCH_WINDOW_H_
