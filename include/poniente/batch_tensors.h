// SPDX-License-Identifier: Apache-2.0
// The arrays that a batch consists of.

#ifndef PONIENTE_BATCH_TENSORS_H_
#define PONIENTE_BATCH_TENSORS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "poniente/token_window.h"

namespace poniente {

// n is Batch::num_samples(), L Batch::seq_len(). All but the first are made on
// request (LoaderOptions::tensors).
//
// A document is one of the store's. What lies below a function, or in a leaf
// that knows of no documents, is one document per item. A document that began
// in front of a sample begins anew with it, since a model sees no more of it.
enum class BatchTensor : uint8_t {
  // [n, L], of LoaderOptions::token_type.
  kTokens,
  // [n, L], of the same type, which must be signed: the id that comes next, or
  // kIgnoredLabel where loss_mask is 0.
  kLabels,
  // [n, L] u8: 1 where the next token lies in the sample and in the same
  // document, else 0. With samples of L + 1 tokens, L of them have a label.
  kLossMask,
  // [n, L] i32: number of the document in the sample, from 0.
  kDocumentIds,
  // [n, L] i32: place in the document, from 0 where it, or the sample, begins.
  kPositions,
  // [n] f32: LoaderOptions::loss_weights of the sample's source.
  kLossWeights,
};

// What torch.nn.CrossEntropyLoss ignores by default.
inline constexpr int32_t kIgnoredLabel = -100;

// "tokens", "labels", "loss_mask", "document_ids", "positions", "loss_weights".
std::string_view BatchTensorName(BatchTensor tensor);
absl::StatusOr<BatchTensor> ParseBatchTensor(std::string_view name);

enum class ElementType : uint8_t { kU8, kU16, kU32, kI32, kI64, kF32 };

uint32_t ElementTypeBytes(ElementType type);
// "u8", ..., "f32".
std::string_view ElementTypeName(ElementType type);
ElementType ElementTypeOf(TokenType type);

// Row-major, without gaps. Borrows the memory of the batch.
struct TensorView {
  std::string_view name;
  ElementType type = ElementType::kU8;
  uint32_t dimensions = 0;  // 1 or 2
  std::array<uint64_t, 2> shape = {};
  // Aligned to 256 bytes. Null on the device where the batch is on the host;
  // null on the host for tokens that the device widens.
  const std::byte* host = nullptr;
  const std::byte* device = nullptr;

  uint64_t num_elements() const {
    return dimensions == 1 ? shape[0] : shape[0] * shape[1];
  }
  uint64_t num_bytes() const { return num_elements() * ElementTypeBytes(type); }
};

}  // namespace poniente

#endif  // PONIENTE_BATCH_TENSORS_H_
