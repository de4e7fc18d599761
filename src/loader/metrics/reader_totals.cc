// SPDX-License-Identifier: Apache-2.0
#include "loader/metrics/reader_totals.h"

#include <algorithm>

#include "io/range_source.h"

namespace poniente::internal {

ReaderTotals::ReaderTotals(const DatasetTree& tree) {
  for (const TreeLeaf& leaf : tree.leaves()) {
    const RangeSource* ranges = leaf.node->ranges();
    if (ranges != nullptr) readers_.push_back(&ranges->reader());
  }
  std::sort(readers_.begin(), readers_.end());
  readers_.erase(std::unique(readers_.begin(), readers_.end()), readers_.end());
  before_ = Sum();
}

ReaderTotals::Bytes ReaderTotals::Sum() const {
  Bytes sum;
  for (const ByteReader* reader : readers_) {
    const BackendCounters all = reader->counters().Total();
    sum.asked += all.bytes_asked;
    sum.read += all.bytes_read;
  }
  return sum;
}

ReaderTotals::Bytes ReaderTotals::Read() const {
  const Bytes now = Sum();
  return {now.asked - before_.asked, now.read - before_.read};
}

}  // namespace poniente::internal
