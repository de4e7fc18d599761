// SPDX-License-Identifier: Apache-2.0
// Siblings sorted by name, so that the order in which a user declares them
// never changes the data.

#ifndef PONIENTE_INDEX_MIXTURE_CANONICAL_ORDER_H_
#define PONIENTE_INDEX_MIXTURE_CANONICAL_ORDER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace poniente::internal {

// A permutation of the children and its inverse.
struct CanonicalOrder {
  // declared[c] is the declared number of the child at canonical place c.
  std::vector<uint32_t> declared;
  // canonical[d] is the canonical place of the child declared as number d.
  std::vector<uint32_t> canonical;
};

// Returns the order of the names, compared byte by byte. InvalidArgument if two
// names are the same.
absl::StatusOr<CanonicalOrder> SortByName(std::span<const std::string> names);

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MIXTURE_CANONICAL_ORDER_H_
