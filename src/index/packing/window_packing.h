// SPDX-License-Identifier: Apache-2.0
// Which documents each packed window holds, and the other way round. From the
// lengths of the documents alone (docs/packing.md).

#ifndef PONIENTE_INDEX_PACKING_WINDOW_PACKING_H_
#define PONIENTE_INDEX_PACKING_WINDOW_PACKING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "index/packing/bin_plan.h"
#include "index/packing/length_histogram.h"
#include "poniente/packing.h"
#include "util/rounding.h"

namespace poniente::internal {

// Tokens [begin, begin + length) of a document, at tokens [offset, offset +
// length) of a window.
struct PackedPiece {
  uint64_t ordinal = 0;  // of the document, by length (LengthHistogram)
  uint64_t document_length = 0;
  uint64_t begin = 0;
  uint32_t length = 0;
  uint32_t offset = 0;

  friend bool operator==(const PackedPiece&, const PackedPiece&) = default;
};

// The same, seen from the document.
struct PackedPlace {
  uint64_t window = 0;
  uint64_t begin = 0;
  uint32_t length = 0;
  uint32_t offset = 0;

  friend bool operator==(const PackedPlace&, const PackedPlace&) = default;
};

// One epoch's order: a key, or none for the stored order.
struct PackingOrder {
  PackingOrder() = default;
  PackingOrder(uint64_t seed, uint64_t epoch);

  // Returns the order inside of chunk number `chunk`, where documents are
  // packed by chunks.
  PackingOrder OfChunk(uint64_t chunk) const;

  bool is_shuffled = false;
  uint64_t key = 0;

  friend bool operator==(const PackingOrder&, const PackingOrder&) = default;
};

// Every piece of every document that the options do not drop is in exactly one
// window of each epoch. Which documents share a window, where they lie in it,
// and which window comes when, differ between epochs; how many pieces of which
// sizes a window has does not.
//
// Determinism: a pure function of histogram, window length, options, seed and
//     epoch. Golden values pin it.
// Thread safety: immutable; any number of threads.
// Complexity: O(log windows + pieces of the window) in either direction.
class WindowPacking {
 public:
  // InvalidArgument, with values and remedy: options out of range or in
  // contradiction, more than 2^60 tokens, a document too long if they are
  // refused.
  static absl::StatusOr<WindowPacking> Create(LengthHistogram histogram,
                                              uint32_t window_tokens,
                                              const PackingOptions& options);

  uint64_t num_windows() const { return num_full_ + plan_->num_bins(); }
  uint32_t window_tokens() const { return window_tokens_; }
  const PackingSummary& summary() const { return summary_; }
  const LengthHistogram& histogram() const { return histogram_; }
  const BinPlan& plan() const { return *plan_; }

  // Appends the pieces of a window in the order of their offsets. REQUIRES:
  // window < num_windows().
  void AppendPieces(uint64_t window, const PackingOrder& order,
                    std::vector<PackedPiece>* pieces) const;
  // Appends the places of a document in the order of its tokens; none if it is
  // dropped. REQUIRES: ordinal < histogram().num_documents().
  void AppendPlaces(uint64_t ordinal, const PackingOrder& order,
                    std::vector<PackedPlace>* places) const;

  // Bins are the windows before they are put in order: full pieces first, then
  // those of the plan. Return the bin of a window, and the window of a bin.
  // REQUIRE: it is below num_windows().
  uint64_t BinAt(uint64_t window, const PackingOrder& order) const;
  // Puts the bin of each window in its place.
  void ToBins(std::span<uint64_t> windows, const PackingOrder& order) const;
  uint64_t WindowOf(uint64_t bin, const PackingOrder& order) const;
  // The same for bins instead of windows.
  void AppendBinPieces(uint64_t bin, const PackingOrder& order,
                       std::vector<PackedPiece>* pieces) const;
  // PackedPlace::window is the bin.
  void AppendBinPlaces(uint64_t ordinal, const PackingOrder& order,
                       std::vector<PackedPlace>* places) const;
  // Returns the sum of the squared lengths of a bin's pieces, each with its
  // padding up to a multiple of `align`. See BinSquares for many of them.
  uint64_t SquaredLengthsOfBin(uint64_t bin) const;

 private:
  // Members of a class that come from documents of one length.
  struct Segment {
    uint64_t first_member = 0;
    uint64_t length_index = 0;
  };
  struct Item;

  WindowPacking(LengthHistogram histogram, uint32_t window_tokens,
                const PackingOptions& options);

  absl::Status CheckDocuments() const;
  void MakeClasses();
  void Summarise();

  // Returns the number of full windows that a document of `length` fills before
  // its last piece.
  uint64_t FullPiecesOf(uint64_t length) const;
  // Returns the last piece of such a document, with offset 0; of length 0 if it
  // is dropped.
  PackedPiece TailOf(uint64_t length) const;
  uint32_t UnitsOf(uint32_t tail_tokens) const {
    return static_cast<uint32_t>(CeilDivide(tail_tokens, options_.align));
  }
  // Returns the number of the class of this size. REQUIRES: it exists.
  size_t ClassOf(uint32_t units) const;

  std::span<const Segment> SegmentsOf(size_t class_index) const {
    return std::span(segments_).subspan(
        first_segment_[class_index],
        first_segment_[class_index + 1] - first_segment_[class_index]);
  }

  PackedPiece FullPiece(uint64_t number) const;
  // Returns the items of bin `bin` of the plan: largest first, as laid.
  std::vector<Item> ItemsOf(uint64_t bin, const PackingOrder& order) const;
  PackedPiece MemberPiece(size_t class_index, uint64_t member) const;
  // Returns the bin and offset of the last piece of a document.
  PackedPlace TailPlace(uint64_t ordinal, size_t length_index,
                        const PackedPiece& tail,
                        const PackingOrder& order) const;

  LengthHistogram histogram_;
  uint32_t window_tokens_;
  PackingOptions options_;
  // Lengths from this index on have full pieces; before those of index
  // first_long_ + i there are full_before_[i].
  size_t first_long_ = 0;
  std::vector<uint64_t> full_before_;
  uint64_t num_full_ = 0;
  // By class, then by length; where each class begins, and the end.
  std::vector<Segment> segments_;
  std::vector<uint32_t> first_segment_;
  std::shared_ptr<const BinPlan> plan_;
  PackingSummary summary_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_PACKING_WINDOW_PACKING_H_
