// SPDX-License-Identifier: Apache-2.0
// Decides which steps to start next: pure bookkeeping, no threads, no batches.

#ifndef PONIENTE_LOADER_PREFETCH_WINDOW_H_
#define PONIENTE_LOADER_PREFETCH_WINDOW_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>

namespace poniente::internal {

// Starts steps in order, ahead of the next one to be delivered. At most `limit`
// steps are started and not delivered, including steps from before a restart
// that have not arrived yet. Together they have at most `byte_limit` bytes,
// unless a single step has more. The first step after a start or restart runs
// alone until it has arrived, so that it does not share the disk.
class PrefetchWindow {
 public:
  // REQUIRES: limit >= 1.
  PrefetchWindow(uint64_t first_step, uint32_t limit, uint64_t byte_limit)
      : limit_(limit), byte_limit_(byte_limit), next_(first_step) {}

  // Returns the step to start now and counts it as started; nullopt if there is
  // none. bytes_of(step) is the size of its batch.
  template <class BytesOf>
  std::optional<uint64_t> Start(BytesOf bytes_of) {
    const uint64_t step = next_ + started_.size();
    if (!is_warm_ && !started_.empty()) return std::nullopt;
    if (started_.size() + stale_ >= limit_) return std::nullopt;
    if (end_.has_value() && step >= *end_) return std::nullopt;
    const uint64_t bytes = bytes_of(step);
    const bool is_alone = started_.size() + stale_ == 0;
    if (!is_alone && bytes > byte_limit_ - std::min(byte_limit_, bytes_)) {
      return std::nullopt;
    }
    started_.push_back({bytes, generation_, false});
    bytes_ += bytes;
    return step;
  }

  // Takes back the last step that Start() returned, because it could not be
  // started.
  void TakeBackStart() {
    bytes_ -= started_.back().bytes;
    started_.pop_back();
  }

  // Records that a step, started in this generation or an earlier one, has
  // arrived with `bytes` bytes. Returns whether it is still wanted.
  bool Arrive(uint64_t step, uint64_t generation, uint64_t bytes) {
    if (!IsWanted(step, generation)) {
      --stale_;
      bytes_ -= bytes;
      return false;
    }
    started_[step - next_].has_arrived = true;
    is_warm_ = true;
    return true;
  }

  // Replaces the bytes of a step that has arrived and is wanted, where Start()
  // could only guess them.
  void SetBytes(uint64_t step, uint64_t bytes) {
    Started& one = started_[step - next_];
    bytes_ = bytes_ - one.bytes + bytes;
    one.bytes = bytes;
  }

  // Records that the next step, which has arrived, was handed out.
  void Deliver() {
    bytes_ -= started_.front().bytes;
    started_.pop_front();
    ++next_;
  }

  // Records that the run has neither this step nor any later one.
  void EndAt(uint64_t step) {
    if (!end_.has_value() || step < *end_) end_ = step;
  }

  // Returns whether a step that was started in this generation is neither
  // delivered nor forgotten.
  bool IsWanted(uint64_t step, uint64_t generation) const {
    return step >= next_ && step - next_ < started_.size() &&
           started_[step - next_].generation == generation;
  }
  // Returns the generation in which the next step was started. REQUIRES: it
  // was.
  uint64_t GenerationOfNext() const { return started_.front().generation; }

  // Forgets the started steps from `step` on, and the end of the run: they are
  // others now.
  void Change(uint64_t step) {
    while (!started_.empty() && next_ + started_.size() > step) {
      if (started_.back().has_arrived) {
        bytes_ -= started_.back().bytes;
      } else {
        ++stale_;
      }
      started_.pop_back();
    }
    ++generation_;
    end_.reset();
  }

  // Forgets all started steps and begins again at `step`.
  void Restart(uint64_t step) {
    for (const Started& one : started_) {
      if (one.has_arrived) {
        bytes_ -= one.bytes;
      } else {
        ++stale_;
      }
    }
    started_.clear();
    ++generation_;
    next_ = step;
    is_warm_ = false;
  }

  uint64_t next() const { return next_; }
  // Returns the first step that has not been started.
  uint64_t end_begun() const { return next_ + started_.size(); }
  bool at_end() const { return end_.has_value() && next_ >= *end_; }
  uint64_t generation() const { return generation_; }
  // Returns the batches that need memory: started and not delivered, of all
  // generations.
  uint32_t in_flight() const {
    return static_cast<uint32_t>(started_.size()) + stale_;
  }

 private:
  struct Started {
    uint64_t bytes;
    uint64_t generation;
    bool has_arrived;
  };

  const uint32_t limit_;
  const uint64_t byte_limit_;
  uint64_t next_;
  std::deque<Started> started_;  // the steps from next_ on
  uint32_t stale_ = 0;           // steps of earlier generations, not arrived
  uint64_t bytes_ = 0;           // of all these
  uint64_t generation_ = 0;
  bool is_warm_ = false;
  std::optional<uint64_t> end_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_PREFETCH_WINDOW_H_
