// SPDX-License-Identifier: Apache-2.0
// Joins the loss masks of sources to the labels and loss masks of batches.

#ifndef PONIENTE_LOADER_ROWS_LOSS_MASK_ROWS_H_
#define PONIENTE_LOADER_ROWS_LOSS_MASK_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "dataset/samples_by_leaf.h"
#include "io/loss_mask_source.h"
#include "loader/rows/sample_parts.h"
#include "poniente/batch.h"
#include "poniente/byte_reader.h"
#include "poniente/dataset_tree.h"

namespace poniente::internal {

// Thread safety: immutable; any number of threads.
class LossMaskRows {
 public:
  // InvalidArgument if a leaf has a loss mask that a batch of this layout
  // cannot say.
  static absl::Status Check(const DatasetTree& tree, const BatchLayout& layout);

  // Borrows the tree. REQUIRES: Check() is ok.
  explicit LossMaskRows(const DatasetTree& tree);

  // What is read for one batch.
  struct Reads {
    // Tokens from `at` on of a sample's row. A label that is not in the row
    // stands where its token would be, if it were; it overrules what comes
    // before it.
    struct Part {
      uint32_t sample = 0;
      uint32_t at = 0;
      const LossMaskSource* from = nullptr;
      LocatedLossMask mask;
      const std::byte* stored = nullptr;  // null: all of them have loss
    };
    std::vector<ReadRequest> requests;
    std::vector<Part> parts;             // by sample
    std::unique_ptr<std::byte[]> bytes;  // what the requests are read into
  };

  // Plans the reads. `parts` are those of the samples.
  Reads Plan(const SamplesByLeaf& by_leaf, const SampleParts& parts) const;
  // Takes the labels away whose token has no loss. Errors are those of
  // LossMaskSource::DecodeLossMask(). REQUIRES: the requests have been read;
  // the batch has its labels and its loss mask.
  static absl::Status Apply(const Reads& reads, Batch* batch);

 private:
  std::vector<const LossMaskSource*> masks_;  // by leaf; null: all have loss
  bool has_any_ = false;
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_ROWS_LOSS_MASK_ROWS_H_
