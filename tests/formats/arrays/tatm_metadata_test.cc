// SPDX-License-Identifier: Apache-2.0
#include "formats/arrays/tatm_metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/status_matchers.h"

namespace poniente::internal {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

using testing::kInvalid;

TEST(TatmMetadataTest, ReadsThreeKeysOfItsSection) {
  ASSERT_OK_AND_ASSIGN(const TatmMetadata metadata,
                       ParseTatmMetadata("# by tatm\n"
                                         "name: web\r\n"
                                         "vocab_size: 5\n"
                                         "tokenized_info:   # of the files\n"
                                         "  seq_length: 8192\n"
                                         "  more:\n"
                                         "    tokenizer: inner\n"
                                         "\n"
                                         "  'quoted': x\n"
                                         "  tokenizer: \"a: #b\"  # its name\n"
                                         "  vocab_size: 32000 # ids\r\n"
                                         "  dtype: 'int32'\n"
                                         "created: now\n"
                                         "  tokenizer: outer\n"));
  EXPECT_EQ(metadata.tokenizer, "a: #b");
  EXPECT_EQ(metadata.vocabulary_size, 32000u);
  EXPECT_EQ(metadata.type, StoredType::kI32);
}

TEST(TatmMetadataTest, WhatIsNotThereIsNotStated) {
  for (const char* text :
       {"", "\n\n", "tokenized_info:", "tokenized_info:\n", "tokenized_info: ~",
        "other:\n  dtype: uint16\n",
        "tokenized_info:\n  dtype: null\n  tokenizer: ~\n  vocab_size:\n",
        "tokenized_info:\ndtype: uint16\n", "tokenized_info"}) {
    ASSERT_OK_AND_ASSIGN(const TatmMetadata metadata, ParseTatmMetadata(text));
    EXPECT_EQ(metadata.type, std::nullopt) << text;
    EXPECT_EQ(metadata.vocabulary_size, 0u) << text;
    EXPECT_EQ(metadata.tokenizer, "") << text;
  }
}

TEST(TatmMetadataTest, OtherValuesAreErrors) {
  for (const auto& [text, message] :
       std::vector<std::pair<std::string, std::string>>{
           {"tokenized_info: {dtype: uint16}", "line 1: tokenized_info is"},
           {"tokenized_info:\n  dtype: float32", "line 2: dtype is 'float32'"},
           {"tokenized_info:\n  dtype: uint24", "dtype is 'uint24'"},
           {"tokenized_info:\n  dtype: 16", "dtype is '16'"},
           {"tokenized_info:\n  vocab_size: many", "vocab_size is 'many'"},
           {"tokenized_info:\n  vocab_size: -1", "expected a number"},
           {"tokenized_info:\n  vocab_size: 18446744073709551616",
            "expected a number"},
           {"tokenized_info:\n  tokenizer: " + std::string(5000, 'x'),
            "at most 4096"}}) {
    EXPECT_THAT(ParseTatmMetadata(text), StatusIs(kInvalid, HasSubstr(message)))
        << text;
  }
}

}  // namespace
}  // namespace poniente::internal
