// SPDX-License-Identifier: Apache-2.0
// The squared lengths of packed windows, ready to be looked up.

#ifndef PONIENTE_INDEX_PACKING_BIN_SQUARES_H_
#define PONIENTE_INDEX_PACKING_BIN_SQUARES_H_

#include <cstdint>
#include <vector>

#include "index/packing/window_packing.h"

namespace poniente::internal {

// WindowPacking::SquaredLengthsOfBin() in about 10 ns, where it takes up to
// 300 ns: the nodes of a bin's group lie far apart. 16 to 24 bytes for each
// group.
//
// Thread safety: immutable; any number of threads.
class BinSquares {
 public:
  // Complexity: O(nodes of all groups).
  explicit BinSquares(const WindowPacking& packing);

  // REQUIRES: bin < packing.num_windows().
  uint64_t Of(uint64_t bin) const;

 private:
  struct Group {
    uint64_t first_bin;
    uint64_t squares;  // of each of its bins
  };

  std::vector<Group> groups_;
  // Number of the group of bin i << shift_, and that of the last group at the
  // end: groups are of very different sizes, so most bins need no search.
  std::vector<uint32_t> group_at_;
  int shift_ = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_PACKING_BIN_SQUARES_H_
