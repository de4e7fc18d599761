// SPDX-License-Identifier: Apache-2.0
#include "index/mixture/canonical_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/status_matchers.h"

namespace poniente::internal {
namespace {

using ::poniente::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CanonicalOrderTest, SortsByUnsignedBytes) {
  const std::vector<std::string> names = {"web", "\xc3\xa9", "code", "Z", "co"};
  ASSERT_OK_AND_ASSIGN(const CanonicalOrder order, SortByName(names));
  EXPECT_THAT(order.declared, ElementsAre(3, 4, 2, 0, 1));
  EXPECT_THAT(order.canonical, ElementsAre(3, 4, 2, 0, 1));
}

TEST(CanonicalOrderTest, TheTwoDirectionsAreInverse) {
  const std::vector<std::string> names = {"c", "a", "d", "b"};
  ASSERT_OK_AND_ASSIGN(const CanonicalOrder order, SortByName(names));
  EXPECT_THAT(order.declared, ElementsAre(1, 3, 0, 2));
  EXPECT_THAT(order.canonical, ElementsAre(2, 0, 3, 1));
}

TEST(CanonicalOrderTest, RefusesTwoOfOneName) {
  const std::vector<std::string> names = {"web", "code", "web"};
  EXPECT_THAT(SortByName(names), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("named 'web'")));
}

}  // namespace
}  // namespace poniente::internal
