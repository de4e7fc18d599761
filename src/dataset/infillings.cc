// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "dataset/joined_path.h"
#include "dataset/leaf_items.h"
#include "index/fim/infilling_draw.h"
#include "index/journal/number_ranges.h"
#include "index/keyed_hash.h"
#include "index/part_at.h"
#include "poniente/extend/infilled_dataset.h"
#include "util/status_macros.h"

namespace poniente {

std::optional<uint64_t> SourceTokenAt(std::span<const ServedPiece> sample,
                                      uint32_t place) {
  for (const ServedPiece& served : sample) {
    if (place >= served.begin + served.tokens()) continue;
    if (served.piece.is_padding()) return std::nullopt;
    std::optional<uint32_t> token = place - served.begin;
    if (served.infilled.has_value()) token = served.infilled->TokenAt(*token);
    if (!token.has_value()) return std::nullopt;
    return served.piece.begin + *token;
  }
  return std::nullopt;
}

std::optional<uint32_t> PlaceOfSourceToken(std::span<const ServedPiece> sample,
                                           uint64_t token) {
  for (const ServedPiece& served : sample) {
    const ItemPiece& piece = served.piece;
    if (piece.is_padding() || token < piece.begin || token >= piece.end) {
      continue;
    }
    std::optional<uint32_t> place = static_cast<uint32_t>(token - piece.begin);
    if (served.infilled.has_value()) place = served.infilled->PlaceOf(*place);
    // Pieces of packed documents may share a token.
    if (place.has_value()) return served.begin + *place;
  }
  return std::nullopt;
}

}  // namespace poniente

