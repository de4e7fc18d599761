// SPDX-License-Identifier: Apache-2.0
// Finds what the samples of a batch consist of, and applies the rules about
// documents and context-parallel slices to it.

#ifndef PONIENTE_LOADER_ROWS_PART_FINDER_H_
#define PONIENTE_LOADER_ROWS_PART_FINDER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "loader/rows/sample_parts.h"
#include "poniente/batch_tensors.h"
#include "poniente/dataset_tree.h"
#include "poniente/extend/infilled_dataset.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/loader.h"
#include "poniente/shares.h"

namespace poniente::internal {

// Thread safety: immutable; any number of threads.
class PartFinder {
 public:
  // Checks the options. Errors: as Loader::Create().
  static absl::Status Check(const DatasetTree& tree,
                            const LoaderOptions& options);

  // Borrows the tree. `needs_documents`: whether a tensor depends on them;
  // `reads_files`: whether the rows are read from files (FileRows).
  // `infillings`: which documents are rearranged or masked; null if none is.
  // REQUIRES: Check() is ok.
  PartFinder(const DatasetTree& tree, const LoaderOptions& options,
             const Infillings* infillings, bool needs_documents,
             bool reads_files);

  // Returns whether Find() has to be called for each batch.
  bool is_needed() const { return needs_all_ || reads_pieces_; }

  // A sample of the run, and where it comes from.
  struct Sample {
    uint64_t number = 0;
    LeafPosition item = {};
  };
  // Finds the parts of all samples, of `seq_len` tokens each. May read, and
  // block meanwhile, unless `may_read` is false: then returns false where it
  // must.
  absl::StatusOr<bool> Find(std::span<const Sample> samples, uint32_t seq_len,
                            bool may_read, SampleParts* found) const;

 private:
  struct Leaf {
    const PiecewiseItems* documents = nullptr;  // null: items are one document
    bool reads_pieces = false;
    bool is_changed = false;  // some pieces may be rearranged or masked
  };
  // A document, or padding, of a whole sample.
  struct Document {
    ItemPiece piece;
    uint32_t begin = 0;     // in the sample
    int32_t number = 0;     // within the sample; of padding: -1
    int32_t infilled = -1;  // as SamplePart::infilled

    uint32_t length() const {
      return static_cast<uint32_t>(piece.end - piece.begin);
    }
    uint32_t end() const { return begin + length(); }
  };

  std::string Name(const LeafPosition& item) const;
  absl::StatusOr<bool> FindSample(const Sample& sample, uint32_t seq_len,
                                  bool may_read, SampleParts* found) const;
  // Sets `pieces` to those of the sample. Returns false if that takes a read
  // and must not.
  absl::StatusOr<bool> FindPieces(const LeafPosition& item, uint32_t seq_len,
                                  bool may_read,
                                  std::vector<ItemPiece>* pieces) const;
  absl::Status AddSlice(std::span<const Document> documents, uint32_t seq_len,
                        bool goes_on, SampleParts* found) const;
  // `goes_on`: whether the last document goes on behind the sample, and its
  // last token there has a label.
  void AddChunk(std::span<const Document> documents, const ContextChunk& chunk,
                bool goes_on, SampleParts* found) const;
  // Returns what document `number` has in the chunk.
  SamplePart MakePart(std::span<const Document> documents, size_t number,
                      const ContextChunk& chunk, bool goes_on,
                      const SampleParts& found) const;
  // Sets the label to what is at a place of the document as it is served.
  static void SetLabel(const Document& document, uint32_t place,
                       const SampleParts& found, SamplePart* part);

  const DatasetTree& tree_;
  const Infillings* const infillings_;
  const DocumentRules rules_;
  const ContextRank context_;
  const bool needs_all_;  // of all leaves
  bool reads_pieces_ = false;
  std::vector<Leaf> leaves_;
};

// Returns the most parts of a row that `documents` documents of a sample can
// become, padding included.
uint64_t MostSequences(uint64_t documents, const LoaderOptions& options);

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_ROWS_PART_FINDER_H_
