// SPDX-License-Identifier: Apache-2.0
// The slow twin of ItemDraws: a reader that takes one group of places after the
// other, and within a group one part after the other. Written from
// docs/index-math.md 2.4 and 2.7, sharing no code with what it checks.

#ifndef PONIENTE_TESTS_INDEX_SLOW_ITEM_DRAWS_H_
#define PONIENTE_TESTS_INDEX_SLOW_ITEM_DRAWS_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/slow_permutation.h"

namespace poniente::testing {

// So many draws of items cut into `parts`, of a view of `items` (0: endless).
struct SlowSegment {
  uint64_t draws = 0;
  uint32_t parts = 1;
  uint64_t items = 0;
  uint32_t view = 0;
  // Another length begins a segment even where as many parts fit.
  uint32_t length = 0;
  // The places that are dropped from the epoch in progress, which is read to
  // its end before the view begins.
  std::optional<std::vector<uint64_t>> dropped = std::nullopt;
};

struct SlowItem {
  uint32_t view = 0;
  uint64_t epoch = 0;
  uint64_t place = 0;
  uint32_t part = 0;
  uint32_t parts = 1;
  uint32_t length = 0;

  friend bool operator==(const SlowItem&, const SlowItem&) = default;
  friend auto operator<=>(const SlowItem&, const SlowItem&) = default;
};

class SlowReader {
 public:
  // `group` 0: the default.
  SlowReader(uint64_t seed, std::string name, uint64_t group)
      : seed_(seed), name_(std::move(name)), stated_group_(group) {}

  void Read(const SlowSegment& segment, std::vector<SlowItem>* items) {
    if (!view_)
      view_ = segment, parts_ = segment.parts, length_ = segment.length;
    const bool other_view =
        (following_ ? *following_ : *view_).view != segment.view;
    const bool has_begun = first_ > 0 || !order_.empty();
    if (other_view && has_begun && segment.dropped) {
      // The epoch goes on without what is dropped.
      following_ = segment;
      dropped_.insert(segment.dropped->begin(), segment.dropped->end());
      if (!order_.empty()) {
        LeaveOutDropped();
        if (order_.empty()) EndGroup();
      }
    } else if (other_view) {
      // Whatever was begun is over.
      if (!order_.empty()) EndGroup();
      if (first_ > 0) EndEpoch();
      view_ = segment;
      following_.reset();
    }
    // So is a group, if the length is another one.
    const bool other_length =
        parts_ != segment.parts || length_ != segment.length;
    if (other_length && !order_.empty()) EndGroup();
    parts_ = segment.parts;
    length_ = segment.length;
    for (uint64_t i = 0; i < segment.draws; ++i) {
      while (order_.empty()) {
        OpenGroup();
        if (order_.empty()) EndGroup();
      }
      const uint64_t number = order_.front();
      order_.pop_front();
      items->push_back({view_->view, epoch_, first_ + number / parts_,
                        static_cast<uint32_t>(number % parts_), parts_,
                        length_});
      if (order_.empty()) EndGroup();
    }
  }

 private:
  uint64_t GroupSize() const {
    uint64_t group = stated_group_;
    if (view_->items == 0) return group == 0 ? 1024 : group;
    if (group == 0) group = std::min<uint64_t>(1024, (view_->items + 15) / 16);
    return std::min(group, view_->items - first_);
  }

  void OpenGroup() {
    const uint64_t numbers = GroupSize() * parts_;
    const uint64_t key =
        SlowEpochKey(SlowComponentKey(seed_, name_, epoch_), "subw", first_);
    std::vector<uint64_t> all(numbers);
    for (uint64_t i = 0; i < numbers; ++i) all[i] = i;
    if (parts_ > 1) all = SlowPermutation(numbers, key);
    order_.assign(all.begin(), all.end());
    LeaveOutDropped();
  }

  void LeaveOutDropped() {
    std::deque<uint64_t> kept;
    for (const uint64_t number : order_) {
      if (!dropped_.contains(first_ + number / parts_)) kept.push_back(number);
    }
    order_ = kept;
  }

  void EndGroup() {
    first_ += GroupSize();
    order_.clear();
    if (view_->items != 0 && first_ == view_->items) EndEpoch();
  }

  void EndEpoch() {
    ++epoch_;
    first_ = 0;
    dropped_.clear();
    if (following_) view_ = following_;
    following_.reset();
  }

  const uint64_t seed_;
  const std::string name_;
  const uint64_t stated_group_;
  std::optional<SlowSegment> view_;
  std::optional<SlowSegment> following_;  // of an epoch read to its end
  std::set<uint64_t> dropped_;            // places of the epoch
  uint32_t parts_ = 1;
  uint32_t length_ = 0;
  uint64_t epoch_ = 0;
  uint64_t first_ = 0;  // place that the group begins with
  // Parts of the group that are to be read; empty where none has begun.
  std::deque<uint64_t> order_;
};

// What the draws of all segments read.
inline std::vector<SlowItem> ReadAll(uint64_t seed, const std::string& name,
                                     uint64_t group,
                                     const std::vector<SlowSegment>& segments) {
  SlowReader reader(seed, name, group);
  std::vector<SlowItem> items;
  for (const SlowSegment& segment : segments) reader.Read(segment, &items);
  return items;
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_INDEX_SLOW_ITEM_DRAWS_H_
