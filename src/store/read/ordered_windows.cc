// SPDX-License-Identifier: Apache-2.0
#include "store/read/ordered_windows.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "poniente/extend/index_map_dataset.h"
#include "poniente/extend/piecewise_items.h"
#include "store/read/ordered_tokens.h"
#include "store/read/piece_reads.h"
#include "store/read/source_loss_mask.h"
#include "store/read/token_datasets.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Item w is tokens [w * length, (w + 1) * length) of the concatenation of the
// documents in their order.
class OrderedWindows final : public AsyncDataset<TokenWindow>,
                             public PiecewiseItems {
 public:
  OrderedWindows(std::shared_ptr<const TokenSource> store, uint32_t length,
                 OrderedTokens tokens)
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
  uint32_t item_tokens() const override { return length_; }
  // That of the documents, which a mixture would lose.
  bool has_order() const override { return true; }
  uint32_t padding_id() const override {
    return store_->end_of_document().value_or(0);
  }
  uint64_t fingerprint() const override {
    return Derive(store_->fingerprint(), Tag("ordwin"), length_,
                  tokens_.fingerprint());
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
    std::vector<ItemPiece> pieces;
    PONIENTE_RETURN_IF_ERROR(
        FindPieces(position, /*may_read=*/true, &pieces).status());
    return pieces;
  }
  bool HasPiecesInMemory(const Position& position) const override {
    std::vector<ItemPiece> pieces;
    const absl::StatusOr<bool> found =
        FindPieces(position, /*may_read=*/false, &pieces);
    return !found.ok() || *found;
  }
  absl::StatusOr<bool> FindInMemory(
      const Position& position, std::vector<ItemPiece>* pieces) const override {
    return FindPieces(position, /*may_read=*/false, pieces);
  }

  absl::StatusOr<bool> FindGoesOn(const ItemPiece& piece, bool may_read,
                                  bool* goes_on) const override {
    const std::span<const uint64_t> one(&piece.document, 1);
    if (!may_read && !store_->HasRangesInMemory(one)) return false;
    TokenRange document;
    PONIENTE_RETURN_IF_ERROR(
        store_->DocumentRanges(one, std::span(&document, 1)));
    *goes_on = piece.end < document.end;
    return true;
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

  absl::StatusOr<bool> FindPieces(const Position& position, bool may_read,
                                  std::vector<ItemPiece>* pieces) const {
    if (position.index >= num_items()) {
      return CheckReadable(*this, std::span(&position.index, 1));
    }
    const uint64_t begin = position.index * length_;
    PONIENTE_ASSIGN_OR_RETURN(
        const TokenRange part,
        PartOf(*this, TokenRange{begin, begin + length_}, position));
    return tokens_.FindPieces(*store_, part.begin, part.end, may_read, pieces);
  }

  const std::shared_ptr<const TokenSource> store_;
  const SourceLossMask loss_mask_;
  const uint32_t length_;
  const OrderedTokens tokens_;
};

}  // namespace

absl::StatusOr<DatasetPtr<TokenWindow>> MakeOrderedWindows(
    std::shared_ptr<const TokenSource> store, uint32_t length,
    const ScoreOrder& order, const Selection* selection) {
  PONIENTE_ASSIGN_OR_RETURN(OrderedTokens tokens,
                            OrderedTokens::Create(*store, order, selection));
  return DatasetPtr<TokenWindow>(std::make_shared<OrderedWindows>(
      std::move(store), length, std::move(tokens)));
}

}  // namespace poniente::internal
