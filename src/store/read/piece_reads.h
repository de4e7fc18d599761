// SPDX-License-Identifier: Apache-2.0
// Reads items that consist of pieces of documents.

#ifndef PONIENTE_STORE_READ_PIECE_READS_H_
#define PONIENTE_STORE_READ_PIECE_READS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/task.h"
#include "poniente/token_source.h"
#include "poniente/token_window.h"

namespace poniente::internal {

// Reads the items that `leaf`, a dataset over `source`, has at these positions:
// the tokens of their pieces end to end, with `padding` for those that lie in
// no store. REQUIRES: leaf and source outlive the task.
Task<std::vector<TokenWindow>> ReadPieces(const PiecewiseItems& leaf,
                                          const TokenSource& source,
                                          std::span<const Position> positions,
                                          uint32_t padding);

// Implement PiecewiseItems::FindGoesOn() and FindEnds() for a leaf over
// `source`, whose documents are served without their last `end_tokens` tokens.
absl::StatusOr<bool> FindPieceGoesOn(const TokenSource& source,
                                     const ItemPiece& piece,
                                     uint32_t end_tokens, bool may_read,
                                     bool* goes_on);
absl::StatusOr<bool> FindPieceEnds(const TokenSource& source,
                                   const ItemPiece& piece, uint32_t end_tokens,
                                   bool may_read, PieceEnds* ends);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_READ_PIECE_READS_H_
