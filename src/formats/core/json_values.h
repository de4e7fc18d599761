// SPDX-License-Identifier: Apache-2.0
// Visits the values of a JSON text one by one, without a tree of them in
// memory: the descriptions beside token files may have any size and much other
// content.

#ifndef PONIENTE_FORMATS_CORE_JSON_VALUES_H_
#define PONIENTE_FORMATS_CORE_JSON_VALUES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace poniente::internal {

struct JsonValue {
  // Null, true and false are kOther.
  enum class Kind { kOther, kNumber, kText, kList, kObject };

  Kind kind = Kind::kOther;
  // Set for a number that is whole and not negative.
  std::optional<uint64_t> integer;
  // Valid until the visitor returns.
  std::string_view text;
};

// `at`: the keys that lead to the value; elements of a list are "0", "1", ...
using JsonVisitor = std::function<void(std::span<const std::string> at,
                                       const JsonValue& value)>;

// Visits the values in their order, a list or object before its contents;
// values below eight keys are left out. DataLoss, naming `path` and the place,
// if `text` is not JSON.
absl::Status VisitJson(const std::string& path, std::string_view text,
                       const JsonVisitor& visit);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_CORE_JSON_VALUES_H_
