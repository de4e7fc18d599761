// SPDX-License-Identifier: Apache-2.0
// Windows cut from the documents of a store in the order of a score.

#ifndef PONIENTE_STORE_READ_ORDERED_WINDOWS_H_
#define PONIENTE_STORE_READ_ORDERED_WINDOWS_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "poniente/async_dataset.h"
#include "poniente/score_order.h"
#include "poniente/selection.h"
#include "poniente/token_source.h"
#include "poniente/token_window.h"

namespace poniente::internal {

// Implements TokenSource::Windows() for an order. The dataset implements
// PiecewiseItems. `selection`: null for all documents. REQUIRES: 0 < length <
// kWholeItem.
absl::StatusOr<DatasetPtr<TokenWindow>> MakeOrderedWindows(
    std::shared_ptr<const TokenSource> store, uint32_t length,
    const ScoreOrder& order, const Selection* selection);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_READ_ORDERED_WINDOWS_H_
