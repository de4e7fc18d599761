// SPDX-License-Identifier: Apache-2.0
// Fills the tensors that a batch has besides its tokens.

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

// Fills tensors from tokens and document bounds.
//
// Thread safety: immutable; any number of threads. Blocks while it reads the
// documents of a store.
class TensorFiller {
 public:
  // Checks tree and options. Errors: as Loader::Create().
  static absl::Status Check(const DatasetTree& tree,
                            const LoaderOptions& options);

  // Creates a filler that borrows the tree. REQUIRES: Check() is ok.
  TensorFiller(const DatasetTree& tree, const LoaderOptions& options);

  const BatchLayout& layout() const { return layout_; }

  // Fills the tensors of a batch. `items` are its samples, whose tokens are
  // already there.
  absl::Status Fill(std::span<const LeafPosition> items, Batch* batch) const;

 private:
  // Finds the tokens of each document in the sample.
  absl::Status FindDocuments(const LeafPosition& item, uint32_t seq_len,
                             std::vector<uint32_t>* lengths) const;

  const DatasetTree& tree_;
  const BatchLayout layout_;
  // By leaf; null: each item is one document.
  std::vector<const PiecewiseItems*> documents_;
  std::vector<float> loss_weights_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_TENSOR_FILLER_H_
