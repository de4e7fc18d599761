// SPDX-License-Identifier: Apache-2.0
// A node that serves documents filled in the middle (docs/fim.md).

#ifndef PONIENTE_EXTEND_INFILLED_DATASET_H_
#define PONIENTE_EXTEND_INFILLED_DATASET_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/async_dataset.h"
#include "poniente/dataset_tree.h"
#include "poniente/extend/infilled_piece.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/journal.h"
#include "poniente/token_window.h"

namespace poniente {

// The rate of a source from a sample of the run on.
struct InfillingRate {
  uint64_t start_sample = 0;
  double rate = 0;

  friend bool operator==(const InfillingRate&, const InfillingRate&) = default;
};

// How the documents of a source are served.
struct InfilledSource {
  // The names that lead to it, joined by '/', as in TreeLeaf::path; empty if no
  // node has a name. All leaves of this path are meant: views of a component.
  std::string path = {};
  InfillingOptions options = {};
  // Rates from later samples on, in place of options.rate; by ascending start,
  // all above 0.
  std::vector<InfillingRate> rates = {};
  // It was added while the run went on, so it is not part of the fingerprint.
  bool is_added = false;

  friend bool operator==(const InfilledSource&,
                         const InfilledSource&) = default;
};

// Documents of a source that are served as padding from a sample of the run on:
// without loss, and without attention from or to other tokens.
struct MaskedDocuments {
  std::string path = {};  // as InfilledSource::path
  uint64_t start_sample = 0;
  // Ascending, and none next to another.
  std::shared_ptr<const std::vector<NumberRange>> documents = nullptr;
};

// A piece of a sample, from place `begin` of the sample on.
struct ServedPiece {
  ItemPiece piece = {};
  uint32_t begin = 0;
  // How it is served; nullopt: as it is.
  std::optional<InfilledPiece> infilled = std::nullopt;

  uint32_t tokens() const {
    return static_cast<uint32_t>(piece.end - piece.begin);
  }
  friend bool operator==(const ServedPiece&, const ServedPiece&) = default;
};

// Returns the token of the source that is served at a place of a sample;
// nullopt for a mark, for padding, and behind the sample's end.
std::optional<uint64_t> SourceTokenAt(std::span<const ServedPiece> sample,
                                      uint32_t place);
// Returns where a sample serves a token of the source; nullopt if it does not.
std::optional<uint32_t> PlaceOfSourceToken(std::span<const ServedPiece> sample,
                                           uint64_t token);

namespace internal {

// Returns the names that lead to each leaf, in the order of
// DatasetTree::leaves(): never where it lies.
std::vector<std::string> NamePaths(const DatasetNode& root);

// What an InfilledDataset does to the samples of its sources.
//
// Determinism: pure.
// Ownership: borrows the nodes of the tree.
// Thread safety: immutable; any number of threads.
class Infillings {
 public:
  // `tree`: of `root`, the node's child. REQUIRES: sources and masks have been
  // checked.
  Infillings(const DatasetNode& root, const DatasetTree& tree,
             std::vector<InfilledSource> sources,
             std::vector<MaskedDocuments> masks, uint64_t seed);

  std::span<const InfilledSource> sources() const { return sources_; }
  std::span<const MaskedDocuments> masks() const { return masks_; }
  // Returns whether pieces of the leaf may be served otherwise than they are.
  bool Changes(uint32_t leaf) const {
    return source_of_[leaf] >= 0 || !masks_of_[leaf].empty();
  }
  // Returns whether a sample serves a document of the leaf as padding.
  bool IsMasked(uint32_t leaf, uint64_t sample, uint64_t document) const;
  // Turns the pieces of an item of the leaf that a sample serves as padding
  // into padding.
  void Mask(uint32_t leaf, uint64_t sample, std::span<ItemPiece> pieces) const;
  // Returns the source of a leaf; null if its documents are served as they are.
  const InfilledSource* SourceOf(uint32_t leaf) const;
  // Returns the rate of a source in a sample.
  static double RateAt(const InfilledSource& source, uint64_t sample);
  // Returns the greatest id of a mark.
  uint32_t max_id() const { return max_id_; }

  // Sets `found` to how a piece of the leaf is served in a sample. Returns
  // false if that takes a read and `may_read` is false.
  absl::StatusOr<bool> Find(uint32_t leaf, uint64_t sample, uint64_t epoch,
                            const ItemPiece& piece, bool may_read,
                            std::optional<InfilledPiece>* found) const;

  // Returns a hash of what decides how a source is served up to a sample, masks
  // included; 0 if it is served as it is.
  uint64_t PastOf(std::string_view path, uint64_t last_sample) const;

 private:
  uint64_t PastOfInfilling(std::string_view path, uint64_t last_sample) const;

  struct Rule {
    struct Bound {
      uint64_t start_sample = 0;
      uint64_t bound = 0;
    };
    uint64_t key = 0;
    std::vector<Bound> bounds;  // the first one from sample 0 on
  };

