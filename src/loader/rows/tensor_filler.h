// SPDX-License-Identifier: Apache-2.0
// Fills the tensors that a batch has besides its tokens.

#ifndef PONIENTE_LOADER_ROWS_TENSOR_FILLER_H_
#define PONIENTE_LOADER_ROWS_TENSOR_FILLER_H_

#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "loader/rows/document_rows.h"
#include "loader/rows/sample_parts.h"
#include "poniente/batch.h"
#include "poniente/dataset_tree.h"
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
  TensorFiller(const DatasetTree& tree, const LoaderOptions& options);

  const BatchLayout& layout() const { return layout_; }
  // Returns whether a tensor depends on the parts of the samples.
  bool needs_parts() const { return needs_parts_; }

  // Fills the tensors' rows of a sample, whose tokens are already there.
  // `parts` are its parts, unless no tensor needs them.
  void FillSample(std::span<const SamplePart> parts, size_t sample,
                  Batch* batch) const;
  // Fills the rest, once the rows of all samples are there. `besides` are the
  // labels that are not in their rows, if the batch has labels. An error if a
  // sample has more sequences than there is room for.
  absl::Status Finish(std::span<const LeafPosition> items,
                      const SampleParts& parts,
                      std::span<const LabelBesides> besides,
                      Batch* batch) const;

 private:
  // Fills what kernels of variable length take.
  absl::Status FillSeqlens(std::span<const LeafPosition> items,
                           const SampleParts& parts, Batch* batch) const;

  const DatasetTree& tree_;
  const BatchLayout layout_;
  const bool needs_parts_;
  std::vector<float> loss_weights_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_ROWS_TENSOR_FILLER_H_
