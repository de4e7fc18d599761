// SPDX-License-Identifier: Apache-2.0
#include "poniente/batch_tensors.h"

#include <array>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "poniente/batch.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

constexpr std::array<std::string_view, 9> kTensorNames = {
    "tokens",       "labels",          "loss_mask",
    "document_ids", "positions",       "loss_weights",
    "cu_seqlens",   "document_counts", "max_seqlens"};

constexpr uint64_t kTensorAlignment = 256;

}  // namespace

std::string_view BatchTensorName(BatchTensor tensor) {
  return kTensorNames[static_cast<size_t>(tensor)];
}

absl::StatusOr<BatchTensor> ParseBatchTensor(std::string_view name) {
  for (size_t i = 0; i < kTensorNames.size(); ++i) {
    if (kTensorNames[i] == name) return static_cast<BatchTensor>(i);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("a batch has no tensor '", internal::Absl(name), "', but ",
                   absl::StrJoin(kTensorNames, ", ",
                                 [](std::string* out, std::string_view one) {
                                   absl::StrAppend(out, internal::Absl(one));
                                 })));
}

uint32_t ElementTypeBytes(ElementType type) {
  switch (type) {
    case ElementType::kU8:
      return 1;
    case ElementType::kU16:
      return 2;
    case ElementType::kU32:
    case ElementType::kI32:
    case ElementType::kF32:
      return 4;
    case ElementType::kI64:
      return 8;
  }
  std::abort();  // not reached
}

std::string_view ElementTypeName(ElementType type) {
  constexpr std::array<std::string_view, 6> kNames = {"u8",  "u16", "u32",
                                                      "i32", "i64", "f32"};
  return kNames[static_cast<size_t>(type)];
}

ElementType ElementTypeOf(TokenType type) {
  switch (type) {
    case TokenType::kU8:
      return ElementType::kU8;
    case TokenType::kU16:
      return ElementType::kU16;
    case TokenType::kU32:
      return ElementType::kU32;
    case TokenType::kI32:
      return ElementType::kI32;
    case TokenType::kI64:
      return ElementType::kI64;
  }
  std::abort();  // not reached
}

namespace internal {

BatchLayout::BatchLayout(TokenType token_type,
                         std::span<const BatchTensor> tensors,
                         uint32_t max_documents)
    : token_type_(token_type), max_documents_(max_documents) {
  for (const BatchTensor tensor : tensors) {
    tensors_ |= 1u << static_cast<unsigned>(tensor);
  }
}

ElementType BatchLayout::TypeOf(BatchTensor tensor) const {
  switch (tensor) {
    case BatchTensor::kTokens:
    case BatchTensor::kLabels:
      return ElementTypeOf(token_type_);
    case BatchTensor::kLossMask:
      return ElementType::kU8;
    case BatchTensor::kDocumentIds:
    case BatchTensor::kPositions:
    case BatchTensor::kCuSeqlens:
    case BatchTensor::kDocumentCounts:
    case BatchTensor::kMaxSeqlens:
      return ElementType::kI32;
    case BatchTensor::kLossWeights:
      return ElementType::kF32;
  }
  std::abort();  // not reached
}

uint64_t BatchLayout::Elements(BatchTensor tensor, uint64_t n,
                               uint64_t L) const {
  switch (tensor) {
    case BatchTensor::kLossWeights:
    case BatchTensor::kDocumentCounts:
    case BatchTensor::kMaxSeqlens:
      return n;
    case BatchTensor::kCuSeqlens:
      return n * MaxDocuments(L) + 1;
    default:
      return n * L;
  }
}

uint64_t BatchLayout::Offset(BatchTensor tensor, uint64_t n, uint64_t L) const {
  uint64_t offset = 0;
  for (size_t i = 0; i < static_cast<size_t>(tensor); ++i) {
    const auto before = static_cast<BatchTensor>(i);
    if (!Has(before)) continue;
    offset += Elements(before, n, L) * ElementTypeBytes(TypeOf(before));
    offset =
        (offset + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
  }
  return offset;
}

uint64_t BatchLayout::Bytes(uint64_t n, uint64_t L) const {
  auto last = static_cast<size_t>(kLastBatchTensor);
  while (!Has(static_cast<BatchTensor>(last))) --last;
  const auto tensor = static_cast<BatchTensor>(last);
  return Offset(tensor, n, L) +
         Elements(tensor, n, L) * ElementTypeBytes(TypeOf(tensor));
}

}  // namespace internal
}  // namespace poniente
