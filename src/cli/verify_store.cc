// SPDX-License-Identifier: Apache-2.0
#include "cli/verify_store.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/progress.h"
#include "util/status_macros.h"

namespace poniente::cli {
namespace {

constexpr uint64_t kReadAtOnce = uint64_t{1} << 20;

// Calls progress(tokens) now and then.
template <class ProgressOf>
absl::Status ReadToTheEnd(const TokenSource& source,
                          const ProgressOf& progress) {
  const Vocabulary* const vocabulary = source.known_vocabulary();
  for (uint64_t at = 0; at < source.num_tokens(); at += kReadAtOnce) {
    const uint64_t some = std::min(source.num_tokens() - at, kReadAtOnce);
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<uint32_t> ids,
                              RunBlocking(source.ReadTokens(at, some)));
    for (size_t i = 0; vocabulary != nullptr && i < ids.size(); ++i) {
      if (ids[i] < vocabulary->size) continue;
      return absl::DataLossError(absl::StrCat(
          "'", source.path(), "': token ", at + i, " is id ", ids[i],
          ", not below the vocabulary size ", vocabulary->size));
    }
    progress(at + some);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyWithProgress(const TokenSource& source,
                                const std::string& what) {
  const uint64_t width = StoredTypeBytes(source.stored_type());
  Progress progress(what, source.num_tokens() * width, /*quiet=*/false);
  if (const auto* store = dynamic_cast<const TokenStore*>(&source)) {
    return VerifyTokenStore(*store, [&progress](uint64_t done, uint64_t) {
      progress.Update(done);
    });
  }
  return ReadToTheEnd(
      source, [&](uint64_t tokens) { progress.Update(tokens * width); });
}

}  // namespace poniente::cli
