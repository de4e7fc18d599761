// SPDX-License-Identifier: Apache-2.0
// The evaluations of a configuration.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/config_parts.h"
#include "config/evals.h"
#include "poniente/config.h"
#include "util/nearest_name.h"
#include "util/status_macros.h"

namespace poniente {

absl::StatusOr<Config> Config::Eval(std::string_view name) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < run().evals.size(); ++i) {
    if (run().evals[i].name == name) return parts_->evals[i];
    names.push_back(run().evals[i].name);
  }
  if (names.empty()) {
    return absl::NotFoundError(
        absl::StrCat("there is no evaluation '", internal::Absl(name),
                     "': the configuration has none (data.eval)"));
  }
  return absl::NotFoundError(
      absl::StrCat("there is no evaluation '", internal::Absl(name), "'",
                   internal::NearestOrAll(std::string(name), names)));
}

absl::StatusOr<std::unique_ptr<Loader>> Config::OpenEval(
    std::string_view name) const {
  PONIENTE_ASSIGN_OR_RETURN(const Config eval, Eval(name));
  return eval.OpenLoader();
}

absl::StatusOr<std::unique_ptr<Loader>> Config::OpenEval(
    std::string_view name, const LoaderOptions& options) const {
  PONIENTE_ASSIGN_OR_RETURN(const Config eval, Eval(name));
  const LoaderOptions& own = eval.loader_options();
  LoaderOptions changed = options;
  changed.start_step = 0;
  changed.last_batch = own.last_batch;
  changed.loss_weights = own.loss_weights;
  changed.sharing = own.sharing;
  return eval.OpenLoader(changed);
}

}  // namespace poniente
