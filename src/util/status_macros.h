// SPDX-License-Identifier: Apache-2.0
// Early returns for functions and coroutines that return a Status or StatusOr.
// None of them contains co_await: g++ 12 miscompiles such expressions
// (docs/coroutines.md).

#ifndef PONIENTE_UTIL_STATUS_MACROS_H_
#define PONIENTE_UTIL_STATUS_MACROS_H_

#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace poniente::internal {

// Converts to Abseil's string_view, which is a type of its own here (it
// predates std's).
inline absl::string_view Absl(std::string_view text) {
  return absl::string_view(text.data(), text.size());
}

// Returns `status` with "context: " in front of its message.
inline absl::Status Prepend(const absl::Status& status,
                            std::string_view context) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(Absl(context), ": ", status.message()));
}

}  // namespace poniente::internal

// Returns the status of `expression` from the function if it is an error.
#define PONIENTE_RETURN_IF_ERROR(expression)           \
  do {                                                 \
    absl::Status poniente_status = (expression);       \
    if (!poniente_status.ok()) return poniente_status; \
  } while (false)

#define PONIENTE_MACRO_JOIN2(a, b) a##b
#define PONIENTE_MACRO_JOIN(a, b) PONIENTE_MACRO_JOIN2(a, b)

// Assigns the value of `expression`, a StatusOr, to `declaration`; returns its
// status from the function if it is an error.
#define PONIENTE_ASSIGN_OR_RETURN(declaration, expression)                    \
  PONIENTE_ASSIGN_OR_RETURN2(PONIENTE_MACRO_JOIN(poniente_result_, __LINE__), \
                             declaration, expression)
#define PONIENTE_ASSIGN_OR_RETURN2(result, declaration, expression) \
  auto result = (expression);                                       \
  if (!result.ok()) return std::move(result).status();              \
  declaration = *std::move(result)

#endif  // PONIENTE_UTIL_STATUS_MACROS_H_
