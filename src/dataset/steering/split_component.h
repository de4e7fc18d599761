// SPDX-License-Identifier: Apache-2.0
// A mixture in which parts take the place of a component.

#ifndef PONIENTE_DATASET_STEERING_SPLIT_COMPONENT_H_
#define PONIENTE_DATASET_STEERING_SPLIT_COMPONENT_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "poniente/async_dataset.h"
#include "poniente/extend/opened_component.h"
#include "poniente/journal.h"
#include "poniente/mixture_dataset.h"
#include "poniente/token_window.h"

namespace poniente::internal {

// Returns the mixture in which `parts` take the place of a component from
// decision.start on, the first sample of a block (docs/index-math.md 2.10): it
// is retired, and the first epoch of each part leaves out what the component
// had read of its epoch. What was dropped from the component is dropped from
// its parts. `number`: NamedNode::added.
//
// Complexity: O(items that the component has read of its epoch, or that were
// dropped from it), and 5 bytes for each of them in a part.
// Errors: InvalidArgument if there is no such component, it is endless or made
//     of packed documents, or a part reads anything else than it does.
absl::StatusOr<DatasetPtr<TokenWindow>> Split(
    const MixtureDataset<TokenWindow>& mixture, const std::string& component,
    std::span<const OpenedComponent> parts, const MixtureDecision& decision,
    uint64_t number);

// Returns the run in whose parts, which `change` (kSplit) has made, those
// documents are masked that were masked in the component.
absl::StatusOr<DatasetPtr<TokenWindow>> WithPartsMasked(
    DatasetPtr<TokenWindow> run, const RunChange& change);

}  // namespace poniente::internal

#endif  // PONIENTE_DATASET_STEERING_SPLIT_COMPONENT_H_
