// SPDX-License-Identifier: Apache-2.0
// How a change of a run is shown.

#ifndef PONIENTE_ANALYSIS_TRACE_CHANGE_WORDS_H_
#define PONIENTE_ANALYSIS_TRACE_CHANGE_WORDS_H_

#include <string>

#include "poniente/journal.h"

namespace poniente::internal {

// Returns the text of the journal, without most of a long list of numbers.
std::string ChangeWords(RunChange change);

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_TRACE_CHANGE_WORDS_H_
