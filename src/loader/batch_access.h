// SPDX-License-Identifier: Apache-2.0
// Gives the loader access to a batch before the consumer has it.

#ifndef PONIENTE_LOADER_BATCH_ACCESS_H_
#define PONIENTE_LOADER_BATCH_ACCESS_H_

#include <cstddef>
#include <memory>
#include <span>

#include "poniente/batch.h"

namespace poniente::internal {

struct BatchAccess {
  // Makes a batch of rows of `seq_len` tokens; its ids are whatever the slot
  // contains.
  static Batch Make(StepPlan plan, size_t num_samples, uint32_t seq_len,
                    BatchLayout layout, std::shared_ptr<Slot> slot);
  static const BatchLayout& Layout(const Batch& batch) { return batch.layout_; }
  static std::span<SampleProvenance> Provenance(Batch* batch) {
    return batch->facts_->provenance;
  }
  // Returns the memory of a tensor. REQUIRES: the batch has the tensor.
  static std::span<std::byte> Bytes(Batch* batch, BatchTensor tensor);
  // Return a tensor, or its row of one sample, as numbers of type T; empty if
  // the batch does not have the tensor.
  template <class T>
  static std::span<T> AllOf(Batch* batch, BatchTensor tensor) {
    if (!batch->layout_.Has(tensor)) return {};
    const std::span<std::byte> bytes = Bytes(batch, tensor);
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <class T>
  static std::span<T> RowOf(Batch* batch, BatchTensor tensor, size_t sample) {
    const std::span<T> all = AllOf<T>(batch, tensor);
    if (all.empty()) return {};
    return all.subspan(sample * batch->seq_len(), batch->seq_len());
  }
  // Marks the batch as held by the consumer.
  static void MarkHeld(Batch* batch);
  // Hides tokens() on the host, because their memory holds something else.
  static void HideHostTokens(Batch* batch) { batch->has_host_tokens_ = false; }
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_BATCH_ACCESS_H_
