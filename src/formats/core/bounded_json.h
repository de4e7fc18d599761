// SPDX-License-Identifier: Apache-2.0
// Parses JSON that another project wrote, within bounds of depth and memory.

#ifndef PONIENTE_FORMATS_CORE_BOUNDED_JSON_H_
#define PONIENTE_FORMATS_CORE_BOUNDED_JSON_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace poniente::internal {

// The deepest nesting that is accepted.
inline constexpr int kMaxJsonDepth = 32;

// Parses an object that is at most kMaxJsonDepth deep and has at most 300,000
// values, which take about 50 MB in addition to the text. DataLoss, naming
// `path`, for any other text.
absl::StatusOr<nlohmann::json> ParseBoundedJson(const std::string& path,
                                                std::string_view text);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_CORE_BOUNDED_JSON_H_
