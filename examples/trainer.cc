// SPDX-License-Identifier: Apache-2.0
#include "trainer.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <span>
#include <utility>

#include "absl/strings/str_format.h"

namespace example {
namespace {

// Fractions as StepSums has them: a step's sum may have 2^23 nats.
constexpr double kFixedOne = uint64_t{1} << 40;
constexpr double kFixedMost = 1 << 20;  // of one sample

// False if a value is too big, or no number.
template <class T>
bool AddFixed(std::span<const T> from, std::span<uint64_t> to) {
  for (size_t i = 0; i < from.size(); ++i) {
    if (!(std::abs(from[i]) < kFixedMost)) return false;
    to[i] += static_cast<uint64_t>(
        static_cast<int64_t>(static_cast<double>(from[i]) * kFixedOne));
  }
  return true;
}

double FromFixed(uint64_t value) {
  return static_cast<double>(static_cast<int64_t>(value)) / kFixedOne;
}

uint64_t Total(std::span<const uint64_t> values) {
  return std::accumulate(values.begin(), values.end(), uint64_t{0});
}

void Add(std::span<const uint64_t> from, std::span<uint64_t> to) {
  for (size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

// The least loss, in nats per token, of a model that sees no context.
double UnigramEntropy(std::span<const uint64_t> counts) {
  const double total = static_cast<double>(Total(counts));
  double entropy = 0;
  for (const uint64_t count : counts) {
    const double share = static_cast<double>(count) / total;
    if (count > 0) entropy -= share * std::log(share);
  }
  return entropy;
}

// Cuts off the log's lines of `step` and later: those steps are done once more.
absl::Status CutLog(const std::string& path, uint64_t step) {
  std::ifstream old(path);
  size_t keep = 0;
  for (std::string line; std::getline(old, line) && !old.eof();) {
    if (std::strtoull(line.c_str(), nullptr, 10) >= step) break;
    keep += line.size() + 1;
  }
  if (old.is_open() && truncate(path.c_str(), static_cast<off_t>(keep)) != 0) {
    return FileError("cannot shorten", path);
  }
  return absl::OkStatus();
}

}  // namespace

poniente::LoaderOptions TrainerLoaderOptions(const poniente::Config& config) {
  poniente::LoaderOptions options = config.loader_options();
  for (const poniente::BatchTensor tensor :
       {poniente::BatchTensor::kLossMask,
        poniente::BatchTensor::kDocumentIds}) {
    if (std::ranges::find(options.tensors, tensor) == options.tensors.end()) {
      options.tensors.push_back(tensor);
    }
  }
  return options;
}

absl::StatusOr<std::unique_ptr<Trainer>> Trainer::Open(
    poniente::Loader* loader, size_t vocabulary,
    const TrainerOptions& options) {
  if (vocabulary > 100'000) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "a vocabulary of %d is too big for this small model, at most 100000",
        vocabulary));
  }
  std::unique_ptr<Trainer> trainer(new Trainer(loader, vocabulary, options));
  if (!options.checkpoint.empty()) {
    absl::Status status = Restore(options.checkpoint, loader, &trainer->state_);
    if (!status.ok()) return status;
  }
  if (!options.is_main) return trainer;
  if (absl::Status status = trainer->OpenLog(); !status.ok()) return status;
  if (trainer->next_step() > 0) {
    absl::PrintF("resumes with step %d\n", trainer->next_step());
  }
  absl::PrintF("Loss in nats per token: of all, and of each source\n");
  absl::PrintF("%6s %7s %6s", "step", "unigram", "loss");
  for (const std::string& name : trainer->names_) absl::PrintF(" %5s", name);
  absl::PrintF("\n");
  return trainer;
}

Trainer::Trainer(poniente::Loader* loader, size_t vocabulary,
                 const TrainerOptions& options)
    : loader_(loader),
      options_(options),
      state_(vocabulary, loader->sources().size()) {
  NameSources();
}

void Trainer::NameSources() {
  const size_t named = names_.size();
  if (loader_->tree().leaves().size() == named) return;
  const std::vector<poniente::LoaderSource> sources = loader_->sources();
  for (size_t i = named; i < sources.size(); ++i) {
    names_.push_back(sources[i].path.substr(sources[i].path.rfind('/') + 1));
    if (named == 0 || !options_.is_main) continue;
    absl::PrintF("%6d source '%s' is added: the column behind the last\n",
                 state_.step, names_.back());
  }
  state_.Resize(names_.size());
}

Trainer::~Trainer() {
  if (log_ != nullptr) std::fclose(log_);
}

absl::Status Trainer::OpenLog() {
  if (options_.log.empty()) return absl::OkStatus();
  absl::Status status = CutLog(options_.log, next_step());
  if (!status.ok()) return status;
  log_ = std::fopen(options_.log.c_str(), "a");
  return log_ != nullptr ? absl::OkStatus()
                         : FileError("cannot open", options_.log);
}

absl::StatusOr<StepSums> Trainer::Sum(const poniente::Batch& batch) {
  NameSources();
  StepSums sums(state_.vocabulary, names_.size(),
                state_.parameters.all().size());
  for (size_t i = 0; i < batch.num_samples(); ++i) {
    absl::Status status = AddSample(batch, i, &sums);
    if (!status.ok()) return status;
  }
  return sums;
}

absl::Status Trainer::AddSample(const poniente::Batch& batch, size_t sample,
                                StepSums* sums) {
  const size_t length = batch.seq_len();
  const Sample row = {
      .tokens = batch.tokens<uint32_t>(sample),
      .document_ids = batch.document_ids().subspan(sample * length, length),
      .loss_mask = batch.loss_mask().subspan(sample * length, length)};
  const uint32_t source = batch.source(sample);
  for (size_t i = 0; i < length; ++i) {
    const uint32_t id = row.tokens[i];
    if (id >= state_.vocabulary) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "step %d: token id %d is outside the vocabulary of %d", batch.step(),
          id, state_.vocabulary));
    }
    if (i == 0 || row.loss_mask[i - 1] == 0) continue;
    ++(*sums)[StepSums::kTokenCounts][id];
    ++(*sums)[StepSums::kSourceTokens][source];
  }
  Parameters gradient(state_.vocabulary);
  const double loss =
      LossAndGradient(state_.vocabulary, state_.parameters, row, gradient);
  (*sums)[StepSums::kHash][0] +=
      Hash(row.tokens, Hash(std::span(&batch.provenance(sample).sample, 1)));
  if (AddFixed(std::span(&loss, 1),
               (*sums)[StepSums::kSourceLoss].subspan(source, 1)) &&
      AddFixed<float>(gradient.all(), (*sums)[StepSums::kGradient])) {
    return absl::OkStatus();
  }
  return absl::OutOfRangeError(absl::StrFormat(
      "step %d: the model diverges, its loss is %g; lower --learning_rate",
      batch.step(), loss));
}

