// SPDX-License-Identifier: Apache-2.0
// Windows cut from the selected documents of a store.

#ifndef PONIENTE_STORE_READ_SELECTED_WINDOWS_H_
#define PONIENTE_STORE_READ_SELECTED_WINDOWS_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "poniente/async_dataset.h"
#include "poniente/selection.h"
#include "poniente/token_source.h"
#include "poniente/token_window.h"

namespace poniente::internal {

// Implements TokenSource::Windows() for a selection. The dataset implements
// PiecewiseItems. REQUIRES: 0 < length < kWholeItem.
absl::StatusOr<DatasetPtr<TokenWindow>> MakeSelectedWindows(
    std::shared_ptr<const TokenSource> store, uint32_t length,
    Selection documents);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_READ_SELECTED_WINDOWS_H_
