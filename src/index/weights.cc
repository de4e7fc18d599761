// SPDX-License-Identifier: Apache-2.0
#include "index/weights.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "index/int128.h"
#include "poniente/quota_tree.h"
#include "util/check.h"

namespace poniente::internal {
namespace {

constexpr int kMantissaBits = 53;

// floor(weight * 2^(62 - E)) for 2^E <= largest < 2^(E + 1): exact, by shifts.
uint64_t ToAmount(double weight, double largest) {
  int exponent;
  int largest_exponent;
  const double mantissa = std::frexp(weight, &exponent);
  std::frexp(largest, &largest_exponent);
  const auto digits =
      static_cast<uint64_t>(std::ldexp(mantissa, kMantissaBits));
  const int shift = exponent - largest_exponent + 63 - kMantissaBits;
  if (shift >= 0) return digits << shift;
  return shift > -64 ? digits >> -shift : 0;
}

}  // namespace

std::vector<uint64_t> Apportion(std::span<const Share> shares) {
  Uint128 sum = 0;
  for (const Share& share : shares) sum += share.amount;
  PONIENTE_CHECK(sum > 0) << "of " << shares.size() << " shares";
  std::vector<uint64_t> quanta(shares.size());
  std::vector<Uint128> remainders(shares.size());
  uint64_t given = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    const Uint128 product = Uint128{shares[i].amount} << 62;
    quanta[i] = static_cast<uint64_t>(product / sum);
    remainders[i] = product % sum;
    if (shares[i].positive && quanta[i] == 0) {
      quanta[i] = 1;
      remainders[i] = 0;
    }
    given += quanta[i];
  }
  if (given > QuotaTree::kTotal) {
    *std::max_element(quanta.begin(), quanta.end()) -=
        given - QuotaTree::kTotal;
    return quanta;
  }
  std::vector<size_t> by_remainder(shares.size());
  std::iota(by_remainder.begin(), by_remainder.end(), size_t{0});
  std::stable_sort(
      by_remainder.begin(), by_remainder.end(),
      [&](size_t a, size_t b) { return remainders[a] > remainders[b]; });
  const uint64_t missing = QuotaTree::kTotal - given;
  for (uint64_t i = 0; i < missing; ++i) ++quanta[by_remainder[i]];
  return quanta;
}

absl::StatusOr<std::vector<uint64_t>> QuantaFromWeights(
    std::span<const double> weights, std::span<const std::string> names) {
  PONIENTE_CHECK(names.empty() || names.size() == weights.size())
      << names.size() << " names, " << weights.size() << " weights";
  double largest = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!std::isfinite(weights[i]) || weights[i] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("weight of ",
                       names.empty() ? absl::StrCat("component ", i)
                                     : absl::StrCat("'", names[i], "'"),
                       " must be finite and at least 0, got ", weights[i]));
    }
    largest = std::max(largest, weights[i]);
  }
  if (largest == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "at least one of the ", weights.size(), " weights must be above 0"));
  }
  std::vector<Share> shares(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    shares[i] = {ToAmount(weights[i], largest), weights[i] > 0};
  }
  return Apportion(shares);
}

}  // namespace poniente::internal