namespace poniente::internal {

namespace {

struct AddedPath {
  uint64_t added;  // the last change that added a node on the way
  std::string path;
};

void AppendNamePaths(const DatasetNode& node, const AddedPath& at,
                     std::vector<AddedPath>* paths) {
  const std::vector<NamedNode> children = node.children();
  if (children.empty()) paths->push_back(at);
  for (const NamedNode& child : children) {
    if (child.shares_sources) continue;
    AppendNamePaths(
        *child.node,
        {std::max(at.added, child.added), JoinedPath(at.path, child.name)},
        paths);
  }
}

}  // namespace

std::vector<std::string> NamePaths(const DatasetNode& root) {
  std::vector<AddedPath> found;
  AppendNamePaths(root, {0, ""}, &found);
  std::stable_sort(
      found.begin(), found.end(),
      [](const AddedPath& a, const AddedPath& b) { return a.added < b.added; });
  std::vector<std::string> paths;
  paths.reserve(found.size());
  for (AddedPath& one : found) paths.push_back(std::move(one.path));
  return paths;
}

Infillings::Infillings(const DatasetNode& root, const DatasetTree& tree,
                       std::vector<InfilledSource> sources,
                       std::vector<MaskedDocuments> masks, uint64_t seed)
    : sources_(std::move(sources)), masks_(std::move(masks)) {
  for (size_t i = 0; i < sources_.size(); ++i) {
    const InfilledSource& source = sources_[i];
    by_path_[source.path] = i;
    Rule& rule = rules_.emplace_back();
    rule.key = InfillingKey(seed, source.path);
    rule.bounds.push_back({0, InfillingBound(source.options.rate)});
    for (const InfillingRate& rate : source.rates) {
      rule.bounds.push_back({rate.start_sample, InfillingBound(rate.rate)});
    }
    max_id_ = std::max({max_id_, source.options.prefix, source.options.middle,
                        source.options.suffix});
  }
  for (const std::string& path : NamePaths(root)) {
    const auto source = by_path_.find(path);
    source_of_.push_back(
        source == by_path_.end() ? -1 : static_cast<int32_t>(source->second));
    std::vector<uint32_t>& of_leaf = masks_of_.emplace_back();
    for (uint32_t m = 0; m < masks_.size(); ++m) {
      if (masks_[m].path == path) of_leaf.push_back(m);
    }
  }
  for (const TreeLeaf& leaf : tree.leaves()) {
    pieces_.push_back(internal::PiecesOf(leaf));
  }
}

const InfilledSource* Infillings::SourceOf(uint32_t leaf) const {
  const int32_t source = source_of_[leaf];
  return source < 0 ? nullptr : &sources_[static_cast<size_t>(source)];
}

bool Infillings::IsMasked(uint32_t leaf, uint64_t sample,
                          uint64_t document) const {
  for (const uint32_t number : masks_of_[leaf]) {
    const MaskedDocuments& mask = masks_[number];
    if (sample < mask.start_sample) continue;
    if (internal::HasNumber(*mask.documents, document)) return true;
  }
  return false;
}

void Infillings::Mask(uint32_t leaf, uint64_t sample,
                      std::span<ItemPiece> pieces) const {
  if (masks_of_[leaf].empty()) return;
  for (ItemPiece& piece : pieces) {
    if (piece.is_padding() || !IsMasked(leaf, sample, piece.document)) continue;
    piece.document = kMaskedDocument;
  }
}

double Infillings::RateAt(const InfilledSource& source, uint64_t sample) {
  double rate = source.options.rate;
  for (const InfillingRate& later : source.rates) {
    if (later.start_sample > sample) break;
    rate = later.rate;
  }
  return rate;
}

absl::StatusOr<bool> Infillings::Find(
    uint32_t leaf, uint64_t sample, uint64_t epoch, const ItemPiece& piece,
    bool may_read, std::optional<InfilledPiece>* found) const {
  found->reset();
  const int32_t source = source_of_[leaf];
  const uint64_t tokens = piece.end - piece.begin;
  if (source < 0 || piece.is_padding()) return true;
  const InfillingOptions& options =
      sources_[static_cast<size_t>(source)].options;
  if (tokens < options.min_tokens) return true;
  const Rule& rule = rules_[static_cast<size_t>(source)];
  const uint64_t bound =
      PartAt(std::span(rule.bounds), sample, &Rule::Bound::start_sample).bound;
  InfillingDraw draw(rule.key, epoch, piece.document, piece.begin);
  if (!draw.IsChosen(bound)) return true;
  PieceEnds ends;
  PONIENTE_ASSIGN_OR_RETURN(const bool is_known,
                            pieces_[leaf]->FindEnds(piece, may_read, &ends));
  if (!is_known) return false;
  if (options.pieces == InfilledPieces::kWhole && !ends.is_whole) return true;
  *found = draw.Make(options, static_cast<uint32_t>(tokens),
                     ends.begins_with_id, ends.ends_with_id);
  return true;
}

uint64_t Infillings::PastOf(std::string_view path, uint64_t last_sample) const {
  uint64_t past = PastOfInfilling(path, last_sample);
  for (const MaskedDocuments& mask : masks_) {
    if (mask.path != path || mask.start_sample > last_sample) continue;
    KeyHash hash(past);
    hash.Add(Tag("mask")).Add(mask.start_sample);
    for (const NumberRange& range : *mask.documents) {
      hash.Add(range.begin).Add(range.end);
    }
    past = hash.key();
  }
  return past;
}

uint64_t Infillings::PastOfInfilling(std::string_view path,
                                     uint64_t last_sample) const {
  const auto source = by_path_.find(path);
  if (source == by_path_.end()) return 0;
  const InfillingOptions& options = sources_[source->second].options;
  const Rule& rule = rules_[source->second];
  KeyHash hash(rule.key);
  bool is_served = false;
  for (size_t i = 0; i < rule.bounds.size(); ++i) {
    if (rule.bounds[i].start_sample > last_sample) break;
    // A rate that changes nothing is none.
    if (i > 0 && rule.bounds[i].bound == rule.bounds[i - 1].bound) continue;
    hash.Add(rule.bounds[i].start_sample).Add(rule.bounds[i].bound);
    is_served |= rule.bounds[i].bound > 0;
  }
  if (!is_served) return 0;
  hash.Add(InfillingBound(options.spm_rate))
      .Add(options.prefix)
      .Add(options.middle)
      .Add(options.suffix)
      .Add(static_cast<uint64_t>(options.pieces))
      .Add(options.min_tokens);
  return hash.key();
}

}  // namespace poniente::internal
