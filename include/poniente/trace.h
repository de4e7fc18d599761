// SPDX-License-Identifier: Apache-2.0
// A configured run that can be asked what a step sees, and which steps see an
// item or a document: RunTrace with the names and documents of the sources.
// docs/tracing.md explains the answers.

#ifndef PONIENTE_TRACE_H_
#define PONIENTE_TRACE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/config.h"
#include "poniente/extend/infilled_piece.h"
#include "poniente/journal.h"
#include "poniente/run_trace.h"
#include "poniente/token_source.h"

namespace poniente {

struct TracedDocument {
  uint64_t number = 0;  // kNoDocument for padding
  std::string name = {};
  uint64_t tokens = 0;         // of the sample
  bool has_beginning = false;  // whether they include the document's first one
  uint64_t first_token = 0;    // of them, in the source
  // Whether they are all of the document's, but for an end that packing leaves
  // out.
  bool is_whole = true;
  // The whole document's, in the source; nullopt if that is not known.
  std::optional<TokenRange> document = std::nullopt;
  // How they are filled in the middle; nullopt: they are served as they are.
  std::optional<InfilledPiece> infilled = std::nullopt;

  bool is_padding() const { return number == kNoDocument; }
  // Returns which of the document's tokens they are; nullopt as above.
  std::optional<TokenRange> InDocument() const {
    if (!document.has_value()) return std::nullopt;
    const uint64_t begin = first_token - document->begin;
    return TokenRange{begin, begin + tokens};
  }
};

struct TracedSample {
  SampleOrigin origin = {};
  // The last of the names that lead to the leaf; the whole name, even if it
  // contains slashes. For a root without a name, that of its folder.
  std::string source = {};
  // Which of the leaves of this path; above 0 only for later views of a
  // component.
  uint32_t view = 0;
  // Documents of the sample's tokens, and padding, in order; empty if they are
  // not known.
  std::vector<TracedDocument> documents = {};
};

struct TracedStep {
  StepPlan plan = {};
  std::string stage_name = {};  // as StageLabel()
  std::vector<TracedSample> samples = {};
};

struct TracedReading {
  Reading reading = {};
  Index item = 0;
  uint32_t view = 0;
  // Set by a search for documents.
  std::optional<uint64_t> document = std::nullopt;
  // Which of the document's tokens the sample has: its first one is 0. Set by a
  // search for documents where it is known.
  std::optional<TokenRange> document_tokens = std::nullopt;
};

// Steps [begin, end).
struct StepRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Thread safety: immutable; any number of threads. Calls about documents read
// from the stores, and block meanwhile.
class TracedRun {
 public:
  // `sources` are in the order of DatasetTree::leaves(). The answers depend
  // only on last_batch and sharing of `options`.
  TracedRun(DatasetPtr<TokenWindow> dataset, const Schedule& schedule,
            std::vector<ConfigSource> sources,
            LoaderOptions options = LoaderOptions(),
            ByteReaderOptions io_options = ByteReaderOptions());
  explicit TracedRun(const Config& config);

  const AsyncDataset<TokenWindow>& dataset() const { return *dataset_; }
  const RunTrace& trace() const { return trace_; }
  const Schedule& schedule() const { return trace_.schedule(); }
  const std::vector<ConfigSource>& sources() const { return sources_; }
  const LoaderOptions& options() const { return options_; }
  const ByteReaderOptions& io_options() const { return io_options_; }
  // Returns the description of the configuration; an empty one if this was made
  // of its parts.
  const Run& run() const { return run_; }
  // Returns the changes of the configuration's journal; none as above.
  const Journal& journal() const { return journal_; }
  // Returns TracedSample::view of a leaf.
  uint32_t ViewOf(uint32_t leaf) const { return views_[leaf]; }

  // Returns the steps that are served; nullopt if the run has no end.
  std::optional<uint64_t> steps() const;

  // Returns what a rank sees in a step; OutOfRange from the run's end on.
  // REQUIRES: rank < ranks.
  absl::StatusOr<TracedStep> Show(uint64_t step, uint32_t rank = 0,
                                  uint32_t ranks = 1) const;
  // Returns the tokens of these samples, as the run reads them.
  absl::StatusOr<std::vector<TokenWindow>> Tokens(
      const std::vector<TracedSample>& samples) const;

  // Returns the path that `name` stands for: itself, else the only path whose
  // last name it is, else the only path that ends with it ("fortunes",
  // "prose/fortunes"). InvalidArgument, with the candidates, if there are
  // several; NotFound, with the nearest name, if there are none.
  absl::StatusOr<std::string> FindSource(std::string_view name) const;

  // Returns every sample that reads the item or a part of it, in the order of
  // the run, for every view of the path that has the item. If `steps` is unset,
  // searches all steps; FailedPrecondition if the run then has no end.
  // OutOfRange if the run does not reach the first of the steps; OutOfRange and
  // NotFound as RunTrace::Find().
  absl::StatusOr<std::vector<TracedReading>> FindItem(
      std::string_view path, Index item, std::optional<StepRange> steps) const;

  // Returns every sample that reads a token of the document.
  // FailedPrecondition, with the path, if the source has no documents;
  // OutOfRange, with the path, if it has no such document.
  absl::StatusOr<std::vector<TracedReading>> FindDocument(
      std::string_view path, uint64_t document,
      std::optional<StepRange> steps) const;

  // Returns all documents of this name. Reads the names of all documents.
  // NotFound if no document has the name; FailedPrecondition if the source has
  // no documents, or is a dataset of the program's own, whose documents have no
  // names.
  absl::StatusOr<std::vector<uint64_t>> DocumentsNamed(
      std::string_view path, std::string_view name) const;

 private:
  absl::StatusOr<StepRange> Served(std::optional<StepRange> steps) const;
  // Returns the leaves at the path by number; there is at least one.
  absl::StatusOr<std::vector<uint32_t>> LeavesAt(std::string_view path) const;
  absl::StatusOr<std::vector<TracedDocument>> DocumentsOf(
      const SampleOrigin& origin) const;

  const DatasetPtr<TokenWindow> dataset_;
  const RunTrace trace_;
  const std::vector<ConfigSource> sources_;
  const LoaderOptions options_;
  const ByteReaderOptions io_options_;
  Run run_;
  Journal journal_;
  // Views of the leaves.
  std::vector<uint32_t> views_;
  // Last names of the leaves (TracedSample::source).
  std::vector<std::string> names_;
};

// Whether training never reads a document because it is held out, and which
// evaluations read it instead.
struct HeldOutBy {
  bool is_held_out = false;
  std::vector<std::string> evals = {};
};
// Returns this for a document of the training source at `path`, or for an item
// of a source that holds windows out. NotFound if there is no such source;
// OutOfRange if it has no such document or item.
absl::StatusOr<HeldOutBy> HeldOutDocument(const Config& config,
                                          std::string_view path,
                                          uint64_t document);
absl::StatusOr<HeldOutBy> HeldOutItem(const Config& config,
                                      std::string_view path, Index item);

}  // namespace poniente

#endif  // PONIENTE_TRACE_H_
