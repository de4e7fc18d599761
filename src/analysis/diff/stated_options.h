// SPDX-License-Identifier: Apache-2.0
// What the descriptions of two runs state of a node in different ways, in the
// user's own words.

#ifndef PONIENTE_ANALYSIS_DIFF_STATED_OPTIONS_H_
#define PONIENTE_ANALYSIS_DIFF_STATED_OPTIONS_H_

#include <string>
#include <vector>

#include "poniente/diff.h"
#include "poniente/run.h"

namespace poniente::internal {

struct OptionDifference {
  std::string key;  // "filter"
  DiffValue a;      // nothing where it is not stated
  DiffValue b;
};

// Returns the options that decide which items the node at the path has, and
// their order, and that the runs state differently. None if a run has no
// description, or no node there.
std::vector<OptionDifference> DiffOptions(const Run& a, const Run& b,
                                          const std::string& path);

// Returns the paths of the nodes right below it in both descriptions.
std::vector<std::string> PathsBelow(const Run& a, const Run& b,
                                    const std::string& path);

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_DIFF_STATED_OPTIONS_H_
