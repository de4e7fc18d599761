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
// (score_file.h). They are a permutation of [0, size()) and its inverse.
//
// Thread safety: any number of threads.
class OrderTables {
 public:
  OrderTables() = default;
  OrderTables(const OrderTables&) = delete;
  OrderTables& operator=(const OrderTables&) = delete;
  virtual ~OrderTables();

  virtual uint64_t size() const = 0;

  // Writes to out[i] the item at place in[i]. If a table can no longer be read,
  // writes arbitrary values below size(); status() is an error from then on.
  // REQUIRES: out.size() == in.size(), each entry < size(), and the two are the
  // same span or do not overlap.
  virtual void ItemsAt(std::span<const uint64_t> in,
                       std::span<uint64_t> out) const = 0;
  // Writes to out[i] the place of item in[i]. In all other respects as
  // ItemsAt().
  virtual void PlacesOf(std::span<const uint64_t> in,
                        std::span<uint64_t> out) const = 0;

  // Returns OK if the results of all look-ups so far are valid.
  virtual absl::Status status() const { return absl::OkStatus(); }

  // Returns the fingerprint of the permutation alone: the same in memory and in
  // a file.
  virtual uint64_t fingerprint() const = 0;
};

// Which score comes first.
enum class ScoreDirection {
  kAscending,   // the lowest score first: easy before hard
  kDescending,  // the highest score first
};

// The items [0, size()) in the order of their scores. Items of equal score (0
// equals -0) are ordered by index, in both directions.
//
// Determinism: the scores alone decide the order, the same on every machine.
// Ownership: a value; copies share the tables.
// Thread safety: immutable; any number of threads.
// Complexity: 8 bytes per item; O(n log n) to create, with 8 more bytes per
//     item meanwhile (16 for doubles); O(1) to look up. Tables in a file
//     (OrderFile) take pages of the page cache instead of memory.
// Errors: InvalidArgument for a score that is NaN, or more than 2^32 items;
//     ResourceExhausted if the tables do not fit in memory.
class ScoreOrder {
 public:
  // The largest size().
  static constexpr uint64_t kMaxItems = uint64_t{1} << 32;

  // Sorts the items by `scores`. Errors as above.
  static absl::StatusOr<ScoreOrder> FromScores(
      std::span<const float> scores,
      ScoreDirection direction = ScoreDirection::kAscending);
  static absl::StatusOr<ScoreOrder> FromScores(
      std::span<const double> scores,
      ScoreDirection direction = ScoreDirection::kAscending);

  // Creates an order from existing tables. REQUIRES: not null.
  explicit ScoreOrder(std::shared_ptr<const OrderTables> tables);

  uint64_t size() const { return tables_->size(); }

  // Returns the item at a place. REQUIRES: place < size().
  uint64_t ItemAt(uint64_t place) const;
  // Returns the place of an item. REQUIRES: item < size().
  uint64_t PlaceOf(uint64_t item) const;
  // Look up each entry of `in`, as the functions of OrderTables do.
  void ItemsAt(std::span<const uint64_t> in, std::span<uint64_t> out) const;
  void PlacesOf(std::span<const uint64_t> in, std::span<uint64_t> out) const;

  // Returns DataLoss if a look-up has found the file damaged or cut short. The
  // results of that look-up and of later ones may then be wrong, but are below
  // size().
  absl::Status status() const { return tables_->status(); }

  // Returns the fingerprint of the permutation.
  uint64_t fingerprint() const { return tables_->fingerprint(); }

 private:
  void Check(std::span<const uint64_t> in, std::span<uint64_t> out) const;

  std::shared_ptr<const OrderTables> tables_;
};

namespace internal {

// Returns InvalidArgument for more items than a ScoreOrder can hold.
absl::Status CheckOrderSize(uint64_t size);

}  // namespace internal
}  // namespace poniente

#endif  // PONIENTE_SCORE_ORDER_H_
