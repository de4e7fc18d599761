// SPDX-License-Identifier: Apache-2.0
#include "store/read/selected_windows.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "poniente/extend/index_map_dataset.h"
#include "poniente/extend/piecewise_items.h"
#include "store/read/selected_tokens.h"
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

// Item w is tokens [w * length, (w + 1) * length) of the concatenation of the
// selected documents.
class SelectedWindows final : public AsyncDataset<TokenWindow>,
                              public PiecewiseItems {
 public:
  SelectedWindows(std::shared_ptr<const TokenSource> store, uint32_t length,
                  SelectedTokens tokens)
      : store_(std::move(store)), length_(length), tokens_(std::move(tokens)) {}

  std::string name() const override { return store_->path(); }
  const Vocabulary* vocabulary() const override {
    return store_->known_vocabulary();
  }
  bool reads_files() const override { return true; }
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
    absl::StatusOr<Plan> plan = MakePlan(positions);
    if (!plan.ok()) co_return plan.status();
    absl::StatusOr<std::vector<TokenWindow>> pieces =
        co_await store_->ReadRanges(std::move(plan->ranges));
    if (!pieces.ok()) co_return pieces.status();
    co_return Join(plan->ranges_of, *std::move(pieces));
  }

  bool has_loss_mask() const override { return store_->has_loss_mask(); }
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
  struct Plan {
    std::vector<TokenRange> ranges;
    std::vector<size_t> ranges_of;  // number of ranges per item
  };

  uint64_t num_items() const { return tokens_.total() / length_; }

  absl::StatusOr<Plan> MakePlan(std::span<const Position> positions) const {
    Plan plan;
    plan.ranges_of.reserve(positions.size());
    for (const Position& position : positions) {
      PONIENTE_ASSIGN_OR_RETURN(const std::vector<ItemPiece> pieces,
                                Pieces(position));
      // Joins documents that are adjacent in the store into one range.
      const size_t first = plan.ranges.size();
      for (const ItemPiece& piece : pieces) {
        if (plan.ranges.size() > first &&
            plan.ranges.back().end == piece.begin) {
          plan.ranges.back().end = piece.end;
        } else {
          plan.ranges.push_back({piece.begin, piece.end});
        }
      }
      plan.ranges_of.push_back(plan.ranges.size() - first);
    }
    return plan;
  }

  static std::vector<TokenWindow> Join(std::span<const size_t> ranges_of,
                                       std::vector<TokenWindow> pieces) {
    std::vector<TokenWindow> items(ranges_of.size());
    auto piece = pieces.begin();
    for (size_t i = 0; i < items.size(); ++i) {
      if (ranges_of[i] == 0) continue;
      items[i] = std::move(*piece++);
      for (size_t k = 1; k < ranges_of[i]; ++k, ++piece) {
        items[i].tokens.insert(items[i].tokens.end(), piece->tokens.begin(),
                               piece->tokens.end());
      }
    }
    return items;
  }

  const std::shared_ptr<const TokenSource> store_;
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
