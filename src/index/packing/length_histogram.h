// SPDX-License-Identifier: Apache-2.0
// How many documents have which length.

#ifndef PONIENTE_INDEX_PACKING_LENGTH_HISTOGRAM_H_
#define PONIENTE_INDEX_PACKING_LENGTH_HISTOGRAM_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace poniente::internal {

// The lengths of documents that are not empty. A document's ordinal is its
// place in the order by (length, number); those of lengths[i] are ordinals
// [starts[i], starts[i + 1]).
struct LengthHistogram {
  std::vector<uint64_t> lengths;       // ascending, distinct, none 0
  std::vector<uint64_t> starts = {0};  // one more than lengths; ascending

  uint64_t num_documents() const { return starts.back(); }
  uint64_t CountOf(size_t i) const { return starts[i + 1] - starts[i]; }
  // Returns the index of the length of a document. REQUIRES: ordinal <
  // num_documents().
  size_t IndexOf(uint64_t ordinal) const {
    return static_cast<size_t>(
        std::upper_bound(starts.begin(), starts.end(), ordinal) -
        starts.begin() - 1);
  }
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_PACKING_LENGTH_HISTOGRAM_H_
