// SPDX-License-Identifier: Apache-2.0
// The rule of examples/adaptive_mixture.cc: exponentiated gradient, as bandits
// over sources use it (Albalak et al., "Efficient Online Data Mixing", 2023;
// with the losses over a baseline as the reward, Xie et al., "DoReMi", 2023).

#ifndef PONIENTE_EXAMPLES_EXPONENTIATED_GRADIENT_H_
#define PONIENTE_EXAMPLES_EXPONENTIATED_GRADIENT_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace example {

// Returns the next weights: w_i * exp(rate * (loss_i - the mean loss)), scaled
// to the sum 1, with `floor` of it shared out equally so that no source is
// given up. `weights` sum to 1.
inline std::vector<double> NextWeights(const std::vector<double>& weights,
                                       const std::vector<double>& losses,
                                       double rate, double floor) {
  double mean = 0;
  for (size_t i = 0; i < weights.size(); ++i) mean += weights[i] * losses[i];
  std::vector<double> next(weights.size());
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    // At most a factor of e per change, whatever a batch brings.
    const double step = std::clamp(rate * (losses[i] - mean), -1.0, 1.0);
    sum += next[i] = weights[i] * std::exp(step);
  }
  for (double& weight : next) {
    weight = (1 - floor) * weight / sum + floor / next.size();
  }
  return next;
}

}  // namespace example

#endif  // PONIENTE_EXAMPLES_EXPONENTIATED_GRADIENT_H_
