// SPDX-License-Identifier: Apache-2.0
// What a plan says of a leaf itself, whatever the run reads of it.

#ifndef PONIENTE_ANALYSIS_PLAN_PLAN_LEAVES_H_
#define PONIENTE_ANALYSIS_PLAN_PLAN_LEAVES_H_

#include "poniente/config.h"
#include "poniente/extend/dataset_node.h"
#include "poniente/plan.h"

namespace poniente::internal {

// Adds where the tokens of the leaf lie, how wide and how many they are, and
// how many are left over. `known` is null if nothing is known about the source.
void AddStored(const DatasetNode& leaf, const ConfigSource* known,
               PlannedRunSource* source);

// Adds what packing does to the documents of the leaf; nothing if they are not
// packed.
void AddPacking(const DatasetNode& leaf, PlannedRunSource* source);

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_PLAN_PLAN_LEAVES_H_
