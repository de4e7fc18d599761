// SPDX-License-Identifier: Apache-2.0
// Which step of a run first reads a source.

#ifndef PONIENTE_ANALYSIS_DIFF_FIRST_READS_H_
#define PONIENTE_ANALYSIS_DIFF_FIRST_READS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/trace/traced_run.h"

namespace poniente::internal {

// By the block: a mixture may read a component that much later.
//
// Thread safety: none; it keeps what it has found.
class FirstReads {
 public:
  // Of the steps before `steps`, which the run has.
  FirstReads(const TracedRun& run, uint64_t steps);

  // Nullopt if none of them reads the leaf.
  std::optional<uint64_t> Of(uint32_t leaf);

  // Of any leaf at the path or below it.
  std::optional<uint64_t> Below(const std::string& path);

 private:
  bool IsReadBefore(uint32_t leaf, uint64_t step) const;
  std::optional<uint64_t> Search(uint32_t leaf) const;

  const TracedRun& run_;
  const uint64_t steps_;
  std::vector<std::optional<std::optional<uint64_t>>> known_;  // by leaf
};

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_DIFF_FIRST_READS_H_
