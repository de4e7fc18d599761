// SPDX-License-Identifier: Apache-2.0
// Token stores whose tokens prove themselves, for configurations to name.

#ifndef PONIENTE_TESTS_CONFIG_SMALL_STORES_H_
#define PONIENTE_TESTS_CONFIG_SMALL_STORES_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "poniente/token_store_writer.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente::testing {

// Token t of the store `number`.
inline uint32_t StoreToken(uint64_t number, uint64_t t) {
  uint64_t z = number * 0x9e3779b97f4a7c15u + t * 0xd1b54a32d192ed03u;
  z = (z ^ (z >> 32)) * 0xbf58476d1ce4e5b9u;
  return static_cast<uint32_t>(z >> 40) % 250;
}

inline void WriteStore(const std::string& path, uint64_t number,
                       uint64_t tokens, Vocabulary vocabulary = {"proof", 250},
                       TokenType type = TokenType::kU16,
                       const std::string& document = "all") {
  TokenStoreWriterOptions options;
  options.vocabulary = std::move(vocabulary);
  options.token_type = type;
  ASSERT_OK_AND_ASSIGN(auto writer, TokenStoreWriter::Create(path, options));
  std::vector<uint32_t> ids(tokens);
  for (uint64_t t = 0; t < tokens; ++t) ids[t] = StoreToken(number, t);
  ASSERT_TRUE(writer->AddDocument(ids, document).ok());
  ASSERT_THAT(writer->Finish(), IsOk());
}

// The same in documents of 1 to 40 tokens.
inline void WriteDocuments(const std::string& path, uint64_t number,
                           uint64_t tokens) {
  TokenStoreWriterOptions options;
  options.vocabulary = {"proof", 250};
  ASSERT_OK_AND_ASSIGN(auto writer, TokenStoreWriter::Create(path, options));
  std::vector<uint32_t> ids;
  for (uint64_t t = 0; t < tokens; ++t) {
    ids.push_back(StoreToken(number, t));
    const bool ends = StoreToken(number + 100, t) % 20 == 0 || ids.size() == 40;
    if (!ends && t + 1 < tokens) continue;
    ASSERT_TRUE(writer->AddDocument(ids, std::to_string(t)).ok());
    ids.clear();
  }
  ASSERT_THAT(writer->Finish(), IsOk());
}

// "a" (10000 tokens, u16), "b" (777, u8), "c" (3000, u32), "short" (5).
class SmallStores : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteStore(dir_.path("a"), 0, 10000);
    WriteStore(dir_.path("b"), 1, 777, {"proof", 250}, TokenType::kU8);
    WriteStore(dir_.path("c"), 2, 3000, {"proof", 250}, TokenType::kU32);
    WriteStore(dir_.path("short"), 3, 5);
  }

  TempDir dir_;
};

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_CONFIG_SMALL_STORES_H_
