// SPDX-License-Identifier: Apache-2.0
#include "loader/rows/part_finder.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <limits>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "dataset/leaf_items.h"
#include "io/range_source.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Returns what a leaf's function returns; an exception becomes a status.
template <class Function>
auto Guarded(const Function& function) -> decltype(function()) {
  try {
    return function();
  } catch (...) {
    return StatusFromException(std::current_exception());
  }
}

}  // namespace

absl::Status PartFinder::Check(const DatasetTree& tree,
                               const LoaderOptions& options) {
  const ContextRank& context = options.context;
  if (context.rank >= context.ranks) {
    return absl::InvalidArgumentError(
        absl::StrCat("context-parallel rank ", context.rank,
                     " is not below ranks, ", context.ranks));
  }
  if (options.sharing.even_work && options.documents.attention_across) {
    return absl::InvalidArgumentError(
        "even_work divides samples by the lengths of their documents, but "
        "attention_across makes each sample one document; turn one of them "
        "off");
  }
  if (!options.documents.labels_beyond_sample) return absl::OkStatus();
  for (const TreeLeaf& leaf : tree.leaves()) {
    const auto refused = [&leaf](const char* why) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the label of a sample's last token is to be the token behind the "
          "sample, but ",
          why, " (labels_beyond_sample; source '", leaf.path, "', '",
          leaf.node->name(), "')"));
    };
    if (!leaf.is_plain || leaf.node->ranges() == nullptr) {
      return refused(
          "its windows do not lie in files as they are: a function makes them, "
          "they are of selected documents, lie in compressed files, or are "
          "still being written; leave the function out, pack the documents, or "
          "turn the option off");
    }
    const PiecewiseItems* const pieces = PiecesOf(leaf);
    if (pieces == nullptr) {
      return refused(
          "nobody knows where its documents end; open it with the id that ends "
          "them, or turn the option off");
    }
    if (pieces->items_overlap()) {
      return refused(
          "its windows share tokens, so that some labels would be there twice; "
          "leave overlap out, or turn the option off");
    }
  }
  return absl::OkStatus();
}

PartFinder::PartFinder(const DatasetTree& tree, const LoaderOptions& options,
                       const Infillings* infillings, bool needs_documents,
                       bool reads_files)
    : tree_(tree),
      infillings_(infillings),
      rules_(options.documents),
      context_(options.context),
      needs_all_(needs_documents || options.context.ranks > 1) {
  for (uint32_t number = 0; number < tree.leaves().size(); ++number) {
    const TreeLeaf& leaf = tree.leaves()[number];
    Leaf& added = leaves_.emplace_back();
    added.documents = PiecesOf(leaf);
    added.is_changed = infillings != nullptr && infillings->Changes(number);
    added.reads_pieces =
        reads_files && (leaf.node->ranges()->has_pieces() || added.is_changed);
    reads_pieces_ |= added.reads_pieces;
  }
}

std::string PartFinder::Name(const LeafPosition& item) const {
  return absl::StrCat("documents of '", tree_.leaves()[item.leaf].path,
                      "' item ", item.position.index);
}

absl::StatusOr<bool> PartFinder::Find(std::span<const Sample> samples,
                                      uint32_t seq_len, bool may_read,
                                      SampleParts* found) const {
  found->Clear();
  for (const Sample& sample : samples) {
    PONIENTE_ASSIGN_OR_RETURN(const bool is_found,
                              FindSample(sample, seq_len, may_read, found));
    if (!is_found) return false;
    found->EndSample();
  }
  return true;
}

absl::StatusOr<bool> PartFinder::FindPieces(
    const LeafPosition& item, uint32_t seq_len, bool may_read,
    std::vector<ItemPiece>* pieces) const {
  const PiecewiseItems* const documents = leaves_[item.leaf].documents;
  if (documents == nullptr) {
    // Without documents, tokens are counted in the item.
    pieces->push_back({0, 0, seq_len});
    return true;
  }
  if (may_read) {
    const BusyCall call(tree_.leaves()[item.leaf].node->busy_time());
    absl::StatusOr<std::vector<ItemPiece>> read =
        Guarded([&] { return documents->Pieces(item.position); });
    if (!read.ok()) return Prepend(read.status(), Name(item));
    *pieces = *std::move(read);
  } else {
    const absl::StatusOr<bool> known =
        Guarded([&] { return documents->FindInMemory(item.position, pieces); });
    if (!known.ok()) return Prepend(known.status(), Name(item));
    if (!*known) return false;
  }
  uint64_t tokens = 0;
  for (const ItemPiece& piece : *pieces) {
    const uint64_t length = piece.end - piece.begin;
    if (piece.end <= piece.begin || length > seq_len - tokens) {
      tokens = UINT64_MAX;
      break;
    }
    tokens += length;
  }
  if (tokens == seq_len) return true;
  return absl::InternalError(
      absl::StrCat(Name(item), " do not add up to its ", seq_len, " tokens"));
}

