// SPDX-License-Identifier: Apache-2.0
// Converts draws of a component to places of its views, and back.

#ifndef PONIENTE_ANALYSIS_PLAN_PLAN_ITEM_FLOW_H_
#define PONIENTE_ANALYSIS_PLAN_PLAN_ITEM_FLOW_H_

#include <cstdint>
#include <optional>

#include "analysis/plan/plan_flow.h"
#include "index/mixture/item_draws.h"

namespace poniente::internal {

// Returns what the draws up to the marks of `ordinals` read of a view.
Flow FlowOfDraws(const ItemDraws& draws, uint32_t view, bool is_permuted,
                 const Flow& ordinals);

// Returns the places of a view that changes of length skip before draw `drawn`.
double SkippedPlaces(const ItemDraws& draws, uint32_t view, double drawn);

// Turns a bound in places into a bound in draws; nullopt if there is no such
// draw.
std::optional<Reached> OrdinalsOf(const ItemDraws& draws, uint32_t view,
                                  const Reached& places);

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_PLAN_PLAN_ITEM_FLOW_H_
