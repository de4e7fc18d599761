// SPDX-License-Identifier: Apache-2.0
// What the example trainers do with the samples of a step, in two halves: sums
// over the samples that one process has, and one step of the optimizer with the
// sums over all.

#ifndef PONIENTE_EXAMPLES_TRAINER_H_
#define PONIENTE_EXAMPLES_TRAINER_H_

#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint.h"
#include "poniente/poniente.h"
#include "small_model.h"
#include "trainer_options.h"

namespace example {

// What a loader must be opened with for a trainer: the configuration's options,
// and the tensors by which predictions end at documents and pass over padding.
poniente::LoaderOptions TrainerLoaderOptions(const poniente::Config& config);

// Sums over the samples of a step: those of two shares, added, are those of
// both together, so a sample counts as much on a rank with many as on one with
// few. They are integers, which count 2^-40 where they stand for fractions: no
// order of adding changes them, and a run is the same on any number of ranks.
class StepSums {
 public:
  StepSums(size_t vocabulary, size_t sources, size_t parameters)
      : ends_{1, sources, sources, vocabulary, parameters} {
    for (size_t i = 1; i < std::size(ends_); ++i) ends_[i] += ends_[i - 1];
    values_.resize(ends_[kGradient]);
  }

  enum Part {
    kHash,          // of the samples and their numbers in the run
    kSourceTokens,  // the number of predicted tokens, by source
    kSourceLoss,    // in nats, by source
    kTokenCounts,   // how often each id was to be predicted
    kGradient       // of the loss, by parameter
  };
  std::span<uint64_t> operator[](Part part) {
    const size_t begin = part == kHash ? 0 : ends_[part - 1];
    return std::span(values_).subspan(begin, ends_[part] - begin);
  }
  std::span<uint64_t> all() { return values_; }

 private:
  size_t ends_[5];
  std::vector<uint64_t> values_;
};

// Trains, and keeps the log, the screen and the checkpoint.
class Trainer {
 public:
  // Takes `loader` to the step after the checkpoint's, if there is one. The
  // loader, opened with TrainerLoaderOptions(), must outlive the trainer.
  static absl::StatusOr<std::unique_ptr<Trainer>> Open(
      poniente::Loader* loader, size_t vocabulary,
      const TrainerOptions& options);
  ~Trainer();

  uint64_t next_step() const { return state_.step; }

  // Over the batch's samples; zeros if it has none.
  absl::StatusOr<StepSums> Sum(const poniente::Batch& batch);

  // Takes the sums over all samples of the step.
  absl::Status Step(const poniente::StepPlan& plan, StepSums sums);

  // The last checkpoint and a summary.
  absl::Status Finish();

 private:
  Trainer(poniente::Loader* loader, size_t vocabulary,
          const TrainerOptions& options);
  absl::Status OpenLog();
  // Takes in the sources that the run has got since (docs/journal.md).
  void NameSources();
  absl::Status AddSample(const poniente::Batch& batch, size_t sample,
                         StepSums* sums);
  void Adam(std::span<const uint64_t> gradient, double tokens,
            const poniente::StepPlan& plan);
  absl::Status EndStep(uint64_t token_hash, double loss);
  bool IsCheckpointDue() const;
  absl::Status SaveCheckpoint();
  void Report();

  poniente::Loader* const loader_;
  const TrainerOptions options_;
  std::vector<std::string> names_;
  State state_;
  std::FILE* log_ = nullptr;
};

}  // namespace example

#endif  // PONIENTE_EXAMPLES_TRAINER_H_
