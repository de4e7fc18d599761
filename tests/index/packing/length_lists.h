// SPDX-License-Identifier: Apache-2.0
// Lists of documents' lengths, as packing takes them.

#ifndef PONIENTE_TESTS_INDEX_PACKING_LENGTH_LISTS_H_
#define PONIENTE_TESTS_INDEX_PACKING_LENGTH_LISTS_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <vector>

#include "index/packing/length_histogram.h"

namespace poniente::testing {

// The order by (length, number), as LengthHistogram numbers documents.
inline std::vector<uint64_t> ByLength(const std::vector<uint64_t>& lengths) {
  std::vector<uint64_t> documents(lengths.size());
  std::iota(documents.begin(), documents.end(), 0);
  std::erase_if(documents, [&](uint64_t d) { return lengths[d] == 0; });
  std::stable_sort(
      documents.begin(), documents.end(),
      [&](uint64_t a, uint64_t b) { return lengths[a] < lengths[b]; });
  return documents;
}

inline internal::LengthHistogram HistogramOf(
    const std::vector<uint64_t>& lengths) {
  std::map<uint64_t, uint64_t> counts;
  for (const uint64_t length : lengths) ++counts[length];
  counts.erase(0);
  internal::LengthHistogram histogram;
  for (const auto& [length, count] : counts) {
    histogram.lengths.push_back(length);
    histogram.starts.push_back(histogram.starts.back() + count);
  }
  return histogram;
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_INDEX_PACKING_LENGTH_LISTS_H_
