// SPDX-License-Identifier: Apache-2.0
#include "store/read/concatenated_windows.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "poniente/extend/index_map_dataset.h"
#include "store/read/piece_reads.h"
#include "store/read/token_datasets.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Returns the pieces of a document that begins at token `offset` of the
// concatenation, which is cut into `num_items` items of `length` tokens.
std::vector<PieceOfItem> CutIntoItems(TokenRange document, uint64_t offset,
                                      uint64_t length, uint64_t num_items) {
  const uint64_t end = std::min(offset + document.size(), num_items * length);
  std::vector<PieceOfItem> items;
  for (uint64_t at = offset; at < end;) {
    const uint64_t item = at / length;
    const uint64_t to = std::min(end, (item + 1) * length);
    const uint64_t begin = document.begin + (at - offset);
    items.push_back({item, static_cast<uint32_t>(at - item * length), begin,
                     begin + (to - at)});
    at = to;
  }
  return items;
}

}  // namespace

ConcatenatedWindows::ConcatenatedWindows(
    std::shared_ptr<const TokenSource> store, uint32_t length, uint64_t tokens)
    : store_(std::move(store)),
      loss_mask_(*store_),
      length_(length),
      num_items_(tokens / length) {}

Task<std::vector<TokenWindow>> ConcatenatedWindows::GetBatch(
    std::span<const Index> indices) const {
  const std::vector<Position> positions = WholeItems(indices);
  absl::StatusOr<std::vector<TokenWindow>> items = co_await GetAt(positions);
  co_return items;
}

Task<std::vector<TokenWindow>> ConcatenatedWindows::GetAt(
    std::span<const Position> positions) const {
  absl::StatusOr<std::vector<TokenWindow>> items =
      co_await ReadPieces(*this, *store_, positions, /*padding=*/0);
  co_return items;
}

absl::StatusOr<bool> ConcatenatedWindows::FindEnds(const ItemPiece& piece,
                                                   bool may_read,
                                                   PieceEnds* ends) const {
  return FindPieceEnds(*store_, piece, /*end_tokens=*/0, may_read, ends);
}

absl::StatusOr<std::vector<PieceOfItem>> ConcatenatedWindows::ItemsOf(
    uint64_t document) const {
  if (document >= store_->num_documents()) {
    return absl::OutOfRangeError(absl::StrCat("document ", document, " of '",
                                              store_->path(), "', which holds ",
                                              store_->num_documents()));
  }
  PONIENTE_ASSIGN_OR_RETURN(const auto place, FindDocument(document));
  if (!place.has_value()) return std::vector<PieceOfItem>();
  return CutIntoItems(place->tokens, place->offset, length_, num_items_);
}

absl::StatusOr<TokenRange> ConcatenatedWindows::TokensAt(
    const Position& position) const {
  if (position.index >= num_items_) {
    return CheckReadable(*this, std::span(&position.index, 1));
  }
  const uint64_t begin = position.index * length_;
  return PartOf(*this, TokenRange{begin, begin + length_}, position);
}

}  // namespace poniente::internal
