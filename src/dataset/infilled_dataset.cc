// SPDX-License-Identifier: Apache-2.0
#include "poniente/extend/infilled_dataset.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataset/leaf_items.h"
#include "index/keyed_hash.h"
#include "poniente/extend/index_map_dataset.h"
#include "poniente/mapped_dataset.h"
#include "util/nearest_name.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

absl::Status CheckRates(const InfilledSource& source) {
  PONIENTE_RETURN_IF_ERROR(CheckInfillingOptions(source.options));
  uint64_t before = 0;
  for (const InfillingRate& rate : source.rates) {
    if (rate.start_sample <= before) {
      return absl::InvalidArgumentError(absl::StrCat(
          "rates of fill_in_the_middle must begin one after the other, after "
          "sample ",
          before, ", got sample ", rate.start_sample));
    }
    before = rate.start_sample;
    InfillingOptions changed = source.options;
    changed.rate = rate.rate;
    PONIENTE_RETURN_IF_ERROR(CheckInfillingOptions(changed));
  }
  return absl::OkStatus();
}

absl::Status CheckLeaf(const TreeLeaf& leaf, const InfilledSource& source) {
  const auto refused = [&leaf](const auto&... why) {
    return absl::InvalidArgumentError(
        absl::StrCat("documents of '", leaf.path, "' ('", leaf.node->name(),
                     "') cannot be filled in the middle: ", why...));
  };
  if (internal::PiecesOf(leaf) == nullptr) {
    return refused(
        leaf.is_plain
            ? "nobody knows where they end; state the id that ends them "
              "(document_end), or fill_in_the_middle = false"
            : "a function makes other items of its windows, and nobody knows "
              "where documents are in these; leave the function out, or state "
              "fill_in_the_middle = false");
  }
  if (leaf.node->loss_mask() != nullptr) {
    return refused(
        "it says which of its tokens have loss, and marks are none of them; "
        "pack the source again without a loss mask (poniente pack --loss-mask "
        "drop), or state fill_in_the_middle = false");
  }
  const Vocabulary* const vocabulary = leaf.node->vocabulary();
  if (vocabulary == nullptr) return absl::OkStatus();
  const InfillingOptions& options = source.options;
  for (const uint32_t id : {options.prefix, options.middle, options.suffix}) {
    if (id < vocabulary->size) continue;
    return refused("id ", id, " is not below ", vocabulary->size,
                   ", the size of the vocabulary '", vocabulary->tokenizer,
                   "'; give ids that the tokenizer has, or state the whole "
                   "vocab_size when the source is packed");
  }
  return absl::OkStatus();
}

absl::Status CheckSources(const DatasetNode& root,
                          std::span<const InfilledSource> sources) {
  const DatasetTree tree(root);
  const std::vector<std::string> paths = internal::NamePaths(root);
  std::set<std::string_view> seen;
  for (const InfilledSource& source : sources) {
    if (!seen.insert(source.path).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "fill_in_the_middle is stated twice for '", source.path, "'"));
    }
    PONIENTE_RETURN_IF_ERROR(
        internal::PrependName(CheckRates(source), source.path));
    bool is_known = false;
    for (size_t leaf = 0; leaf < paths.size(); ++leaf) {
      if (paths[leaf] != source.path) continue;
      is_known = true;
      PONIENTE_RETURN_IF_ERROR(CheckLeaf(tree.leaves()[leaf], source));
    }
    if (is_known) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("fill_in_the_middle is stated for '", source.path,
                     "', but no source has this path",
                     internal::DidYouMean(source.path, paths)));
  }
  return absl::OkStatus();
}

absl::Status CheckMask(const DatasetNode& root, const MaskedDocuments& mask) {
  const DatasetTree tree(root);
  const std::vector<std::string> paths = internal::NamePaths(root);
  bool is_known = false;
  for (size_t leaf = 0; leaf < paths.size(); ++leaf) {
    if (paths[leaf] != mask.path) continue;
    is_known = true;
    const PiecewiseItems* const pieces =
        internal::PiecesOf(tree.leaves()[leaf]);
    if (pieces == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("documents of '", mask.path,
                       "' cannot be masked: nobody knows where they end, or a "
                       "function makes "
                       "other items of its windows"));
    }
    PONIENTE_RETURN_IF_ERROR(
        pieces->ItemsOf(mask.documents->back().end - 1).status());
  }
  if (is_known) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("no source has the path '", mask.path, "'",
                   internal::DidYouMean(mask.path, paths)));
}

// The order in which they are stated makes no difference.
void SortByPath(std::vector<InfilledSource>* sources) {
  std::sort(sources->begin(), sources->end(),
            [](const InfilledSource& a, const InfilledSource& b) {
              return a.path < b.path;
            });
}

