// SPDX-License-Identifier: Apache-2.0
// The items of a dataset sorted by a score.

#ifndef PONIENTE_SCORE_ORDER_H_
#define PONIENTE_SCORE_ORDER_H_

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace poniente {

// Where the two tables of a ScoreOrder lie: in memory, or in a file
// (score_file.h). A permutation of [0, size()) and its inverse.
//
// Thread safety: any number of threads.
class OrderTables {
 public:
  OrderTables() = default;
  OrderTables(const OrderTables&) = delete;
  OrderTables& operator=(const OrderTables&) = delete;
  virtual ~OrderTables();

  virtual uint64_t size() const = 0;

  // Writes to out[i] the item at place in[i]. Tables that cannot be read any
  // more write any values below size() and say so by status() from then on.
  // REQUIRES: out.size() == in.size(), each entry < size(); the two are one
  // and the same span or do not overlap.
  virtual void ItemsAt(std::span<const uint64_t> in,
                       std::span<uint64_t> out) const = 0;
  // The inverse: the places of items.
  virtual void PlacesOf(std::span<const uint64_t> in,
                        std::span<uint64_t> out) const = 0;

  // What every look-up so far is worth.
  virtual absl::Status status() const { return absl::OkStatus(); }

  // Of the permutation alone: equal in memory and in a file.
  virtual uint64_t fingerprint() const = 0;
};

enum class ScoreDirection {
  kAscending,   // the least score first: easy before hard
  kDescending,  // the greatest first
};

// The items [0, size()) in the order of their scores; among equal scores, and
// 0 equals -0, by index, in both directions.
//
// Determinism: the scores decide, on every machine.
// Ownership: a value; copies share the tables.
// Thread safety: immutable; any number of threads.
// Complexity: 8 bytes per item; O(n log n) to make, with 8 bytes per item more
//     meanwhile (16 for doubles); O(1) to look up. From a file (OrderFile),
//     pages of it instead of memory.
// Errors: InvalidArgument for a score that is NaN, or more than 2^32 items;
//     ResourceExhausted if the tables do not fit in memory.
class ScoreOrder {
 public:
  // The greatest size().
  static constexpr uint64_t kMaxItems = uint64_t{1} << 32;

  static absl::StatusOr<ScoreOrder> FromScores(
      std::span<const float> scores,
      ScoreDirection direction = ScoreDirection::kAscending);
  static absl::StatusOr<ScoreOrder> FromScores(
      std::span<const double> scores,
      ScoreDirection direction = ScoreDirection::kAscending);

  // Over tables that lie somewhere else. REQUIRES: not null.
  explicit ScoreOrder(std::shared_ptr<const OrderTables> tables);

  uint64_t size() const { return tables_->size(); }

  // REQUIRES: place < size().
  uint64_t ItemAt(uint64_t place) const;
  // REQUIRES: item < size().
  uint64_t PlaceOf(uint64_t item) const;
  // The same for each entry, as OrderTables says.
  void ItemsAt(std::span<const uint64_t> in, std::span<uint64_t> out) const;
  void PlacesOf(std::span<const uint64_t> in, std::span<uint64_t> out) const;

  // DataLoss once a look-up found its file damaged or cut short: that one and
  // later ones may be wrong, though in range.
  absl::Status status() const { return tables_->status(); }

  uint64_t fingerprint() const { return tables_->fingerprint(); }

 private:
  void Check(std::span<const uint64_t> in, std::span<uint64_t> out) const;

  std::shared_ptr<const OrderTables> tables_;
};

namespace internal {

// InvalidArgument for more items than a ScoreOrder holds.
absl::Status CheckOrderSize(uint64_t size);

}  // namespace internal
}  // namespace poniente

#endif  // PONIENTE_SCORE_ORDER_H_
