// SPDX-License-Identifier: Apache-2.0
// Opens the components that a run gets while it goes on (RunChange::Add()).

#ifndef PONIENTE_CONFIG_ADDED_SOURCES_H_
#define PONIENTE_CONFIG_ADDED_SOURCES_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "config/tree/graph_builder.h"
#include "poniente/config.h"
#include "poniente/extend/opened_component.h"
#include "poniente/journal.h"
#include "poniente/run.h"
#include "util/mutex.h"

namespace poniente::internal {

// A component is opened as if it stood in the description of the run: the
// settings of the mixtures above it, the lengths and the budget of the run hold
// for it, and its paths are relative to the run's folder.
//
// Thread safety: any number of threads.
class AddedSources : public std::enable_shared_from_this<AddedSources> {
 public:
  // `sources`: those of the run; what is added may not read what they hold out.
  // `reads`: what is added must have data, not only a number of tokens.
  AddedSources(Run run, std::vector<ConfigSource> sources, bool reads);

  // As ComponentOpener. Errors: InvalidArgument, with the key, for what its
  // table states, and for a mixture that the description does not have; errors
  // of sources.
  absl::StatusOr<OpenedComponent> Open(const std::string& path,
                                       const ComponentText& text);

  // Calls `made` for each component once the change that adds it has been made.
  void OnMade(std::function<void(const BuiltRun& component)> made) {
    on_made_ = std::move(made);
  }
  // Appends the sources of changes that have been made, with thresholds and
  // warnings. Errors of CheckHoldOuts().
  absl::Status MoveTo(BuiltRun* run, std::vector<std::string>* warnings);

 private:
  // Checks what was built for a component with all others.
  absl::Status Check(const BuiltRun& built) const;
  void Keep(const BuiltRun& built);

  const Run run_;
  const std::vector<ConfigSource> described_;
  const bool reads_;
  std::function<void(const BuiltRun&)> on_made_;
  mutable Mutex mu_;
  std::vector<ConfigSource> sources_ ABSL_GUARDED_BY(mu_);  // of changes made
  std::vector<ComputedThreshold> thresholds_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> warnings_ ABSL_GUARDED_BY(mu_);
};

// Returns what opens components for a loader of this run.
ComponentOpener OpenerFor(const Config& config, const LoaderOptions& options);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_ADDED_SOURCES_H_