void AddRule(const InfilledSource& source, internal::KeyHash* hash) {
  const InfillingOptions& options = source.options;
  hash->Add(std::string_view(source.path))
      .Add(std::bit_cast<uint64_t>(options.rate))
      .Add(std::bit_cast<uint64_t>(options.spm_rate))
      .Add(options.prefix)
      .Add(options.middle)
      .Add(options.suffix)
      .Add(static_cast<uint64_t>(options.pieces))
      .Add(options.min_tokens);
}

void Rearrange(const ServedPiece& served, std::vector<uint32_t>* tokens) {
  const auto begin = tokens->begin() + served.begin;
  const std::vector<uint32_t> piece(begin, begin + served.tokens());
  for (const InfilledPiece::Run& run : served.infilled->runs()) {
    if (run.id.has_value()) {
      *(begin + run.begin) = *run.id;
    } else {
      std::copy_n(piece.begin() + run.from, run.length, begin + run.begin);
    }
  }
}

}  // namespace

absl::StatusOr<DatasetPtr<TokenWindow>> InfilledDataset::Create(
    DatasetPtr<TokenWindow> child, std::vector<InfilledSource> sources) {
  if (child == nullptr) {
    return absl::InvalidArgumentError("fill_in_the_middle: has no dataset");
  }
  SortByPath(&sources);
  PONIENTE_RETURN_IF_ERROR(CheckSources(*child, sources));
  return DatasetPtr<TokenWindow>(
      std::make_shared<InfilledDataset>(child->WithSeed(0), std::move(sources),
                                        std::vector<MaskedDocuments>(), 0));
}

absl::StatusOr<DatasetPtr<TokenWindow>> InfilledDataset::WithMask(
    const DatasetPtr<TokenWindow>& dataset, MaskedDocuments masked) {
  const InfilledDataset* const infilled = InfilledOf(*dataset);
  const DatasetPtr<TokenWindow> child =
      infilled == nullptr ? dataset : infilled->child();
  PONIENTE_RETURN_IF_ERROR(CheckMask(*child, masked));
  std::vector<MaskedDocuments> masks;
  if (infilled != nullptr) masks = infilled->Masks();
  masks.push_back(std::move(masked));
  if (infilled == nullptr) {
    return std::make_shared<InfilledDataset>(
        child, std::vector<InfilledSource>(), std::move(masks), 0);
  }
  return std::make_shared<InfilledDataset>(child, infilled->Sources(),
                                           std::move(masks), infilled->seed_);
}

InfilledDataset::InfilledDataset(DatasetPtr<TokenWindow> child,
                                 std::vector<InfilledSource> sources,
                                 std::vector<MaskedDocuments> masks,
                                 uint64_t seed)
    : child_(std::move(child)),
      seed_(seed),
      tree_(*child_),
      infillings_(*child_, tree_, std::move(sources), std::move(masks), seed) {}

std::shared_ptr<const IndexMap> InfilledDataset::map() const {
  return internal::TransparentMap(child_->length_now());
}

uint64_t InfilledDataset::fingerprint() const {
  const auto sources = infillings_.sources();
  const bool is_described = std::any_of(
      sources.begin(), sources.end(),
      [](const InfilledSource& source) { return !source.is_added; });
  // Masks came while the run went on.
  if (!is_described) return child_->fingerprint();
  internal::KeyHash hash(child_->fingerprint());
  hash.Add(internal::kInfillingTag).Add(seed_);
  for (const InfilledSource& source : infillings_.sources()) {
    if (!source.is_added) AddRule(source, &hash);
  }
  return hash.key();
}

std::optional<NodeIdentity> InfilledDataset::identity() const {
  internal::KeyHash hash(0);
  hash.Add(internal::kInfillingTag);
  for (const InfilledSource& source : infillings_.sources()) {
    AddRule(source, &hash);
    for (const InfillingRate& rate : source.rates) {
      hash.Add(rate.start_sample).Add(std::bit_cast<uint64_t>(rate.rate));
    }
  }
  return NodeIdentity{.parameters = hash.key()};
}

std::vector<InfilledSource> InfilledDataset::Sources() const {
  return {infillings_.sources().begin(), infillings_.sources().end()};
}

std::vector<MaskedDocuments> InfilledDataset::Masks() const {
  return {infillings_.masks().begin(), infillings_.masks().end()};
}

DatasetPtr<TokenWindow> InfilledDataset::WithSeed(uint64_t seed) const {
  if (seed == seed_) return shared_from_this();
  return std::make_shared<InfilledDataset>(child_->WithSeed(seed), Sources(),
                                           Masks(), seed);
}

