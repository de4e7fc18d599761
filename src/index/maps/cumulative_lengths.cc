// SPDX-License-Identifier: Apache-2.0
#include "index/maps/cumulative_lengths.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "util/check.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kMaxTotal = uint64_t{1} << 63;

}  // namespace

absl::StatusOr<CumulativeLengths> CumulativeLengths::Create(
    std::span<const uint64_t> lengths) {
  std::vector<uint64_t> starts = {0};
  starts.reserve(lengths.size() + 1);
  for (const uint64_t length : lengths) {
    if (length > kMaxTotal - starts.back()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the ", lengths.size(),
                       " children have more than 2^63 items together"));
    }
    starts.push_back(starts.back() + length);
  }
  return CumulativeLengths(std::move(starts));
}

CumulativeLengths::CumulativeLengths(std::vector<uint64_t> starts)
    : starts_(std::move(starts)) {}

CumulativeLengths::PartIndex CumulativeLengths::Locate(uint64_t index) const {
  PONIENTE_CHECK(index < total()) << index << " of " << total();
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), index);
  const auto part = static_cast<size_t>(after - starts_.begin()) - 1;
  return {static_cast<uint32_t>(part), index - starts_[part]};
}

std::optional<uint64_t> CumulativeLengths::IndexOf(uint32_t part,
                                                   uint64_t index) const {
  if (part >= parts() || index >= starts_[part + 1] - starts_[part]) {
    return std::nullopt;
  }
  return starts_[part] + index;
}

}  // namespace poniente::internal
