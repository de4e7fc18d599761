// SPDX-License-Identifier: Apache-2.0
#include "cli/source_warnings.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "poniente/token_files.h"
#include "util/status_macros.h"

namespace poniente::cli {
namespace {

constexpr uint64_t kLookedAt = 65536;
// No tokenizer has so many ids.
constexpr uint32_t kManyIds = uint32_t{1} << 24;
// Fewer ids say little.
constexpr size_t kFew = 32;

bool Most(size_t count, size_t of) { return count * 10 >= of * 9; }

}  // namespace

std::string WidthWarning(StoredType type, const std::vector<uint32_t>& ids) {
  if (ids.size() < kFew) return "";
  if (type == StoredType::kU16) {
    // The high halves of u32 are small, the low ones are not.
    size_t small = 0;
    size_t zeros = 0;
    for (size_t i = 1; i < ids.size(); i += 2) {
      small += ids[i] < 16 ? 1 : 0;
      zeros += ids[i - 1] < 16 ? 1 : 0;
    }
    if (!Most(small, ids.size() / 2) || Most(zeros, ids.size() / 2)) return "";
    return "every other id is below 16: ambiguous dtype, these may be u32 read "
           "as u16";
  }
  if (StoredTypeBytes(type) == 4) {
    const auto huge = static_cast<size_t>(std::count_if(
        ids.begin(), ids.end(), [](uint32_t id) { return id >= kManyIds; }));
    if (huge * 2 < ids.size()) return "";
    return absl::StrCat(huge, " of ", ids.size(),
                        " ids are 2^24 or more: ambiguous dtype, these may be "
                        "u16 read two at a time");
  }
  return "";
}

absl::Status WarnOfIds(const TokenSource& source, uint64_t vocabulary_size,
                       std::vector<std::string>* warnings) {
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
  const Vocabulary* const vocabulary = source.known_vocabulary();
  if (vocabulary_size == 0 && vocabulary != nullptr) {
    vocabulary_size = vocabulary->size;
  }
  if (vocabulary_size > 0 && greatest >= vocabulary_size) {
    warnings->push_back(absl::StrCat("id ", greatest,
                                     " is not below the vocabulary size ",
                                     vocabulary_size));
  }
  if (source.format() == "raw") {
    std::string width =
        WidthWarning(source.stored_type(), looked_at.front().tokens);
    if (!width.empty()) warnings->push_back(std::move(width));
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
