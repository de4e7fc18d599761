// SPDX-License-Identifier: Apache-2.0
// Makes the batch of one step from a dataset: positions, reads, ids.

#ifndef PONIENTE_LOADER_BATCH_ASSEMBLER_H_
#define PONIENTE_LOADER_BATCH_ASSEMBLER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "async/blocking_threads.h"
#include "dataset/samples_by_leaf.h"
#include "dataset/step_sharing.h"
#include "loader/metrics/dataset_times.h"
#include "loader/metrics/fetch_times.h"
#include "loader/rows/file_rows.h"
#include "loader/rows/loss_mask_rows.h"
#include "loader/rows/part_finder.h"
#include "loader/rows/sample_parts.h"
#include "loader/rows/tensor_filler.h"
#include "poniente/async_dataset.h"
#include "poniente/batch.h"
#include "poniente/dataset_tree.h"
#include "poniente/loader.h"
#include "poniente/schedule.h"
#include "poniente/task.h"
#include "staging/slot_ring.h"

namespace poniente::internal {

// Makes batches. If all leaves have file ranges and no function makes items,
// the windows of a batch are read together, in one submission, and widened into
// place or on the device. For any other tree, GetAt() of the root is called.
// Both ways make the same batch.
//
// Thread safety: immutable; any number of threads.
class BatchAssembler {
 public:
  // REQUIRES: CheckBatches() is ok.
  BatchAssembler(DatasetPtr<TokenWindow> dataset, Schedule schedule,
                 const LoaderOptions& options, std::shared_ptr<SlotRing> slots);

  const DatasetTree& tree() const { return tree_; }

  // Returns whether Assemble() runs no code but the library's, and queues no
  // copies to a device, so that any thread may run it.
  bool may_run_anywhere() const {
    return file_rows_.has_value() && slots_->device().type == DeviceType::kHost;
  }

  // Returns how many batches are under way whose tensors may be handed over.
  uint32_t num_under_way() const {
    return under_way_.load(std::memory_order_relaxed);
  }

  // Returns the most memory that this rank's batch of `step` needs, including
  // what its ids are widened from, on the host or on the device; 0 past the
  // end.
  uint64_t BytesOf(uint64_t step) const;

  // Makes this rank's batch of `step`, with its copy to the device started;
  // nullopt if the run has ended before it. Records in `times` where the time
  // went.
  //
  // `may_hand_over`: whether its tensors may be made on a thread of their own,
  // while the caller's thread sees to the reads of other batches. That is done
  // if such batches are under way, and this one is large.
  Task<std::optional<Batch>> Assemble(uint64_t step, bool may_hand_over,
                                      FetchTimes* times) const;

 private:
  // Returns the type of ids on the host.
  TokenType host_type() const;
  // Returns how the device is to widen the ids of a batch of `num_samples`
  // samples.
  Widening WideningOf(uint64_t num_samples, uint32_t seq_len) const;
  Task<> Fill(Batch* batch, Slot* slot, bool may_hand_over,
              FetchTimes* times) const;
  // Returns whether another thread is to make the tensors of the batch.
  bool HandsOver(const Batch& batch) const;
  absl::Status CheckLengths(std::span<const LeafPosition> items,
                            const SamplesByLeaf& by_leaf,
                            uint32_t seq_len) const;
  // Returns what find() makes on another thread, where it may read. REQUIRES:
  // it owns what it uses, or borrows it from this object.
  template <class Found>
  Task<Found> Read(std::function<absl::StatusOr<bool>(Found*)> find) const;
  // Returns this rank's samples of a step, as StepSharing::Find() does.
  Task<std::vector<uint64_t>> ReadSamples(StepPlan plan) const;
  // Finds the parts of the samples; none if nothing needs them. Reads them, if
  // it must, on another thread. `positions`: of the samples in the run.
  Task<SampleParts> FindParts(std::span<const Position> positions,
                              std::span<const LeafPosition> items,
                              uint32_t seq_len) const;
  // Makes the rows, and returns the labels that are not in them.
  Task<std::vector<LabelBesides>> FillFromItems(
      std::span<const Position> positions, const SampleParts& parts,
      Batch* batch) const;
  // Returns the tokens that this rank has of a sample of `seq_len` tokens.
  uint32_t RowTokens(uint32_t seq_len) const {
    return seq_len / context_ranks_;
  }

  const DatasetPtr<TokenWindow> dataset_;
  const Schedule schedule_;
  const DatasetTree tree_;
  const uint32_t rank_;
  const uint32_t ranks_;
  const uint32_t context_ranks_;
  const LastBatch last_batch_;
  const TensorFiller tensors_;
  const PartFinder parts_;
  const StepSharing sharing_;
  const LossMaskRows loss_masks_;
  const std::shared_ptr<SlotRing> slots_;
  std::optional<FileRows> file_rows_;  // nullopt: GetAt() is called
  std::optional<DatasetTimes>
      dataset_times_;                   // nullopt if there are file_rows_
  std::vector<uint64_t> whole_tokens_;  // by leaf, of an item; 0: unknown
  // Batches under way whose tensors may be handed over.
  mutable std::atomic<uint32_t> under_way_ = 0;
  // Their calls borrow what is above, so they are destroyed first.
  mutable BlockingThreads decoding_;
  mutable BlockingThreads blocking_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_BATCH_ASSEMBLER_H_
