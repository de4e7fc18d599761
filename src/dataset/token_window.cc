// SPDX-License-Identifier: Apache-2.0
#include "poniente/token_window.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

struct TypeFacts {
  TokenType type;
  std::string_view name;
  uint32_t bytes;
  uint64_t max_id;
};

constexpr std::array<TypeFacts, 5> kTypes = {{
    {TokenType::kU8, "u8", 1, UINT8_MAX},
    {TokenType::kU16, "u16", 2, UINT16_MAX},
    {TokenType::kU32, "u32", 4, UINT32_MAX},
    {TokenType::kI32, "i32", 4, INT32_MAX},
    {TokenType::kI64, "i64", 8, INT64_MAX},
}};

const TypeFacts& Facts(TokenType type) {
  return kTypes[static_cast<size_t>(type)];
}

}  // namespace

uint32_t TokenTypeBytes(TokenType type) { return Facts(type).bytes; }
std::string_view TokenTypeName(TokenType type) { return Facts(type).name; }
uint64_t MaxTokenId(TokenType type) { return Facts(type).max_id; }

absl::StatusOr<TokenType> ParseTokenType(std::string_view name) {
  for (const TypeFacts& facts : kTypes) {
    if (facts.name == name) return facts.type;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown token type '", internal::Absl(name),
                   "', expected u8, u16, u32, i32 or i64"));
}

}  // namespace poniente
