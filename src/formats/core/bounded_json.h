// SPDX-License-Identifier: Apache-2.0
// Parses JSON that another project wrote, within bounds of depth and memory.

#ifndef PONIENTE_FORMATS_CORE_BOUNDED_JSON_H_
#define PONIENTE_FORMATS_CORE_BOUNDED_JSON_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace poniente::internal {

// The deepest nesting that is accepted.
inline constexpr int kMaxJsonDepth = 32;
// The default for the number of values, which take about 50 MB in addition to
// the text.
inline constexpr uint64_t kMaxJsonValues = 300'000;

// Parses an object that is at most kMaxJsonDepth deep and has at most
// `most_values` values. DataLoss, naming `path`, for any other text.
absl::StatusOr<nlohmann::json> ParseBoundedJson(
    const std::string& path, std::string_view text,
    uint64_t most_values = kMaxJsonValues);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_CORE_BOUNDED_JSON_H_
