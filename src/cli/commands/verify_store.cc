// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/verify_store.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/screen/progress.h"
#include "store/catalog/catalog_text.h"
#include "store/catalog/joined_stores.h"
#include "store/manifest/manifest.h"
#include "util/status_macros.h"

namespace poniente::cli {
namespace {

constexpr uint64_t kReadAtOnce = uint64_t{1} << 20;

// Calls progress(tokens) now and then.
template <class ProgressOf>
absl::Status ReadToTheEnd(const TokenSource& source,
                          const ProgressOf& progress) {
  const Vocabulary* const vocabulary = source.known_vocabulary();
  return ReadAllTokens(
      source, [&](uint64_t at, std::span<const uint32_t> ids) -> absl::Status {
        for (size_t i = 0; vocabulary != nullptr && i < ids.size(); ++i) {
          if (ids[i] < vocabulary->size) continue;
          return absl::DataLossError(absl::StrCat(
              "'", source.path(), "': token ", at + i, " is id ", ids[i],
              ", not below the vocabulary size ", vocabulary->size));
        }
        if (source.has_loss_mask()) {
          const auto mask = RunBlocking(source.ReadLossMask(at, ids.size()));
          PONIENTE_RETURN_IF_ERROR(mask.status());
        }
        progress(at + ids.size());
        return absl::OkStatus();
      });
}

// The first read of a store that a catalogue lists compares the two; what else
// is wrong with it is told better by VerifyTokenStore().
absl::Status CheckIsAsListed(const TokenStore& store) {
  const auto first = RunBlocking(
      store.ReadTokens(0, std::min<uint64_t>(store.num_tokens(), 1)));
  return absl::IsFailedPrecondition(first.status()) ? first.status()
                                                    : absl::OkStatus();
}

}  // namespace

bool IsGrowing(const TokenSource& source) {
  return source.format() == internal::kGrowthFormat;
}

bool HasChecksums(const TokenSource& source) {
  return source.format() == internal::kStoreFormat ||
         source.format() == internal::kCatalogFormat || IsGrowing(source);
}

absl::Status ReadAllTokens(const TokenSource& source, const TakeTokens& take) {
  for (uint64_t at = 0; at < source.num_tokens(); at += kReadAtOnce) {
    const uint64_t some = std::min(source.num_tokens() - at, kReadAtOnce);
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<uint32_t> ids,
                              RunBlocking(source.ReadTokens(at, some)));
    PONIENTE_RETURN_IF_ERROR(take(at, ids));
  }
  return absl::OkStatus();
}

absl::Status VerifyWithProgress(const TokenSource& source,
                                const std::string& what) {
  const uint64_t width = StoredTypeBytes(source.stored_type());
  Progress progress(what, source.num_tokens() * width, /*quiet=*/false);
  uint64_t before = 0;
  const auto verify = [&](const TokenStore& store) {
    PONIENTE_RETURN_IF_ERROR(CheckIsAsListed(store));
    const absl::Status status = VerifyTokenStore(
        store,
        [&](uint64_t done, uint64_t) { progress.Update(before + done); });
    before += store.num_tokens() * width;
    return status;
  };
  if (const auto* store = dynamic_cast<const TokenStore*>(&source)) {
    return verify(*store);
  }
  if (const auto* joined =
          dynamic_cast<const internal::JoinedStores*>(&source)) {
    for (const auto& store : joined->stores()) {
      PONIENTE_RETURN_IF_ERROR(verify(*store));
    }
    return absl::OkStatus();
  }
  return ReadToTheEnd(
      source, [&](uint64_t tokens) { progress.Update(tokens * width); });
}

}  // namespace poniente::cli
