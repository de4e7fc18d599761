// SPDX-License-Identifier: Apache-2.0
// A run in TOML: the tree of datasets, the schedule, and a loader from them.
// docs/config.md lists every key.

#ifndef PONIENTE_CONFIG_H_
#define PONIENTE_CONFIG_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/async_dataset.h"
#include "poniente/byte_reader.h"
#include "poniente/loader.h"
#include "poniente/schedule.h"
#include "poniente/token_window.h"

namespace poniente {

class TokenSource;

namespace internal {
struct RunSpec;
}  // namespace internal

// A leaf of the configured tree.
struct ConfigSource {
  // The names that lead to it, as DatasetTree, batches and metrics say them.
  std::string path;
  // Where the data lies; empty for a number of tokens.
  std::string location;
  // All of them, in windows or not.
  uint64_t tokens = 0;
  // A token store, or the files of another project; null for a number of
  // tokens.
  std::shared_ptr<const TokenSource> data;
};

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
  // Of the first source that has one. Numbers of tokens may have none: then
  // no tokenizer, and 2^32 ids.
  const Vocabulary& vocabulary() const;
  // In the order of DatasetTree::leaves().
  const std::vector<ConfigSource>& sources() const { return sources_; }

  // The same run as TOML with everything stated: defaults, names, absolute
  // paths, the steps at which stages start. Keep it with the run.
  std::string ToToml() const;

  // What is not wrong but may not be meant: file:line:column, the key, why.
  const std::vector<std::string>& warnings() const;

  // What [runtime] and [data] say of the loader: a start for changes, such as
  // rank and start_step.
  const LoaderOptions& loader_options() const;
  // How [runtime] has the stores read.
  const ByteReaderOptions& io_options() const;

  // FailedPrecondition, naming them, if sources are only numbers of tokens.
  absl::StatusOr<std::unique_ptr<Loader>> OpenLoader() const;
  absl::StatusOr<std::unique_ptr<Loader>> OpenLoader(
      const LoaderOptions& options) const;

 private:
  Config(DatasetPtr<TokenWindow> dataset, std::vector<ConfigSource> sources,
         Schedule schedule, std::shared_ptr<const internal::RunSpec> run,
         std::string folder);

  DatasetPtr<TokenWindow> dataset_;
  std::vector<ConfigSource> sources_;
  Schedule schedule_;
  std::shared_ptr<const internal::RunSpec> run_;
  std::string folder_;
};

}  // namespace poniente

#endif  // PONIENTE_CONFIG_H_
