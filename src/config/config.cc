// SPDX-License-Identifier: Apache-2.0
#include "poniente/config.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/added_sources.h"
#include "config/checked_run.h"
#include "config/config_parts.h"
#include "config/evals.h"
#include "config/parse/run_parser.h"
#include "config/run_nodes.h"
#include "config/tree/graph_builder.h"
#include "config/write/run_writer.h"
#include "dataset/node_answers.h"
#include "dataset/steering/steered_run.h"
#include "loader/batch_checks.h"
#include "loader/loader_errors.h"
#include "loader/metrics/loader_reports.h"
#include "poniente/dataset_tree.h"
#include "store/journal/journal_file.h"
#include "store/manifest/known_store.h"
#include "store/posix_file.h"
#include "util/alike_lines.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

// More is refused unread.
constexpr uint64_t kMaxConfigBytes = uint64_t{64} << 20;

// Where the folder is now, whatever the working directory will be.
std::string AbsoluteFolder(const std::string& folder) {
  return internal::LocationOf(folder.empty() ? "." : folder);
}

absl::StatusOr<internal::ParsedRun> ParseIn(std::string_view text,
                                            const std::string& name,
                                            const std::string& folder) {
  PONIENTE_ASSIGN_OR_RETURN(internal::ParsedRun parsed,
                            internal::ParseRunText(text, name));
  parsed.run.folder = folder;
  return parsed;
}

absl::StatusOr<internal::ParsedRun> LoadFile(const std::string& path) {
  const absl::StatusOr<std::string> text =
      internal::ReadSmallFile(path, "a configuration", kMaxConfigBytes);
  if (!text.ok()) {
    return internal::Prepend(text.status(), "cannot read configuration");
  }
  return ParseIn(*text, path, std::filesystem::path(path).parent_path());
}

absl::StatusOr<Journal> JournalOf(const Run& run, const std::string& path) {
  absl::StatusOr<Journal> journal = internal::ReadJournal(path);
  // Else the first change would be refused, days later.
  const std::filesystem::path folder =
      std::filesystem::path(path).parent_path();
  std::error_code ignored;
  if (journal.ok() && !std::filesystem::is_directory(folder, ignored)) {
    journal = absl::NotFoundError(absl::StrCat(
        "the journal would be '", path, "', but there is no folder '",
        folder.string(), "'; make it, or state another path"));
  }
  if (journal.ok()) return journal;
  return internal::Prepend(journal.status(),
                           internal::ToString(run.journal_location));
}

// Appends lines to the file of `journal`, and warns of evaluations that they
// begin to draw.
std::function<absl::Status(std::string_view line)> SinkOf(
    const Config& config, const std::string& path, Journal journal,
    const internal::LineSink& warning_sink) {
  const auto file = std::make_shared<internal::JournalFile>(path, journal);
  if (config.run().evals.empty()) {
    return [file](std::string_view line) { return file->Append(line); };
  }
  std::vector<std::string> undrawn =
      internal::UndrawnPaths(config.run(), journal.entries());
  return [config, warning_sink, file, journal = std::move(journal),
          undrawn = std::move(undrawn)](std::string_view line) mutable {
    absl::Status appended = file->Append(line);
    if (!appended.ok()) return appended;
    const absl::StatusOr<JournalEntry> entry = journal.Append(line);
    if (!entry.ok()) return absl::OkStatus();
    for (const std::string& warning :
         internal::WarningsOfDrawn(config, entry->change, &undrawn)) {
      internal::EmitLine(warning_sink, "warning: ", warning);
    }
    return absl::OkStatus();
  };
}

// Makes the checks of a loader with the options of the description. If the
// usual options pass, the error is about [runtime], whose place is put in
// front.
absl::Status CheckDescribed(const Config& config) try {
  const AsyncDataset<TokenWindow>& dataset = *config.dataset();
  const DatasetTree tree(dataset);
  const auto check = [&](const LoaderOptions& options) {
    return internal::CheckBatches(tree, dataset, config.schedule(), options);
  };
  const absl::Status status = check(config.loader_options());
  const SourceLocation& place = config.run().runtime_location;
  if (status.ok() || place.file.empty() || !check(LoaderOptions()).ok()) {
    return status;
  }
  return internal::Prepend(status, internal::ToString(place));
} catch (...) {
  return internal::ErrorOfNode(*config.dataset(), std::current_exception());
}

// `loader`; if its error is one of the description, with the place in front.
absl::StatusOr<std::unique_ptr<Loader>> Placed(
    absl::StatusOr<std::unique_ptr<Loader>> loader, const Config& config) {
  if (!absl::IsInvalidArgument(loader.status())) return loader;
  absl::Status described = CheckDescribed(config);
  const bool is_same =
      !described.ok() &&
      absl::EndsWith(described.message(), loader.status().message());
  if (is_same) return described;
  return loader;
}

