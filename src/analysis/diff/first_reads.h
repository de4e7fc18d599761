// SPDX-License-Identifier: Apache-2.0
// Which step of a run first reads a source.

#ifndef PONIENTE_ANALYSIS_DIFF_FIRST_READS_H_
#define PONIENTE_ANALYSIS_DIFF_FIRST_READS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "poniente/trace.h"

namespace poniente::internal {

// Finds first reads, exact to a block: the true step may be up to a block of
// the mixture later.
//
// Thread safety: none; it caches its results.
class FirstReads {
 public:
  // Searches the steps before `steps`. REQUIRES: the run has that many.
  FirstReads(const TracedRun& run, uint64_t steps);

  // Returns the first step that reads the leaf; nullopt if none does.
  std::optional<uint64_t> Of(uint32_t leaf);

  // Returns the first step that reads any leaf at the path or below it.
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
