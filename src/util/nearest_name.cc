// SPDX-License-Identifier: Apache-2.0
#include "util/nearest_name.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace poniente::internal {
namespace {

// Returns the Levenshtein distance.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string DidYouMean(std::string_view name,
                       std::span<const std::string> known) {
  const std::string* nearest = nullptr;
  size_t least = std::max<size_t>(2, name.size() / 2) + 1;
  for (const std::string& candidate : known) {
    const size_t distance = EditDistance(name, candidate);
    if (distance >= least || distance >= candidate.size()) continue;
    least = distance;
    nearest = &candidate;
  }
  return nearest ? absl::StrCat("; did you mean '", *nearest, "'?") : "";
}

std::string NearestOrAll(std::string_view name,
                         const std::vector<std::string>& known) {
  constexpr size_t kMax = 8;
  std::string near = DidYouMean(name, known);
  if (!near.empty() || known.empty()) return near;
  const size_t shown = std::min(known.size(), kMax);
  return absl::StrCat(
      " (known: ",
      absl::StrJoin(known.begin(),
                    known.begin() + static_cast<ptrdiff_t>(shown), ", "),
      known.size() > shown ? ", ...)" : ")");
}

}  // namespace poniente::internal
