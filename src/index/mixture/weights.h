// SPDX-License-Identifier: Apache-2.0
// Weights as integers: quanta that sum to exactly 2^62. Everything behind this
// file is integer arithmetic, the same on every machine. Part of order
// version 1.

#ifndef PONIENTE_INDEX_MIXTURE_WEIGHTS_H_
#define PONIENTE_INDEX_MIXTURE_WEIGHTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace poniente::internal {

struct Share {
  uint64_t amount = 0;
  // The weight is above 0, though the amount may have been rounded down to it.
  bool positive = false;
};

// Quanta in proportion to the shares: at least 1 where positive, else 0. The
// shares stand in canonical order, which settles ties.
// REQUIRES: some amount is above 0; an amount above 0 is positive.
std::vector<uint64_t> Apportion(std::span<const Share> shares);

// The quanta of real weights in canonical order. InvalidArgument, naming the
// component by `names` (by its place if `names` is empty), unless all weights
// are finite and at least 0 and one is above 0.
absl::StatusOr<std::vector<uint64_t>> QuantaFromWeights(
    std::span<const double> weights, std::span<const std::string> names = {});

// The same for weight^(1 / temperature), which stays 0 for a weight of 0.
// Temperature 1 takes the weights as they are, infinity makes those above 0
// equal. InvalidArgument also if the temperature is below kMinTemperature.
absl::StatusOr<std::vector<uint64_t>> QuantaFromPowers(
    std::span<const double> weights, double temperature,
    std::span<const std::string> names = {});

// The same for exp(score / temperature): any finite score is drawn, -infinity
// never. InvalidArgument for other scores, and if all are -infinity.
absl::StatusOr<std::vector<uint64_t>> QuantaFromScores(
    std::span<const double> scores, double temperature,
    std::span<const std::string> names = {});

inline constexpr double kMinTemperature = 0x1p-10;

// Sub-stage s of a ramp of S from one set of quanta to another: the mean over
// its part of the straight line between them.
// REQUIRES: s < S; S <= 2^32; as many of one as of the other.
std::vector<uint64_t> QuantaOnRamp(std::span<const uint64_t> from,
                                   std::span<const uint64_t> to, uint64_t s,
                                   uint64_t S);

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MIXTURE_WEIGHTS_H_
