// SPDX-License-Identifier: Apache-2.0
// The tokens of a TokenLayout, and whether its runs lie where they may.

#ifndef PONIENTE_TESTS_FORMATS_LAYOUT_TOKENS_H_
#define PONIENTE_TESTS_FORMATS_LAYOUT_TOKENS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "formats/core/layout_source.h"
#include "formats/core/token_layout.h"
#include "poniente/task.h"
#include "poniente/token_source.h"
#include "tests/support/status_matchers.h"
#include "util/status_macros.h"

namespace poniente::testing {

inline absl::StatusOr<std::shared_ptr<const internal::LayoutSource>> SourceOf(
    const internal::TokenLayout& layout) {
  return internal::LayoutSource::Open("layout", layout, {});
}

// All tokens, of a source opened for it.
inline absl::StatusOr<std::vector<uint32_t>> ReadLayout(
    const internal::TokenLayout& layout) {
  PONIENTE_ASSIGN_OR_RETURN(const auto source, SourceOf(layout));
  return RunBlocking(source->ReadTokens(0, source->num_tokens()));
}

// That every run lies in its file or block, none is empty, and they hold all
// tokens.
inline absl::Status CheckRuns(const internal::TokenLayout& layout) {
  std::vector<internal::TokenRun> runs;
  uint64_t tokens = 0;
  for (const internal::TokenShard& shard : layout.shards) {
    tokens += shard.tokens;
    if (layout.locator || shard.tokens == 0) continue;
    runs.push_back({shard.file, shard.offset, shard.tokens});
  }
  if (layout.locator) {
    PONIENTE_RETURN_IF_ERROR(layout.locator->Locate({0, tokens}, &runs));
  }
  for (const internal::TokenRun& run : runs) {
    const uint64_t there =
        layout.decoder ? layout.decoder->DecodedBytes(run.place)
                       : std::filesystem::file_size(layout.files.at(run.place));
    if (run.tokens == 0 || run.offset > there ||
        run.tokens > (there - run.offset) / StoredTypeBytes(layout.type)) {
      return absl::InternalError(absl::StrCat("a run of ", run.tokens, " at ",
                                              run.offset, " of ", there));
    }
    tokens -= run.tokens;
  }
  return tokens == 0 ? absl::OkStatus()
                     : absl::InternalError("runs hold other tokens");
}

// That a source holds these tokens, in documents of these lengths, and cuts
// them into windows as it says.
inline void ExpectSource(const TokenSource& source,
                         const std::vector<uint32_t>& tokens,
                         const std::vector<uint64_t>& lengths) {
  ASSERT_EQ(source.num_tokens(), tokens.size());
  const auto slice = [&](uint64_t begin, uint64_t end) {
    return std::vector<uint32_t>(tokens.begin() + static_cast<ptrdiff_t>(begin),
                                 tokens.begin() + static_cast<ptrdiff_t>(end));
  };
  ASSERT_OK_AND_ASSIGN(const auto all,
                       RunBlocking(source.ReadTokens(0, tokens.size())));
  ASSERT_EQ(all, tokens);
  ASSERT_EQ(source.num_documents(), lengths.size());
  uint64_t at = 0;
  const auto documents = source.Documents();
  for (uint64_t d = 0; d < lengths.size(); ++d) {
    ASSERT_OK_AND_ASSIGN(const TokenRange range, source.DocumentRange(d));
    ASSERT_EQ(range, (TokenRange{at, at + lengths[d]})) << d;
    at = range.end;
    if (d % 50 >= 10) continue;
    ASSERT_OK_AND_ASSIGN(const TokenWindow document, documents->GetBlocking(d));
    ASSERT_EQ(document.tokens, slice(range.begin, range.end)) << d;
  }
  const WindowRule rule = source.window_rule();
  ASSERT_FALSE(rule.keep_tail);
  ASSERT_EQ(rule.overlap, 0u);
  for (const uint64_t length : {uint64_t{2}, tokens.size() / 7 + 1}) {
    ASSERT_OK_AND_ASSIGN(const auto windows, source.Windows(length));
    std::vector<uint64_t> begins;
    uint64_t begin = 0;
    for (const uint64_t shard_end : source.shard_ends()) {
      const uint64_t end = rule.across_shards ? tokens.size() : shard_end;
      for (; begin + length <= end; begin += length) begins.push_back(begin);
      if (!rule.across_shards) begin = shard_end;
    }
    ASSERT_EQ(windows->CurrentLength(), begins.size());
    for (size_t i = 0; i < begins.size(); i += begins.size() / 100 + 1) {
      ASSERT_OK_AND_ASSIGN(const TokenWindow window, windows->GetBlocking(i));
      ASSERT_EQ(window.tokens, slice(begins[i], begins[i] + length)) << i;
    }
  }
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_FORMATS_LAYOUT_TOKENS_H_
