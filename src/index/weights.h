// SPDX-License-Identifier: Apache-2.0
// Weights as integers: quanta that sum to exactly 2^62. Everything behind this
// file is integer arithmetic, the same on every machine. Part of order
// version 1.

#ifndef PONIENTE_INDEX_WEIGHTS_H_
#define PONIENTE_INDEX_WEIGHTS_H_

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

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_WEIGHTS_H_
