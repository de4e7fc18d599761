// SPDX-License-Identifier: Apache-2.0
// Indices that are left out of a range: few, wherever they lie.

#ifndef PONIENTE_INDEX_SELECTION_OMISSIONS_H_
#define PONIENTE_INDEX_SELECTION_OMISSIONS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"

namespace poniente::internal {

// The indices below `length` without some of them. What is kept keeps its
// order, and is numbered from 0 on.
//
// A Selection of as many indices takes 1.05 bits for each index of the range;
// this takes 5 bytes for each that is left out, 9 where more than 2^29 indices
// lie between two of them.
//
// Thread safety: immutable; any number of threads.
// Complexity: O(log size()) for each question, less if omissions are spread
//     evenly.
class Omissions {
 public:
  // Most indices that can be left out.
  static constexpr size_t kMax = size_t{1} << 28;

  // Leaves out `omitted`, in any order, each once or several times. REQUIRES:
  // each is below `length`; no more than kMax.
  Omissions(std::vector<uint64_t> omitted, uint64_t length);

  uint64_t length() const { return length_; }
  // Returns how many indices are left out, and how many are kept.
  uint64_t size() const { return size_; }
  uint64_t kept() const { return length_ - size_; }

  // Returns how many indices below `index` are left out. REQUIRES: index <=
  // length().
  uint64_t CountBelow(uint64_t index) const;
  // Returns the first index at or behind `index` that is left out; length() if
  // there is none. REQUIRES: index <= length().
  uint64_t NextFrom(uint64_t index) const;
  bool Contains(uint64_t index) const {
    return index < length_ && NextFrom(index) == index;
  }
  // Returns the index that is kept as number `rank`. REQUIRES: rank < kept().
  uint64_t Kept(uint64_t rank) const;

  // Returns the indices that are left out, in ascending order.
  std::vector<uint64_t> Omitted() const;
  // Returns these and further ones in ascending order; some may come twice.
  std::vector<uint64_t> With(std::vector<uint64_t> further) const;
  // Returns a hash of the length and the omitted indices.
  uint64_t fingerprint() const { return fingerprint_; }
  size_t BytesHeld() const;

 private:
  // Returns number `i` of the omitted indices, which lies in `bucket`.
  uint64_t At(size_t i, uint64_t bucket) const {
    if (!whole_.empty()) return whole_[i];
    return (bucket << shift_) + low_[i];
  }
  uint64_t BucketOf(uint64_t index) const { return index >> shift_; }
  // Returns how many indices before a bucket are kept.
  uint64_t KeptBefore(uint64_t bucket) const {
    return (bucket << shift_) - starts_[bucket];
  }
  void MakeHints();
  // Returns the number of the first omitted index of the bucket that is not
  // below `index`; that of the next bucket's first if there is none.
  size_t LowerBound(uint64_t bucket, uint64_t index) const;

  uint64_t length_;
  uint64_t size_;
  // Bucket b has the indices from b << shift_ on, and the omitted indices of
  // numbers starts_[b] to starts_[b + 1] - 1; about eight each.
  uint32_t shift_ = 0;
  std::vector<uint32_t> starts_;
  // The bucket of the index that is kept as number i << hint_shift_, about as
  // many as buckets.
  uint32_t hint_shift_ = 0;
  std::vector<uint32_t> hints_;
  // The omitted indices: their low bits, or all bits if low_ cannot hold them.
  std::vector<uint32_t> low_;
  std::vector<uint64_t> whole_;
  uint64_t fingerprint_ = 0;
};

// Returns InvalidArgument if `count` indices, some perhaps twice, may be more
// than Omissions can leave out.
absl::Status CheckOmissions(uint64_t count);

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_SELECTION_OMISSIONS_H_
