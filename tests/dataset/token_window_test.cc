// SPDX-License-Identifier: Apache-2.0
#include "poniente/token_window.h"

#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using testing::IsOkAndHolds;
using testing::StatusIs;

TEST(TokenTypeTest, NamesWidthsAndGreatestIds) {
  struct Row {
    TokenType type;
    const char* name;
    uint32_t bytes;
    uint64_t max_id;
  };
  for (const Row& row : {Row{TokenType::kU8, "u8", 1, 255},
                         Row{TokenType::kU16, "u16", 2, 65535},
                         Row{TokenType::kU32, "u32", 4, 4294967295},
                         Row{TokenType::kI32, "i32", 4, 2147483647},
                         Row{TokenType::kI64, "i64", 8, 9223372036854775807}}) {
    EXPECT_EQ(TokenTypeName(row.type), row.name);
    EXPECT_EQ(TokenTypeBytes(row.type), row.bytes);
    EXPECT_EQ(MaxTokenId(row.type), row.max_id);
    EXPECT_THAT(ParseTokenType(row.name), IsOkAndHolds(row.type));
  }
}

TEST(TokenTypeTest, UnknownNamesAreRefused) {
  EXPECT_THAT(ParseTokenType("u64"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "unknown token type 'u64', expected u8, u16, u32, i32 "
                       "or i64"));
}

}  // namespace
}  // namespace poniente
