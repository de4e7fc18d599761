// SPDX-License-Identifier: Apache-2.0
#ifndef PONIENTE_INDEX_MAX_SAMPLES_H_
#define PONIENTE_INDEX_MAX_SAMPLES_H_

#include <cstdint>

namespace poniente::internal {

// Samples of a run, so also its steps, and the draws of each component: the sum
// of two such numbers is still below 2^63, which is as far as indices go.
inline constexpr uint64_t kMaxSamples = uint64_t{1} << 62;

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MAX_SAMPLES_H_
