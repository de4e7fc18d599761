// SPDX-License-Identifier: Apache-2.0
#include "poniente/batch.h"

#include <cstdlib>
#include <utility>

#include "staging/slot_ring.h"
#include "util/check.h"

namespace poniente {

namespace internal {

void WrongIdType(TokenType type) {
  PONIENTE_CHECK(false) << "tokens<Id>() of a batch whose ids are "
                        << TokenTypeName(type);
  std::abort();  // not reached
}

}  // namespace internal

Batch::Batch(StepPlan plan, size_t num_samples, TokenType type,
             internal::SlotPtr slot)
    : plan_(std::move(plan)),
      type_(type),
      provenance_(num_samples),
      slot_(std::move(slot)) {
  PONIENTE_CHECK(slot_->host().size() >= mutable_bytes().size())
      << num_samples << " x " << seq_len() << " ids into a slot of "
      << slot_->host().size() << " bytes";
}

Batch::~Batch() = default;

std::span<const std::byte> Batch::bytes() const {
  return slot_->host().first(num_samples() * seq_len() * TokenTypeBytes(type_));
}

std::span<std::byte> Batch::mutable_bytes() {
  return slot_->host().first(num_samples() * seq_len() * TokenTypeBytes(type_));
}

void Batch::MarkHeld() { slot_->MarkHeld(); }

const Device& Batch::device() const { return slot_->device(); }

const std::byte* Batch::device_bytes() const { return slot_->device_bytes(); }

absl::Status Batch::WaitOn(void* stream) const { return slot_->WaitOn(stream); }

absl::Status Batch::WaitUntilCopied() const { return slot_->WaitUntilCopied(); }

}  // namespace poniente
