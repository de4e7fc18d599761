// SPDX-License-Identifier: Apache-2.0
// A token source against lists of what its files were written from.

#ifndef PONIENTE_TESTS_FORMATS_NAIVE_SOURCE_H_
#define PONIENTE_TESTS_FORMATS_NAIVE_SOURCE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "poniente/open_token_source.h"
#include "poniente/token_source.h"
#include "tests/support/status_matchers.h"

namespace poniente::testing {

struct NaiveSource {
  std::vector<std::vector<uint32_t>> shards;
  // Documents; nullopt: not known.
  std::optional<std::vector<uint64_t>> lengths;

  std::vector<uint32_t> Tokens() const {
    std::vector<uint32_t> all;
    for (const auto& shard : shards) {
      all.insert(all.end(), shard.begin(), shard.end());
    }
    return all;
  }
};

inline TokenSourceOptions WithGlob(const std::string& glob) {
  TokenSourceOptions options;
  options.glob = glob;
  return options;
}
inline TokenSourceOptions WithType(StoredType type) {
  TokenSourceOptions options;
  options.dtype = type;
  return options;
}

using TokenLists = std::vector<std::vector<uint32_t>>;

// Of each shard by itself, or of all tokens.
inline TokenLists NaiveWindows(const NaiveSource& naive, uint64_t length,
                               const WindowRule& rule) {
  const TokenLists parts =
      rule.across_shards ? TokenLists{naive.Tokens()} : naive.shards;
  TokenLists windows;
  for (const auto& part : parts) {
    for (size_t begin = 0; begin < part.size(); begin += length) {
      const size_t end = begin + length;
      if (end > part.size() && !rule.keep_tail) break;
      windows.emplace_back(
          part.begin() + static_cast<ptrdiff_t>(begin),
          part.begin() + static_cast<ptrdiff_t>(std::min(end, part.size())));
    }
  }
  return windows;
}

inline TokenLists ReadItems(const DatasetPtr<TokenWindow>& items) {
  TokenLists lists;
  for (uint64_t i = 0; i < items->CurrentLength(); ++i) {
    const absl::StatusOr<TokenWindow> window = items->GetBlocking(i);
    EXPECT_THAT(window, IsOk()) << i;
    if (!window.ok()) break;
    lists.push_back(window->tokens);
  }
  return lists;
}

// Tokens, shards, documents, and windows by `rule`, which is the source's own,
// and across shards with their tail.
inline void ExpectSame(const TokenSource& source, const NaiveSource& naive,
                       const WindowRule& rule) {
  EXPECT_EQ(source.num_tokens(), naive.Tokens().size());
  EXPECT_EQ(source.num_shards(), naive.shards.size());
  EXPECT_EQ(source.window_rule(), rule);
  for (const uint64_t length : {1, 2, 5, 64}) {
    const auto own = source.Windows(length);
    EXPECT_THAT(own, IsOk());
    if (!own.ok()) return;
    EXPECT_EQ(ReadItems(*own), NaiveWindows(naive, length, rule)) << length;
    const WindowRule across{.keep_tail = true};
    const auto all = source.Windows(length, across);
    EXPECT_THAT(all, IsOk());
    if (!all.ok()) return;
    EXPECT_EQ(ReadItems(*all), NaiveWindows(naive, length, across)) << length;
  }
  EXPECT_EQ(source.knows_documents(), naive.lengths.has_value());
  if (!naive.lengths.has_value()) return;
  EXPECT_EQ(source.num_documents(), naive.lengths->size());
  TokenLists documents;
  const std::vector<uint32_t> tokens = naive.Tokens();
  auto begin = tokens.begin();
  for (const uint64_t length : *naive.lengths) {
    documents.emplace_back(begin, begin + static_cast<ptrdiff_t>(length));
    begin += static_cast<ptrdiff_t>(length);
  }
  EXPECT_EQ(begin, tokens.end());
  EXPECT_EQ(ReadItems(source.Documents()), documents);
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_FORMATS_NAIVE_SOURCE_H_
