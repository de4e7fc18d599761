// SPDX-License-Identifier: Apache-2.0
// Histograms of the lengths of documents, as packing takes them.

#ifndef PONIENTE_BENCH_MEASURE_LENGTH_HISTOGRAMS_H_
#define PONIENTE_BENCH_MEASURE_LENGTH_HISTOGRAMS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "index/packing/length_histogram.h"

namespace poniente::bench {

inline internal::LengthHistogram HistogramOf(std::vector<uint32_t> lengths) {
  std::sort(lengths.begin(), lengths.end());
  internal::LengthHistogram histogram;
  for (size_t i = 0; i < lengths.size();) {
    const size_t begin = i;
    while (i < lengths.size() && lengths[i] == lengths[begin]) ++i;
    histogram.lengths.push_back(lengths[begin]);
    histogram.starts.push_back(i);
  }
  return histogram;
}

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_MEASURE_LENGTH_HISTOGRAMS_H_
