// SPDX-License-Identifier: Apache-2.0
// Thresholds that are computed from all scores. Compiled without fused
// multiply-add, so that mean and deviation are the same on every machine: they
// decide which items are chosen.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "poniente/score_file.h"
#include "util/check.h"

namespace poniente {
namespace {

// Adds numbers in their order, with the rounding errors kept apart (Kahan).
class CarefulSum {
 public:
  void Add(double number) {
    const double corrected = number - lost_;
    const double sum = sum_ + corrected;
    lost_ = (sum - sum_) - corrected;
    sum_ = sum;
  }
  double sum() const { return sum_; }

 private:
  double sum_ = 0;
  double lost_ = 0;
};

template <class Score>
double QuantileOf(std::vector<Score> scores, double share) {
  // A product and a rounding, neither of which a machine could fuse.
  const auto count = static_cast<double>(scores.size());
  const auto number = static_cast<size_t>(std::floor(share * count + 0.5));
  const size_t place = std::min(number, scores.size() - 1);
  const auto at = scores.begin() + static_cast<ptrdiff_t>(place);
  std::nth_element(scores.begin(), at, scores.end());
  return static_cast<double>(*at);
}

template <class Score>
absl::StatusOr<double> MeanPlus(std::span<const Score> scores, double sigmas) {
  CarefulSum sum;
  double count = 0;
  for (const Score score : scores) {
    if (!std::isfinite(score)) continue;
    sum.Add(static_cast<double>(score));
    count += 1;
  }
  if (count == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("none of the ", scores.size(),
                     " scores is finite, so they have no mean; state a score "
                     "as the threshold"));
  }
  const double mean = sum.sum() / count;
  CarefulSum squares;
  for (const Score score : scores) {
    if (!std::isfinite(score)) continue;
    const double distance = static_cast<double>(score) - mean;
    squares.Add(distance * distance);
  }
  const double deviation = std::sqrt(squares.sum() / count);
  const double above = sigmas * deviation;
  const double threshold = mean + above;
  if (std::isfinite(threshold)) return threshold;
  return absl::InvalidArgumentError(absl::StrCat(
      "the mean of the scores plus ", sigmas,
      " standard deviations is not finite: the scores are too large; scale "
      "them, or state a score as the threshold"));
}

}  // namespace

absl::StatusOr<double> Scores::Quantile(double share) const {
  PONIENTE_CHECK(share >= 0 && share <= 1) << share;
  if (size() == 0) {
    return absl::InvalidArgumentError(
        "there are no scores, so they have no quantile");
  }
  return std::visit(
      [&](const auto& numbers) { return QuantileOf(numbers, share); }, values);
}

absl::StatusOr<double> Scores::MeanPlusSigmas(double sigmas) const {
  PONIENTE_CHECK(std::isfinite(sigmas)) << sigmas;
  return std::visit(
      [&](const auto& numbers) { return MeanPlus(std::span(numbers), sigmas); },
      values);
}

}  // namespace poniente
