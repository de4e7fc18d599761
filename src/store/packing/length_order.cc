// SPDX-License-Identifier: Apache-2.0
#include "store/packing/length_order.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "util/status_macros.h"

namespace poniente::internal {

absl::StatusOr<std::optional<uint64_t>> LengthOrder::OrdinalOf(
    uint64_t document, uint64_t length, const DocumentSpan& documents) const {
  const std::vector<uint64_t>& lengths = histogram_.lengths;
  const auto at = std::lower_bound(lengths.begin(), lengths.end(), length);
  if (at == lengths.end() || *at != length) return std::nullopt;
  const auto i = static_cast<size_t>(at - lengths.begin());
  // Within a length, numbers ascend: searches around the place where the
  // document would be if the length were spread evenly.
  uint64_t low = histogram_.starts[i];
  uint64_t high = histogram_.starts[i + 1];
  const double place = static_cast<double>(document - documents.first) /
                       static_cast<double>(documents.end - documents.first);
  uint64_t guess =
      low + static_cast<uint64_t>(place * static_cast<double>(high - low));
  guess = std::min(guess, high - 1);
  for (uint64_t reach = 1; low < high; reach *= 4) {
    uint64_t number = 0;
    PONIENTE_RETURN_IF_ERROR(numbers_->Read(guess, std::span(&number, 1)));
    if (number == document) return guess;
    if (number < document) {
      low = guess + 1;
      guess = reach < high - low ? low + reach : low + (high - low) / 2;
    } else {
      high = guess;
      guess = reach < high - low ? high - reach : low + (high - low) / 2;
    }
    // Halves what is left once steps have grown to its size.
    if (reach >= (high - low) / 2) guess = low + (high - low) / 2;
  }
  return std::nullopt;
}

}  // namespace poniente::internal
