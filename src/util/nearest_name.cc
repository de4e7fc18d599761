// SPDX-License-Identifier: Apache-2.0
#include "util/nearest_name.h"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace poniente::internal {
namespace {

// Returns the optimal string alignment distance: the least number of characters
// to insert, remove, replace or swap with their neighbour.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1);  // the row of i - 2
  std::vector<size_t> last(b.size() + 1);    // the row of i - 1
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, last);
    std::swap(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      const bool is_swapped =
          i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

// How near a known name is. The smaller one is nearer: one that is likely to be
// meant comes before all others, and then the number of edits decides.
struct Nearness {
  bool is_unlikely = true;
  size_t edits = 0;

  friend auto operator<=>(const Nearness&, const Nearness&) = default;
};

// Returns nullopt if `known` is not near.
std::optional<Nearness> NearnessOf(std::string_view name,
                                   std::string_view known) {
  const size_t edits = EditDistance(name, known);
  const bool is_begun = !name.empty() && known.starts_with(name);
  const bool is_end = !name.empty() && known.ends_with("/" + std::string(name));
  const bool is_swapped =
      edits == 1 && name.size() == known.size() &&
      std::is_permutation(name.begin(), name.end(), known.begin());
  if (is_begun || is_end || is_swapped) return Nearness{false, edits};
  const size_t most = std::max<size_t>(2, name.size() / 2);
  if (edits > most || edits >= known.size()) return std::nullopt;
  return Nearness{true, edits};
}

}  // namespace

std::string DidYouMean(std::string_view name,
                       std::span<const std::string> known) {
  const std::string* nearest = nullptr;
  Nearness least;
  for (const std::string& candidate : known) {
    const std::optional<Nearness> nearness = NearnessOf(name, candidate);
    if (!nearness || (nearest && *nearness >= least)) continue;
    least = *nearness;
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
