// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/source_warnings.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cli/commands/verify_store.h"
#include "poniente/open_token_source.h"
#include "util/status_macros.h"

namespace poniente::cli {
namespace {

constexpr uint64_t kLookedAt = 65536;

absl::StatusOr<uint32_t> GreatestId(const TokenSource& source) {
  uint32_t greatest = 0;
  PONIENTE_RETURN_IF_ERROR(
      ReadAllTokens(source, [&](uint64_t, std::span<const uint32_t> ids) {
        greatest =
            std::max(greatest, *std::max_element(ids.begin(), ids.end()));
        return absl::OkStatus();
      }));
  return greatest;
}

}  // namespace

absl::Status WarnOfIds(const TokenSource& source, uint64_t vocabulary_size,
                       bool looks_at_all, std::vector<std::string>* warnings) {
  const uint64_t tokens = source.num_tokens();
  if (tokens == 0) {
    warnings->push_back("it holds no tokens");
    return absl::OkStatus();
  }
  const uint64_t some = std::min(tokens, kLookedAt);
  std::vector<TokenRange> ranges = {{0, some}};
  if (tokens > some) {
    ranges.push_back({(tokens - some) / 2, (tokens - some) / 2 + some});
    ranges.push_back({tokens - some, tokens});
  }
  PONIENTE_ASSIGN_OR_RETURN(const std::vector<TokenWindow> looked_at,
                            RunBlocking(source.ReadRanges(ranges)));
  uint32_t greatest = 0;
  for (const TokenWindow& window : looked_at) {
    greatest = std::max(greatest, *std::max_element(window.tokens.begin(),
                                                    window.tokens.end()));
  }
  if (looks_at_all) {
    PONIENTE_ASSIGN_OR_RETURN(greatest, GreatestId(source));
  }
  const Vocabulary* const vocabulary = source.known_vocabulary();
  if (vocabulary_size == 0 && vocabulary != nullptr) {
    vocabulary_size = vocabulary->size;
  }
  if (vocabulary_size > 0 && greatest >= vocabulary_size) {
    warnings->push_back(absl::StrCat("id ", greatest,
                                     " is not below the vocabulary size ",
                                     vocabulary_size));
  }
  const auto delimiter = DelimiterOf(source);
  if (!delimiter) return absl::OkStatus();
  const uint32_t first = looked_at.front().tokens.front();
  const uint32_t last = looked_at.back().tokens.back();
  if (!delimiter->begins && last != delimiter->id) {
    warnings->push_back(absl::StrCat("the last token is ", last,
                                     ", not the end-of-document id ",
                                     delimiter->id));
  }
  if (delimiter->begins && first != delimiter->id) {
    warnings->push_back(absl::StrCat("the first token is ", first, ", not ",
                                     delimiter->id,
                                     ", which begins each document"));
  }
  return absl::OkStatus();
}

}  // namespace poniente::cli
