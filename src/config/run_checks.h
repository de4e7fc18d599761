// SPDX-License-Identifier: Apache-2.0
// What is wrong with a Run described in C++ and would not show in its text.

#ifndef PONIENTE_CONFIG_RUN_CHECKS_H_
#define PONIENTE_CONFIG_RUN_CHECKS_H_

#include <string>
#include <vector>

#include "poniente/run.h"

namespace poniente::internal {

// One line per mistake.
struct RunMistakes {
  // The run cannot be written: enumerators that do not exist, nodes without
  // children or with children of one name, text that is not UTF-8, ...
  std::vector<std::string> unwritable;
  // Wrong calls of Node's methods, null datasets, and fields that no node of
  // this kind has: they would not be written.
  std::vector<std::string> unwritten;
};

RunMistakes FindMistakes(const Run& run);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_RUN_CHECKS_H_
