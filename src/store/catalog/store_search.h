// SPDX-License-Identifier: Apache-2.0
// Finds the token stores below a folder.

#ifndef PONIENTE_STORE_CATALOG_STORE_SEARCH_H_
#define PONIENTE_STORE_CATALOG_STORE_SEARCH_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace poniente::internal {

// Paths relative to the folder, in bytewise order.
struct FoundStores {
  // Folders with a manifest that is, or was, one of ours.
  std::vector<std::string> stores;
  // Those with a manifest.json that is something else.
  std::vector<std::string> others;
};

// Follows links, but not in circles; does not look into stores. Errors: the
// folder, or one below it, cannot be read; it is itself a store
// (InvalidArgument).
absl::StatusOr<FoundStores> FindStores(const std::string& folder);

// Of paths that end like those that `poniente pack --part` writes,
// "part-00003-of-00008": a sentence for each division of which not all are
// among `stores`.
std::vector<std::string> MissingParts(const std::vector<std::string>& stores);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_CATALOG_STORE_SEARCH_H_
