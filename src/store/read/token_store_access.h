// SPDX-License-Identifier: Apache-2.0
// Access to parts of a TokenStore that are not public, for the library and its
// tool.

#ifndef PONIENTE_STORE_READ_TOKEN_STORE_ACCESS_H_
#define PONIENTE_STORE_READ_TOKEN_STORE_ACCESS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "poniente/token_store.h"
#include "store/manifest/known_store.h"
#include "store/manifest/manifest.h"

namespace poniente::internal {

struct TokenStoreAccess {
  static const StoreManifest& Manifest(const TokenStore& store) {
    return *store.manifest_;
  }

  // Returns a store without touching its files. The first read checks that they
  // are unchanged since they became known, and opens them.
  static absl::StatusOr<std::shared_ptr<const TokenStore>> OpenKnown(
      std::shared_ptr<const KnownStore> known,
      const TokenStoreOptions& options);
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_READ_TOKEN_STORE_ACCESS_H_
