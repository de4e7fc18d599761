// SPDX-License-Identifier: Apache-2.0
#include "index/mixture/canonical_order.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace poniente::internal {

absl::StatusOr<CanonicalOrder> SortByName(std::span<const std::string> names) {
  CanonicalOrder order;
  order.declared.resize(names.size());
  order.canonical.resize(names.size());
  std::iota(order.declared.begin(), order.declared.end(), uint32_t{0});
  std::sort(order.declared.begin(), order.declared.end(),
            [&](uint32_t a, uint32_t b) { return names[a] < names[b]; });
  for (uint32_t c = 0; c < names.size(); ++c) {
    const uint32_t d = order.declared[c];
    if (c > 0 && names[d] == names[order.declared[c - 1]]) {
      return absl::InvalidArgumentError(absl::StrCat(
          "two children are named '", names[d], "'; names must differ"));
    }
    order.canonical[d] = c;
  }
  return order;
}

}  // namespace poniente::internal
