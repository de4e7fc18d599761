// SPDX-License-Identifier: Apache-2.0
// What the library and its tool know of a store beyond what users do.

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

  // Touches no file; the first read compares what is there with what was known,
  // and opens it.
  static absl::StatusOr<std::shared_ptr<const TokenStore>> OpenKnown(
      std::shared_ptr<const KnownStore> known,
      const TokenStoreOptions& options);
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_READ_TOKEN_STORE_ACCESS_H_
