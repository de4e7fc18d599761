// SPDX-License-Identifier: Apache-2.0
#include "store/read/piece_reads.h"

#include <cstddef>
#include <span>
#include <utility>

#include "absl/status/statusor.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Tokens of the source that follow one another, or so many tokens of padding.
struct Stretch {
  TokenRange tokens;
  bool is_padding = false;
};

struct Plan {
  std::vector<Stretch> stretches;
  std::vector<size_t> ends;  // by item: where its stretches end
};

absl::StatusOr<Plan> MakePlan(const PiecewiseItems& leaf,
                              std::span<const Position> positions) {
  Plan plan;
  plan.ends.reserve(positions.size());
  for (const Position& position : positions) {
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<ItemPiece> pieces,
                              leaf.Pieces(position));
    const size_t first = plan.stretches.size();
    for (const ItemPiece& piece : pieces) {
      const TokenRange tokens = {piece.begin, piece.end};
      // Documents that are adjacent in the source are read together.
      if (plan.stretches.size() > first && !piece.is_padding() &&
          !plan.stretches.back().is_padding &&
          plan.stretches.back().tokens.end == tokens.begin) {
        plan.stretches.back().tokens.end = tokens.end;
      } else {
        plan.stretches.push_back({tokens, piece.is_padding()});
      }
    }
    plan.ends.push_back(plan.stretches.size());
  }
  return plan;
}

// `texts`: of the stretches that are not padding.
std::vector<TokenWindow> Join(const Plan& plan, std::vector<TokenWindow> texts,
                              uint32_t padding) {
  std::vector<TokenWindow> items(plan.ends.size());
  auto text = texts.begin();
  size_t at = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    std::vector<uint32_t>& tokens = items[i].tokens;
    for (; at < plan.ends[i]; ++at) {
      const Stretch& stretch = plan.stretches[at];
      if (stretch.is_padding) {
        tokens.insert(tokens.end(), stretch.tokens.size(), padding);
      } else if (tokens.empty()) {
        tokens = std::move((text++)->tokens);
      } else {
        tokens.insert(tokens.end(), text->tokens.begin(), text->tokens.end());
        ++text;
      }
    }
  }
  return items;
}

}  // namespace

Task<std::vector<TokenWindow>> ReadPieces(const PiecewiseItems& leaf,
                                          const TokenSource& source,
                                          std::span<const Position> positions,
                                          uint32_t padding) {
  absl::StatusOr<Plan> plan = MakePlan(leaf, positions);
  if (!plan.ok()) co_return plan.status();
  std::vector<TokenRange> ranges;
  ranges.reserve(plan->stretches.size());
  for (const Stretch& stretch : plan->stretches) {
    if (!stretch.is_padding) ranges.push_back(stretch.tokens);
  }
  absl::StatusOr<std::vector<TokenWindow>> texts =
      co_await source.ReadRanges(std::move(ranges));
  if (!texts.ok()) co_return texts.status();
  co_return Join(*plan, *std::move(texts), padding);
}

absl::StatusOr<bool> FindPieceGoesOn(const TokenSource& source,
                                     const ItemPiece& piece,
                                     uint32_t end_tokens, bool may_read,
                                     bool* goes_on) {
  const std::span<const uint64_t> document(&piece.document, 1);
  if (!may_read && !source.HasRangesInMemory(document)) return false;
  TokenRange tokens;
  PONIENTE_RETURN_IF_ERROR(
      source.DocumentRanges(document, std::span(&tokens, 1)));
  *goes_on = piece.end + end_tokens < tokens.end;
  return true;
}

absl::StatusOr<bool> FindPieceEnds(const TokenSource& source,
                                   const ItemPiece& piece, uint32_t end_tokens,
                                   bool may_read, PieceEnds* ends) {
  const std::span<const uint64_t> one(&piece.document, 1);
  if (!may_read && !source.HasRangesInMemory(one)) return false;
  TokenRange document;
  PONIENTE_RETURN_IF_ERROR(source.DocumentRanges(one, std::span(&document, 1)));
  const bool has_first = piece.begin == document.begin;
  const bool has_last = piece.end == document.end;
  const bool has_id = source.end_of_document().has_value();
  const bool id_begins = source.id_begins_documents();
  ends->is_whole = has_first && piece.end + end_tokens == document.end;
  ends->begins_with_id = has_first && has_id && id_begins;
  ends->ends_with_id = has_last && has_id && !id_begins;
  return true;
}

}  // namespace poniente::internal
