// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "c_api/boundary.h"
#include "c_api/handles.h"
#include "c_api/options.h"
#include "loader/metrics/loader_reports.h"
#include "poniente/metrics.h"
#include "poniente/poniente_c.h"
#include "poniente/version.h"
#include "util/status_macros.h"

using namespace poniente;            // NOLINT: the functions below are C's
using namespace poniente::internal;  // NOLINT

namespace {

constexpr size_t kFirstRunSize =
    offsetof(poniente_run, order_version) + sizeof(uint32_t);
static_assert(sizeof(poniente_run) >= kFirstRunSize);

// A program in C cannot ask for the warnings of the description.
void Warn(const Config& config, const LoaderOptions& options) {
  if (options.rank != 0) return;
  EmitLines(options.warning_sink, "warning: ", config.warnings());
}

absl::Status Open(const absl::StatusOr<Config>& config,
                  const poniente_options* options, poniente_loader** out) {
  PONIENTE_RETURN_IF_ERROR(config.status());
  LoaderOptions loader_options = config->loader_options();
  PONIENTE_RETURN_IF_ERROR(ApplyOptions(options, &loader_options));
  PONIENTE_ASSIGN_OR_RETURN(std::unique_ptr<Loader> loader,
                            config->OpenLoader(loader_options));
  Warn(*config, loader_options);
  *out = new poniente_loader(*config, loader_options, std::move(loader));
  return absl::OkStatus();
}

constexpr int32_t KindOf(StepChange::Kind kind) {
  return static_cast<int32_t>(kind) + 1;
}
static_assert(PONIENTE_CHANGE_STAGE == KindOf(StepChange::Kind::kStage));
static_assert(PONIENTE_CHANGE_BATCH_SIZE ==
              KindOf(StepChange::Kind::kBatchSize));
static_assert(PONIENTE_CHANGE_SEQ_LEN == KindOf(StepChange::Kind::kSeqLen));
static_assert(PONIENTE_CHANGE_WEIGHTS == KindOf(StepChange::Kind::kWeights));
static_assert(PONIENTE_CHANGE_RAMP == KindOf(StepChange::Kind::kRampStart));
static_assert(PONIENTE_CHANGE_RAMP_END == KindOf(StepChange::Kind::kRampEnd));
static_assert(PONIENTE_CHANGE_THRESHOLDS ==
              KindOf(StepChange::Kind::kThresholds));
static_assert(PONIENTE_CHANGE_DECISION == KindOf(StepChange::Kind::kDecision));

absl::Status OpenEval(const absl::StatusOr<Config>& config, const char* name,
                      const poniente_options* options, poniente_loader** out) {
  PONIENTE_RETURN_IF_ERROR(config.status());
  PONIENTE_ASSIGN_OR_RETURN(const Config eval, config->Eval(name));
  LoaderOptions loader_options = eval.loader_options();
  PONIENTE_RETURN_IF_ERROR(ApplyOptions(options, &loader_options));
  PONIENTE_ASSIGN_OR_RETURN(std::unique_ptr<Loader> loader,
                            config->OpenEval(name, loader_options));
  Warn(eval, loader_options);
  *out = new poniente_loader(eval, loader_options, std::move(loader));
  return absl::OkStatus();
}

absl::StatusOr<StepPlan> PlanOfStep(const Schedule& schedule, uint64_t step) {
  if (schedule.Has(step)) return schedule.At(step);
  return absl::OutOfRangeError(
      absl::StrCat("the run has ended: there is no step ", step));
}

absl::StatusOr<MetricLabels> LabelsFrom(const char* const* labels) {
  MetricLabels pairs;
  for (; labels != nullptr && labels[0] != nullptr; labels += 2) {
    if (labels[1] == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("label '", labels[0], "' has no value"));
    }
    pairs.emplace_back(labels[0], labels[1]);
  }
  return pairs;
}

}  // namespace

uint32_t poniente_abi_version(void) { return PONIENTE_ABI_VERSION; }

// A literal, and so with a 0 at its end.
const char* poniente_version(void) { return Version().data(); }

int32_t poniente_loader_open(const char* path, const poniente_options* options,
                             poniente_loader** loader) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(loader);
    *loader = nullptr;
    PONIENTE_RETURN_IF_NULL(path);
    return Open(Config::Load(path), options, loader);
  });
}

int32_t poniente_loader_open_text(const char* text, const char* name,
                                  const char* folder,
                                  const poniente_options* options,
                                  poniente_loader** loader) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(loader);
    *loader = nullptr;
    PONIENTE_RETURN_IF_NULL(text);
    return Open(Config::Parse(text, name == nullptr ? "config" : name,
                              folder == nullptr ? "" : folder),
                options, loader);
  });
}

