// SPDX-License-Identifier: Apache-2.0
// How errors name places in a run and amounts of it: in the unit and with the
// value that the user stated.

#ifndef PONIENTE_INDEX_SCHEDULE_PLACE_TEXT_H_
#define PONIENTE_INDEX_SCHEDULE_PLACE_TEXT_H_

#include <string>

#include "poniente/schedule.h"

namespace poniente::internal {

// Returns the place as it was stated: "step 20", "token -5000", "share 0.25 of
// the steps".
std::string PlaceText(const RunPoint& place);

// Returns the amount as it was stated: "40 steps", "0.1 of the tokens".
std::string AmountText(const RunPoint& amount);

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_SCHEDULE_PLACE_TEXT_H_
