// SPDX-License-Identifier: Apache-2.0
#include "loader/metrics/reader_totals.h"

#include "io/range_source.h"

namespace poniente::internal {
namespace {

void AddBytes(const ByteReader& reader, ReaderTotals::Bytes* sum) {
  const BackendCounters all = reader.counters().Total();
  sum->asked += all.bytes_asked;
  sum->read += all.bytes_read;
}

}  // namespace

void ReaderTotals::Add(const DatasetTree& tree) {
  MutexLock lock(&mu_);
  for (const TreeLeaf& leaf : tree.leaves()) {
    const RangeSource* const ranges = leaf.node->ranges();
    if (ranges == nullptr) continue;
    const bool is_new = readers_.insert(&ranges->reader()).second;
    if (is_new) AddBytes(ranges->reader(), &before_);
  }
}

ReaderTotals::Bytes ReaderTotals::Read() const {
  MutexLock lock(&mu_);
  Bytes now;
  for (const ByteReader* reader : readers_) AddBytes(*reader, &now);
  return {now.asked - before_.asked, now.read - before_.read};
}

}  // namespace poniente::internal
