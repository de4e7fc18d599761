// SPDX-License-Identifier: Apache-2.0
// The slow twin of ItemDraws: a reader that takes one group of places after the
// other, and within a group one part after the other. Written from
// docs/index-math.md 2.4 and 2.7, sharing no code with what it checks.

#ifndef PONIENTE_TESTS_INDEX_SLOW_ITEM_DRAWS_H_
#define PONIENTE_TESTS_INDEX_SLOW_ITEM_DRAWS_H_

#include <algorithm>
#include <cstdint>
#include <optional>
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
    // Another view, or another length: whatever was begun is over.
    const bool other_view = last_ && last_->view != segment.view;
    const bool other_length = last_ && (last_->parts != segment.parts ||
                                        last_->length != segment.length);
    if ((other_view || other_length) && taken_ > 0) NextGroup();
    if (other_view && first_ > 0) NextEpoch();
    last_ = segment;
    for (uint64_t i = 0; i < segment.draws; ++i) {
      if (taken_ == 0) OpenGroup();
      const uint64_t number = order_[taken_++];
      items->push_back({segment.view, epoch_, first_ + number / segment.parts,
                        static_cast<uint32_t>(number % segment.parts),
                        segment.parts, segment.length});
      if (taken_ == order_.size()) NextGroup();
    }
  }

 private:
  uint64_t GroupSize() const {
    uint64_t group = stated_group_;
    if (last_->items == 0) return group == 0 ? 1024 : group;
    if (group == 0) group = std::min<uint64_t>(1024, (last_->items + 15) / 16);
    return std::min(group, last_->items - first_);
  }

  void OpenGroup() {
    const uint64_t numbers = GroupSize() * last_->parts;
    const uint64_t key =
        SlowEpochKey(SlowComponentKey(seed_, name_, epoch_), "subw", first_);
    if (last_->parts > 1) {
      order_ = SlowPermutation(numbers, key);
    } else {
      order_.resize(numbers);
      for (uint64_t i = 0; i < numbers; ++i) order_[i] = i;
    }
  }

  void NextGroup() {
    first_ += GroupSize();
    taken_ = 0;
    if (last_->items != 0 && first_ == last_->items) NextEpoch();
  }

  void NextEpoch() {
    ++epoch_;
    first_ = 0;
  }

  const uint64_t seed_;
  const std::string name_;
  const uint64_t stated_group_;
  std::optional<SlowSegment> last_;
  uint64_t epoch_ = 0;
  uint64_t first_ = 0;  // place that the group begins with
  uint64_t taken_ = 0;  // of the group
  std::vector<uint64_t> order_;
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
