// SPDX-License-Identifier: Apache-2.0
#include "cli/verify_store.h"

#include "cli/progress.h"
#include "store/manifest.h"

namespace poniente::cli {

absl::StatusOr<std::shared_ptr<const TokenStore>> OpenUnchecked(
    const std::string& path) {
  TokenStoreOptions options;
  options.io.verify = VerifyChecksums::kOff;
  return TokenStore::Open(path, options);
}

absl::Status VerifyWithProgress(const TokenStore& store,
                                const std::string& what) {
  Progress progress(what,
                    store.manifest().FileBytes(internal::StoreFile::kTokens),
                    /*quiet=*/false);
  return VerifyTokenStore(
      store, [&progress](uint64_t done, uint64_t) { progress.Update(done); });
}

}  // namespace poniente::cli
