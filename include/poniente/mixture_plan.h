// SPDX-License-Identifier: Apache-2.0
// The proportions in which a mixture serves its components, sample by sample:
// weights, stages, ramps and temperatures, and what follows from them before
// any data exists.

#ifndef PONIENTE_MIXTURE_PLAN_H_
#define PONIENTE_MIXTURE_PLAN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace poniente {

namespace internal {
class StagePlan;
struct DecidedStage;
}  // namespace internal

// How shares follow from a weight w of a component of N items, at temperature
// T.
enum class WeightRule {
  kProportions,       // w^(1/T): T = 1 as stated, T = infinity equal shares
  kSizeProportional,  // (w * N)^(1/T)
  kScores,            // softmax(w / T); -infinity is never drawn
};

// What a mixture does once a component has been read completely.
enum class StopRule {
  // The component starts its next epoch, in a new order; the mixture is
  // endless.
  kRestart,
  // The mixture ends before the block in which a component would begin its
  // second epoch.
  kFirstExhausted,
  // The mixture ends with the block that completes the first epoch of the last
  // component; the other components start further epochs until then.
  kAllExhausted,
};

// The weights of a mixture from sample `start` on.
struct MixtureStage {
  // First sample of the stage, counted in samples of this mixture. Above 0,
  // strictly increasing.
  uint64_t start = 0;
  // Weights by component name. A component that is not named has its weight of
  // the first stage.
  std::map<std::string, double> weights = {};
  // Temperature of the stage. Unset: the mixture's.
  std::optional<double> temperature = std::nullopt;
  // Samples over which the shares move in a straight line from those in force
  // before `start` to this stage's; 0 changes them at once. Rounded up to whole
  // steps of the ramp. The next stage cuts a ramp that is still running.
  // MixtureDataset refuses a ramp shorter than a block, within which shares do
  // not change, unless ramp_blocks is stated.
  uint64_t ramp_samples = 0;
  // Blocks per step of the ramp. 0: the smallest number that gives at most 256
  // steps.
  uint32_t ramp_blocks = 0;
  // Name used in errors; may be empty.
  std::string name = {};
  // How errors name the stage and the length of its ramp, if they were stated
  // in another unit: "stage 1 at step 20 (sample 160)", "10 steps (80
  // samples)". Empty: by the name and the samples.
  std::string label = {};
  std::string ramp_label = {};
  // Whether the ramp moves the temperature in a straight line, and the shares
  // follow from it: at each step of the ramp, the shares are those of this
  // stage's weights at the temperature of the middle of the step. Needs
  // ramp_samples; the weights must be those in force before the stage, whose
  // own ramp must have ended; both temperatures must be at most 2^20.
  bool ramps_temperature = false;
};

// The length of samples, in tokens, from sample `start` on.
struct SeqLenChange {
  uint64_t start = 0;
  uint32_t seq_len = 0;
};

// How a mixture draws from its components. All of it decides which tokens are
// served.
struct MixtureOptions {
  // Samples per block, 1 to 65536: the order is shuffled within each block. If
  // weight x block_size is whole for every component, each block holds the same
  // counts.
  uint64_t block_size = 2048;

  // How the components' weights are read.
  WeightRule weight_rule = WeightRule::kProportions;
  // Temperature of the weight rule, 2^-10 to infinity. Default: 1.
  double temperature = 1;
  // Stages after the first; the first has the components' own weights.
  std::vector<MixtureStage> stages = {};

  // What happens once a component has been read completely.
  StopRule stop_rule = StopRule::kRestart;

  // Tokens per item of the components, if samples are shorter than items; an
  // item then holds floor(max_seq_len / seq_len) samples. 0: every sample is an
  // item. Declare it once and never change it: the order of tokens depends on
  // it.
  uint32_t max_seq_len = 0;
  // Lengths of samples. Starts are strictly increasing and the first is 0.
  // Empty: max_seq_len throughout.
  std::vector<SeqLenChange> seq_lens = {};
  // Whether each item serves only its first seq_len tokens, instead of being
  // cut into several samples. The rest is never read; meant for comparisons.
  bool trim = false;
  // Tokens that a sample shares with the next of the same item, 0 or 1. With 1
  // and items of L + 1 tokens, samples of M + 1 tokens lose none: an item holds
  // floor(L / M) of them. Also part of the order.
  uint32_t sample_overlap = 0;
  // Items whose parts are shuffled together, so that neighbouring parts do not
  // meet in one batch. A change of length skips fewer than this many items of
  // each component. 0: 1024, or a 16th of the component if that is less. At
  // most kMaxGroupItems.
  uint64_t group_items = 0;
  static constexpr uint64_t kMaxGroupItems = uint64_t{1} << 30;

  // Key of the order. Unset: derived from the parent's seed and this node's
  // name when the tree is built; 0 at the root.
  std::optional<uint64_t> seed = std::nullopt;
};

// What the share of a component depends on.
struct WeightedComponent {
  std::string name = {};
  double weight = 1;
  // Items per epoch; needed only by kSizeProportional.
  std::optional<uint64_t> items = std::nullopt;
};

