// SPDX-License-Identifier: Apache-2.0
// What token datasets yield, and what two of them must agree on to be mixed.

#ifndef PONIENTE_TOKEN_WINDOW_H_
#define PONIENTE_TOKEN_WINDOW_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace poniente {

// How token ids are stored: little-endian and unsigned, except for kI32 and
// kI64, which only batches use.
enum class TokenType : uint8_t { kU8, kU16, kU32, kI32, kI64 };

uint32_t TokenTypeBytes(TokenType type);
// Returns "u8", "u16", "u32", "i32" or "i64".
std::string_view TokenTypeName(TokenType type);
// Returns the type of this name; InvalidArgument for any other text.
absl::StatusOr<TokenType> ParseTokenType(std::string_view name);
// Returns the greatest id that a type holds.
uint64_t MaxTokenId(TokenType type);

// The tokenizer of a dataset. Datasets of different tokenizers are never mixed.
struct Vocabulary {
  // Name of the tokenizer, for example "bytes" or "llama-3".
  std::string tokenizer = {};
  // Ids are below this; 1 to 2^32.
  uint64_t size = 0;

  friend bool operator==(const Vocabulary&, const Vocabulary&) = default;
};

// Consecutive token ids: the item of a token dataset.
struct TokenWindow {
  TokenWindow() = default;
  explicit TokenWindow(std::vector<uint32_t> ids) : tokens(std::move(ids)) {}

  std::vector<uint32_t> tokens;

  friend bool operator==(const TokenWindow&, const TokenWindow&) = default;
};

}  // namespace poniente

#endif  // PONIENTE_TOKEN_WINDOW_H_
