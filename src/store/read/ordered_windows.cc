// SPDX-License-Identifier: Apache-2.0
#include "store/read/ordered_windows.h"

#include <optional>
#include <utility>
#include <vector>

#include "index/keyed_hash.h"
#include "store/read/concatenated_windows.h"
#include "store/read/ordered_tokens.h"
#include "store/read/piece_reads.h"
#include "store/read/selected_tokens.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Of the documents in their order.
class OrderedWindows final : public ConcatenatedWindows {
 public:
  OrderedWindows(std::shared_ptr<const TokenSource> store, uint32_t length,
                 OrderedTokens tokens)
      : ConcatenatedWindows(std::move(store), length, tokens.total()),
        tokens_(std::move(tokens)) {}

  uint32_t item_tokens() const override { return length(); }
  // That of the documents, which a mixture would lose.
  bool has_order() const override { return true; }
  uint64_t fingerprint() const override {
    return Derive(store().fingerprint(), Tag("ordwin"), length(),
                  tokens_.fingerprint());
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
    return FindPieceGoesOn(store(), piece, /*end_tokens=*/0, may_read, goes_on);
  }

 private:
  absl::StatusOr<bool> FindPieces(const Position& position, bool may_read,
                                  std::vector<ItemPiece>* pieces) const {
    PONIENTE_ASSIGN_OR_RETURN(const TokenRange part, TokensAt(position));
    return tokens_.FindPieces(store(), part.begin, part.end, may_read, pieces);
  }
  absl::StatusOr<std::optional<SelectedTokens::DocumentLocation>> FindDocument(
      uint64_t document) const override {
    return tokens_.Find(store(), document);
  }

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