// `error`, and those of the evaluations: a line that it has is not repeated.
absl::Status WithErrorsOfEvals(const absl::Status& error, const Run& run) {
  std::vector<std::string> lines = absl::StrSplit(error.message(), '\n');
  for (const RunEval& eval : run.evals) {
    const absl::StatusOr<Run> own = internal::EvalRunOf(run, eval);
    const absl::Status opens =
        own.ok() ? internal::BuildRun(*own).status() : own.status();
    if (opens.ok()) continue;
    for (const absl::string_view line : absl::StrSplit(opens.message(), '\n')) {
      if (std::find(lines.begin(), lines.end(), line) == lines.end()) {
        lines.emplace_back(line);
      }
    }
  }
  return absl::Status(error.code(), absl::StrJoin(lines, "\n"));
}

}  // namespace

Config::Config(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

absl::StatusOr<Config> Config::Open(Run run,
                                    std::vector<std::string> warnings) try {
  absl::StatusOr<internal::BuiltRun> made = internal::BuildRun(run);
  if (!made.ok()) return WithErrorsOfEvals(made.status(), run);
  internal::BuiltRun built = *std::move(made);
  // Paths of sources are shown as they are stated; a later working directory
  // must not change what they mean.
  const auto added = std::make_shared<internal::AddedSources>(
      run, built.sources, /*reads=*/false);
  run.folder = AbsoluteFolder(run.folder);
  std::move(built.warnings.begin(), built.warnings.end(),
            std::back_inserter(warnings));
  LoaderOptions loader = internal::LoaderOptionsOf(run);
  std::string journal_path;
  Journal journal;
  if (!run.journal.empty()) {
    journal_path =
        (std::filesystem::path(run.folder) / run.journal).lexically_normal();
    PONIENTE_ASSIGN_OR_RETURN(journal, JournalOf(run, journal_path));
    if (journal.torn() > 0) {
      warnings.push_back(absl::StrCat(
          "'", journal_path, "' ends with ", journal.torn(),
          " bytes that are no whole line, which are left out: a process was "
          "killed while it wrote a change, which then never held, or the file "
          "was cut"));
    }
  }
  const std::vector<JournalEntry> entries = journal.entries();
  absl::StatusOr<internal::SteeredRun> steered = internal::Steered(
      {built.dataset, built.schedule}, entries,
      [&added](const std::string& mixture, const ComponentText& text) {
        return added->Open(mixture, text);
      });
  if (!steered.ok()) {
    return internal::Prepend(steered.status(),
                             internal::ToString(run.journal_location));
  }
  steered->TellMade();
  absl::Status holds_out = added->MoveTo(&built, &warnings);
  if (!holds_out.ok()) {
    return internal::Prepend(holds_out,
                             internal::ToString(run.journal_location));
  }
  loader.loss_weights.insert(steered->loss_weights.begin(),
                             steered->loss_weights.end());
  std::vector<Config> evals;
  const auto open = [&run](const RunEval& eval) -> absl::StatusOr<Config> {
    PONIENTE_ASSIGN_OR_RETURN(Run own, internal::EvalRunOf(run, eval));
    PONIENTE_ASSIGN_OR_RETURN(Config opened, Open(std::move(own), {}));
    PONIENTE_RETURN_IF_ERROR(internal::CheckEval(eval, opened));
    return opened;
  };
  const std::vector<std::string> undrawn = internal::UndrawnPaths(run, entries);
  std::vector<absl::Status> errors;
  for (const RunEval& eval : run.evals) {
    absl::StatusOr<Config> opened = open(eval);
    if (!opened.ok()) {
      errors.push_back(opened.status());
      continue;
    }
    internal::WarnOfTrained(undrawn, built.sources, eval, opened->sources(),
                            &warnings);
    evals.push_back(*std::move(opened));
  }
  PONIENTE_RETURN_IF_ERROR(internal::JoinErrors(errors));
  return Config(std::make_shared<const Parts>(
      Parts{std::move(run), std::move(warnings), std::move(loader),
            std::move(built), std::move(journal_path), std::move(journal),
            *std::move(steered), std::move(evals)}));
} catch (...) {  // of a dataset's functions
  return internal::StatusFromException(std::current_exception());
}

absl::StatusOr<Config> Config::Load(const std::string& path) {
  PONIENTE_ASSIGN_OR_RETURN(internal::ParsedRun parsed, LoadFile(path));
  return Open(std::move(parsed.run), std::move(parsed.warnings));
}

absl::StatusOr<Config> Config::Parse(std::string_view text,
                                     const std::string& name,
                                     const std::string& folder) {
  PONIENTE_ASSIGN_OR_RETURN(internal::ParsedRun parsed,
                            ParseIn(text, name, folder));
  return Open(std::move(parsed.run), std::move(parsed.warnings));
}

absl::StatusOr<Config> Config::Create(const Run& run) try {
  PONIENTE_ASSIGN_OR_RETURN(internal::ParsedRun parsed,
                            internal::CheckedRun(run));
  return Open(std::move(parsed.run), std::move(parsed.warnings));
} catch (...) {  // of a dataset's functions
  return internal::StatusFromException(std::current_exception());
}

const Run& Config::run() const { return parts_->run; }

const DatasetPtr<TokenWindow>& Config::dataset() const {
  return parts_->steered.dataset;
}

const Schedule& Config::schedule() const { return parts_->steered.schedule; }

const Journal& Config::journal() const { return parts_->journal; }

const std::vector<ConfigSource>& Config::sources() const {
  return parts_->built.sources;
}

const std::vector<ComputedThreshold>& Config::thresholds() const {
  return parts_->built.thresholds;
}

std::string Config::ToToml() const {
  return internal::ToResolvedToml(run(), parts_->built.schedule);
}

const std::vector<std::string>& Config::warnings() const {
  return parts_->warnings;
}

const LoaderOptions& Config::loader_options() const { return parts_->loader; }

const ByteReaderOptions& Config::io_options() const { return run().io; }

const Vocabulary& Config::vocabulary() const {
  static const auto* const kUnknown = new Vocabulary{"", uint64_t{1} << 32};
  const Vocabulary* const known = dataset()->vocabulary();
  return known == nullptr ? *kUnknown : *known;
}

absl::Status Config::CheckLoader() const {
  std::vector<absl::Status> errors = {CheckDescribed(*this)};
  for (size_t i = 0; i < run().evals.size(); ++i) {
    const absl::Status opens = parts_->evals[i].CheckLoader();
    if (opens.ok()) continue;
    errors.push_back(
        internal::Prepend(opens, internal::ToString(run().evals[i].location)));
  }
  return internal::JoinErrors(errors);
}

absl::StatusOr<std::unique_ptr<Loader>> Config::OpenLoader() const {
  return OpenLoader(loader_options());
}

absl::StatusOr<std::unique_ptr<Loader>> Config::OpenLoader(
    const LoaderOptions& options) const {
  std::string missing;
  for (const ConfigSource& source : sources()) {
    if (source.is_readable) continue;
    absl::StrAppend(&missing, missing.empty() ? "" : ", ", source.path);
  }
  if (!missing.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the data cannot be read: these sources have only a "
                     "number of tokens, no path: ",
                     missing));
  }
  LoaderOptions with_journal = options;
  if (!options.component_opener) {
    with_journal.component_opener = internal::OpenerFor(*this, options);
  }
  const internal::BuiltRun& built = parts_->built;
  if (parts_->journal_path.empty()) {
    return Placed(
        Loader::Create(built.dataset, built.schedule, std::move(with_journal)),
        *this);
  }
  if (options.journal_sink || !options.journal.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the run keeps its journal in '", parts_->journal_path,
                     "', so the options can bring no other"));
  }
  PONIENTE_ASSIGN_OR_RETURN(with_journal.journal,
                            JournalOf(run(), parts_->journal_path));
  if (!with_journal.journal.bytes().starts_with(journal().bytes())) {
    return absl::FailedPreconditionError(absl::StrCat(
        "'", parts_->journal_path,
        "' does not begin with the changes that it had when the run was "
        "opened; open the run again"));
  }
  if (options.rank == 0) {
    with_journal.journal_sink =
        SinkOf(*this, parts_->journal_path, with_journal.journal,
               options.warning_sink);
  }
  return Placed(Loader::CreateSteered(parts_->steered, journal().size(),
                                      std::move(with_journal)),
                *this);
}

