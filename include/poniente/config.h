// SPDX-License-Identifier: Apache-2.0
// A run in TOML: the tree of datasets, the schedule, and a loader from them.
// docs/config.md lists every key.

#ifndef PONIENTE_CONFIG_H_
#define PONIENTE_CONFIG_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "poniente/async_dataset.h"
#include "poniente/loader.h"
#include "poniente/schedule.h"
#include "poniente/token_window.h"

namespace poniente {

// A validated configuration whose stores are open.
//
// Errors: InvalidArgument for what the file says, NotFound and DataLoss for the
//     stores. Every line of the message begins with file:line:column and names
//     the key, the value and what was expected; all errors of the text are
//     reported at once, then those of the stores.
// Determinism: [data] alone decides the tokens; [runtime] never does.
// Ownership: a value; copies share the open stores.
// Thread safety: immutable.
class Config {
 public:
  // Relative paths in the file are relative to the folder it lies in.
  static absl::StatusOr<Config> Load(const std::string& path);

  // The same for text in memory. `name` stands for the file in messages,
  // `folder` is what relative paths are relative to.
  static absl::StatusOr<Config> Parse(std::string_view text,
                                      const std::string& name,
                                      const std::string& folder);

  // The root of the tree, with the user's seed. A finite root whose run is
  // longer than one epoch is repeated, each epoch in a new order.
  const DatasetPtr<TokenWindow>& dataset() const { return dataset_; }
  const Schedule& schedule() const { return schedule_; }
  const Vocabulary& vocabulary() const { return *dataset_->vocabulary(); }

  // What [runtime] and [data] say of the loader: a start for changes, such as
  // rank and start_step.
  const LoaderOptions& loader_options() const { return loader_options_; }

  absl::StatusOr<std::unique_ptr<Loader>> OpenLoader() const;
  absl::StatusOr<std::unique_ptr<Loader>> OpenLoader(
      const LoaderOptions& options) const;

 private:
  Config(DatasetPtr<TokenWindow> dataset, Schedule schedule,
         LoaderOptions loader_options);

  DatasetPtr<TokenWindow> dataset_;
  Schedule schedule_;
  LoaderOptions loader_options_;
};

}  // namespace poniente

#endif  // PONIENTE_CONFIG_H_
