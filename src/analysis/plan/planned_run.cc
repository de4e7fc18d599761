// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/planned_run.h"

#include <numeric>

namespace poniente::internal {

double RunSource::total_samples() const {
  return std::accumulate(samples.begin(), samples.end(), 0.0);
}

double RunSource::total_tokens() const {
  return std::accumulate(tokens.begin(), tokens.end(), 0.0);
}

}  // namespace poniente::internal
