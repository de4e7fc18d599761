// SPDX-License-Identifier: Apache-2.0
// What a Config consists of.

#ifndef PONIENTE_CONFIG_CONFIG_PARTS_H_
#define PONIENTE_CONFIG_CONFIG_PARTS_H_

#include <string>
#include <vector>

#include "config/tree/graph_builder.h"
#include "dataset/steering/steered_run.h"
#include "poniente/config.h"

namespace poniente {

struct Config::Parts {
  Run run;
  std::vector<std::string> warnings;
  LoaderOptions loader;
  // Before any change, but with the sources that were added.
  internal::BuiltRun built;
  // Absolute; empty if the run has none.
  std::string journal_path;
  Journal journal;
  internal::SteeredRun steered;
  // In the order of run.evals.
  std::vector<Config> evals;
};

}  // namespace poniente

#endif  // PONIENTE_CONFIG_CONFIG_PARTS_H_
