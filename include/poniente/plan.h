// SPDX-License-Identifier: Apache-2.0
// What a run will read, worked out before it reads anything: its stages, its
// sources, and its course over time. `poniente plan` prints it, and
// docs/plan.md explains it.
//
//   const auto config = poniente::Config::Create(run);
//   const auto plan = poniente::MakePlan(*config);
//   for (const poniente::PlannedRunSource& source : plan->sources) { ... }

#ifndef PONIENTE_PLAN_H_
#define PONIENTE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/config.h"
#include "poniente/extend/dataset_node.h"
#include "poniente/loader.h"
#include "poniente/packing.h"
#include "poniente/schedule.h"

namespace poniente {

// Steps [first_step, end_step) of one batch size and sequence length.
struct PlannedRunStretch {
  uint64_t first_step = 0;
  uint64_t end_step = 0;
  uint64_t batch_size = 0;
  uint32_t seq_len = 0;
};

struct PlannedRunStage {
  std::string name = {};  // as StageLabel()
  uint64_t first_step = 0;
  uint64_t end_step = 0;
  uint64_t samples = 0;
  uint64_t tokens = 0;
  // lr_scale of the first step and of the last one.
  double lr_scale = 1;
  double last_lr_scale = 1;
  // The step at which the shares stop changing; nullopt without a ramp.
  std::optional<uint64_t> ramp_end_step = std::nullopt;
  // Whether the next stage, a change of the journal or the run's end ends the
  // ramp before it has arrived.
  bool is_ramp_cut = false;
  // At least one stretch; together they cover the stage.
  std::vector<PlannedRunStretch> stretches = {};
  // Bytes of stored tokens that a step reads, on average.
  double bytes_per_step = 0;
};

// Why nothing of a source is read.
enum class Starved {
  kNo,
  kNoWeight,    // the weight is 0 in every stage
  kNoWindow,    // it is shorter than a window
  kNotReached,  // the run ends before its turn comes
};

// The first step that reads something of a source for the second time.
struct FirstRepeat {
  uint64_t step = 0;
  // False: there is no repeat before this step, but it may come later.
  bool is_exact = true;
};

// A node of the tree; nodes that only pass items on are left out. All views of
// a component of a mixture are one source.
struct PlannedRunSource {
  std::string name = {};  // below the node above it
  std::string path = {};  // all names that lead to it, joined by '/'
  // "mixture", "flat_mixture", ...; of leaves: "own_dataset" for a dataset of
  // the program's own, and "store" for all others.
  std::string kind = {};
  bool is_leaf = false;
  uint32_t depth = 0;  // 0: child of the root

  // The windows of max_seq_len tokens in one epoch, and its tokens, as far as
  // this run reads them. nullopt if endless. If there are several views, those
  // of the last one that the run reads; of packed windows of several lengths,
  // those of the first length.
  std::optional<uint64_t> length = std::nullopt;
  std::optional<uint64_t> epoch_tokens = std::nullopt;
  // For each stage. Whole numbers if exact.
  std::vector<double> samples = {};
  std::vector<double> tokens = {};
  // False: counts are expected values. The end of a stage or of the run cuts an
  // epoch, and its items are counted as if their order were random.
  bool is_exact = true;
  // Passes over the source until the end of the run; nullopt if the source is
  // endless or empty.
  std::optional<double> epochs = std::nullopt;
  std::vector<double> stage_epochs = {};  // empty where `epochs` is
  // nullopt if nothing is read again, or if the source is endless.
  std::optional<FirstRepeat> first_repeat = std::nullopt;
  Starved starved = Starved::kNo;
  // Whether it has more epochs than PlannedRun::max_repeats, and more than the
  // node above.
  bool is_over_repeated = false;

  // Tokens skipped by changes of length: less than a group of windows at each;
  // if documents are packed, less than a shuffle window of chunks.
  double skipped_tokens = 0;
  // If documents are packed: how many these are, on average, those that were
  // split counted by their pieces.
  double skipped_documents = 0;
  // For leaves: the tokens left over that are too few for a window (nullopt if
  // only some documents are read), the path (empty without files), and the size
  // in tokens.
  std::optional<uint64_t> left_over_tokens = std::nullopt;
  // What packing does to the documents in each epoch; nullopt if they are not
  // packed. Tokens of the plan are those of the windows, padding included.
  // `packing` is of the first view and of the run's first length;
  // `other_packings` are of the other ones, by length, each once.
  std::optional<PackingSummary> packing = std::nullopt;
  std::vector<PackingSummary> other_packings = {};
  // For leaves, for each stage: the share of its pieces of documents that are
  // filled in the middle, as it is at the end of the stage. Empty if none is.
  std::vector<double> fim_rates = {};
  std::string location = {};
  uint64_t stored_tokens = 0;
  // Bytes of a stored token. If the store does not exist yet, and for datasets
  // of the program's own, assumed from the size of the vocabulary. 0 for nodes
  // with children.
  uint32_t token_bytes = 0;
  bool is_width_known = false;

  double total_samples() const;
  double total_tokens() const;
};

// Attention costs in proportion to the square of a sample's length. These
// figures compare the run with one whose samples are all as long as its
// longest.
struct AttentionSaved {
  uint32_t longest = 0;
  // Compared with a run of equally many steps, all of the longest length: L^2
  // max / sum of s L^2, where s is the share of the steps (weighted by their
  // batch sizes) of each length L; and the difference, in squared tokens per
  // sample.
  double same_steps = 1;
  double saved_per_sample = 0;
  // Compared with a run of equally many tokens: L max / sum of s L, where s is
  // the share of the tokens; and the difference, in tokens that each token does
  // not attend to.
  double same_tokens = 1;
  double saved_per_token = 0;
};

// The run over time, as points of a chart. Every stage, ramp and stretch begins
// at a point.
struct PlannedRunSeries {
  struct Point {
    uint64_t step = 0;
    uint64_t batch_size = 0;
    uint32_t seq_len = 0;
    double lr_scale = 1;
    uint32_t stage = 0;
    // Whether shares change linearly until the next point; if not, they stay.
    bool is_ramp = false;
    // Tokens read before this step.
    double tokens = 0;
  };
  // The last one is the end of the run: its step is the one after the last.
  std::vector<Point> points = {};

