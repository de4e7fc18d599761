// SPDX-License-Identifier: Apache-2.0
// What a step reads, and which steps read an item: the tree and the schedule of
// a run, both ways, before anything is read.

#ifndef PONIENTE_RUN_TRACE_H_
#define PONIENTE_RUN_TRACE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/dataset_tree.h"
#include "poniente/schedule.h"

namespace poniente {

// A sample of a step and where it comes from.
struct SampleOrigin {
  // In the step's whole batch, over all ranks.
  uint64_t position = 0;
  // In the run.
  uint64_t sample = 0;
  // The leaf, by number and by the names that lead to it.
  uint32_t leaf = 0;
  std::string path;
  // Item of the leaf, and which pass over it.
  Index item = 0;
  uint64_t epoch = 0;
  // Tokens [token_begin, token_end) of the item.
  uint32_t token_begin = 0;
  uint32_t token_end = 0;

  friend bool operator==(const SampleOrigin&, const SampleOrigin&) = default;
};

// A sample that reads an item, or a part of it.
struct Reading {
  uint64_t step = 0;
  // In the step's whole batch; rank r of R has it if it lies in its
  // RankShare().
  uint64_t position = 0;
  uint64_t sample = 0;
  uint64_t epoch = 0;
  // Tokens [token_begin, token_end) of the item.
  uint32_t token_begin = 0;
  uint32_t token_end = 0;

  friend bool operator==(const Reading&, const Reading&) = default;
};

// Determinism: pure, as maps and schedules are.
// Ownership: borrows the tree, which must outlive it.
// Thread safety: immutable; any number of threads.
// Errors: FailedPrecondition while a length that an order follows from is not
//     final.
class RunTrace {
 public:
  RunTrace(const DatasetNode& root, Schedule schedule);

  const DatasetTree& tree() const { return tree_; }
  const Schedule& schedule() const { return schedule_; }

  // The samples of a rank's share of a step, in their order. The step in which
  // a finite dataset ends has those that there are. OutOfRange if the run has
  // no such step. REQUIRES: rank < ranks.
  absl::StatusOr<std::vector<SampleOrigin>> Resolve(uint64_t step,
                                                    uint32_t rank = 0,
                                                    uint32_t ranks = 1) const;

  // Every sample of steps [first_step, end_step) that reads the item of the
  // leaf at `path`, in the order of the samples: in all epochs and stages, and,
  // where items are cut, once for each part. Complexity: O(tree depth) for each
  // epoch of the leaf in these steps (below a shuffle: of the whole order), and
  // for each part of the item; never more than resolving all the samples.
  // NotFound, with the nearest path, for a path that leads to no leaf;
  // OutOfRange for an item it does not have.
  absl::StatusOr<std::vector<Reading>> Find(std::string_view path, Index item,
                                            uint64_t first_step,
                                            uint64_t end_step) const;

  // The same for one leaf of tree().leaves(), where several share a path.
  // OutOfRange for an item it does not have. REQUIRES: the leaf exists.
  absl::StatusOr<std::vector<Reading>> FindInLeaf(uint32_t leaf, Index item,
                                                  uint64_t first_step,
                                                  uint64_t end_step) const;

 private:
  absl::Status AppendReadings(uint32_t leaf, Index item, const IndexSpan& span,
                              std::vector<Reading>* readings) const;
  // Of these leaves, in the order of the samples.
  absl::StatusOr<std::vector<Reading>> FindInLeaves(
      std::span<const uint32_t> leaves, Index item, uint64_t first_step,
      uint64_t end_step) const;
  // The same by resolving all samples of the steps that the span lies in.
  absl::Status ScanForItem(uint32_t leaf, Index item, const IndexSpan& span,
                           std::vector<Reading>* readings) const;
  // Samples of the run before the step, as far as there are any.
  uint64_t SamplesBefore(uint64_t step) const;

  const DatasetNode& root_;
  const DatasetTree tree_;
  const Schedule schedule_;
};

}  // namespace poniente

#endif  // PONIENTE_RUN_TRACE_H_