// A change of the shares that is decided while the run goes on, for samples
// that nobody has been served yet.
struct MixtureDecision {
  // First sample that it holds for. Above 0. A stage that begins later
  // replaces it; one that begins at this very sample is replaced.
  uint64_t start = 0;
  // Weights by component name. A component that is not named keeps the weight
  // that was stated for it last.
  std::map<std::string, double> weights = {};
  // Unset: the temperature in force.
  std::optional<double> temperature = std::nullopt;
  // Components that are not drawn any more, whatever later stages and decisions
  // say.
  std::vector<std::string> retired = {};
  // Components that the mixture gets, as if they had been there from the
  // beginning without being drawn. Their weights hold from here on, also in
  // later stages, which cannot name them.
  std::vector<WeightedComponent> added = {};
  // How errors name the decision. Empty: by its start.
  std::string label = {};
};

// Computes shares and counts of a mixture's components at any sample.
//
// Determinism: the result depends on options, names and weights, never on the
//     order in which components are given. Weights are converted to integers
//     once; everything else is integer arithmetic.
// Ownership: a value; copies share one immutable state.
// Thread safety: immutable; any number of threads.
// Complexity: Create() O(K log K) and about 56 bytes per component, for each
//     stage and each step of a ramp. Questions O(log stages + tree depth);
//     weights O(K).
class MixturePlan {
 public:
  // Returns a plan. `further_starts` are samples at which further stages begin,
  // besides those of the options.
  //
  // InvalidArgument, naming component, stage and values, for: weights or scores
  // that the rule does not allow, or that are all zero; unknown or repeated
  // names; starts that do not increase; a temperature out of range; lengths
  // above max_seq_len; more than 65536 steps in a ramp; a missing size.
  // ResourceExhausted if all stages, steps of ramps and changes of length take
  // more than 2 GiB together, at 64 bytes per component, or more than the
  // available memory.
  static absl::StatusOr<MixturePlan> Create(
      const MixtureOptions& options, std::vector<WeightedComponent> components,
      std::span<const uint64_t> further_starts = {});

  // Returns the plan with further decisions. The samples before the first of
  // them are dealt as before, except in the block that its start cuts. Shares
  // its past with this plan: O(K log K) for each decision and each stage behind
  // the first, and 8 bytes for each stage before. If a component is added, the
  // stages before are made anew. A ramp that is still running ends.
  //
  // InvalidArgument, naming the decision: as Create(), and if starts decrease
  // or lie before a decision that this plan has already, or an added component
  // has the name of another. Of several decisions with one start, each adds to
  // the one before it.
  absl::StatusOr<MixturePlan> With(
      std::span<const MixtureDecision> decisions) const;

  // Returns the names in canonical order (bytewise), which numbers the
  // components.
  std::span<const std::string> names() const;
  // Returns the number of a component; nullopt if there is none of this name.
  std::optional<uint32_t> Find(std::string_view name) const;

  // Returns the shares in force at a sample; they sum to 1. REQUIRES, here and
  // below: sample < 2^62.
  std::vector<double> WeightsAt(uint64_t sample) const;
  // Returns the temperature of the stage that the sample lies in; during a ramp
  // of the temperature, that of the ramp's step.
  double TemperatureAt(uint64_t sample) const;
  // Returns the tokens per sample; 0 if samples are whole items of no stated
  // length.
  uint32_t SeqLenAt(uint64_t sample) const;
  // Returns the changes of length, as MixtureOptions::seq_lens.
  std::span<const SeqLenChange> seq_lens() const;

  // Returns how many of the first `samples` samples come from a component.
  // Exact if `samples` is the end of a block; inside a block the shuffle may
  // move some samples across the boundary.
  uint64_t Count(uint32_t component, uint64_t samples) const;

  // Returns how many items of an endless component the first `samples` samples
  // have begun. Use it to start a stage of the nested mixture together with
  // sample `samples` of this one: the result is the start of that stage. For
  // mixtures nested further below, ask their plans in turn. Below a shuffle, no
  // such start exists.
  //
  // If items are cut, a group that has been begun counts with all its items.
  // The result is exact if `samples` is the end of a block; inside a block the
  // shuffle may move some samples across the boundary. It has no meaning for a
  // finite component.
  uint64_t ItemsBefore(uint32_t component, uint64_t samples) const;

  // Returns the first sample that shares no block with a sample before
  // `sample`: the earliest start that a new stage may have once those have been
  // served.
  uint64_t EarliestStart(uint64_t sample) const;

  // Returns a hash of what decides the samples before EarliestStart(sample):
  // equal hashes mean that those samples are dealt the same way.
  uint64_t PrefixHash(uint64_t seed, uint64_t sample) const;

  const std::shared_ptr<const internal::StagePlan>& stages() const;

 private:
  struct State;
  explicit MixturePlan(std::shared_ptr<const State> state);
  static absl::StatusOr<internal::DecidedStage> InFull(
      const State& state, const MixtureDecision& decision);
  // Makes room in `state` for the components that a decision adds.
  static absl::Status Widen(const MixtureDecision& decision, State* state);

  std::shared_ptr<const State> state_;
};

}  // namespace poniente

#endif  // PONIENTE_MIXTURE_PLAN_H_
