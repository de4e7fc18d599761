// SPDX-License-Identifier: Apache-2.0
// Fills what a batch has beside its tokens.

#ifndef PONIENTE_LOADER_TENSOR_FILLER_H_
#define PONIENTE_LOADER_TENSOR_FILLER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "poniente/batch.h"
#include "poniente/dataset_tree.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/loader.h"

namespace poniente::internal {

// Thread safety: immutable; any number of threads. Blocks where the documents
// of a store are read.
class TensorFiller {
 public:
  // Errors: as Loader::Create.
  static absl::Status Check(const DatasetTree& tree,
                            const LoaderOptions& options);

  // Borrows the tree. REQUIRES: Check() is ok.
  TensorFiller(const DatasetTree& tree, const LoaderOptions& options);

  const BatchLayout& layout() const { return layout_; }

  // `items` are the batch's samples, whose tokens are there already.
  absl::Status Fill(std::span<const LeafPosition> items, Batch* batch) const;

 private:
  // Tokens of each document in the sample.
  absl::Status FindDocuments(const LeafPosition& item, uint32_t seq_len,
                             std::vector<uint32_t>* lengths) const;

  const DatasetTree& tree_;
  const BatchLayout layout_;
  // By leaf; null: an item is one document.
  std::vector<const PiecewiseItems*> documents_;
  std::vector<float> loss_weights_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_TENSOR_FILLER_H_
