// SPDX-License-Identifier: Apache-2.0
// A fixed subset of the items of a dataset, as a bitmap that counts.

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

// Some of the items [0, size()), in their order: the k-th of them has ordinal
// k.
//
// Determinism: items and ordinals decide everything, fingerprint() included, on
//     every machine, however the selection was made.
// Ownership: a value; copies share one bitmap.
// Thread safety: immutable; any number of threads.
// Complexity: 1 bit per item and 5 % of that; made in one pass. OrdinalOf() and
//     Contains() O(1), Select() O(log size), for ordinals that increase by one
//     O(1).
// Errors: InvalidArgument for what is not a subset, naming the first offender;
//     ResourceExhausted if the bitmap does not fit in memory.
class Selection {
 public:
  // The greatest size().
  static constexpr uint64_t kMaxItems = uint64_t{1} << 48;

  // Nothing of nothing.
  Selection();

  // The items whose score is at or above `threshold`; as many items as scores.
  // Neither a score nor the threshold may be NaN.
  static absl::StatusOr<Selection> AtLeast(std::span<const float> scores,
                                           float threshold);
  static absl::StatusOr<Selection> AtLeast(std::span<const double> scores,
                                           double threshold);

  // Item i if bit i % 64 of word i / 64 is set; ceil(size / 64) words. Bits
  // past the last item must not be set.
  static absl::StatusOr<Selection> FromBitmap(uint64_t size,
                                              std::vector<uint64_t> words);
  // The same by bit i % 8 of byte i / 8; ceil(size / 8) bytes.
  static absl::StatusOr<Selection> FromBitmap(uint64_t size,
                                              std::span<const std::byte> bytes);

  // These items, in any order; none twice.
  static absl::StatusOr<Selection> FromIndices(
      uint64_t size, std::span<const uint64_t> indices);

  // Item x if derive(seed, "hold", x) < floor(fraction * 2^64)
  // (docs/index-math.md 1.1): whether an item is in depends on its index alone,
  // not on `size`. 0 < fraction < 1.
  static absl::StatusOr<Selection> ByHash(uint64_t size, double fraction,
                                          uint64_t seed = 0);

  // All the others.
  absl::StatusOr<Selection> Complement() const;

  // Items that were chosen from.
  uint64_t size() const;
  // Items that were chosen.
  uint64_t count() const;

  // REQUIRES: item < size().
  bool Contains(uint64_t item) const;

  // The chosen items below `item`. REQUIRES: item <= size().
  uint64_t CountBelow(uint64_t item) const;

  // How many chosen items come before `item`; nullopt if it was not chosen.
  std::optional<uint64_t> OrdinalOf(uint64_t item) const;

  // The chosen item with this ordinal. REQUIRES: ordinal < count().
  uint64_t Select(uint64_t ordinal) const;

  // The same for each; cheaper the more of them increase.
  // REQUIRES: items.size() == ordinals.size(), and the two are one and the same
  // span or do not overlap.
  void Select(std::span<const uint64_t> ordinals,
              std::span<uint64_t> items) const;

  // Of size() and the items.
  uint64_t fingerprint() const;

  // Bytes that all copies share.
  uint64_t memory_bytes() const;

 private:
  struct State;
  explicit Selection(std::shared_ptr<const State> state);
  // REQUIRES: as many words as `size` needs, no bit past the end.
  static absl::StatusOr<Selection> FromChecked(uint64_t size,
                                               std::vector<uint64_t> words);

  std::shared_ptr<const State> state_;  // never null
};

}  // namespace poniente

#endif  // PONIENTE_SELECTION_H_