  const std::vector<InfilledSource> sources_;
  const std::vector<MaskedDocuments> masks_;
  std::vector<std::vector<uint32_t>> masks_of_;  // by leaf
  std::vector<Rule> rules_;                      // by source
  std::vector<int32_t> source_of_;               // by leaf; -1: none
  std::vector<const PiecewiseItems*> pieces_;    // by leaf
  std::map<std::string, size_t, std::less<>> by_path_;
  uint32_t max_id_ = 0;
};

}  // namespace internal

// The samples of a dataset, in which some pieces of documents are served
// rearranged, with marks: prefix, suffix, middle. Each piece stays where it is
// and as long as it is, so that nothing but ids changes. Documents that are
// masked are padding instead.
//
// Loaders know it as the root of a tree: they read the tokens where they are
// served, and tensors follow the documents. Below other nodes it works too, but
// there its items count as made by a function.
//
// Determinism: seed, path of the source, epoch of the leaf, document and first
//     token of the piece decide whether and how it is rearranged, and the
//     number of the sample which rate applies. Batch size, ranks, threads and
//     backend never do.
// Errors: InvalidArgument for options out of range, paths that no leaf has,
//     leaves that do not know their documents or have a loss mask, and ids that
//     the vocabulary does not have.
// Ownership, threads, cancellation: as AsyncDataset.
class InfilledDataset final : public AsyncDataset<TokenWindow> {
 public:
  static absl::StatusOr<DatasetPtr<TokenWindow>> Create(
      DatasetPtr<TokenWindow> child, std::vector<InfilledSource> sources);

  // Returns the dataset with further documents masked: an InfilledDataset
  // itself, or another dataset, which keeps its seed. InvalidArgument if no
  // leaf has the path, or one does not know its documents; OutOfRange if a
  // document does not exist; errors of reads.
  static absl::StatusOr<DatasetPtr<TokenWindow>> WithMask(
      const DatasetPtr<TokenWindow>& dataset, MaskedDocuments masked);

  // For Create() and copies. `child` is under the seed.
  InfilledDataset(DatasetPtr<TokenWindow> child,
                  std::vector<InfilledSource> sources,
                  std::vector<MaskedDocuments> masks, uint64_t seed);

  std::string name() const override { return "fill_in_the_middle"; }
  std::vector<NamedNode> children() const override {
    return {{"", child_.get()}};
  }
  std::shared_ptr<const IndexMap> map() const override;
  bool makes_items() const override { return true; }
  bool keeps_pieces() const override { return true; }
  const Vocabulary* vocabulary() const override { return child_->vocabulary(); }
  uint32_t item_tokens() const override { return child_->item_tokens(); }
  uint64_t fingerprint() const override;
  std::optional<NodeIdentity> identity() const override;
  LengthState length_now() const override { return child_->length_now(); }

  Task<std::vector<TokenWindow>> GetBatch(
      std::span<const Index> indices) const override;
  Task<std::vector<TokenWindow>> GetAt(
      std::span<const Position> positions) const override;
  Task<uint64_t> WaitForLength(uint64_t n) const override {
    return internal::AskLength(child_, n);
  }
  DatasetPtr<TokenWindow> WithSeed(uint64_t seed) const override;

  const internal::Infillings& infillings() const { return infillings_; }
  const DatasetPtr<TokenWindow>& child() const { return child_; }
  // Returns the same node over another dataset with the same leaves. REQUIRES:
  // it has the seed of the child.
  DatasetPtr<TokenWindow> Over(DatasetPtr<TokenWindow> child) const;
  // Does the same for a dataset with further leaves, of which these sources are
  // infilled, too. Errors as Create().
  absl::StatusOr<DatasetPtr<TokenWindow>> Over(
      DatasetPtr<TokenWindow> child, std::vector<InfilledSource> further) const;

  // Returns what a sample serves, in order: its pieces, and padding. Empty if
  // its leaf does not know its documents. May read, and block meanwhile. Errors
  // as DatasetTree::Resolve() and PiecewiseItems.
  absl::StatusOr<std::vector<ServedPiece>> ServedPieces(
      const Position& sample) const;

 private:
  absl::StatusOr<std::vector<ServedPiece>> PiecesAt(
      uint64_t sample, const LeafPosition& item) const;
  absl::Status Apply(std::span<const Position> positions,
                     std::vector<TokenWindow>* items) const;
  std::vector<InfilledSource> Sources() const;
  std::vector<MaskedDocuments> Masks() const;

  const DatasetPtr<TokenWindow> child_;
  const uint64_t seed_;
  const DatasetTree tree_;  // of the child
  const internal::Infillings infillings_;
};

// Returns null unless `node` is an InfilledDataset.
inline const InfilledDataset* InfilledOf(const DatasetNode& node) {
  return dynamic_cast<const InfilledDataset*>(&node);
}

}  // namespace poniente

#endif  // PONIENTE_EXTEND_INFILLED_DATASET_H_
