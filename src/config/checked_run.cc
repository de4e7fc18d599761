// SPDX-License-Identifier: Apache-2.0
#include "config/checked_run.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/run_checks.h"
#include "config/run_nodes.h"
#include "config/write/run_writer.h"
#include "config/write/toml_text.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

void PutLocation(const SourceLocation& described, SourceLocation* checked) {
  if (!described.file.empty()) *checked = described;
}

// `described`: empty, or as many as `checked`.
void PutLocations(const std::vector<SourceLocation>& described,
                  std::vector<SourceLocation>* checked) {
  for (size_t i = 0; i < std::min(described.size(), checked->size()); ++i) {
    PutLocation(described[i], &(*checked)[i]);
  }
}

// A stage that starts a nested mixture is not kept.
void PutLocations(const std::vector<RunStage>& described,
                  std::vector<RunStage>* checked) {
  const size_t left_out = described.size() - checked->size();
  for (size_t i = 0; i < checked->size(); ++i) {
    PutLocation(described[i + left_out].location, &(*checked)[i].location);
  }
}

void PutLocation(const std::optional<NodeFilter>& described,
                 std::optional<NodeFilter>* checked) {
  if (described) PutLocation(described->location, &(*checked)->location);
}

void PutLocation(const std::optional<NodeOrder>& described,
                 std::optional<NodeOrder>* checked) {
  if (described) PutLocation(described->location, &(*checked)->location);
}

// Puts into `checked`, the same tree, what no text could state: datasets in
// place of the sources that stand for them, and where a file states a node.
void PutUnstated(const Node& described, Node* checked) {
  if (described.kind == NodeKind::kDataset) {
    checked->kind = NodeKind::kDataset;
    checked->dataset = described.dataset;
    checked->tokens = 0;
  }
  PutLocation(described.location, &checked->location);
  if (described.pack_documents) {
    PutLocation(described.pack_documents->location,
                &checked->pack_documents->location);
  }
  if (described.fill_in_the_middle) {
    PutLocation(described.fill_in_the_middle->location,
                &checked->fill_in_the_middle->location);
  }
  if (described.hold_out) {
    PutLocation(described.hold_out->location, &checked->hold_out->location);
  }
  PutLocation(described.documents, &checked->documents);
  PutLocation(described.order_documents, &checked->order_documents);
  PutLocation(described.filter, &checked->filter);
  PutLocation(described.order, &checked->order);
  PutLocations(described.stages, &checked->stages);
  for (size_t i = 0; i < described.children.size(); ++i) {
    PutUnstated(described.children[i], &checked->children[i]);
  }
}

// Adds what a parser says of the run's text, if that is an error.
void AddParsersMistakes(const absl::Status& parsed, RunMistakes* mistakes) {
  if (!parsed.ok()) mistakes->unwritten.emplace_back(parsed.message());
}

// REQUIRES: there are some.
absl::Status AsError(const RunMistakes& mistakes) {
  return absl::InvalidArgumentError(absl::StrCat(
      absl::StrJoin(mistakes.unwritable, "\n"),
      mistakes.unwritable.empty() || mistakes.unwritten.empty() ? "" : "\n",
      absl::StrJoin(mistakes.unwritten, "\n")));
}

}  // namespace

absl::StatusOr<std::string> StatedText(const Run& run,
                                       std::string_view cannot) {
  RunMistakes mistakes = FindMistakes(run);
  if (!mistakes.unwritable.empty()) return AsError(mistakes);
  std::string text = ToStatedToml(run);
  if (MayHaveGreatInteger(text)) {
    AddParsersMistakes(ParseRunText(text, "").status(), &mistakes);
  }
  if (!mistakes.unwritten.empty()) return AsError(mistakes);
  const std::vector<std::string> own = DatasetKeys(run);
  if (own.empty()) return text;
  return absl::InvalidArgumentError(
      absl::StrCat(absl::StrJoin(own, ", "),
                   own.size() == 1 ? " is a dataset" : " are datasets",
                   " of the program, which ", Absl(cannot)));
}

absl::StatusOr<ParsedRun> CheckedRun(const Run& run) {
  RunMistakes mistakes = FindMistakes(run);
  if (!mistakes.unwritable.empty()) return AsError(mistakes);
  // The checks of the text are those of the values.
  absl::StatusOr<ParsedRun> parsed = ParseRunText(ToStatedToml(run), "");
  AddParsersMistakes(parsed.status(), &mistakes);
  if (!mistakes.unwritten.empty()) return AsError(mistakes);
  Run checked = std::move(parsed->run);
  PutUnstated(run.data, &checked.data);
  PutLocations(run.stages, &checked.stages);
  for (size_t i = 0; i < run.evals.size(); ++i) {
    PutUnstated(run.evals[i].data, &checked.evals[i].data);
    PutLocation(run.evals[i].location, &checked.evals[i].location);
    checked.evals[i].data.children.allow_sharing();
  }
  checked.data.children.allow_sharing();
  PutLocation(run.location, &checked.location);
  PutLocation(run.seq_len_location, &checked.seq_len_location);
  PutLocation(run.journal_location, &checked.journal_location);
  PutLocation(run.runtime_location, &checked.runtime_location);
  PutLocations(run.batch_sizes_locations, &checked.batch_sizes_locations);
  PutLocations(run.seq_lens_locations, &checked.seq_lens_locations);
  // What text cannot state of these changes no token.
  checked.io = run.io;
  checked.loader = run.loader;
  checked.folder = run.folder;
  return ParsedRun{std::move(checked), std::move(parsed->warnings)};
}

}  // namespace poniente::internal
