// SPDX-License-Identifier: Apache-2.0
// The tensors that a batch consists of.

#ifndef PONIENTE_BATCH_TENSORS_H_
#define PONIENTE_BATCH_TENSORS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "poniente/token_window.h"

namespace poniente {

// The tensors of a batch. Shapes use n = Batch::num_samples(), L =
// Batch::seq_len() and D = Batch::max_documents(). All but kTokens are made on
// request (LoaderOptions::tensors).
//
// Documents are those of the store. If a function makes the items, or a leaf
// does not know its documents, each item counts as one document. If a document
// began before the sample, it counts as beginning with the sample, because the
// model sees nothing earlier. Samples of packed documents (packing.h) may have
// padding, which is no document: its tokens have no loss. DocumentRules say
// what documents may see of each other.
//
// With context parallelism (LoaderOptions::context), a row is the part of a
// sample that this rank has, and L the tokens of it. All other tensors are that
// part of the sample's, but kCuSeqlens and what counts its sequences: there,
// each part of a document in a chunk of the row is a sequence.
enum class BatchTensor : uint8_t {
  // [n, L], of type LoaderOptions::token_type.
  kTokens,
  // [n, L], of the same type, which must be signed: the next id, or
  // kIgnoredLabel where loss_mask is 0.
  kLabels,
  // [n, L] u8: 1 if the next token lies in the same sample (unless
  // DocumentRules::labels_beyond_sample) and in the same document (unless
  // loss_across), and has loss by its source's mask, if there is one
  // (TokenSource::has_loss_mask()); else 0.
  kLossMask,
  // [n, L] i32: number of the token's document within the sample, from 0; -1
  // for padding.
  kDocumentIds,
  // [n, L] i32: place of the token in its document, counted from 0 at the start
  // of the document or of the sample, whichever is later; 0 for padding.
  kPositions,
  // [n] f32: the entry of LoaderOptions::loss_weights for the sample's source.
  kLossWeights,
  // [n * D + 1] i32: where attention begins anew, in the n * L tokens of the
  // batch end to end: 0, the end of each document of each sample, and n * L up
  // to the end, so that the shape does not depend on the documents. What
  // kernels of variable length take (cu_seqlens_q of FlashAttention). Padding
  // at the end of a sample is one more document; padding behind an aligned
  // document belongs to it.
  kCuSeqlens,
  // [n] i32: how many documents of kCuSeqlens each sample has, and the tokens
  // of the longest of them.
  kDocumentCounts,
  kMaxSeqlens,
};

inline constexpr BatchTensor kLastBatchTensor = BatchTensor::kMaxSeqlens;

// What the tensors of a batch say of documents that share a sample. Changes no
// token.
struct DocumentRules {
  // Whether tokens see the documents before theirs in the sample: document_ids
  // are then 0, and in cu_seqlens each sample is one document.
  bool attention_across = false;
  // Whether the last token of a document has the first of the next one as its
  // label.
  bool loss_across = false;
  // Whether positions begin at 0 in each document; else in each sample.
  bool restart_positions = true;
  // Whether the last token of a sample has a label if its document goes on
  // behind the sample: the next token, which is read besides. So each token of
  // a document that is read has a label but the last one, whatever the lengths
  // of samples. (With loss_across, the last token of a sample still has none if
  // its document ends there.) Only for sources that lie in files, know their
  // documents and do not overlap.
  bool labels_beyond_sample = false;
  // D, the most documents of a row that cu_seqlens have room for, padding
  // included. A row with more is an error. 0: as many as packing can put into a
  // window (one more with kZigZag, twice as many with kZigZagPerDocument, as
  // parts count); for other samples, L.
  uint32_t max_documents = 0;

  friend bool operator==(const DocumentRules&, const DocumentRules&) = default;
};

// The label that torch.nn.CrossEntropyLoss ignores by default.
inline constexpr int32_t kIgnoredLabel = -100;

// Returns "tokens", "labels", "loss_mask", "document_ids", "positions",
// "loss_weights", "cu_seqlens", "document_counts" or "max_seqlens".
std::string_view BatchTensorName(BatchTensor tensor);
// Returns the tensor of this name; InvalidArgument for any other text.
absl::StatusOr<BatchTensor> ParseBatchTensor(std::string_view name);

enum class ElementType : uint8_t { kU8, kU16, kU32, kI32, kI64, kF32 };

uint32_t ElementTypeBytes(ElementType type);
// Returns "u8", ..., "f32".
std::string_view ElementTypeName(ElementType type);
ElementType ElementTypeOf(TokenType type);

// One tensor: row-major, without gaps. Borrows the memory of the batch.
struct TensorView {
  std::string_view name = {};
  ElementType type = ElementType::kU8;
  uint32_t dimensions = 0;  // 1 or 2
  std::array<uint64_t, 2> shape = {};
  // Addresses, aligned to 256 bytes. `device` is null if the batch is on the
  // host; `host` is null for tokens that the device widens.
  const std::byte* host = nullptr;
  const std::byte* device = nullptr;

  uint64_t num_elements() const {
    return dimensions == 1 ? shape[0] : shape[0] * shape[1];
  }
  uint64_t num_bytes() const { return num_elements() * ElementTypeBytes(type); }
};

}  // namespace poniente

#endif  // PONIENTE_BATCH_TENSORS_H_
