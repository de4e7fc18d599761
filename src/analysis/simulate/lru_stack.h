// SPDX-License-Identifier: Apache-2.0
// LRU caches of all sizes at once (Mattson, Gecsei, Slutz and Traiger, 1970).
// What an LRU cache holds, a larger one holds too, so one number for each use
// tells which caches still have the object.

#ifndef PONIENTE_ANALYSIS_SIMULATE_LRU_STACK_H_
#define PONIENTE_ANALYSIS_SIMULATE_LRU_STACK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace poniente::internal {

// The objects used so far, in the order of their last use.
//
// Complexity: O(log objects) per use, amortised; 36 bytes per object.
class LruStack {
 public:
  // Uses an object. Objects are numbered without gaps: the first is 0, and a
  // new one is objects(). Returns the bytes of the distinct objects used since
  // the last use of this one, including itself: an LRU cache of at least this
  // size still has it. Returns 0 at its first use. REQUIRES: object <=
  // objects(); bytes > 0, and the same in all uses of an object.
  uint64_t Use(uint32_t object, uint64_t bytes);

  // Returns what Use() would return. REQUIRES: object < objects().
  uint64_t Distance(uint32_t object) const;

  uint32_t objects() const { return static_cast<uint32_t>(slot_of_.size()); }
  // Returns the bytes of all objects.
  uint64_t bytes() const { return bytes_; }

 private:
  // Moves the objects to the first slots, in their order, and makes room for
  // more.
  void Compact();
  void Add(size_t slot, uint64_t bytes);
  // Returns the bytes in the slots before this one.
  uint64_t BytesBefore(size_t slot) const;

  // Slots are in the order of use; each object is in the slot of its last use.
  std::vector<uint32_t> slot_of_;
  std::vector<uint64_t> bytes_of_;
  std::vector<uint32_t> object_in_;
  // Bytes in the slots, as a Fenwick tree. Sums wrap around without harm.
  std::vector<uint64_t> tree_;
  uint32_t next_slot_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_SIMULATE_LRU_STACK_H_