  struct Band {
    size_t source = 0;  // in PlannedRun::sources, of depth 0
    // For each point: the share of the tokens from here on, and the tokens read
    // before.
    std::vector<double> shares = {};
    std::vector<double> tokens = {};
    // For each point: passes before it. Empty if the source has no epochs.
    std::vector<double> epochs = {};
  };
  // The sources that are read most, in the order of declaration. The rest of
  // the shares belongs to the others.
  std::vector<Band> bands = {};
  uint32_t others = 0;  // sources of depth 0 that have no band
};

// A change of the run's journal (docs/journal.md).
struct PlannedRunChange {
  uint64_t number = 0;
  // The step from which on it holds, as Loader::Steer() returns it; the plan's
  // number of steps if it is not before that.
  uint64_t step = 0;
  // What changes and why, as the journal has it.
  std::string change = {};
};

// A source of an evaluation, and the proof that training does not read it: the
// documents (or windows) that the evaluation and each training source have
// chosen from the same store are compared.
struct PlannedEvalSource {
  std::string path = {};
  std::string location = {};
  bool is_held_out = false;  // reads what training sources hold out
  uint64_t windows = 0;      // before a limit of the evaluation
  // Documents that are read, of those of the source; nullopt if they are not
  // known.
  std::optional<uint64_t> documents = std::nullopt;
  std::optional<uint64_t> of_documents = std::nullopt;
  // The documents that training sources read, too, each counted once: 0 is the
  // proof. Of windows (is_windows), the number of windows.
  uint64_t trained = 0;
  bool is_windows = false;
  // Training sources over the same store that were compared, and those that the
  // run never draws.
  uint64_t compared_sources = 0;
  std::vector<std::string> undrawn_sources = {};
};

// An evaluation (docs/evaluation.md).
struct PlannedEval {
  std::string name = {};
  uint64_t samples = 0;
  uint64_t batches = 0;
  uint64_t tokens = 0;
  uint64_t batch_size = 0;
  uint32_t seq_len = 0;
  uint64_t every_steps = 0;  // 0: the trainer decides
  uint64_t times = 0;        // in the run; 0 if the trainer decides
  std::vector<PlannedEvalSource> sources = {};
};

struct PlannedRun {
  uint64_t steps = 0;
  uint64_t samples = 0;
  uint64_t tokens = 0;
  // Batch size and length of the first step.
  uint64_t batch_size = 0;
  uint32_t seq_len = 0;
  // Tokens in an item of the sources.
  uint32_t max_seq_len = 0;
  // Whether the data end before the stated steps do.
  bool is_cut_short = false;
  // Why a loader would refuse the run: the errors of Config::CheckLoader(), one
  // per line; "" if it would not, and in plans of a bare tree.
  std::string refusal = {};
  std::vector<PlannedRunStage> stages = {};
  // The changes of the journal that hold before the run ends. What the plan
  // says is the run under them.
  std::vector<PlannedRunChange> changes = {};
  // Depth first, in the order of declaration.
  std::vector<PlannedRunSource> sources = {};
  AttentionSaved attention = {};
  PlannedRunSeries series = {};
  // Those of the configuration; empty for a tree without one.
  std::vector<PlannedEval> evals = {};

  // Bytes read, in the stored width of tokens.
  double bytes = 0;
  // Sums over all sources.
  double skipped_tokens = 0;
  double skipped_documents = 0;
  double left_over_tokens = 0;
  // Tokens at the ends of windows that no sample reads: seq_len does not divide
  // max_seq_len, or windows are trimmed.
  double cut_off_tokens = 0;

  // Sources with more epochs than this are over-repeated.
  double max_repeats = 0;
  // Whether all counts are exact.
  bool is_exact = true;
};

// Repeats beyond about four epochs are worth less than new data (Muennighoff et
// al. 2023, "Scaling Data-Constrained Language Models").
inline constexpr double kMaxRepeats = 4;

// Returns the plan of the configured run. `steps` replaces the configuration's
// number of steps. FailedPrecondition if neither says where an endless run
// ends; InvalidArgument for a run of 2^62 samples or more, and if it draws a
// component beyond its max_epochs.
//
// Complexity: O(nodes x (stages + stretches)), plus the look-up of at most some
//     hundred thousand samples. It does not depend on the number of samples in
//     the run. For evaluations, O(documents of the stores that they share with
//     training sources).
absl::StatusOr<PlannedRun> MakePlan(
    const Config& config, std::optional<uint64_t> steps = std::nullopt,
    double max_repeats = kMaxRepeats);

// Does the same for a tree and a schedule that were not built from a Config.
// `sources` are in the order of DatasetTree::leaves(), or empty if nothing is
// known about them.
absl::StatusOr<PlannedRun> MakePlan(const DatasetNode& root,
                                    const Schedule& schedule,
                                    const std::vector<ConfigSource>& sources,
                                    LastBatch last_batch,
                                    std::optional<uint64_t> steps,
                                    double max_repeats = kMaxRepeats);

}  // namespace poniente

#endif  // PONIENTE_PLAN_H_
