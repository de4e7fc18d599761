// SPDX-License-Identifier: Apache-2.0
// Ranges of numbers in a byte or two for each bound. A change may drop 10^7
// single items: as NumberRange, these take 160 MB.

#ifndef PONIENTE_INDEX_JOURNAL_COMPACT_RANGES_H_
#define PONIENTE_INDEX_JOURNAL_COMPACT_RANGES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "poniente/journal.h"

namespace poniente::internal {

// Immutable.
class CompactRanges {
 public:
  // REQUIRES: the ranges ascend, none is empty, and none overlaps another.
  explicit CompactRanges(std::span<const NumberRange> ranges)
      : count_(ranges.size()) {
    uint64_t last = 0;
    for (const NumberRange& range : ranges) {
      Add(range.begin - last);
      Add(range.end - range.begin);
      last = range.end;
    }
    bytes_.shrink_to_fit();
  }

  std::vector<NumberRange> ranges() const {
    std::vector<NumberRange> ranges(count_);
    size_t at = 0;
    uint64_t last = 0;
    for (NumberRange& range : ranges) {
      range.begin = last + Next(&at);
      range.end = range.begin + Next(&at);
      last = range.end;
    }
    return ranges;
  }
  size_t bytes() const { return bytes_.size(); }

 private:
  // Seven bits in each byte, the lowest first; all bytes but the last of a
  // number have the top bit.
  void Add(uint64_t number) {
    for (; number >= 0x80; number >>= 7) {
      bytes_.push_back(static_cast<char>(number | 0x80));
    }
    bytes_.push_back(static_cast<char>(number));
  }
  uint64_t Next(size_t* at) const {
    uint64_t number = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_[(*at)++]);
      number |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return number;
    }
  }

  size_t count_;
  std::string bytes_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_JOURNAL_COMPACT_RANGES_H_
