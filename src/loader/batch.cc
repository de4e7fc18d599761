// SPDX-License-Identifier: Apache-2.0
#include "poniente/batch.h"

#include "loader/batch_memory.h"
#include "util/check.h"

namespace poniente {

namespace internal {

void WrongIdType(TokenType type) {
  PONIENTE_CHECK(false) << "tokens<Id>() of a batch whose ids are "
                        << TokenTypeName(type);
  std::abort();  // not reached
}

}  // namespace internal

Batch::Batch(StepPlan plan, size_t num_samples, TokenType type)
    : plan_(std::move(plan)),
      type_(type),
      provenance_(num_samples),
      memory_(internal::TakeBatchMemory(num_samples * plan_.seq_len *
                                        TokenTypeBytes(type))) {}

Batch::~Batch() { internal::ReturnBatchMemory(std::move(memory_)); }

std::span<const std::byte> Batch::bytes() const {
  return memory_.bytes().first(num_samples() * seq_len() *
                               TokenTypeBytes(type_));
}

std::span<std::byte> Batch::mutable_bytes() {
  return memory_.bytes().first(num_samples() * seq_len() *
                               TokenTypeBytes(type_));
}

}  // namespace poniente