absl::Status Trainer::Step(const poniente::StepPlan& plan, StepSums sums) {
  const bool begins =
      std::any_of(plan.changes.begin(), plan.changes.end(),
                  [](const poniente::StepChange& change) {
                    return change.kind == poniente::StepChange::Kind::kStage &&
                           change.mixture.empty();
                  });
  if (begins && options_.is_main) {
    absl::PrintF("%6d stage '%s' begins, learning rate times %g\n", plan.step,
                 plan.stage_name, plan.lr_scale);
  }
  Add(sums[StepSums::kTokenCounts], state_.token_counts);
  Add(sums[StepSums::kSourceTokens], state_.source_tokens);
  for (size_t i = 0; i < names_.size(); ++i) {
    state_.source_loss[i] += FromFixed(sums[StepSums::kSourceLoss][i]);
  }
  // At least 1: a step of documents of one token has nothing to predict.
  const double tokens =
      std::max(1.0, static_cast<double>(Total(sums[StepSums::kSourceTokens])));
  Adam(sums[StepSums::kGradient], tokens, plan);
  return EndStep(sums[StepSums::kHash][0],
                 FromFixed(Total(sums[StepSums::kSourceLoss])) / tokens);
}

absl::Status Trainer::Finish() {
  absl::Status status = SaveCheckpoint();  // what Report() is about to clear
  Report();
  if (!options_.is_main) return status;
  const double entropy = UnigramEntropy(state_.token_counts);
  absl::PrintF(
      "after %d steps: loss %.3f nats (%.3f bits) per token, unigram "
      "entropy %.3f (%.3f)\n",
      state_.step, state_.reported_loss, state_.reported_loss / std::log(2),
      entropy, entropy / std::log(2));
  return status;
}

