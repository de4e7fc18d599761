// SPDX-License-Identifier: Apache-2.0
// Finds which sources of a run are filled in the middle, and at which rates.

#ifndef PONIENTE_CONFIG_TREE_INFILLED_SOURCES_H_
#define PONIENTE_CONFIG_TREE_INFILLED_SOURCES_H_

#include "absl/status/statusor.h"
#include "config/run_nodes.h"
#include "poniente/async_dataset.h"
#include "poniente/schedule.h"
#include "poniente/token_window.h"

namespace poniente::internal {

// Returns the samples of the run as its sources are served: `dataset` itself if
// none of them is filled in the middle. Errors begin with the place that states
// the setting. Sources that have only a number of tokens are left out.
absl::StatusOr<DatasetPtr<TokenWindow>> FillInTheMiddle(
    const Run& run, const Schedule& schedule, DatasetPtr<TokenWindow> dataset);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_TREE_INFILLED_SOURCES_H_