absl::StatusOr<Run> LoadRun(const std::string& path) {
  PONIENTE_ASSIGN_OR_RETURN(internal::ParsedRun parsed, LoadFile(path));
  parsed.run.folder = AbsoluteFolder(parsed.run.folder);
  return std::move(parsed.run);
}

absl::StatusOr<Run> ParseRun(std::string_view text, const std::string& name,
                             const std::string& folder) {
  PONIENTE_ASSIGN_OR_RETURN(internal::ParsedRun parsed,
                            ParseIn(text, name, folder));
  parsed.run.folder = AbsoluteFolder(folder);
  return std::move(parsed.run);
}

absl::StatusOr<std::string> ToToml(const Run& run) {
  PONIENTE_ASSIGN_OR_RETURN(
      std::string text,
      internal::StatedText(run,
                           "TOML cannot state; pack the data into a store, or "
                           "state Declared() to plan the run"));
  if (!run.loader.loss_weights.empty()) {
    return absl::InvalidArgumentError(
        "loader.loss_weights cannot be stated in TOML: state LossWeight() of "
        "the nodes");
  }
  return text;
}

absl::StatusOr<std::unique_ptr<Loader>> OpenLoader(const Run& run,
                                                   const Ranks& ranks) {
  const absl::StatusOr<Config> config = Config::Create(run);
  const absl::Status all[] = {config.status(),
                              internal::CheckRank(ranks.rank, ranks.ranks)};
  PONIENTE_RETURN_IF_ERROR(internal::JoinErrors(all));
  LoaderOptions options = config->loader_options();
  options.rank = ranks.rank;
  options.ranks = ranks.ranks;
  auto loader = config->OpenLoader(options);
  // The caller has no Config to ask.
  if (loader.ok() && ranks.rank == 0) {
    internal::EmitLines(options.warning_sink, "warning: ", config->warnings());
  }
  return loader;
}

}  // namespace poniente
