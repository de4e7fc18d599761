// SPDX-License-Identifier: Apache-2.0
// Reads the rows of a batch from files: plans the reads, and turns what was
// read into the ids of the batch.

#ifndef PONIENTE_LOADER_ROWS_FILE_ROWS_H_
#define PONIENTE_LOADER_ROWS_FILE_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataset/samples_by_leaf.h"
#include "io/range_source.h"
#include "loader/metrics/fetch_times.h"
#include "loader/rows/document_rows.h"
#include "loader/rows/sample_parts.h"
#include "poniente/batch.h"
#include "poniente/byte_reader.h"
#include "poniente/dataset_tree.h"
#include "poniente/extend/infilled_dataset.h"
#include "poniente/task.h"
#include "poniente/token_window.h"
#include "staging/slot_ring.h"

namespace poniente::internal {

// Thread safety: immutable; any number of threads.
class FileRows {
 public:
  // Returns whether all leaves lie in files, and no function makes items.
  static bool CanRead(const DatasetTree& tree);

  struct Options {
    TokenType type = TokenType::kU32;  // of the batch's ids
    // Whether the device widens ids that are stored with one smaller width.
    bool may_widen = false;
    bool reads_slices = false;  // rows are parts of samples
    bool reads_labels = false;  // those that are not in the rows
    // Which documents are rearranged; null if none is.
    const Infillings* infillings = nullptr;
  };
  // Borrows tree and infillings. REQUIRES: CanRead().
  FileRows(const DatasetTree& tree, const Options& options);

  // Returns the type of ids on the host: the batch's, or the one that the
  // device widens from.
  TokenType host_type() const { return host_type_; }
  // Returns the most bytes of an id that is read beside the batch or widened on
  // the device; 0 if all ids are read in place.
  uint32_t widened_from() const { return widened_from_; }

  // What was read for a batch, to be decoded.
  struct PlannedReads;

  // Reads the rows of a batch. `parts` are those of the samples whose rows are
  // read in parts, at least. Reads what `besides` asks for at the same time.
  Task<std::unique_ptr<const PlannedReads>> Read(
      std::span<const LeafPosition> items, const SamplesByLeaf& by_leaf,
      const SampleParts& parts, std::span<const ReadRequest> besides,
      Batch* batch, Slot* slot, FetchTimes* times) const;
  // Makes the rows of what was read, and returns the labels that are not in
  // them. Calls finish(sample) once the row of a sample is complete, which is
  // in the caches then. The other arguments are those of Read().
  absl::StatusOr<std::vector<LabelBesides>> Decode(
      std::span<const LeafPosition> items, const SamplesByLeaf& by_leaf,
      const SampleParts& parts, const PlannedReads& reads,
      const std::function<void(uint32_t)>& finish, Batch* batch) const;

 private:
  // What reading needs from a leaf, side by side.
  struct Leaf {
    const RangeSource* ranges = nullptr;
    const ByteReader* reader = nullptr;
    uint64_t ids = 0;  // they are below this
    uint32_t width = 0;
    bool ids_are_checked = false;  // or none of its width could be refused
    bool items_are_split = false;
    bool reads_parts = false;     // rows are not one piece of the item
    bool counts_in_item = false;  // parts do, instead of in the source
    uint32_t padding_id = 0;
  };
  // Where the bytes of a read belong: tokens from `at` on of a sample.
  struct RowPlace {
    uint32_t leaf = 0;
    uint32_t sample = 0;
    uint32_t at = 0;
  };
  // Returns the width that all leaves share if it is below that of `type`; else
  // 0.
  uint32_t WidthBelow(TokenType type) const;
  absl::StatusOr<PlannedReads> PlanReads(std::span<const LeafPosition> items,
                                         const SamplesByLeaf& by_leaf,
                                         const SampleParts& parts, Batch* batch,
                                         Slot* slot) const;
  // Adds the reads of labels that are not in the rows.
  void PlanLabels(std::span<const LeafPosition> items,
                  const SamplesByLeaf& by_leaf, const SampleParts& parts,
                  PlannedReads* reads) const;
  // Appends where tokens [begin, end) of a part lie.
  void Locate(const LeafPosition& item, uint64_t begin, uint64_t end,
              std::vector<FileRange>* ranges) const;
  absl::StatusOr<std::vector<LabelBesides>> DecodeLabels(
      std::span<const LeafPosition> items, const PlannedReads& reads) const;
  // Widens what read number `i` has read, unless it was read in place.
  absl::Status WidenRead(const LeafPosition& item, const PlannedReads& reads,
                         size_t i, Batch* batch) const;
  // Writes the ids that stand in padding.
  void FillPadding(const Leaf& from, std::span<const SamplePart> parts,
                   uint32_t sample, Batch* batch) const;
  // Writes a mark of a rearranged document.
  void FillMark(const LabelBesides& mark, Batch* batch) const;

  const DatasetTree& tree_;
  const bool reads_labels_;
  std::vector<Leaf> leaves_;
  TokenType host_type_;
  uint32_t widened_from_ = 0;
};

struct FileRows::PlannedReads {
  std::vector<ReadRequest> requests;
  std::vector<RowPlace> places;  // of the first requests, one for each
  // Of labels that are not in the rows, and what they are read into: ids of the
  // widths of their leaves, followed by zeros.
  std::vector<RowPlace> labels;
  std::vector<uint64_t> label_ids;
  // Ids that lie in no file: in the rows, and as labels that are not in them.
  std::vector<LabelBesides> marks;
  std::vector<LabelBesides> label_marks;
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_ROWS_FILE_ROWS_H_