void Trainer::Adam(std::span<const uint64_t> gradient, double tokens,
                   const poniente::StepPlan& plan) {
  constexpr float kMean = 0.9f, kSquare = 0.99f;
  const double t = static_cast<double>(plan.step) + 1;
  const double mean_scale = 1 / (1 - std::pow(kMean, t));
  const double square_scale = 1 / (1 - std::pow(kSquare, t));
  const double warm_up = std::min(1.0, t / 50);
  const float rate =
      static_cast<float>(options_.learning_rate * plan.lr_scale * warm_up *
                         mean_scale / std::sqrt(square_scale));
  const std::span<float> mean = state_.mean.all();
  const std::span<float> square = state_.square.all();
  const std::span<float> value = state_.parameters.all();
  for (size_t i = 0; i < value.size(); ++i) {
    const float g = static_cast<float>(FromFixed(gradient[i]) / tokens);
    mean[i] = kMean * mean[i] + (1 - kMean) * g;
    square[i] = kSquare * square[i] + (1 - kSquare) * g * g;
    value[i] -= rate * mean[i] / (std::sqrt(square[i]) + 1e-8f);
  }
}

absl::Status Trainer::EndStep(uint64_t token_hash, double loss) {
  if (log_ != nullptr) {
    // %a shows the loss to the last bit.
    absl::FPrintF(log_, "%d tokens %016x loss %.9g %a\n", state_.step,
                  token_hash, loss, loss);
    if (std::fflush(log_) != 0) return FileError("cannot write", options_.log);
  }
  ++state_.step;
  if (state_.step % options_.report_every == 0) Report();
  return IsCheckpointDue() ? SaveCheckpoint() : absl::OkStatus();
}

// Also before a step with which something changes.
bool Trainer::IsCheckpointDue() const {
  const poniente::Schedule& schedule = loader_->schedule();
  return state_.step % options_.checkpoint_every == 0 ||
         (schedule.Has(state_.step) && schedule.At(state_.step).is_boundary);
}

absl::Status Trainer::SaveCheckpoint() {
  if (!options_.is_main || options_.checkpoint.empty()) {
    return absl::OkStatus();
  }
  return Save(options_.checkpoint, *loader_, &state_);
}

// The loss of each source since the last report; "-" if it gave no sample.
void Trainer::Report() {
  const uint64_t tokens = Total(state_.source_tokens);
  if (tokens == 0) return;
  state_.reported_loss = std::accumulate(state_.source_loss.begin(),
                                         state_.source_loss.end(), 0.0) /
                         static_cast<double>(tokens);
  std::string line = absl::StrFormat("%6d %7.3f %6.3f", state_.step,
                                     UnigramEntropy(state_.token_counts),
                                     state_.reported_loss);
  for (size_t i = 0; i < names_.size(); ++i) {
    const double loss = std::exchange(state_.source_loss[i], 0);
    const uint64_t from = std::exchange(state_.source_tokens[i], 0);
    absl::StrAppendFormat(
        &line, " %*s", std::max<int>(5, names_[i].size()),
        from == 0 ? "-"
                  : absl::StrFormat("%.3f", loss / static_cast<double>(from)));
  }
  if (options_.is_main) absl::PrintF("%s\n", line);
}

}  // namespace example
