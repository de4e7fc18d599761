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

// a_i = floor(weight * 2^(62 - E)) for 2^E <= largest < 2^(E + 1)
// (docs/index-math.md 2.1): exact, by shifts.
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

// The last step of apportion() (docs/index-math.md 2.1): makes quanta that were
// rounded down sum to 2^62. The largest remainders get one more each; if
// raising small quanta to 1 gave too much, the largest quanta pays.
std::vector<uint64_t> FillUp(std::vector<uint64_t> quanta,
                             std::span<const Uint128> remainders) {
  const uint64_t given =
      std::accumulate(quanta.begin(), quanta.end(), uint64_t{0});
  // D < 0: the largest quanta gives up what is too much; the first on a tie.
  if (given > QuotaTree::kTotal) {
    *std::max_element(quanta.begin(), quanta.end()) -=
        given - QuotaTree::kTotal;
    return quanta;
  }
  // D > 0: one more for each of the D largest remainders; the sort is stable,
  // so a tie goes to the first in canonical order.
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

// Checks that the weights are finite, at least 0, and not all 0.
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

// apportion(a) of docs/index-math.md 2.1.
std::vector<uint64_t> Apportion(std::span<const Share> shares) {
  Uint128 sum = 0;
  for (const Share& share : shares) sum += share.amount;
  PONIENTE_CHECK(sum > 0) << "of " << shares.size() << " shares";
  std::vector<uint64_t> quanta(shares.size());
  std::vector<Uint128> remainders(shares.size());
  for (size_t i = 0; i < shares.size(); ++i) {
    // q_i = a_i * 2^62 / A, r_i = a_i * 2^62 mod A.
    const Uint128 product = Uint128{shares[i].amount} << 62;
    quanta[i] = static_cast<uint64_t>(product / sum);
    remainders[i] = product % sum;
    // A weight above 0 has at least one quantum, without a claim to more.
    if (shares[i].positive && quanta[i] == 0) {
      quanta[i] = 1;
      remainders[i] = 0;
    }
  }
  return FillUp(std::move(quanta), remainders);
}

// The quanta of step s of a ramp of S steps (docs/index-math.md 2.4).
std::vector<uint64_t> QuantaOnRamp(std::span<const uint64_t> from,
                                   std::span<const uint64_t> to, uint64_t s,
                                   uint64_t S) {
  PONIENTE_CHECK(from.size() == to.size()) << from.size() << ' ' << to.size();
  PONIENTE_CHECK(s < S && S <= uint64_t{1} << 32) << s << " of " << S;
  std::vector<uint64_t> quanta(from.size());
  std::vector<Uint128> remainders(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    // q0_i * (2S - 2s - 1) + q1_i * (2s + 1): twice S times the share at the
    // middle of the step, so that dividing by 2 S apportions it.
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

// w^(1/T) (docs/index-math.md 2.1).
absl::StatusOr<std::vector<uint64_t>> QuantaFromPowers(
    std::span<const double> weights, double temperature,
    std::span<const std::string> names) {
  PONIENTE_RETURN_IF_ERROR(CheckTemperature(temperature));
  if (temperature == 1) return QuantaFromWeights(weights, names);
  PONIENTE_RETURN_IF_ERROR(CheckWeights(weights, names));
  // G = floor(2^48 * (1/T)).
  const auto exponent =
      static_cast<int64_t>(std::floor(0x1p48 * (1.0 / temperature)));
  std::vector<Int128> logs(weights.size());
  std::optional<Int128> largest;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    // y_i = lg(w_i) * G >> 48.
    logs[i] = Int128{FixedLog2(weights[i])} * exponent >> 48;
    if (!largest || logs[i] > *largest) largest = logs[i];
  }
  std::vector<Share> shares(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    // a_i = ex(y_i - max y), at most 1 in units of 2^-62.
    if (weights[i] > 0) shares[i] = {FixedExp2(logs[i] - *largest), true};
  }
  return Apportion(shares);
}

// exp(s / T) (docs/index-math.md 2.1).
absl::StatusOr<std::vector<uint64_t>> QuantaFromScores(
    std::span<const double> scores, double temperature,
    std::span<const std::string> names) {
  PONIENTE_RETURN_IF_ERROR(CheckTemperature(temperature));
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  // floor(2^62 * log2 e).
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
    // u_i = floor(2^48 * max((s_i - max s) / T, -128)).
    const double below = std::max(-128.0, (scores[i] - largest) / temperature);
    const auto nats = static_cast<int64_t>(std::floor(0x1p48 * below));
    // a_i = ex(u_i * log2 e): from powers of e to powers of 2.
    shares[i] = {FixedExp2(Int128{nats} * kLog2E >> 62), true};
  }
  return Apportion(shares);
}

}  // namespace poniente::internal
