// SPDX-License-Identifier: Apache-2.0
// A run that is described in TOML or in C++ (run.h), opened: the tree of
// datasets, the schedule, and a loader made from them. docs/config.md lists
// every key.

#ifndef PONIENTE_CONFIG_H_
#define PONIENTE_CONFIG_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/async_dataset.h"
#include "poniente/byte_reader.h"
#include "poniente/journal.h"
#include "poniente/loader.h"
#include "poniente/run.h"
#include "poniente/schedule.h"
#include "poniente/selection.h"
#include "poniente/token_window.h"

namespace poniente {

class TokenSource;

// A leaf of the configured tree.
struct ConfigSource {
  // Names from the root to the leaf, in the form that DatasetTree, batches and
  // metrics use.
  std::string path = {};
  // Where the data lies; empty if the source is only a number of tokens.
  std::string location = {};
  // All tokens of the source, including those that no window holds. 0 for a
  // dataset of the program's own whose length is not known yet.
  uint64_t tokens = 0;
  // A token store, or the files of another project; null if the source is only
  // a number of tokens, or a dataset of the program's own.
  std::shared_ptr<const TokenSource> data = nullptr;
  // False if the source is only a number of tokens.
  bool is_readable = false;
  // The documents and the windows that are read, of those of the source; null:
  // all. What the source holds out, if anything.
  std::shared_ptr<const Selection> documents = nullptr;
  std::shared_ptr<const Selection> windows = nullptr;
  std::optional<NodeHoldOut> hold_out = std::nullopt;
};

// A threshold that was computed from the scores of a file.
struct ComputedThreshold {
  // What states it: "data.mixture.web.filter", "data.stages[1].thresholds.web".
  std::string key = {};
  ScoreThreshold stated = {};
  // The lowest score that is chosen.
  double value = 0;
  // How many of all items the filter then chooses.
  uint64_t chosen = 0;
  uint64_t items = 0;

  friend bool operator==(const ComputedThreshold&,
                         const ComputedThreshold&) = default;
};

// A validated description of a run whose stores are open.
//
// Determinism: [data] alone decides the tokens; [runtime] never does.
// Ownership: a value; copies share the open stores.
// Thread safety: immutable.
// Errors: InvalidArgument for mistakes in the description, NotFound and
//     DataLoss for the stores. Every line of the message begins with
//     file:line:column and names the key, the value and what was expected. (For
//     a Run, only errors of its sources, schedule and loader begin so, and only
//     if it was read from a file.) All mistakes in the description are reported
//     at once, then all errors of the stores.
class Config {
 public:
  // Reads a file. Relative paths in it are relative to the file's folder.
  static absl::StatusOr<Config> Load(const std::string& path);

  // Reads text from memory. Messages use `name` as the name of the file;
  // relative paths are relative to `folder`.
  static absl::StatusOr<Config> Parse(std::string_view text,
                                      const std::string& name,
                                      const std::string& folder);

  // Opens a run described in C++. InvalidArgument also for what no text could
  // state: wrong calls of Node's methods, a null dataset, a seed of 2^63 or
  // more.
  static absl::StatusOr<Config> Create(const Run& run);

  // Returns the description. What a stage that starts the run states of
  // components has become the components' own.
  const Run& run() const;

  // Returns the root of the tree, with the user's seed. A finite root whose run
  // is longer than one epoch is repeated, in a new order each epoch. Both it
  // and the schedule are under the changes of journal().
  const DatasetPtr<TokenWindow>& dataset() const;
  const Schedule& schedule() const;
  // Returns the changes that the run's journal held when it was opened; none if
  // the run has no journal.
  const Journal& journal() const;
  // Returns the vocabulary of the first source that has one. If none has
  // (sources that are only numbers of tokens may not), its tokenizer is empty
  // and its size is 2^32.
  const Vocabulary& vocabulary() const;
  // Returns the sources, in the order of DatasetTree::leaves().
  const std::vector<ConfigSource>& sources() const;

  // Returns the thresholds that are quantiles or standard deviations, with the
  // scores that they are in this run, in the order in which they were computed.
  const std::vector<ComputedThreshold>& thresholds() const;

  // Returns the same run as TOML with everything stated: defaults, names,
  // absolute paths, the steps at which stages start. Keep it with the run. A
  // dataset of the program's own cannot be stated: it becomes a source of the
  // same number of tokens (2^62 if it is endless or grows), which reads
  // nothing, and has the order of a source.
  std::string ToToml() const;

  // Returns one line for each setting that is valid but may be a mistake:
  // file:line:column, the key, and the reason. Config::OpenLoader() does not
  // print them.
  const std::vector<std::string>& warnings() const;

  // Returns the loader's options as [runtime] and [data] state them. Copy them
  // to change some, such as rank and start_step.
  const LoaderOptions& loader_options() const;
  // Returns how the stores are read, as [runtime] states.
  const ByteReaderOptions& io_options() const;

  // Makes all checks that OpenLoader() makes, by the same code, but opens no
  // loader and reads no data: sizes of batches, token type, tensors, loss
  // weights, lengths of windows, max_epochs. Then those of OpenEval() for each
  // evaluation, whose place is in front of the error. Sources that are only
  // numbers of tokens pass. Errors: as Loader::Create(), with the place of
  // [runtime] in front if the usual options would pass.
  absl::Status CheckLoader() const;

  // Opens a loader for the run, with loader_options() or with `options`. If the
  // run has a journal, it is read once more, and may have grown since this
  // Config was made; rank 0 writes what Steer() decides, others write nothing.
  // FailedPrecondition, naming the sources, if some are only numbers of tokens;
  // if the journal has another beginning than journal(); if `options` bring
  // another journal or journal_sink. An error that CheckLoader() has, too, has
  // the same place in front.
  absl::StatusOr<std::unique_ptr<Loader>> OpenLoader() const;
  absl::StatusOr<std::unique_ptr<Loader>> OpenLoader(
      const LoaderOptions& options) const;

  // Returns an evaluation (docs/evaluation.md) as a run of its own, which reads
  // each of its samples once. All of them are opened with the configuration.
  // NotFound, with the nearest name, if there is none of this name.
  absl::StatusOr<Config> Eval(std::string_view name) const;
  // Opens a loader over an evaluation, from its beginning. Of `options`, those
  // that would change which samples it reads are the evaluation's own:
  // start_step, last_batch, loss_weights, sharing.
  absl::StatusOr<std::unique_ptr<Loader>> OpenEval(std::string_view name) const;
  absl::StatusOr<std::unique_ptr<Loader>> OpenEval(
      std::string_view name, const LoaderOptions& options) const;

 private:
  struct Parts;
  explicit Config(std::shared_ptr<const Parts> parts);
  static absl::StatusOr<Config> Open(Run run,
                                     std::vector<std::string> warnings);

  std::shared_ptr<const Parts> parts_;
};

}  // namespace poniente

#endif  // PONIENTE_CONFIG_H_
