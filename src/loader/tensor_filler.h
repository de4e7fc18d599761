// SPDX-License-Identifier: Apache-2.0
// Fills the tensors that a batch has besides its tokens.

#ifndef PONIENTE_LOADER_TENSOR_FILLER_H_
#define PONIENTE_LOADER_TENSOR_FILLER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/batch.h"
#include "poniente/dataset_tree.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/loader.h"

namespace poniente::internal {

// How many tokens of each document the samples of a batch contain.
class BatchDocuments {
 public:
  void Add(uint32_t length) { lengths_.push_back(length); }
  void EndSample() { ends_.push_back(lengths_.size()); }

  std::span<const uint32_t> Of(size_t sample) const {
    const size_t begin = sample == 0 ? 0 : ends_[sample - 1];
    return std::span(lengths_).subspan(begin, ends_[sample] - begin);
  }

 private:
  std::vector<uint32_t> lengths_;
  std::vector<size_t> ends_;  // by sample
};

// Fills tensors from tokens and documents.
//
// Thread safety: immutable; any number of threads.
class TensorFiller {
 public:
  // Checks tree and options. Errors: as Loader::Create().
  static absl::Status Check(const DatasetTree& tree,
                            const LoaderOptions& options);

  // Creates a filler that borrows the tree. REQUIRES: Check() is ok.
  TensorFiller(const DatasetTree& tree, const LoaderOptions& options);

  const BatchLayout& layout() const { return layout_; }
  // Returns whether a tensor depends on documents.
  bool needs_documents() const { return needs_documents_; }

  // Returns whether FindDocuments() would answer from memory now.
  bool HasDocumentsInMemory(std::span<const LeafPosition> items) const;
  // Finds the documents of all samples. May read, and block meanwhile.
  absl::StatusOr<BatchDocuments> FindDocuments(
      std::span<const LeafPosition> items, uint32_t seq_len) const;

  // Fills the tensors of a batch. `items` are its samples, whose tokens are
  // already there; `documents` are theirs, unless no tensor needs them.
  void Fill(std::span<const LeafPosition> items,
            const BatchDocuments& documents, Batch* batch) const;

 private:
  absl::Status AddDocuments(const LeafPosition& item, uint32_t seq_len,
                            BatchDocuments* found) const;

  const DatasetTree& tree_;
  const BatchLayout layout_;
  const bool needs_documents_;
  // By leaf; null: each item is one document.
  std::vector<const PiecewiseItems*> documents_;
  std::vector<float> loss_weights_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_TENSOR_FILLER_H_
