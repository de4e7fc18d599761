// SPDX-License-Identifier: Apache-2.0
// What the loader does to a batch before anyone else has it.

#ifndef PONIENTE_LOADER_BATCH_ACCESS_H_
#define PONIENTE_LOADER_BATCH_ACCESS_H_

#include <cstddef>
#include <memory>
#include <span>

#include "poniente/batch.h"

namespace poniente::internal {

struct BatchAccess {
  // Ids are whatever the slot held.
  static Batch Make(StepPlan plan, size_t num_samples, BatchLayout layout,
                    std::shared_ptr<Slot> slot);
  static const BatchLayout& Layout(const Batch& batch) { return batch.layout_; }
  static std::span<SampleProvenance> Provenance(Batch* batch) {
    return batch->provenance_;
  }
  // Memory of a tensor. REQUIRES: it is there.
  static std::span<std::byte> Bytes(Batch* batch, BatchTensor tensor);
  // The batch is the consumer's from now on.
  static void MarkHeld(Batch* batch);
  // What lies where tokens() would be is something else.
  static void HideHostTokens(Batch* batch) { batch->has_host_tokens_ = false; }
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_BATCH_ACCESS_H_
