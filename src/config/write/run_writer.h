// SPDX-License-Identifier: Apache-2.0
// A run as TOML.

#ifndef PONIENTE_CONFIG_RUN_WRITER_H_
#define PONIENTE_CONFIG_RUN_WRITER_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "poniente/run.h"
#include "poniente/schedule.h"

namespace poniente::internal {

// Returns the run with everything stated that it may leave open: defaults, and
// absolute paths. Whatever is placed by a share, by tokens or from the end
// stands at the step or sample that it came out at. KempnerForge's form becomes
// the usual one. REQUIRES: the run is checked, and `schedule` is its own.
std::string ToResolvedToml(const Run& run, const Schedule& schedule);

// Returns what differs from the defaults, as it is stated. A dataset of the
// program's own is written as a source of one token, for checks of everything
// else. REQUIRES: FindMistakes()
// finds nothing that is unwritable.
std::string ToStatedToml(const Run& run);

// Returns an evaluation in one line, with what it states: "[data.eval.e]
// held_out = true, max_samples = 5". Nodes that it uses follow.
std::string EvalText(const RunEval& eval);

// Returns what a node states of the order and choice of its items, by its keys:
// "filter" and "{ fraction = 0.5 }". Not what it states of its source, and
// nothing of its children.
std::map<std::string, std::string> OptionTexts(const Node& node);

// Returns a component of a mixture, and everything below it, as an inline table
// with what it states. InvalidArgument if it uses nodes by name.
absl::StatusOr<std::string> InlineText(const Node& component);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_RUN_WRITER_H_
