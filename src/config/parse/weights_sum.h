// SPDX-License-Identifier: Apache-2.0
// Checks weights against the sums that a run states for them.

#ifndef PONIENTE_CONFIG_PARSE_WEIGHTS_SUM_H_
#define PONIENTE_CONFIG_PARSE_WEIGHTS_SUM_H_

#include <optional>
#include <string_view>

#include "config/parse/toml_reader.h"
#include "config/run_nodes.h"

namespace poniente::internal {

// Reads a sum of weights: a finite number above 0.
std::optional<double> ParseWeightsSum(TableReader& table, std::string_view key);

// Reports each mixture, and each stage that states weights, whose weights do
// not have the sum that it states: NodeMixture::weights_sum, or
// RunStage::weights_sum where a stage states its own. All components count, a
// stage's with their first weights where it does not name them. A sum may be
// off by two millionths of what is stated, so weights may be rounded to
// decimals. Does nothing if there are other errors, which may be why a sum is
// wrong.
void CheckWeightsSums(const Run& run, ErrorList* errors);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_PARSE_WEIGHTS_SUM_H_