int32_t poniente_loader_open_eval(const char* path, const char* eval,
                                  const poniente_options* options,
                                  poniente_loader** loader) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(loader);
    *loader = nullptr;
    PONIENTE_RETURN_IF_NULL(path);
    PONIENTE_RETURN_IF_NULL(eval);
    return OpenEval(Config::Load(path), eval, options, loader);
  });
}

int32_t poniente_loader_open_eval_text(const char* text, const char* name,
                                       const char* folder, const char* eval,
                                       const poniente_options* options,
                                       poniente_loader** loader) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(loader);
    *loader = nullptr;
    PONIENTE_RETURN_IF_NULL(text);
    PONIENTE_RETURN_IF_NULL(eval);
    return OpenEval(Config::Parse(text, name == nullptr ? "config" : name,
                                  folder == nullptr ? "" : folder),
                    eval, options, loader);
  });
}

void poniente_loader_close(poniente_loader* loader) { delete loader; }

int32_t poniente_loader_next(poniente_loader* loader, poniente_batch** batch) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(batch);
    *batch = nullptr;
    PONIENTE_RETURN_IF_NULL(loader);
    PONIENTE_ASSIGN_OR_RETURN(Batch next, loader->loader->NextBlocking());
    *batch = new poniente_batch(std::move(next));
    return absl::OkStatus();
  });
}

int32_t poniente_loader_try_next(poniente_loader* loader,
                                 poniente_batch** batch) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(batch);
    *batch = nullptr;
    PONIENTE_RETURN_IF_NULL(loader);
    std::optional<absl::StatusOr<Batch>> next = loader->loader->TryNext();
    if (!next.has_value()) return absl::OkStatus();
    PONIENTE_RETURN_IF_ERROR(next->status());
    *batch = new poniente_batch(**std::move(next));
    return absl::OkStatus();
  });
}

int32_t poniente_loader_ready_fd(poniente_loader* loader, int32_t* fd) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(fd);
    *fd = -1;
    PONIENTE_RETURN_IF_NULL(loader);
    PONIENTE_ASSIGN_OR_RETURN(*fd, loader->loader->ReadyFd());
    return absl::OkStatus();
  });
}

int32_t poniente_loader_stop(poniente_loader* loader) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(loader);
    return loader->loader->CloseBlocking();
  });
}

int32_t poniente_loader_seek(poniente_loader* loader, uint64_t step) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(loader);
    return loader->loader->Seek(step);
  });
}

int32_t poniente_loader_next_step(const poniente_loader* loader,
                                  uint64_t* step) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(loader);
    PONIENTE_RETURN_IF_NULL(step);
    *step = loader->loader->next_step();
    return absl::OkStatus();
  });
}

int32_t poniente_loader_state(const poniente_loader* loader, char** state) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(state);
    *state = nullptr;
    PONIENTE_RETURN_IF_NULL(loader);
    return GiveText(loader->loader->State(), state);
  });
}

int32_t poniente_loader_state_at(const poniente_loader* loader, uint64_t step,
                                 char** state) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(state);
    *state = nullptr;
    PONIENTE_RETURN_IF_NULL(loader);
    PONIENTE_ASSIGN_OR_RETURN(const std::string text,
                              loader->loader->State(step));
    return GiveText(text, state);
  });
}

int32_t poniente_loader_resume(poniente_loader* loader, const char* state) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(loader);
    PONIENTE_RETURN_IF_NULL(state);
    return loader->loader->Resume(state);
  });
}

int32_t poniente_loader_propose(const poniente_loader* loader,
                                const char* change, char** line) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(line);
    *line = nullptr;
    PONIENTE_RETURN_IF_NULL(loader);
    PONIENTE_RETURN_IF_NULL(change);
    PONIENTE_ASSIGN_OR_RETURN(const RunChange parsed,
                              poniente::ParseChange(change));
    PONIENTE_ASSIGN_OR_RETURN(const std::string text,
                              loader->loader->Propose(parsed));
    return GiveText(text, line);
  });
}

int32_t poniente_loader_steer(poniente_loader* loader, const char* line,
                              uint64_t* step) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(loader);
    PONIENTE_RETURN_IF_NULL(line);
    PONIENTE_RETURN_IF_NULL(step);
    PONIENTE_ASSIGN_OR_RETURN(*step,
                              loader->loader->Steer(std::string_view(line)));
    return absl::OkStatus();
  });
}

