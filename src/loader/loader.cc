// SPDX-License-Identifier: Apache-2.0
#include "poniente/loader.h"

#include <exception>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "dataset/node_answers.h"
#include "index/keyed_hash.h"
#include "io/range_source.h"
#include "loader/batch_checks.h"
#include "loader/loader_core.h"
#include "loader/loader_errors.h"
#include "loader/state/run_state.h"
#include "loader/usual_prefetch.h"
#include "poniente/version.h"
#include "util/alike_lines.h"
#include "util/mutex.h"
#include "util/status_macros.h"

namespace poniente {

using internal::LoaderCounters;
using internal::MutexLock;
using internal::Seconds;

namespace {

// Returns the leaf's name, or its path if its name() throws.
std::string NameOrPath(const TreeLeaf& leaf) {
  try {
    return leaf.node->name();
  } catch (...) {
    return leaf.path;
  }
}

// The leaves, in the order of the tree, as they are read now.
std::vector<LoaderSource> SourcesOf(const DatasetTree& tree) {
  std::vector<LoaderSource> sources;
  for (const TreeLeaf& leaf : tree.leaves()) {
    LoaderSource& source = sources.emplace_back();
    source.path = leaf.path;
    source.dataset = NameOrPath(leaf);
    source.backend = "memory";
    if (const RangeSource* const ranges = leaf.node->ranges()) {
      source.backend = IoBackendName(ranges->reader().backend());
      source.fallback_reason = ranges->reader().fallback_reason();
    }
  }
  return sources;
}

}  // namespace

bool operator==(const LoaderOptions& a, const LoaderOptions& b) {
  // Names every field, so that a new one does not compile until it is here.
  const auto compared = [](const LoaderOptions& options) {
    const auto& [rank, ranks, sharing, context, start_step, last_batch,
                 token_type, tensors, documents, loss_weights, prefetch_batches,
                 prefetch_bytes, max_held, waits_for_held, device,
                 widen_on_device, warning_sink, report_every_steps, log_sink,
                 journal, journal_sink, component_opener] = options;
    return std::tie(rank, ranks, sharing, context, start_step, last_batch,
                    token_type, tensors, documents, loss_weights,
                    prefetch_batches, prefetch_bytes, max_held, waits_for_held,
                    device, widen_on_device, report_every_steps, journal);
  };
  return compared(a) == compared(b);
}

absl::Status Loader::Core::Seek(uint64_t step) {
  {
    MutexLock lock(&mu_);
    if (is_closed_) return internal::LoaderClosed();
    Restart(step);
    if (!edition_->run.schedule.Has(step)) window_.EndAt(step);
    counters_.MovedTo(step);
    UpdateReadyEvent();
  }
  changed_.NotifyAll();
  return absl::OkStatus();
}

Task<> Loader::Core::Close(std::shared_ptr<Core> core) {
  core->CloseAndCancel();
  while (true) {
    const uint64_t seen = core->changed_.version();
    {
      MutexLock lock(&core->mu_);
      const bool is_idle = core->queued_.empty() && core->under_way_.empty() &&
                           core->ending_.empty();
      if (is_idle || core->is_broken_) {
        co_return absl::OkStatus();
      }
    }
    absl::Status waited = co_await core->changed_.WaitPast(seen);
    if (!waited.ok()) co_return waited;
  }
}

LoaderMetrics Loader::Core::metrics() const {
  LoaderMetrics metrics = counters_.Read(LoaderCounters::Clock::now());
  const internal::ReaderTotals::Bytes bytes = readers_.Read();
  metrics.bytes_asked = bytes.asked;
  metrics.bytes_read = bytes.read;
  MutexLock lock(&mu_);
  metrics.next_step = window_.next();
  metrics.batches_ready = NumReady();
  metrics.batches_under_way = queued_.size() + under_way_.size();
  thread_.AddTimes(&metrics);
  return metrics;
}

uint64_t Loader::Core::fingerprint() const {
  const EditionPtr edition = Current();
  const StepPlan first = edition->run.schedule.At(0);
  try {
    fingerprint_ = internal::Derive(
        edition->run.dataset->fingerprint(), internal::Tag("loader"),
        uint64_t{kOrderVersion}, first.batch_size, uint64_t{first.seq_len});
  } catch (...) {
    // Of a dataset's functions.
  }
  return fingerprint_;
}

absl::StatusOr<std::string> Loader::Core::State(uint64_t step) const {
  MutexLock lock(&steering_mu_);
  const EditionPtr edition = Current();
  const Schedule& schedule = edition->run.schedule;
  PONIENTE_RETURN_IF_ERROR(internal::CheckHasState(
      *edition->run.dataset, schedule, options_.last_batch, step));
  return internal::StateText(*edition->run.dataset, schedule, step, journal_);
}

std::string Loader::Core::State() const {
  const uint64_t step = next_step();
  std::string text;
  std::string warning;
  {
    MutexLock lock(&steering_mu_);
    const EditionPtr edition = Current();
    text = internal::StateTextAnyway(
        *edition->run.dataset, edition->run.schedule, step, journal_, &warning);
  }
  if (!warning.empty()) {
    internal::EmitLine(options_.warning_sink, "warning: ", warning);
  }
  return text;
}

absl::Status Loader::Core::Resume(std::string_view state) {
  uint64_t step = 0;
  {
    MutexLock lock(&steering_mu_);
    const EditionPtr edition = Current();
    PONIENTE_ASSIGN_OR_RETURN(
        step, internal::StepOfState(state, *edition->run.dataset,
                                    edition->run.schedule, journal_));
  }
  return Seek(step);
}

std::vector<LoaderSource> Loader::Core::sources() const {
  const EditionPtr edition = Current();  // a change may come meanwhile
  return SourcesOf(edition->assembler.tree());
}

void Loader::Core::WarnOfFallbacks(size_t first) const {
  const std::vector<LoaderSource> all = sources();
  std::vector<std::string> lines;
  for (size_t i = first; i < all.size(); ++i) {
    const LoaderSource& source = all[i];
    if (source.fallback_reason.empty()) continue;
    lines.push_back(absl::StrCat("reading '", source.path, "' by ",
                                 source.backend, ": ", source.fallback_reason));
  }
  if (lines.empty()) return;
  for (const absl::string_view line :
       absl::StrSplit(internal::JoinAlikeLines(lines), '\n')) {
    internal::EmitLine(options_.warning_sink, "warning: ", std::string(line));
  }
}

absl::StatusOr<std::unique_ptr<Loader>> Loader::Create(
    DatasetPtr<TokenWindow> dataset, Schedule schedule, LoaderOptions options) {
  if (dataset == nullptr) {
    return absl::InvalidArgumentError("a loader needs a dataset, got none");
  }
  return CreateSteered({std::move(dataset), std::move(schedule)}, 0,
                       std::move(options));
}

absl::StatusOr<std::unique_ptr<Loader>> Loader::CreateSteered(
    internal::SteeredRun run, size_t in_force, LoaderOptions options) try {
  PONIENTE_RETURN_IF_ERROR(internal::CheckAnswers(*run.dataset));
  const std::vector<JournalEntry> entries = options.journal.entries();
  PONIENTE_ASSIGN_OR_RETURN(
      run,
      internal::Steered(std::move(run), std::span(entries).subspan(in_force),
                        options.component_opener));
  run.TellMade();
  {
    const DatasetTree tree(*run.dataset);
    PONIENTE_RETURN_IF_ERROR(internal::CheckBatches(
        tree, *run.dataset, run.schedule, Core::WithLossWeights(options, run)));
    if (options.prefetch_batches == 0) {
      options.prefetch_batches =
          internal::UsualPrefetch(tree, run.schedule, options);
    }
  }
  std::shared_ptr<Core> core;
  try {
    core = std::make_shared<Core>(std::move(run), std::move(options));
  } catch (...) {
    return internal::StartError(std::current_exception());
  }
  core->WarnOfFallbacks();
  return std::unique_ptr<Loader>(new Loader(std::move(core)));
} catch (...) {  // of a dataset's functions
  return internal::StatusFromException(std::current_exception());
}

Loader::Loader(std::shared_ptr<Core> core) : core_(std::move(core)) {}
Loader::~Loader() { core_->Stop(); }

absl::Status Loader::Seek(uint64_t step) { return core_->Seek(step); }
std::string Loader::State() const { return core_->State(); }
absl::StatusOr<std::string> Loader::State(uint64_t step) const {
  return core_->State(step);
}
absl::Status Loader::Resume(std::string_view state) {
  return core_->Resume(state);
}
absl::StatusOr<std::string> Loader::Propose(const RunChange& change,
                                            const SteerOptions& options) const {
  return core_->Propose(change, options);
}
absl::StatusOr<uint64_t> Loader::Steer(const RunChange& change,
                                       const SteerOptions& options) {
  return core_->Steer(change, options);
}
absl::StatusOr<uint64_t> Loader::Steer(std::string_view line) {
  return core_->Steer(line);
}
Journal Loader::journal() const { return core_->journal(); }
std::optional<uint64_t> Loader::last_decision() const {
  return core_->last_decision();
}
uint64_t Loader::next_step() const { return core_->next_step(); }
Task<> Loader::Close() { return Core::Close(core_); }
absl::Status Loader::CloseBlocking() { return RunBlocking(Close()); }
const Schedule& Loader::schedule() const { return core_->schedule(); }
std::vector<LoaderSource> Loader::sources() const { return core_->sources(); }
LoaderMetrics Loader::metrics() const { return core_->metrics(); }
const DatasetTree& Loader::tree() const { return core_->tree(); }
uint32_t Loader::prefetch_batches() const { return core_->prefetch_batches(); }
uint64_t Loader::fingerprint() const { return core_->fingerprint(); }

}  // namespace poniente
