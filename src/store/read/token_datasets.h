// SPDX-License-Identifier: Apache-2.0
// The windows and the documents of a source as datasets.

#ifndef PONIENTE_STORE_READ_TOKEN_DATASETS_H_
#define PONIENTE_STORE_READ_TOKEN_DATASETS_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "poniente/async_dataset.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/token_source.h"
#include "poniente/token_window.h"

namespace poniente::internal {

// Returns the part of `item` that `position` requests; OutOfRange if the item
// ends earlier.
absl::StatusOr<TokenRange> PartOf(const DatasetNode& node, TokenRange item,
                                  const Position& position);

// Return datasets of the windows and of the documents of a source.
// MakeDocuments() requires a source that knows its documents. Its dataset
// implements PiecewiseItems, and so does that of MakeWindows() for such a
// source. REQUIRES: 0 < length < kWholeItem; rule.overlap < length.
DatasetPtr<TokenWindow> MakeWindows(std::shared_ptr<const TokenSource> source,
                                    uint32_t length, const WindowRule& rule);
DatasetPtr<TokenWindow> MakeDocuments(
    std::shared_ptr<const TokenSource> source);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_READ_TOKEN_DATASETS_H_
