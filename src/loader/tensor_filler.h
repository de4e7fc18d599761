// SPDX-License-Identifier: Apache-2.0
// Fills the tensors that a batch has besides its tokens.

#ifndef PONIENTE_LOADER_TENSOR_FILLER_H_
#define PONIENTE_LOADER_TENSOR_FILLER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "loader/document_rows.h"
#include "poniente/batch.h"
#include "poniente/dataset_tree.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/loader.h"

namespace poniente::internal {

// Fills tensors from tokens and documents.
//
// Thread safety: immutable; any number of threads.
class TensorFiller {
 public:
  // Checks tree and options. Errors: as Loader::Create().
  static absl::Status Check(const DatasetTree& tree,
                            const LoaderOptions& options);

  // Creates a filler that borrows the tree. REQUIRES: Check() is ok.
  // `reads_files`: whether the rows are read from files (FileRows).
  TensorFiller(const DatasetTree& tree, const LoaderOptions& options,
               bool reads_files);

  const BatchLayout& layout() const { return layout_; }
  // Returns whether a tensor, or reading a leaf, depends on documents.
  bool needs_documents() const { return needs_documents_ || reads_pieces_; }

  // Finds the documents of all samples. May read, and block meanwhile, unless
  // `may_read` is false: then returns false where it must.
  absl::StatusOr<bool> FindDocuments(std::span<const LeafPosition> items,
                                     uint32_t seq_len, bool may_read,
                                     BatchDocuments* found) const;

  // Fills the tensors of a batch. `items` are its samples, whose tokens are
  // already there; `documents` are theirs, unless no tensor needs them. An
  // error if a sample has more documents than there is room for.
  absl::Status Fill(std::span<const LeafPosition> items,
                    const BatchDocuments& documents, Batch* batch) const;

 private:
  // Returns false if that takes a read and must not.
  absl::StatusOr<bool> AddDocuments(const LeafPosition& item, uint32_t seq_len,
                                    bool may_read, BatchDocuments* found) const;
  void FillSample(std::span<const SamplePart> parts, size_t sample,
                  Batch* batch) const;
  // Fills what kernels of variable length take.
  absl::Status FillSeqlens(std::span<const LeafPosition> items,
                           const BatchDocuments& documents, Batch* batch) const;

  const DatasetTree& tree_;
  const BatchLayout layout_;
  const DocumentRules rules_;
  const bool needs_documents_;
  bool reads_pieces_ = false;  // of any leaf
  // By leaf; null: each item is one document.
  std::vector<const PiecewiseItems*> documents_;
  std::vector<uint8_t> leaf_reads_pieces_;  // by leaf: bools
  std::vector<float> loss_weights_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_TENSOR_FILLER_H_
