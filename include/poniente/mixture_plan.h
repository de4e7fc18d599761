// SPDX-License-Identifier: Apache-2.0
// In which proportions a mixture serves its components, sample by sample: rules
// for weights, stages, ramps, temperatures, and what follows from them before
// any data is there.

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

#include "absl/status/statusor.h"

namespace poniente {

namespace internal {
class StagePlan;
}  // namespace internal

// What a weight w of a component of N items at temperature T means.
enum class WeightRule {
  kProportions,       // w^(1/T): T = 1 as stated, T = infinity equal shares
  kSizeProportional,  // (w * N)^(1/T)
  kScores,            // softmax(w / T); -infinity is never drawn
};

// What happens when a component has been read once.
enum class StopRule {
  // It goes on with its next epoch, in a new order; the mixture is endless.
  kRestart,
  // The mixture ends before the block in which a component would begin its
  // second epoch.
  kFirstExhausted,
  // The mixture ends with the block that completes the last component's first
  // epoch; the others go on with further epochs until then.
  kAllExhausted,
};

// From sample `start` of the mixture on, these weights.
struct MixtureStage {
  // In samples of this mixture. Above 0, strictly increasing.
  uint64_t start = 0;
  // By component. One that is not named has its weight of the first stage.
  std::map<std::string, double> weights = {};
  // Unset: the mixture's.
  std::optional<double> temperature = std::nullopt;
  // Samples over which the shares move, in a straight line, from those in force
  // before `start` to this stage's; 0 changes them at once. Rounded up to whole
  // steps of the ramp; the next stage cuts a ramp that still runs.
  uint64_t ramp_samples = 0;
  // Blocks per step of the ramp; 0: as few as give at most 256 steps.
  uint32_t ramp_blocks = 0;
  // Named in errors; may be empty.
  std::string name = {};
};

// From sample `start` on, samples of `seq_len` tokens.
struct SeqLenChange {
  uint64_t start = 0;
  uint32_t seq_len = 0;
};

struct MixtureOptions {
  // Samples among which the order is shuffled: 1 to 65536. Where weight x
  // block_size is whole for every component, each block holds the same counts.
  uint64_t block_size = 2048;

  WeightRule weight_rule = WeightRule::kProportions;
  // 2^-10 to infinity.
  double temperature = 1;
  // Stages after the first, which is the components' own weights.
  std::vector<MixtureStage> stages = {};

  StopRule stop_rule = StopRule::kRestart;

  // Tokens per item of the components where samples are shorter than that; 0:
  // every sample is an item. An item then holds floor(max_seq_len / seq_len)
  // samples. Declared once: part of what a token depends on.
  uint32_t max_seq_len = 0;
  // Starts strictly increasing, the first 0. Empty: max_seq_len throughout.
  std::vector<SeqLenChange> seq_lens = {};
  // Serve the first seq_len tokens of each item and leave the rest, instead of
  // cutting the item. For comparisons: it wastes the rest.
  bool trim = false;
  // Items whose parts are shuffled together, so that neighbours do not meet in
  // one batch; a change of length skips less than this many items of each
  // component. 0: 1024, or a 16th of the component if that is less; at most
  // kMaxGroupItems.
  uint64_t group_items = 0;
  static constexpr uint64_t kMaxGroupItems = uint64_t{1} << 30;

  // Keys the order. Unset: derived from the parent's seed and this node's name
  // when the tree is put together; 0 at the root.
  std::optional<uint64_t> seed = std::nullopt;
};

// A component, as far as its share depends on it.
struct WeightedComponent {
  std::string name;
  double weight = 1;
  // Items per epoch: needed by kSizeProportional alone.
  std::optional<uint64_t> items = std::nullopt;
};

// Determinism: options, names and weights decide; the order in which components
//     are given never does. Weights become integers once; all else is integer
//     arithmetic.
// Ownership: a value; copies share one immutable state.
// Thread safety: immutable; any number of threads.
// Complexity: Create() O(K log K) and about 56 bytes per component, for each
//     stage and step of a ramp; questions O(log stages + tree depth), weights
//     O(K).
class MixturePlan {
 public:
  // InvalidArgument, naming component, stage and values: weights or scores that
  // the rule does not allow or that are all zero, unknown or repeated names,
  // starts that do not increase, a temperature out of range, lengths above
  // max_seq_len, more than 65536 steps in a ramp, a missing size.
  // ResourceExhausted if all stages, steps of ramps and cuts by lengths take
  // more than 2 GiB together, at 64 bytes per component, or than there is.
  // `further_starts`: samples at which a stage begins for another reason.
  static absl::StatusOr<MixturePlan> Create(
      const MixtureOptions& options, std::vector<WeightedComponent> components,
      std::span<const uint64_t> further_starts = {});

  // In canonical order, by their bytes: components are numbered by it.
  std::span<const std::string> names() const;
  std::optional<uint32_t> Find(std::string_view name) const;

  // Shares in force at a sample; they sum to 1. REQUIRES: sample < 2^62, here
  // and below.
  std::vector<double> WeightsAt(uint64_t sample) const;
  // Of the stage that the sample lies in.
  double TemperatureAt(uint64_t sample) const;
  // In tokens; 0 if samples are whole items of no stated length.
  uint32_t SeqLenAt(uint64_t sample) const;
  std::span<const SeqLenChange> seq_lens() const;

  // Samples of a component among the first `samples`: exact where `samples` is
  // the end of a block; elsewhere it differs by the shuffle inside the block.
  uint64_t Count(uint32_t component, uint64_t samples) const;

  // Items of an endless component that the first `samples` begin: the start, in
  // a mixture nested as that component, of a stage that shall begin with the
  // sample numbered `samples`. Of further mixtures below it, ask their plans in
  // turn. Below a shuffle no such place exists. Where items are cut, it is the
  // end of the group that has been begun. A clean cut where `samples` is the
  // end of a block; elsewhere it differs by the shuffle inside the block.
  // Means nothing for a component that ends.
  uint64_t ItemsBefore(uint32_t component, uint64_t samples) const;

  // The first sample that does not share a block with one before `sample`: the
  // earliest start that a stage may still be given once those are served.
  uint64_t EarliestStart(uint64_t sample) const;

  // Equal hashes mean that the samples before EarliestStart(sample) are dealt
  // the same.
  uint64_t PrefixHash(uint64_t seed, uint64_t sample) const;

  const std::shared_ptr<const internal::StagePlan>& stages() const;

 private:
  struct State;
  explicit MixturePlan(std::shared_ptr<const State> state);

  std::shared_ptr<const State> state_;
};

}  // namespace poniente

#endif  // PONIENTE_MIXTURE_PLAN_H_
