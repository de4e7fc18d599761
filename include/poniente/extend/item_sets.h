// SPDX-License-Identifier: Apache-2.0
// Sets of items that are read one after the other in each epoch.

#ifndef PONIENTE_EXTEND_ITEM_SETS_H_
#define PONIENTE_EXTEND_ITEM_SETS_H_

#include <cstdint>

namespace poniente {

// Divides each epoch of a dataset into sets, which follow one another: set s is
// items [FirstOf(epoch, s), FirstOf(epoch, s + 1)) of the epoch. A set may be
// empty.
//
// Two datasets with the same identity() serve the same data in the same sets,
// cut into other items: for example windows of other lengths, made from the
// same documents. One of them can therefore replace the other within an epoch,
// at the first set that has not been begun: nothing is read twice.
//
// Determinism: pure functions.
// Thread safety: immutable; any number of threads. Does not read.
class ItemSets {
 public:
  virtual ~ItemSets() = default;

  // Returns a hash of the data, of the sets, and of their order in each epoch.
  virtual uint64_t identity() const = 0;
  // Returns the number of sets in an epoch, at least 1.
  virtual uint64_t num_sets() const = 0;
  // Returns the set that an item of the epoch belongs to. REQUIRES: the item
  // exists.
  virtual uint64_t SetOf(uint64_t epoch, uint64_t item) const = 0;
  // Returns the number of items in the sets before `set`. REQUIRES: set <=
  // num_sets().
  virtual uint64_t FirstOf(uint64_t epoch, uint64_t set) const = 0;
};

}  // namespace poniente

#endif  // PONIENTE_EXTEND_ITEM_SETS_H_
