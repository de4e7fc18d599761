// SPDX-License-Identifier: Apache-2.0
// Finds the token stores below a folder.

#ifndef PONIENTE_STORE_CATALOG_STORE_SEARCH_H_
#define PONIENTE_STORE_CATALOG_STORE_SEARCH_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace poniente::internal {

// The result of FindStores(): paths relative to the folder, in bytewise order.
struct FoundStores {
  // Folders with a manifest of a token store, even if it is damaged.
  std::vector<std::string> stores;
  // Folders with a manifest.json that is something else.
  std::vector<std::string> others;
};

// Finds the stores below `folder`. Follows links, but not in circles; does not
// look into stores. Fails if the folder, or one below it, cannot be read.
// InvalidArgument if `folder` itself is a store.
absl::StatusOr<FoundStores> FindStores(const std::string& folder);

// Returns a sentence for each set of parts that is incomplete in `stores`.
// Parts are recognised by their names, which `poniente pack --part` gives them:
// "part-00003-of-00008".
std::vector<std::string> MissingParts(const std::vector<std::string>& stores);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_CATALOG_STORE_SEARCH_H_
