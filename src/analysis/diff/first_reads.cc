// SPDX-License-Identifier: Apache-2.0
#include "analysis/diff/first_reads.h"

#include "dataset/joined_path.h"

namespace poniente::internal {

FirstReads::FirstReads(const TracedRun& run, uint64_t steps)
    : run_(run), steps_(steps), known_(run.trace().tree().leaves().size()) {}

std::optional<uint64_t> FirstReads::Of(uint32_t leaf) {
  if (!known_[leaf]) known_[leaf] = Search(leaf);
  return *known_[leaf];
}

std::optional<uint64_t> FirstReads::Below(const std::string& path) {
  const auto leaves = run_.trace().tree().leaves();
  std::optional<uint64_t> first;
  for (uint32_t leaf = 0; leaf < leaves.size(); ++leaf) {
    if (!path.empty() && !IsAtOrBelow(leaves[leaf].path, path)) continue;
    const std::optional<uint64_t> step = Of(leaf);
    if (step && (!first || *step < *first)) first = step;
  }
  return first;
}

bool FirstReads::IsReadBefore(uint32_t leaf, uint64_t step) const {
  if (step == 0) return false;
  const StepPlan last = run_.schedule().At(step - 1);
  const uint64_t samples = last.first_sample + last.batch_size;
  const auto epochs = run_.trace().tree().EpochsOf(
      leaf, {{.index = 0}, {.index = samples - 1}});
  return epochs.ok() && epochs->has_value();
}

std::optional<uint64_t> FirstReads::Search(uint32_t leaf) const {
  if (!IsReadBefore(leaf, steps_)) return std::nullopt;
  uint64_t low = 0;
  uint64_t high = steps_;  // read before it, but not before `low`
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    (IsReadBefore(leaf, middle) ? high : low) = middle;
  }
  return low;
}

}  // namespace poniente::internal
