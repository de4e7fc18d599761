// SPDX-License-Identifier: Apache-2.0
// Finds what a step reads, and which steps read an item, from the tree and the
// schedule of a run, before anything is read.

#ifndef PONIENTE_RUN_TRACE_H_
#define PONIENTE_RUN_TRACE_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/dataset_tree.h"
#include "poniente/schedule.h"
#include "poniente/shares.h"

namespace poniente {

// A sample of a step and where it comes from.
struct SampleOrigin {
  // Place in the step's whole batch, over all ranks.
  uint64_t position = 0;
  // Number of the sample in the run.
  uint64_t sample = 0;
  // The leaf: its number, and the names that lead to it.
  uint32_t leaf = 0;
  std::string path = {};
  // Item of the leaf, and which pass over the leaf this is.
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
  // Place in the step's whole batch, over all ranks. With consecutive shares,
  // rank r of R serves it if it lies in RankShare(batch size, r, R).
  uint64_t position = 0;
  uint64_t sample = 0;
  uint64_t epoch = 0;
  // Tokens [token_begin, token_end) of the item.
  uint32_t token_begin = 0;
  uint32_t token_end = 0;

  friend bool operator==(const Reading&, const Reading&) = default;
};

// Maps steps to the items they read, and items to the steps that read them.
//
// Determinism: pure, as maps and schedules are.
// Ownership: borrows the tree, which must outlive it.
// Thread safety: immutable; any number of threads.
// Errors: FailedPrecondition while a length that an order depends on is not
//     final.
class RunTrace {
 public:
  // `sharing`: how ranks share the samples of a step.
  RunTrace(const DatasetNode& root, Schedule schedule,
           const SampleSharing& sharing = {});

  const DatasetTree& tree() const { return tree_; }
  const Schedule& schedule() const { return schedule_; }

  // Returns the number of steps whose samples are all there, while a dataset
  // of the run is still growing; nullopt if all of the run's are. What later
  // steps read is not known yet.
  std::optional<uint64_t> steps_there() const;

  // Returns the samples of a rank's share of a step, in the order of its batch.
  // If a finite dataset ends in the step, returns only the samples that exist.
  // OutOfRange if the run has no such step, or if it is not all there yet.
  // REQUIRES: rank < ranks.
  absl::StatusOr<std::vector<SampleOrigin>> Resolve(uint64_t step,
                                                    uint32_t rank = 0,
                                                    uint32_t ranks = 1) const;

  // Returns what each sample of a step costs, by rank, in the order of
  // Resolve(): the sum of the squared lengths of its documents' pieces if its
  // source is packed, else that of one piece of seq_len tokens; and
  // sharing.linear_cost for each token. All ranks compute the same numbers, so
  // each knows the micro-batches of all ranks (MicroBatches() in shares.h).
  // Takes 50 us for 512 samples, and 25 us more for 64 ranks with even work.
  // Reads nothing, unless documents are packed by chunks: then the lengths of
  // chunks. Errors: as Resolve(), and of the reads. REQUIRES: ranks > 0.
  absl::StatusOr<std::vector<std::vector<uint64_t>>> WorkOfRanks(
      uint64_t step, uint32_t ranks) const;

  // Returns every sample of steps [first_step, end_step) that reads the item of
  // the leaf at `path`, in the order of the samples: in all epochs and stages,
  // and once for each part if items are cut. Steps that are not there yet are
  // left out.
  //
  // Complexity: O(tree depth) for each part of the item and each epoch of the
  // leaf in these steps. Below a shuffle of an endless dataset's slice, all
  // epochs of the shuffle count. Never more than resolving all samples of the
  // steps.
  // Errors: NotFound, with the nearest path, if `path` is not a leaf;
  // OutOfRange if the leaf has no such item.
  absl::StatusOr<std::vector<Reading>> Find(std::string_view path, Index item,
                                            uint64_t first_step,
                                            uint64_t end_step) const;

  // Does the same for one leaf, by its number in tree().leaves(). Use it where
  // several leaves share a path. OutOfRange if the leaf has no such item.
  // REQUIRES: the leaf exists.
  absl::StatusOr<std::vector<Reading>> FindInLeaf(uint32_t leaf, Index item,
                                                  uint64_t first_step,
                                                  uint64_t end_step) const;

  // Does the same for one epoch of the leaf: for leaves whose items differ
  // among epochs.
  absl::StatusOr<std::vector<Reading>> FindInEpoch(uint32_t leaf, Index item,
                                                   uint64_t epoch,
                                                   uint64_t first_step,
                                                   uint64_t end_step) const;
  // Calls visit(epoch) for each epoch of a leaf that these steps may read, in
  // order, until it returns an error: for no more epochs than the steps have
  // samples. Complexity: at most that of resolving all samples, and a word for
  // each epoch.
  absl::Status ForEachEpoch(
      uint32_t leaf, uint64_t first_step, uint64_t end_step,
      const std::function<absl::Status(uint64_t)>& visit) const;

 private:
  // Returns the samples of steps; nullopt if there are none.
  std::optional<IndexSpan> SamplesOf(uint64_t first_step,
                                     uint64_t end_step) const;
  absl::Status AppendOfEpoch(uint32_t leaf, Index item, uint64_t epoch,
                             const IndexSpan& span,
                             std::vector<Reading>* readings) const;
  absl::Status AppendReadings(uint32_t leaf, Index item, const IndexSpan& span,
                              std::vector<Reading>* readings) const;
  // Finds the item in several leaves; results in the order of the samples.
  absl::StatusOr<std::vector<Reading>> FindInLeaves(
      std::span<const uint32_t> leaves, Index item, uint64_t first_step,
      uint64_t end_step) const;
  // Finds the item by resolving all samples of the steps that the span lies in.
  absl::Status ScanForItem(uint32_t leaf, Index item, const IndexSpan& span,
                           std::vector<Reading>* readings) const;
  // Returns the number of samples before the step, or of all samples that there
  // are if these are fewer.
  uint64_t SamplesBefore(uint64_t step) const;
  // Returns the plan of the samples of a step that there are; OutOfRange if
  // there are none.
  absl::StatusOr<StepPlan> PlanOf(uint64_t step) const;
  // Does the same, but OutOfRange also if not all samples are there yet.
  absl::StatusOr<StepPlan> PlanOfWhole(uint64_t step) const;
  // Returns where these samples of a step come from.
  absl::StatusOr<std::vector<SampleOrigin>> OriginsOf(
      const StepPlan& plan, std::span<const uint64_t> samples) const;

  const DatasetNode& root_;
  const DatasetTree tree_;
  const Schedule schedule_;
  const SampleSharing sharing_;
};

}  // namespace poniente

#endif  // PONIENTE_RUN_TRACE_H_
