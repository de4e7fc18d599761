// SPDX-License-Identifier: Apache-2.0
// JSON that another project wrote, parsed within bounds.

#ifndef PONIENTE_FORMATS_CORE_BOUNDED_JSON_H_
#define PONIENTE_FORMATS_CORE_BOUNDED_JSON_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace poniente::internal {

// How deep values of such files may be nested.
inline constexpr int kMaxJsonDepth = 32;

// An object at most kMaxJsonDepth deep, of at most 300,000 values: some 50 MB
// beside its text. DataLoss, naming `path`, if it is none.
absl::StatusOr<nlohmann::json> ParseBoundedJson(const std::string& path,
                                                std::string_view text);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_CORE_BOUNDED_JSON_H_
