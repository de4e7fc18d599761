// SPDX-License-Identifier: Apache-2.0
// Divides the samples of a step among ranks.

#ifndef PONIENTE_DATASET_STEP_SHARING_H_
#define PONIENTE_DATASET_STEP_SHARING_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/dataset_tree.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/schedule.h"
#include "poniente/shares.h"

namespace poniente::internal {

// Thread safety: immutable; any number of threads.
class StepSharing {
 public:
  // InvalidArgument if sharing.even_work is set, but samples cannot differ in
  // work.
  static absl::Status Check(const DatasetTree& tree,
                            const SampleSharing& sharing);

  // Borrows the tree.
  StepSharing(const DatasetTree& tree, const SampleSharing& sharing);

  // Returns the numbers that a rank's samples of a step have in the run, in the
  // order of its batch. `plan`: of the samples that there are. May read, and
  // block meanwhile, if work is to be even. Errors: as DatasetTree::Resolve();
  // errors of the reads. REQUIRES: rank < ranks.
  absl::StatusOr<std::vector<uint64_t>> SamplesOf(const StepPlan& plan,
                                                  uint32_t rank,
                                                  uint32_t ranks) const;
  // Sets `samples` to the same. Returns false if that takes a read and
  // `may_read` is false.
  absl::StatusOr<bool> Find(const StepPlan& plan, uint32_t rank, uint32_t ranks,
                            bool may_read,
                            std::vector<uint64_t>* samples) const;

  // Sets work[i] to what sample i of the step costs (RunTrace::WorkOfRanks()).
  // Returns false if that takes a read and `may_read` is false.
  absl::StatusOr<bool> FindWork(const StepPlan& plan, bool may_read,
                                std::vector<uint64_t>* work) const;

 private:
  // Sets `squares` to the sums of the squared lengths of the items' pieces; an
  // item of a leaf that is not packed counts as one piece of `seq_len` tokens.
  // Returns false if that takes a read and `may_read` is false.
  absl::StatusOr<bool> FindSquaredLengths(std::span<const LeafPosition> items,
                                          uint32_t seq_len, bool may_read,
                                          std::vector<uint64_t>* squares) const;

  const DatasetTree& tree_;
  const SampleSharing sharing_;
  // By leaf; null: items are one document.
  std::vector<const PackedItems*> packed_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_DATASET_STEP_SHARING_H_
