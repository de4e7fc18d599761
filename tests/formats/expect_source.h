// SPDX-License-Identifier: Apache-2.0
// A token source against a plain list of ids.

#ifndef PONIENTE_TESTS_FORMATS_EXPECT_SOURCE_H_
#define PONIENTE_TESTS_FORMATS_EXPECT_SOURCE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "poniente/task.h"
#include "poniente/token_source.h"
#include "tests/support/status_matchers.h"

namespace poniente::testing {

inline std::vector<uint32_t> MadeIds(size_t count, uint32_t below,
                                     uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint32_t> ids(count);
  for (uint32_t& id : ids) id = static_cast<uint32_t>(random() % below);
  return ids;
}

inline std::vector<uint32_t> SliceOf(const std::vector<uint32_t>& ids,
                                     uint64_t begin, uint64_t end) {
  return {ids.begin() + static_cast<ptrdiff_t>(begin),
          ids.begin() + static_cast<ptrdiff_t>(end)};
}

inline void ExpectTokens(const TokenSource& source,
                         const std::vector<uint32_t>& ids) {
  ASSERT_EQ(source.num_tokens(), ids.size());
  ASSERT_OK_AND_ASSIGN(const std::vector<uint32_t> all,
                       RunBlocking(source.ReadTokens(0, ids.size())));
  EXPECT_EQ(all, ids);
  std::mt19937_64 random(ids.size());
  std::vector<TokenRange> ranges;
  for (int i = 0; i < 50; ++i) {
    const uint64_t a = random() % (ids.size() + 1);
    const uint64_t b = random() % (ids.size() + 1);
    ranges.push_back({std::min(a, b), std::max(a, b)});
  }
  ASSERT_OK_AND_ASSIGN(const auto windows,
                       RunBlocking(source.ReadRanges(ranges)));
  for (size_t i = 0; i < ranges.size(); ++i) {
    ASSERT_EQ(windows[i].tokens, SliceOf(ids, ranges[i].begin, ranges[i].end));
  }
}

// `ends` of documents, in tokens.
inline void ExpectDocuments(const TokenSource& source,
                            const std::vector<uint64_t>& ends) {
  ASSERT_TRUE(source.knows_documents());
  ASSERT_EQ(source.num_documents(), ends.size());
  std::vector<uint64_t> bounds = {0};
  bounds.insert(bounds.end(), ends.begin(), ends.end());
  ASSERT_OK_AND_ASSIGN(const auto found, source.DocumentBounds(0, ends.size()));
  EXPECT_EQ(found, bounds);
}

// Windows as the source cuts them by itself, against slices of its shards.
inline void ExpectWindows(const TokenSource& source,
                          const std::vector<uint32_t>& ids,
                          std::vector<uint64_t> shard_ends, bool keep_tail,
                          uint64_t length) {
  ASSERT_OK_AND_ASSIGN(const auto windows, source.Windows(length));
  uint64_t i = 0;
  uint64_t at = 0;
  for (const uint64_t end : shard_ends) {
    for (; at < end && (keep_tail || end - at >= length);
         at += std::min(length, end - at)) {
      ASSERT_OK_AND_ASSIGN(const TokenWindow window, windows->GetBlocking(i));
      ASSERT_EQ(window.tokens,
                SliceOf(ids, at, at + std::min(length, end - at)))
          << "window " << i;
      ++i;
    }
    at = end;
  }
  EXPECT_EQ(windows->CurrentLength(), i);
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_FORMATS_EXPECT_SOURCE_H_