absl::StatusOr<bool> PartFinder::FindSample(const Sample& sample,
                                            uint32_t seq_len, bool may_read,
                                            SampleParts* found) const {
  const LeafPosition& item = sample.item;
  const Leaf& leaf = leaves_[item.leaf];
  if (!needs_all_ && !leaf.reads_pieces) return true;
  std::vector<ItemPiece> pieces;
  PONIENTE_ASSIGN_OR_RETURN(const bool is_found,
                            FindPieces(item, seq_len, may_read, &pieces));
  if (!is_found) return false;
  if (leaf.is_changed) infillings_->Mask(item.leaf, sample.number, pieces);
  absl::InlinedVector<Document, 32> documents(pieces.size());
  uint32_t begin = 0;
  int32_t number = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const bool is_padding = pieces[i].is_padding();
    documents[i] = {pieces[i], begin, is_padding ? -1 : number};
    if (!is_padding) ++number;
    begin = documents[i].end();
    if (!leaf.is_changed) continue;
    std::optional<InfilledPiece> infilled;
    const absl::StatusOr<bool> known =
        infillings_->Find(item.leaf, sample.number, item.position.epoch,
                          pieces[i], may_read, &infilled);
    if (!known.ok()) return Prepend(known.status(), Name(item));
    if (!*known) return false;
    if (infilled.has_value()) documents[i].infilled = found->Add(*infilled);
  }
  bool goes_on = false;
  // Behind a rearranged piece, the token behind the sample is not the next.
  if (rules_.labels_beyond_sample && leaf.documents != nullptr &&
      !pieces.back().is_padding() && documents.back().infilled < 0) {
    const absl::StatusOr<bool> known =
        leaf.documents->FindGoesOn(pieces.back(), may_read, &goes_on);
    if (!known.ok()) return Prepend(known.status(), Name(item));
    if (!*known) return false;
  }
  if (context_.ranks == 1) {
    AddChunk(documents, {0, seq_len}, goes_on, found);
    return true;
  }
  const absl::Status added = AddSlice(documents, seq_len, goes_on, found);
  if (!added.ok()) return Prepend(added, Name(item));
  return true;
}

absl::Status PartFinder::AddSlice(std::span<const Document> documents,
                                  uint32_t seq_len, bool goes_on,
                                  SampleParts* found) const {
  // Aligned documents are divided with their padding. If tokens see all of the
  // sample, it is one document.
  absl::InlinedVector<uint32_t, 32> lengths;
  for (const Document& document : documents) {
    if (rules_.attention_across) break;
    if (document.piece.document == kNoDocument) break;  // the end of the sample
    if (document.piece.document == kAlignmentPadding) {
      lengths.back() += document.length();
    } else {
      lengths.push_back(document.length());
    }
  }
  PONIENTE_ASSIGN_OR_RETURN(const ContextSlice slice,
                            MakeContextSlice(context_.split, seq_len, lengths,
                                             context_.rank, context_.ranks));
  for (const ContextChunk& chunk : slice.chunks) {
    AddChunk(documents, chunk, goes_on, found);
  }
  return absl::OkStatus();
}

void PartFinder::AddChunk(std::span<const Document> documents,
                          const ContextChunk& chunk, bool goes_on,
                          SampleParts* found) const {
  const auto first = std::partition_point(
      documents.begin(), documents.end(), [&chunk](const Document& document) {
        return document.end() <= chunk.begin;
      });
  for (auto i = static_cast<size_t>(first - documents.begin());
       i < documents.size() && documents[i].begin < chunk.end; ++i) {
    found->Add(MakePart(documents, i, chunk, goes_on, *found));
  }
}

SamplePart PartFinder::MakePart(std::span<const Document> documents,
                                size_t number, const ContextChunk& chunk,
                                bool goes_on, const SampleParts& found) const {
  const Document& document = documents[number];
  const uint32_t begin = std::max(chunk.begin, document.begin);
  const uint32_t end = std::min(chunk.end, document.end());
  SamplePart part;
  part.length = end - begin;
  part.begin_in_sample = begin;
  // Padding behind an aligned document belongs to its sequence.
  part.begins_sequence =
      begin == chunk.begin || (!rules_.attention_across &&
                               document.piece.document != kAlignmentPadding);
  if (document.piece.is_padding()) {
    part.kind = SamplePart::Kind::kPadding;
    part.document = -1;
    return part;
  }
  const uint32_t in_document = begin - document.begin;
  part.infilled = document.infilled;
  part.place = in_document;
  part.begin = document.piece.begin + (document.infilled < 0 ? in_document : 0);
  part.document = rules_.attention_across ? 0 : document.number;
  part.position =
      static_cast<int32_t>(rules_.restart_positions ? in_document : begin);
  // The label of the last token: the next one of the document, in the sample or
  // behind it, or the first of the document behind this one.
  const bool is_last = number + 1 == documents.size();
  if (end < document.end() || (is_last && goes_on)) {
    part.last_label = SamplePart::LastLabel::kBesides;
    SetLabel(document, end - document.begin, found, &part);
  } else if (rules_.loss_across && !is_last &&
             !documents[number + 1].piece.is_padding()) {
    part.last_label = end < chunk.end ? SamplePart::LastLabel::kInRow
                                      : SamplePart::LastLabel::kBesides;
    SetLabel(documents[number + 1], 0, found, &part);
  }
  return part;
}

void PartFinder::SetLabel(const Document& document, uint32_t place,
                          const SampleParts& found, SamplePart* part) {
  part->label_token = document.piece.begin + place;
  if (document.infilled < 0) return;
  const InfilledPiece& infilled = found.Infilled(document.infilled);
  part->label_mark = infilled.MarkAt(place);
  part->label_token =
      document.piece.begin + infilled.TokenAt(place).value_or(0);
}

uint64_t MostSequences(uint64_t documents, const LoaderOptions& options) {
  if (options.documents.attention_across) documents = 1;
  if (options.context.ranks == 1) return documents;
  switch (options.context.split) {
    case ContextSplit::kContiguous:
      return documents;
    case ContextSplit::kZigZag:
      return documents + 1;
    case ContextSplit::kZigZagPerDocument:
      return 2 * documents;
  }
  return std::numeric_limits<uint64_t>::max();  // not reached
}

}  // namespace poniente::internal
