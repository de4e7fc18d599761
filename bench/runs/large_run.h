// SPDX-License-Identifier: Apache-2.0
// A run of 14 trillion tokens, of which nothing but the numbers exists.

#ifndef PONIENTE_BENCH_RUNS_LARGE_RUN_H_
#define PONIENTE_BENCH_RUNS_LARGE_RUN_H_

#include "poniente/trace.h"

namespace poniente::bench {

// 200 components: 100 sources, 60 nested mixtures of 3 to 8 sources, 40 flat
// mixtures of 250 shards each. Sources of 10^8 to 10^12 tokens, four of 10^7
// that are repeated about a thousand times. Lengths of 4096, 8192 and 32768,
// batches that double twice, weights that change at a half and along a ramp.
// Made anew by each call.
TracedRun LargeRun();

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_RUNS_LARGE_RUN_H_
