// SPDX-License-Identifier: Apache-2.0
// Weights as integers: quanta that sum to exactly 2^62 (docs/index-math.md
// 2.1). Everything after this file is integer arithmetic, the same on every
// machine. Part of the order since version 1.

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
  // Whether the weight is above 0; its amount may still have been rounded to 0.
  bool positive = false;
};

// Returns quanta in proportion to the shares: at least 1 for a positive share,
// else 0. The shares are in canonical order, which settles ties. REQUIRES: some
// amount is above 0; a share with an amount above 0 is positive.
std::vector<uint64_t> Apportion(std::span<const Share> shares);

// Returns the quanta of real weights in canonical order. InvalidArgument,
// naming the component by `names` (by its place if `names` is empty), unless
// all weights are finite and at least 0 and one of them is above 0.
absl::StatusOr<std::vector<uint64_t>> QuantaFromWeights(
    std::span<const double> weights, std::span<const std::string> names = {});

// Does the same for weight^(1 / temperature); a weight of 0 stays 0.
// Temperature 1 takes the weights as they are; infinity makes all weights above
// 0 equal. InvalidArgument also if the temperature is below kMinTemperature.
absl::StatusOr<std::vector<uint64_t>> QuantaFromPowers(
    std::span<const double> weights, double temperature,
    std::span<const std::string> names = {});

// Does the same for exp(score / temperature): a component with any finite score
// is drawn, one with -infinity never. InvalidArgument for other scores, and if
// all are -infinity.
absl::StatusOr<std::vector<uint64_t>> QuantaFromScores(
    std::span<const double> scores, double temperature,
    std::span<const std::string> names = {});

inline constexpr double kMinTemperature = 0x1p-10;

// Returns the quanta of step s of a ramp of S steps between two sets of quanta:
// the mean of the straight line over that step. REQUIRES: s < S; S <=
// 2^32; both sets have the same size.
std::vector<uint64_t> QuantaOnRamp(std::span<const uint64_t> from,
                                   std::span<const uint64_t> to, uint64_t s,
                                   uint64_t S);

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MIXTURE_WEIGHTS_H_
