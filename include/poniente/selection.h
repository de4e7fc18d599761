// SPDX-License-Identifier: Apache-2.0
// A fixed subset of the items of a dataset, as a bitmap with fast counts.

#ifndef PONIENTE_SELECTION_H_
#define PONIENTE_SELECTION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace poniente {

// A subset of the items [0, size()) in their order: the k-th selected item has
// ordinal k.
//
// Determinism: equal selections behave equally on every machine and have the
//     same fingerprint(), however they were made.
// Ownership: a value; copies share one bitmap.
// Thread safety: immutable; any number of threads.
// Complexity: 1.05 bits per item; created in one pass. OrdinalOf() and
//     Contains() O(1); Select() O(log size), and O(1) for ordinals that
//     increase by one.
// Errors: InvalidArgument for an input that is not a subset, naming the first
//     offender; ResourceExhausted if the bitmap does not fit in memory.
class Selection {
 public:
  // The largest size().
  static constexpr uint64_t kMaxItems = uint64_t{1} << 48;

  // Creates an empty selection from no items.
  Selection();

  // Selects the items whose score is at least `threshold`; there are as many
  // items as scores. Neither a score nor the threshold may be NaN.
  static absl::StatusOr<Selection> AtLeast(std::span<const float> scores,
                                           float threshold);
  static absl::StatusOr<Selection> AtLeast(std::span<const double> scores,
                                           double threshold);

  // Selects item i if bit i % 64 of word i / 64 is set. There are ceil(size /
  // 64) words; bits past the last item must not be set.
  static absl::StatusOr<Selection> FromBitmap(uint64_t size,
                                              std::vector<uint64_t> words);
  // Selects item i if bit i % 8 of byte i / 8 is set. There are ceil(size / 8)
  // bytes.
  static absl::StatusOr<Selection> FromBitmap(uint64_t size,
                                              std::span<const std::byte> bytes);

  // Selects these items, given in any order; none may be repeated.
  static absl::StatusOr<Selection> FromIndices(
      uint64_t size, std::span<const uint64_t> indices);

  // Selects item x if derive(seed, "hold", x) < floor(fraction * 2^64)
  // (docs/index-math.md 4), so `size` does not influence which items are
  // selected. REQUIRES, else InvalidArgument: 0 < fraction < 1.
  static absl::StatusOr<Selection> ByHash(uint64_t size, double fraction,
                                          uint64_t seed = 0);

  // Returns the selection of all other items.
  absl::StatusOr<Selection> Complement() const;

  // Returns the number of all items, selected or not.
  uint64_t size() const;
  // Returns the number of selected items.
  uint64_t count() const;

  // Returns whether an item is selected. REQUIRES: item < size().
  bool Contains(uint64_t item) const;

  // Returns the number of selected items below `item`. REQUIRES: item <=
  // size().
  uint64_t CountBelow(uint64_t item) const;

  // Returns how many selected items come before `item`; nullopt if `item` is
  // not selected.
  std::optional<uint64_t> OrdinalOf(uint64_t item) const;

  // Returns the selected item with this ordinal. REQUIRES: ordinal < count().
  uint64_t Select(uint64_t ordinal) const;

  // Writes the selected item of each ordinal; faster where consecutive ordinals
  // increase. REQUIRES: items.size() == ordinals.size(), and the two are the
  // same span or do not overlap.
  void Select(std::span<const uint64_t> ordinals,
              std::span<uint64_t> items) const;

  // Returns the fingerprint of size() and the selected items.
  uint64_t fingerprint() const;

  // Returns the bytes of memory that all copies share.
  uint64_t memory_bytes() const;

 private:
  struct State;
  explicit Selection(std::shared_ptr<const State> state);
  // Creates a selection. REQUIRES: as many words as `size` needs, no bit past
  // the end.
  static absl::StatusOr<Selection> FromChecked(uint64_t size,
                                               std::vector<uint64_t> words);

  std::shared_ptr<const State> state_;  // never null
};

}  // namespace poniente

#endif  // PONIENTE_SELECTION_H_
