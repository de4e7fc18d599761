// SPDX-License-Identifier: Apache-2.0
// What a run will read: its stages, its sources, and how it goes over time.

#ifndef PONIENTE_ANALYSIS_PLAN_PLANNED_RUN_H_
#define PONIENTE_ANALYSIS_PLAN_PLANNED_RUN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace poniente::internal {

// Steps [first_step, end_step) of one batch size and sequence length.
struct RunStretch {
  uint64_t first_step = 0;
  uint64_t end_step = 0;
  uint64_t batch_size = 0;
  uint32_t seq_len = 0;
};

struct RunStage {
  std::string name;
  uint64_t first_step = 0;
  uint64_t end_step = 0;
  uint64_t samples = 0;
  uint64_t tokens = 0;
  // Of its first step and of its last.
  double lr_scale = 1;
  double last_lr_scale = 1;
  // Shares still move in the steps before this one.
  std::optional<uint64_t> ramp_end_step;
  // At least one; they cover the stage.
  std::vector<RunStretch> stretches;
  // Of tokens as they are stored, on average.
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
  // Else it is not before this step.
  bool is_exact = true;
};

// A node of the tree, without those that only pass items on. All views of a
// component of a mixture are one.
struct RunSource {
  std::string name;  // below the node above it
  std::string path;  // all names that lead to it, joined by '/'
  std::string kind;  // "mixture", "flat_mixture", "store", ...
  bool is_store = false;
  uint32_t depth = 0;  // 0: child of the root

  // In one epoch, as far as it is read here: windows of max_seq_len tokens, and
  // tokens. nullopt if endless. Of several views the first's.
  std::optional<uint64_t> length;
  std::optional<uint64_t> epoch_tokens;
  // By stage. Whole numbers if exact.
  std::vector<double> samples;
  std::vector<double> tokens;
  // Else counts are expected: shares of an epoch, in an order without
  // preference, that the end of a stage or of the run cuts.
  bool is_exact = true;
  // Passes over the source by the end; nullopt if it is endless or empty.
  std::optional<double> epochs;
  std::vector<double> stage_epochs;  // empty where `epochs` is
  // nullopt if nothing is read again, or if it is endless.
  std::optional<FirstRepeat> first_repeat;
  Starved starved = Starved::kNo;
  // More epochs than PlannedRun::max_repeats, and more than the node above.
  bool is_over_repeated = false;

  // Left out by changes of length: less than a group of windows at each.
  double skipped_tokens = 0;
  // Of stores: tokens that fill no window, nullopt where only some documents
  // are read; its size and path.
  std::optional<uint64_t> left_over_tokens;
  std::string location;
  uint64_t stored_tokens = 0;
  // Bytes of a stored token; assumed from the size of the vocabulary where the
  // store is not there yet. 0 for nodes with children.
  uint32_t token_bytes = 0;
  bool is_width_known = false;

  double total_samples() const;
  double total_tokens() const;
};

// Attention costs in proportion to the square of a sample's length. What the
// run costs with its schedule of lengths, against one whose samples are all as
// long as its longest.
struct AttentionSaved {
  uint32_t longest = 0;
  // As many steps, each as long: L^2 max / sum of s L^2, s the share of the
  // steps (weighted by their batch sizes) of each length L; and the difference,
  // in squared tokens per sample.
  double same_steps = 1;
  double saved_per_sample = 0;
  // As many tokens: L max / sum of s L, s the share of the tokens; and the
  // difference, in tokens that each token need not look at.
  double same_tokens = 1;
  double saved_per_token = 0;
};

// The run over time, to be drawn: every stage, ramp and stretch begins at a
// point.
struct RunSeries {
  struct Point {
    uint64_t step = 0;
    uint64_t batch_size = 0;
    uint32_t seq_len = 0;
    double lr_scale = 1;
    uint32_t stage = 0;
    // Shares go in a line to those of the next point; else they stay.
    bool is_ramp = false;
    // Read before this step.
    double tokens = 0;
  };
  // The last one is the end of the run: its step is the one after the last.
  std::vector<Point> points;

  struct Band {
    size_t source = 0;  // in PlannedRun::sources, of depth 0
    // By point: share of the tokens from here on, and tokens read before.
    std::vector<double> shares;
    std::vector<double> tokens;
    // Passes before; empty where the source has no epochs.
    std::vector<double> epochs;
  };
  // Those that read most, in the order of declaration; what is missing to all
  // is the others'.
  std::vector<Band> bands;
  uint32_t others = 0;  // sources of depth 0 that have no band
};

struct PlannedRun {
  uint64_t steps = 0;
  uint64_t samples = 0;
  uint64_t tokens = 0;
  // Of the first step.
  uint64_t batch_size = 0;
  uint32_t seq_len = 0;
  // Tokens in an item of the sources.
  uint32_t max_seq_len = 0;
  // The data end before the stated steps do.
  bool is_cut_short = false;
  std::vector<RunStage> stages;
  std::vector<RunSource> sources;  // depth first, in the order of declaration
  AttentionSaved attention;
  RunSeries series;

  // Read as they are stored.
  double bytes = 0;
  // Over all sources.
  double skipped_tokens = 0;
  double left_over_tokens = 0;
  // Ends of windows that no sample reads: where seq_len does not divide
  // max_seq_len, or windows are trimmed.
  double cut_off_tokens = 0;

  // From more epochs than these on, sources are over-repeated.
  double max_repeats = 0;
  // All counts are.
  bool is_exact = true;
};

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_PLAN_PLANNED_RUN_H_