DatasetPtr<TokenWindow> InfilledDataset::Over(
    DatasetPtr<TokenWindow> child) const {
  return std::make_shared<InfilledDataset>(std::move(child), Sources(), Masks(),
                                           seed_);
}

absl::StatusOr<DatasetPtr<TokenWindow>> InfilledDataset::Over(
    DatasetPtr<TokenWindow> child, std::vector<InfilledSource> further) const {
  std::vector<InfilledSource> sources = Sources();
  sources.insert(sources.end(), further.begin(), further.end());
  SortByPath(&sources);
  PONIENTE_RETURN_IF_ERROR(CheckSources(*child, sources));
  return std::make_shared<InfilledDataset>(std::move(child), std::move(sources),
                                           Masks(), seed_);
}

absl::StatusOr<std::vector<ServedPiece>> InfilledDataset::PiecesAt(
    uint64_t sample, const LeafPosition& item) const {
  std::vector<ServedPiece> served;
  const PiecewiseItems* const leaf =
      internal::PiecesOf(tree_.leaves()[item.leaf]);
  if (leaf == nullptr) return served;
  PONIENTE_ASSIGN_OR_RETURN(std::vector<ItemPiece> pieces,
                            leaf->Pieces(item.position));
  infillings_.Mask(item.leaf, sample, pieces);
  uint32_t begin = 0;
  for (const ItemPiece& piece : pieces) {
    ServedPiece& one = served.emplace_back();
    one.piece = piece;
    one.begin = begin;
    begin += one.tokens();
    PONIENTE_RETURN_IF_ERROR(infillings_
                                 .Find(item.leaf, sample, item.position.epoch,
                                       piece,
                                       /*may_read=*/true, &one.infilled)
                                 .status());
  }
  return served;
}

absl::StatusOr<std::vector<ServedPiece>> InfilledDataset::ServedPieces(
    const Position& sample) const {
  LeafPosition item;
  PONIENTE_RETURN_IF_ERROR(
      tree_.Resolve(std::span(&sample, 1), std::span(&item, 1)));
  return PiecesAt(sample.index, item);
}

absl::Status InfilledDataset::Apply(std::span<const Position> positions,
                                    std::vector<TokenWindow>* items) const {
  std::vector<LeafPosition> leaves(positions.size());
  PONIENTE_RETURN_IF_ERROR(tree_.Resolve(positions, leaves));
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (!infillings_.Changes(leaves[i].leaf)) continue;
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<ServedPiece> served,
                              PiecesAt(positions[i].index, leaves[i]));
    std::vector<uint32_t>* const tokens = &(*items)[i].tokens;
    const size_t end =
        served.empty() ? 0 : served.back().begin + served.back().tokens();
    if (end != tokens->size()) {
      return absl::InternalError(
          absl::StrCat("documents of '", tree_.leaves()[leaves[i].leaf].path,
                       "' item ", leaves[i].position.index, " have ", end,
                       " tokens, the item ", tokens->size()));
    }
    const uint32_t padding =
        internal::PiecesOf(tree_.leaves()[leaves[i].leaf])->padding_id();
    for (const ServedPiece& one : served) {
      if (one.infilled.has_value()) Rearrange(one, tokens);
      if (one.piece.document != kMaskedDocument) continue;
      std::fill_n(tokens->begin() + one.begin, one.tokens(), padding);
    }
  }
  return absl::OkStatus();
}

Task<std::vector<TokenWindow>> InfilledDataset::GetBatch(
    std::span<const Index> indices) const {
  const std::vector<Position> positions = internal::WholeItems(indices);
  absl::StatusOr<std::vector<TokenWindow>> items = co_await GetAt(positions);
  co_return items;
}

Task<std::vector<TokenWindow>> InfilledDataset::GetAt(
    std::span<const Position> positions) const {
  // A part is cut from the whole item as it is served.
  const std::vector<Position> whole = internal::WithoutParts(positions);
  absl::StatusOr<std::vector<TokenWindow>> items =
      co_await internal::Ask(child_, std::span<const Position>(whole));
  if (!items.ok()) co_return items.status();
  if (items->size() != positions.size()) {
    co_return internal::CountError(child_->name(), items->size(),
                                   positions.size());
  }
  const internal::BusyCall call(this->busy_time());
  absl::Status applied = Apply(whole, &*items);
  if (!applied.ok()) co_return applied;
  absl::Status cut = internal::CutToParts(*this, positions, &*items);
  if (!cut.ok()) co_return cut;
  co_return items;
}

}  // namespace poniente
