// SPDX-License-Identifier: Apache-2.0
// What LoaderOptions::prefetch_batches is if it is not set.

#ifndef PONIENTE_LOADER_USUAL_PREFETCH_H_
#define PONIENTE_LOADER_USUAL_PREFETCH_H_

#include <algorithm>
#include <cstdint>

#include "loader/rows/file_rows.h"
#include "poniente/dataset_tree.h"
#include "poniente/loader.h"
#include "poniente/ranks.h"
#include "poniente/schedule.h"

namespace poniente::internal {

// Returns how many batches are fetched ahead: 4, or as many as have 128 samples
// of this rank where its batches are largest, at most 32. A disk that has few
// reads in flight is slow. Only files are read that way: what else makes items
// is not asked for more of them than it may expect.
inline uint32_t UsualPrefetch(const DatasetTree& tree, const Schedule& schedule,
                              const LoaderOptions& options) {
  constexpr uint64_t kLeast = 4;
  constexpr uint64_t kMost = 32;
  constexpr uint64_t kSamples = 128;
  if (!FileRows::CanRead(tree)) return kLeast;
  uint64_t largest = 1;
  for (const Stretch& stretch : schedule.stretches()) {
    const BatchShare share =
        RankShare(stretch.batch_size, options.rank, options.ranks);
    largest = std::max(largest, share.end - share.begin);
  }
  return static_cast<uint32_t>(std::clamp(kSamples / largest, kLeast, kMost));
}

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_USUAL_PREFETCH_H_
