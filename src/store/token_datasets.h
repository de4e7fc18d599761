// SPDX-License-Identifier: Apache-2.0
// The windows and the documents of a store as datasets.

#ifndef PONIENTE_STORE_TOKEN_DATASETS_H_
#define PONIENTE_STORE_TOKEN_DATASETS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/async_dataset.h"
#include "poniente/piecewise_items.h"
#include "poniente/task.h"
#include "poniente/token_store.h"
#include "poniente/token_window.h"

namespace poniente::internal {

// The part of `item` that `position` asks for; OutOfRange if it ends earlier.
absl::StatusOr<TokenRange> PartOf(const DatasetNode& node, TokenRange item,
                                  const Position& position);

// The tokens of each range, in one batch of reads.
// REQUIRES: every range lies in the store; it lives until the task has ended.
Task<std::vector<TokenWindow>> ReadRanges(const TokenStore& store,
                                          std::vector<TokenRange> ranges);

// Where a document lies in items of `length` tokens, whose first `num_items`
// there are, if it begins at `offset` of their concatenation.
std::vector<PieceOfItem> CutIntoItems(TokenRange document, uint64_t offset,
                                      uint64_t length, uint64_t num_items);

// Both datasets are PiecewiseItems.
// REQUIRES: 0 < length < kWholeItem.
DatasetPtr<TokenWindow> MakeWindows(std::shared_ptr<const TokenStore> store,
                                    uint32_t length);
DatasetPtr<TokenWindow> MakeDocuments(std::shared_ptr<const TokenStore> store);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_TOKEN_DATASETS_H_
