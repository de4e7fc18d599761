// SPDX-License-Identifier: Apache-2.0
// Caches of all sizes at once (Mattson, Gecsei, Slutz and Traiger, 1970): what
// an LRU cache holds, a greater one holds too, so that one number for each use
// says which caches still have the object.

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
  // Numbers are dense: the first object is 0, and a new one is objects().
  // Returns the bytes of the distinct objects used since this one was, itself
  // included: an LRU cache of at least so many bytes still has it. 0 at its
  // first use.
  // REQUIRES: object <= objects(); bytes > 0, and for each object the same.
  uint64_t Use(uint32_t object, uint64_t bytes);

  // What Use() would return. REQUIRES: object < objects().
  uint64_t Distance(uint32_t object) const;

  uint32_t objects() const { return static_cast<uint32_t>(slot_of_.size()); }
  // Of all objects.
  uint64_t bytes() const { return bytes_; }

 private:
  // Gives the objects the first slots, in their order, and room for more.
  void Compact();
  void Add(size_t slot, uint64_t bytes);
  // Of the slots before this one.
  uint64_t BytesBefore(size_t slot) const;

  // Slots are in the order of use; an object is in that of its last.
  std::vector<uint32_t> slot_of_;
  std::vector<uint64_t> bytes_of_;
  std::vector<uint32_t> object_in_;
  // Bytes in the slots, as a Fenwick tree. Sums wrap, and come out right.
  std::vector<uint64_t> tree_;
  uint32_t next_slot_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_SIMULATE_LRU_STACK_H_
