// SPDX-License-Identifier: Apache-2.0
// The bytes that the readers of a tree have read.

#ifndef PONIENTE_LOADER_METRICS_READER_TOTALS_H_
#define PONIENTE_LOADER_METRICS_READER_TOTALS_H_

#include <cstdint>
#include <vector>

#include "poniente/byte_reader.h"
#include "poniente/dataset_tree.h"

namespace poniente::internal {

// Sums over the readers of all leaves. A reader that several leaves share is
// counted once.
//
// Ownership: borrows the readers from the tree's datasets.
// Thread safety: immutable; any number of threads.
class ReaderTotals {
 public:
  struct Bytes {
    uint64_t asked = 0;
    uint64_t read = 0;
  };

  explicit ReaderTotals(const DatasetTree& tree);

  // Returns the bytes since construction.
  Bytes Read() const;

 private:
  Bytes Sum() const;

  std::vector<const ByteReader*> readers_;
  Bytes before_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_METRICS_READER_TOTALS_H_
