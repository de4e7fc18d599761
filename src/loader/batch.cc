// SPDX-License-Identifier: Apache-2.0
#include "poniente/batch.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "loader/batch_access.h"
#include "staging/slot_ring.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente {

namespace internal {

void WrongIdType(TokenType type) {
  PONIENTE_CHECK(false) << "another type asked for of a batch whose ids are "
                        << TokenTypeName(type);
  std::abort();  // not reached
}

}  // namespace internal

Batch::Batch(StepPlan plan, size_t num_samples, uint32_t seq_len,
             internal::BatchLayout layout, internal::SlotPtr slot)
    : layout_(layout) {
  std::shared_ptr<void>& kept = slot->companion();
  if (kept == nullptr) kept = std::make_shared<internal::BatchFacts>();
  auto* const facts = static_cast<internal::BatchFacts*>(kept.get());
  facts->plan = std::move(plan);
  facts->seq_len = seq_len;
  facts->provenance.assign(num_samples, {});
  facts->slot = slot.get();
  facts_ = std::shared_ptr<internal::BatchFacts>(std::move(slot), facts);
  const uint64_t bytes = layout_.Bytes(num_samples, seq_len);
  const uint64_t has = facts->slot->host().size();
  PONIENTE_CHECK(has >= bytes)
      << bytes << " bytes of a batch in a slot of " << has;
}

Batch::~Batch() = default;

std::span<const std::byte> Batch::bytes() const {
  return {HostBytes(BatchTensor::kTokens),
          NumElements(BatchTensor::kTokens) * TokenTypeBytes(token_type())};
}

uint64_t Batch::NumElements(BatchTensor tensor) const {
  return layout_.Elements(tensor, num_samples(), seq_len());
}

const std::byte* Batch::HostBytes(BatchTensor tensor) const {
  PONIENTE_CHECK(IsOnHost(tensor))
      << "tokens asked for on the host of a batch that widens them on the "
         "device: look at has_host_tokens(), or leave widen_on_device off";
  return facts_->slot->host().data() +
         layout_.Offset(tensor, num_samples(), seq_len());
}

absl::StatusOr<TensorView> Batch::tensor(BatchTensor tensor) const {
  if (!layout_.Has(tensor)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the batch has no ", internal::Absl(BatchTensorName(tensor)),
        ": ask for them in LoaderOptions::tensors (`tensors` of [runtime] and "
        "in C)"));
  }
  TensorView view;
  view.name = BatchTensorName(tensor);
  view.type = layout_.TypeOf(tensor);
  const uint64_t elements = NumElements(tensor);
  const bool is_matrix = tensor <= BatchTensor::kPositions;
  view.dimensions = is_matrix ? 2 : 1;
  view.shape = is_matrix ? std::array<uint64_t, 2>{num_samples(), seq_len()}
                         : std::array<uint64_t, 2>{elements, 0};
  if (IsOnHost(tensor)) view.host = HostBytes(tensor);
  if (facts_->slot->device_bytes() != nullptr) {
    view.device = facts_->slot->device_bytes() +
                  layout_.Offset(tensor, num_samples(), seq_len());
  }
  return view;
}

std::vector<TensorView> Batch::tensors() const {
  std::vector<TensorView> views;
  for (uint8_t i = 0; i <= static_cast<uint8_t>(kLastBatchTensor); ++i) {
    absl::StatusOr<TensorView> view = tensor(static_cast<BatchTensor>(i));
    if (view.ok()) views.push_back(*view);
  }
  return views;
}

const Device& Batch::device() const { return facts_->slot->device(); }

const std::byte* Batch::device_bytes() const {
  return facts_->slot->device_bytes();
}

absl::Status Batch::WaitOn(void* stream) const {
  return facts_->slot->WaitOn(stream);
}

absl::Status Batch::WaitUntilCopied() const {
  return facts_->slot->WaitUntilCopied();
}

std::shared_ptr<const void> Batch::ShareMemory() const { return facts_; }

namespace internal {

Batch BatchAccess::Make(StepPlan plan, size_t num_samples, uint32_t seq_len,
                        BatchLayout layout, SlotPtr slot) {
  return Batch(std::move(plan), num_samples, seq_len, layout, std::move(slot));
}

std::span<std::byte> BatchAccess::Bytes(Batch* batch, BatchTensor tensor) {
  const BatchLayout& layout = batch->layout_;
  PONIENTE_CHECK(layout.Has(tensor)) << BatchTensorName(tensor);
  return batch->facts_->slot->host().subspan(
      layout.Offset(tensor, batch->num_samples(), batch->seq_len()),
      batch->NumElements(tensor) * ElementTypeBytes(layout.TypeOf(tensor)));
}

void BatchAccess::MarkHeld(Batch* batch) { batch->facts_->slot->MarkHeld(); }

}  // namespace internal
}  // namespace poniente
