// SPDX-License-Identifier: Apache-2.0
// IsOk(), IsOkAndHolds(m) and StatusIs(code, m) for Status and StatusOr.

#ifndef PONIENTE_TESTS_SUPPORT_STATUS_MATCHERS_H_
#define PONIENTE_TESTS_SUPPORT_STATUS_MATCHERS_H_

#include <gmock/gmock.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace poniente::testing {

// What StatusIs() is asked for most.
inline constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
inline constexpr auto kDataLoss = absl::StatusCode::kDataLoss;

inline const absl::Status& GetStatus(const absl::Status& status) {
  return status;
}
template <class T>
const absl::Status& GetStatus(const absl::StatusOr<T>& result) {
  return result.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << GetStatus(arg).ToString();
  return GetStatus(arg).ok();
}

MATCHER_P2(StatusIs, code, message, "") {
  const absl::Status& status = GetStatus(arg);
  *result_listener << status.ToString();
  return status.code() == code &&
         ::testing::ExplainMatchResult(::testing::Matcher<std::string>(message),
                                       std::string(status.message()),
                                       result_listener);
}

MATCHER_P(IsOkAndHolds, value, "") {
  if (!arg.ok()) {
    *result_listener << arg.status().ToString();
    return false;
  }
  return ::testing::ExplainMatchResult(value, *arg, result_listener);
}

}  // namespace poniente::testing

#define PONIENTE_TEST_JOIN2(a, b) a##b
#define PONIENTE_TEST_JOIN(a, b) PONIENTE_TEST_JOIN2(a, b)
// ASSERT_OK_AND_ASSIGN(auto store, TokenStore::Open(path));
#define ASSERT_OK_AND_ASSIGN(declaration, expression)               \
  ASSERT_OK_AND_ASSIGN2(PONIENTE_TEST_JOIN(test_result_, __LINE__), \
                        declaration, expression)
#define ASSERT_OK_AND_ASSIGN2(result, declaration, expression) \
  auto result = (expression);                                  \
  ASSERT_TRUE(result.ok()) << result.status();                 \
  declaration = *std::move(result)

#endif  // PONIENTE_TESTS_SUPPORT_STATUS_MATCHERS_H_