int32_t poniente_loader_last_decision(const poniente_loader* loader,
                                      int64_t* step) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(loader);
    PONIENTE_RETURN_IF_NULL(step);
    const std::optional<uint64_t> last = loader->loader->last_decision();
    *step = last.has_value() ? static_cast<int64_t>(*last) : -1;
    return absl::OkStatus();
  });
}

int32_t poniente_loader_run(const poniente_loader* loader, poniente_run* run) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(loader);
    PONIENTE_RETURN_IF_NULL(run);
    const Loader& from = *loader->loader;
    const Schedule& schedule = from.schedule();
    poniente_run out = {};
    out.steps = schedule.steps();
    out.samples = schedule.samples();
    out.tokens = schedule.tokens();
    out.vocabulary_size = loader->vocabulary.size;
    out.tokenizer = loader->vocabulary.tokenizer.c_str();
    out.fingerprint = from.fingerprint();
    out.num_sources = from.tree().leaves().size();
    out.max_seq_len = schedule.max_seq_len();
    out.rank = loader->rank;
    out.ranks = loader->ranks;
    out.order_version = kOrderVersion;
    return Give(out, kFirstRunSize, "poniente_run", run);
  });
}

int32_t poniente_loader_step(const poniente_loader* loader, uint64_t step,
                             poniente_step* info) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(loader);
    PONIENTE_RETURN_IF_NULL(info);
    PONIENTE_ASSIGN_OR_RETURN(const StepPlan plan,
                              PlanOfStep(loader->loader->schedule(), step));
    const BatchShare share =
        RankShare(plan.batch_size, loader->rank, loader->ranks);
    return GiveStep(plan, loader->Keep(plan.stage_name),
                    share.end - share.begin, info);
  });
}

int32_t poniente_loader_changes(const poniente_loader* loader, uint64_t step,
                                size_t first, size_t count,
                                poniente_change* changes) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(loader);
    if (count > 0) PONIENTE_RETURN_IF_NULL(changes);
    PONIENTE_ASSIGN_OR_RETURN(const StepPlan plan,
                              PlanOfStep(loader->loader->schedule(), step));
    const size_t all = plan.changes.size();
    if (first > all || count > all - first) {
      return absl::OutOfRangeError(
          absl::StrCat("there are no ", count, " changes from number ", first,
                       " on, step ", step, " has ", all));
    }
    for (size_t i = 0; i < count; ++i) {
      const StepChange& change = plan.changes[first + i];
      changes[i] = {KindOf(change.kind), 0, loader->Keep(change.mixture),
                    loader->Keep(change.stage), loader->Keep(ToString(change))};
    }
    return absl::OkStatus();
  });
}

int32_t poniente_loader_weights(const poniente_loader* loader, uint64_t step,
                                size_t first, size_t count,
                                poniente_weight* weights) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(loader);
    if (count > 0) PONIENTE_RETURN_IF_NULL(weights);
    // A copy, because a change may add a component meanwhile.
    const Schedule schedule = loader->loader->schedule();
    PONIENTE_ASSIGN_OR_RETURN(const StepPlan plan, PlanOfStep(schedule, step));
    const size_t all = plan.weights.size();
    if (first > all || count > all - first) {
      return absl::OutOfRangeError(
          absl::StrCat("there are no ", count, " weights from number ", first,
                       " on, step ", step, " has ", all));
    }
    for (size_t i = 0; i < count; ++i) {
      weights[i] = {loader->Keep(schedule.mixture()->names()[first + i]),
                    plan.weights[first + i]};
    }
    return absl::OkStatus();
  });
}

int32_t poniente_loader_sources(const poniente_loader* loader, size_t first,
                                size_t count, poniente_source* sources) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(loader);
    if (count > 0) PONIENTE_RETURN_IF_NULL(sources);
    const std::vector<LoaderSource> all = loader->loader->sources();
    if (first > all.size() || count > all.size() - first) {
      return absl::OutOfRangeError(
          absl::StrCat("there are no ", count, " sources from number ", first,
                       " on, the run has ", all.size()));
    }
    for (size_t i = 0; i < count; ++i) {
      const LoaderSource& from = all[first + i];
      sources[i] = {loader->Keep(from.path), loader->Keep(from.dataset),
                    loader->Keep(from.backend),
                    loader->Keep(from.fallback_reason)};
    }
    return absl::OkStatus();
  });
}

int32_t poniente_loader_metrics(const poniente_loader* loader,
                                const char* const* labels, char** text) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(text);
    *text = nullptr;
    PONIENTE_RETURN_IF_NULL(loader);
    PONIENTE_ASSIGN_OR_RETURN(const MetricLabels pairs, LabelsFrom(labels));
    return GiveText(PrometheusText(loader->loader->metrics(), pairs), text);
  });
}
