// SPDX-License-Identifier: Apache-2.0
#include "store/read/selected_windows.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "poniente/extend/index_map_dataset.h"
#include "poniente/extend/piecewise_items.h"
#include "store/read/piece_reads.h"
#include "store/read/selected_tokens.h"
#include "store/read/source_loss_mask.h"
#include "store/read/token_datasets.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Item w is tokens [w * length, (w + 1) * length) of the concatenation of the
// selected documents.
class SelectedWindows final : public AsyncDataset<TokenWindow>,
                              public PiecewiseItems {
 public:
  SelectedWindows(std::shared_ptr<const TokenSource> store, uint32_t length,
                  SelectedTokens tokens)
      : store_(std::move(store)),
        loss_mask_(*store_),
        length_(length),
        tokens_(std::move(tokens)) {}

  std::string name() const override { return store_->path(); }
  const Vocabulary* vocabulary() const override {
    return store_->known_vocabulary();
  }
  const LossMaskSource* loss_mask() const override { return loss_mask_.get(); }
  bool reads_files() const override { return true; }
  uint32_t padding_id() const override {
    return store_->end_of_document().value_or(0);
  }
  uint64_t fingerprint() const override {
    return Derive(store_->fingerprint(), Tag("selwin"), length_,
                  tokens_.selection().fingerprint());
  }
  LengthState length_now() const override {
    return LengthState::Final(num_items());
  }

  Task<std::vector<TokenWindow>> GetBatch(
      std::span<const Index> indices) const override {
    const std::vector<Position> positions = WholeItems(indices);
    absl::StatusOr<std::vector<TokenWindow>> items = co_await GetAt(positions);
    co_return items;
  }

  Task<std::vector<TokenWindow>> GetAt(
      std::span<const Position> positions) const override {
    absl::StatusOr<std::vector<TokenWindow>> items =
        co_await ReadPieces(*this, *store_, positions, /*padding=*/0);
    co_return items;
  }

  absl::StatusOr<std::vector<ItemPiece>> Pieces(
      const Position& position) const override {
    if (position.index >= num_items()) {
      return CheckReadable(*this, std::span(&position.index, 1));
    }
    const uint64_t begin = position.index * length_;
    PONIENTE_ASSIGN_OR_RETURN(
        const TokenRange part,
        PartOf(*this, TokenRange{begin, begin + length_}, position));
    return tokens_.Pieces(*store_, part.begin, part.end);
  }

  absl::StatusOr<bool> FindEnds(const ItemPiece& piece, bool may_read,
                                PieceEnds* ends) const override {
    return FindPieceEnds(*store_, piece, /*end_tokens=*/0, may_read, ends);
  }
  absl::StatusOr<std::vector<PieceOfItem>> ItemsOf(
      uint64_t document) const override {
    if (document >= store_->num_documents()) {
      return absl::OutOfRangeError(
          absl::StrCat("document ", document, " of '", store_->path(),
                       "', which holds ", store_->num_documents()));
    }
    PONIENTE_ASSIGN_OR_RETURN(const auto place,
                              tokens_.Find(*store_, document));
    if (!place.has_value()) return std::vector<PieceOfItem>();
    return CutIntoItems(place->tokens, place->offset, length_, num_items());
  }

 private:
  uint64_t num_items() const { return tokens_.total() / length_; }

  const std::shared_ptr<const TokenSource> store_;
  const SourceLossMask loss_mask_;
  const uint32_t length_;
  const SelectedTokens tokens_;
};

}  // namespace

absl::StatusOr<DatasetPtr<TokenWindow>> MakeSelectedWindows(
    std::shared_ptr<const TokenSource> store, uint32_t length,
    Selection documents) {
  PONIENTE_ASSIGN_OR_RETURN(
      SelectedTokens tokens,
      SelectedTokens::Create(*store, std::move(documents)));
  return DatasetPtr<TokenWindow>(std::make_shared<SelectedWindows>(
      std::move(store), length, std::move(tokens)));
}

}  // namespace poniente::internal
