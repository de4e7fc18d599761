// SPDX-License-Identifier: Apache-2.0
// Windows of whole documents, packed.

#ifndef PONIENTE_STORE_PACKING_PACKED_WINDOWS_H_
#define PONIENTE_STORE_PACKING_PACKED_WINDOWS_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "poniente/async_dataset.h"
#include "poniente/packing.h"
#include "poniente/selection.h"
#include "poniente/token_source.h"

namespace poniente::internal {

// Implements TokenSource::PackedWindows(). The dataset implements
// PiecewiseItems, and RangeSource if the source has arrays.
absl::StatusOr<DatasetPtr<TokenWindow>> MakePackedWindows(
    std::shared_ptr<const TokenSource> source, uint64_t length,
    const PackingOptions& options, std::optional<Selection> documents);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_PACKING_PACKED_WINDOWS_H_
