// SPDX-License-Identifier: Apache-2.0
#include "index/mixture/weights.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "index/int128.h"
#include "index/mixture/powers.h"
#include "index/mixture/quota_tree.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr int kDigitBits = 53;

// floor(weight * 2^(62 - E)) for 2^E <= largest < 2^(E + 1): exact, by shifts.
uint64_t ToAmount(double weight, double largest) {
  int exponent;
  int largest_exponent;
  const double mantissa = std::frexp(weight, &exponent);
  std::frexp(largest, &largest_exponent);
  const auto digits = static_cast<uint64_t>(std::ldexp(mantissa, kDigitBits));
  const int shift = exponent - largest_exponent + 63 - kDigitBits;
  if (shift >= 0) return digits << shift;
  return shift > -64 ? digits >> -shift : 0;
}

// Makes quanta that were rounded down sum to 2^62: those with the largest
// remainders get one more each; if raising small ones to 1 gave too much, the
// largest pays.
std::vector<uint64_t> FillUp(std::vector<uint64_t> quanta,
                             std::span<const Uint128> remainders) {
  const uint64_t given =
      std::accumulate(quanta.begin(), quanta.end(), uint64_t{0});
  if (given > QuotaTree::kTotal) {
    *std::max_element(quanta.begin(), quanta.end()) -=
        given - QuotaTree::kTotal;
    return quanta;
  }
  std::vector<size_t> by_remainder(quanta.size());
  std::iota(by_remainder.begin(), by_remainder.end(), size_t{0});
  std::stable_sort(
      by_remainder.begin(), by_remainder.end(),
      [&](size_t a, size_t b) { return remainders[a] > remainders[b]; });
  const uint64_t missing = QuotaTree::kTotal - given;
  for (uint64_t i = 0; i < missing; ++i) ++quanta[by_remainder[i]];
  return quanta;
}

std::string ComponentLabel(std::span<const std::string> names, size_t i) {
  return names.empty() ? absl::StrCat("component ", i)
                       : absl::StrCat("'", names[i], "'");
}

// Finite, at least 0, and not all 0.
absl::Status CheckWeights(std::span<const double> weights,
                          std::span<const std::string> names) {
  PONIENTE_CHECK(names.empty() || names.size() == weights.size())
      << names.size() << " names, " << weights.size() << " weights";
  bool any = false;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!std::isfinite(weights[i]) || weights[i] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("weight of ", ComponentLabel(names, i),
                       " must be finite and at least 0, got ", weights[i]));
    }
    any |= weights[i] > 0;
  }
  if (any) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "at least one of the ", weights.size(), " weights must be above 0"));
}

absl::Status CheckTemperature(double temperature) {
  if (temperature >= kMinTemperature) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("temperature must be at least ", kMinTemperature,
                   " (1/1024, all but greedy), got ", temperature));
}

}  // namespace

std::vector<uint64_t> Apportion(std::span<const Share> shares) {
  Uint128 sum = 0;
  for (const Share& share : shares) sum += share.amount;
  PONIENTE_CHECK(sum > 0) << "of " << shares.size() << " shares";
  std::vector<uint64_t> quanta(shares.size());
  std::vector<Uint128> remainders(shares.size());
  for (size_t i = 0; i < shares.size(); ++i) {
    const Uint128 product = Uint128{shares[i].amount} << 62;
    quanta[i] = static_cast<uint64_t>(product / sum);
    remainders[i] = product % sum;
    if (shares[i].positive && quanta[i] == 0) {
      quanta[i] = 1;
      remainders[i] = 0;
    }
  }
  return FillUp(std::move(quanta), remainders);
}

std::vector<uint64_t> QuantaOnRamp(std::span<const uint64_t> from,
                                   std::span<const uint64_t> to, uint64_t s,
                                   uint64_t S) {
  PONIENTE_CHECK(from.size() == to.size()) << from.size() << ' ' << to.size();
  PONIENTE_CHECK(s < S && S <= uint64_t{1} << 32) << s << " of " << S;
  std::vector<uint64_t> quanta(from.size());
  std::vector<Uint128> remainders(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    // Twice S times the share, so that dividing by 2 S apportions it.
    const Uint128 line =
        Uint128{from[i]} * (2 * S - 2 * s - 1) + Uint128{to[i]} * (2 * s + 1);
    quanta[i] = static_cast<uint64_t>(line / (2 * S));
    remainders[i] = line % (2 * S);
    if (line > 0 && quanta[i] == 0) {
      quanta[i] = 1;
      remainders[i] = 0;
    }
  }
  return FillUp(std::move(quanta), remainders);
}

absl::StatusOr<std::vector<uint64_t>> QuantaFromWeights(
    std::span<const double> weights, std::span<const std::string> names) {
  PONIENTE_RETURN_IF_ERROR(CheckWeights(weights, names));
  const double largest = *std::max_element(weights.begin(), weights.end());
  std::vector<Share> shares(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    shares[i] = {ToAmount(weights[i], largest), weights[i] > 0};
  }
  return Apportion(shares);
}

absl::StatusOr<std::vector<uint64_t>> QuantaFromPowers(
    std::span<const double> weights, double temperature,
    std::span<const std::string> names) {
  PONIENTE_RETURN_IF_ERROR(CheckTemperature(temperature));
  if (temperature == 1) return QuantaFromWeights(weights, names);
  PONIENTE_RETURN_IF_ERROR(CheckWeights(weights, names));
  const auto exponent =
      static_cast<int64_t>(std::floor(0x1p48 * (1.0 / temperature)));
  std::vector<Int128> logs(weights.size());
  std::optional<Int128> largest;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    logs[i] = Int128{FixedLog2(weights[i])} * exponent >> 48;
    if (!largest || logs[i] > *largest) largest = logs[i];
  }
  std::vector<Share> shares(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] > 0) shares[i] = {FixedExp2(logs[i] - *largest), true};
  }
  return Apportion(shares);
}

absl::StatusOr<std::vector<uint64_t>> QuantaFromScores(
    std::span<const double> scores, double temperature,
    std::span<const std::string> names) {
  PONIENTE_RETURN_IF_ERROR(CheckTemperature(temperature));
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  // log2(e) in units of 2^-62.
  constexpr uint64_t kLog2E = 6653256548922161245;
  double largest = kNever;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (!std::isfinite(scores[i]) && scores[i] != kNever) {
      return absl::InvalidArgumentError(
          absl::StrCat("score of ", ComponentLabel(names, i),
                       " must be finite, or -inf for never, got ", scores[i]));
    }
    largest = std::max(largest, scores[i]);
  }
  if (largest == kNever) {
    return absl::InvalidArgumentError(absl::StrCat(
        "at least one of the ", scores.size(), " scores must be above -inf"));
  }
  std::vector<Share> shares(scores.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] == kNever) continue;
    const double below = std::max(-128.0, (scores[i] - largest) / temperature);
    const auto nats = static_cast<int64_t>(std::floor(0x1p48 * below));
    shares[i] = {FixedExp2(Int128{nats} * kLog2E >> 62), true};
  }
  return Apportion(shares);
}

}  // namespace poniente::internal
