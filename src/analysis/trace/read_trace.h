// SPDX-License-Identifier: Apache-2.0
// The bytes that the first steps of a run read: as it is configured, or with
// another order of each source's items. Reads no tokens.

#ifndef PONIENTE_ANALYSIS_TRACE_READ_TRACE_H_
#define PONIENTE_ANALYSIS_TRACE_READ_TRACE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataset/step_sharing.h"
#include "poniente/config.h"
#include "poniente/run_trace.h"
#include "poniente/shuffle.h"

namespace poniente::internal {

// Bytes [begin, end) of a file, at least one, which hold an item of a leaf or a
// part of it.
struct ReadSpan {
  uint32_t file = 0;
  uint32_t leaf = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  Index item = 0;
  uint64_t epoch = 0;
};

// The reads of some steps, sample by sample.
struct ReadTrace {
  std::vector<ReadSpan> reads;
  // The number of reads up to the end of each step.
  std::vector<size_t> step_ends;
  // Returns whether a pass over the leaf reaches the item after these steps.
  // Borrows what the trace was made from.
  std::function<absl::StatusOr<bool>(uint32_t leaf, Index item, uint64_t epoch)>
      is_read_later;
};

// A file that a run reads from.
struct ReadFile {
  uint64_t bytes = 0;
  // The store does not exist yet: two bytes per token and one file are assumed.
  bool is_assumed = false;
};

// What the first steps of a run draw, over all ranks or for one rank.
//
// Ownership: borrows the tree; shares the stores.
// Thread safety: immutable; any number of threads.
class RunReads {
 public:
  static constexpr uint64_t kMaxTraceSamples = uint64_t{1} << 21;

  // Returns the draws of `steps` steps, or fewer if the run ends earlier.
  // `sources` are in the order of DatasetTree::leaves(). InvalidArgument for
  // steps of more than kMaxTraceSamples samples together, over all ranks, or
  // for sources of 2^62 bytes. REQUIRES: rank < ranks.
  static absl::StatusOr<std::unique_ptr<const RunReads>> Create(
      const DatasetNode& root, const Schedule& schedule,
      std::vector<ConfigSource> sources, uint64_t steps, uint32_t rank = 0,
      uint32_t ranks = 1, const SampleSharing& sharing = {});

  // Returns the reads of the run as configured. ResourceExhausted if samples
  // consist of too many pieces; errors of the stores.
  absl::StatusOr<ReadTrace> AsConfigured() const;

  // Returns the reads with the order of each leaf replaced: the n-th item that
  // a pass over the leaf reaches becomes the n-th of `order` over all its
  // items, and the same part of it is read. Each sample keeps its leaf. Errors
  // as above, and for sizes of `order` that are not allowed.
  absl::StatusOr<ReadTrace> InOrder(const ShuffleOptions& order) const;

  uint64_t steps() const { return step_ends_.size(); }
  uint64_t samples() const { return draws_.size(); }
  std::span<const ReadFile> files() const { return files_; }

  // Appends where an item, or a part of it, lies, and its loss mask if the leaf
  // has one. Consecutive items are consecutive in their files.
  absl::Status Locate(uint32_t leaf, const Position& position,
                      std::vector<ReadSpan>* spans) const;
  // Returns the number of items of the leaf.
  uint64_t Items(uint32_t leaf) const;
  Position Whole(uint32_t leaf, Index item) const;
  // Returns the bytes of a token of the leaf.
  uint64_t WidthOf(uint32_t leaf) const;

 private:
  struct Draw {
    uint32_t leaf = 0;
    Position position;
    // Number of items that this pass over the leaf reached before.
    uint64_t place = 0;
  };
  using Pass = std::pair<uint32_t, uint64_t>;  // leaf, epoch

  RunReads(const DatasetNode& root, const Schedule& schedule,
           std::vector<ConfigSource> sources, uint32_t rank, uint32_t ranks,
           const SampleSharing& sharing)
      : trace_(root, schedule),
        sharing_(trace_.tree(), sharing),
        sources_(std::move(sources)),
        rank_(rank),
        ranks_(ranks) {}

  absl::Status FindFiles();
  absl::Status LocateTokens(uint32_t leaf, const Position& position,
                            std::vector<ReadSpan>* spans) const;
  absl::Status LocateLossMask(uint32_t leaf, const Position& position,
                              std::vector<ReadSpan>* spans) const;
  absl::Status TakeDraws(uint64_t steps);
  // Returns the tokens of the leaf's items. Where the leaf does not say, as
  // with windows of selected documents, items are as long as the schedule cuts
  // them.
  uint32_t ItemTokens(uint32_t leaf) const;
  // Returns where the draws lie if their items are replaced by `items`.
  absl::StatusOr<ReadTrace> TraceOf(std::span<const Index> items) const;
  // Returns which samples of a step this rank has, by their place in it.
  // `plan`: of the samples that there are.
  absl::StatusOr<std::vector<bool>> OwnSamples(const StepPlan& plan) const;
  absl::StatusOr<bool> IsDrawnLater(uint32_t leaf, Index item,
                                    uint64_t epoch) const;

  const RunTrace trace_;  // whose steps have their samples in order
  const StepSharing sharing_;
  const std::vector<ConfigSource> sources_;
  const uint32_t rank_;
  const uint32_t ranks_;
  std::vector<ReadFile> files_;
  // The first file of each leaf.
  std::vector<uint32_t> file_of_;
  std::vector<Draw> draws_;
  std::vector<size_t> step_ends_;
  // Samples of the run in these steps.
  uint64_t end_sample_ = 0;
  // Number of items that each pass reaches in these steps.
  absl::flat_hash_map<Pass, uint64_t> items_of_pass_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_TRACE_READ_TRACE_H_
