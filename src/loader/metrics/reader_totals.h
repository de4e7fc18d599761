// SPDX-License-Identifier: Apache-2.0
// The bytes that the readers of a tree have read.

#ifndef PONIENTE_LOADER_METRICS_READER_TOTALS_H_
#define PONIENTE_LOADER_METRICS_READER_TOTALS_H_

#include <cstdint>
#include <set>

#include "absl/base/thread_annotations.h"
#include "poniente/byte_reader.h"
#include "poniente/dataset_tree.h"
#include "util/mutex.h"

namespace poniente::internal {

// Sums over the readers of all leaves. A reader that several leaves share is
// counted once.
//
// Ownership: borrows the readers from the tree's datasets.
// Thread safety: any number of threads.
class ReaderTotals {
 public:
  struct Bytes {
    uint64_t asked = 0;
    uint64_t read = 0;
  };

  explicit ReaderTotals(const DatasetTree& tree) { Add(tree); }

  // Adds the readers of a tree that are not known yet.
  void Add(const DatasetTree& tree);

  // Returns the bytes that each reader has read since it was added.
  Bytes Read() const;

 private:
  mutable Mutex mu_;
  std::set<const ByteReader*> readers_ ABSL_GUARDED_BY(mu_);
  Bytes before_ ABSL_GUARDED_BY(mu_);
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_METRICS_READER_TOTALS_H_
