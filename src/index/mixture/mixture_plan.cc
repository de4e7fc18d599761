// SPDX-License-Identifier: Apache-2.0
#include "poniente/mixture_plan.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "index/max_samples.h"
#include "index/mixture/item_draws.h"
#include "index/mixture/mixture_stages.h"
#include "index/mixture/stage_plan.h"
#include "index/part_at.h"
#include "util/nearest_name.h"
#include "util/status_macros.h"

namespace poniente {

using internal::StagePlan;

struct MixturePlan::State {
  // What the plan was made of, with its components in canonical order.
  MixtureOptions options;
  std::vector<WeightedComponent> components;
  std::vector<uint64_t> further_starts;
  // The last decision; nullopt if there is none.
  std::optional<internal::DecidedStage> decided;

  std::vector<std::string> names;
  std::shared_ptr<const StagePlan> plan;
  std::vector<internal::TemperatureStep> temperatures;
  std::vector<SeqLenChange> seq_lens;
  uint32_t max_seq_len = 0;
  bool trim = false;
  uint32_t sample_overlap = 0;
  std::vector<internal::PartsChange> parts;
  uint64_t group_items = 0;
};

namespace {

using Components = std::vector<WeightedComponent>;

// `names` are in canonical order.
std::optional<uint32_t> NumberOf(std::span<const std::string> names,
                                 std::string_view name) {
  const auto at = std::lower_bound(names.begin(), names.end(), name);
  if (at == names.end() || *at != name) return std::nullopt;
  return static_cast<uint32_t>(at - names.begin());
}

absl::StatusOr<std::vector<SeqLenChange>> CheckedSeqLens(
    const MixtureOptions& options) {
  std::vector<SeqLenChange> lengths = options.seq_lens;
  if (options.sample_overlap > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "sample_overlap must be 0 or 1, got ", options.sample_overlap));
  }
  if (options.max_seq_len == 0) {
    if (lengths.empty()) return lengths;
    return absl::InvalidArgumentError(
        "a schedule of sequence lengths needs max_seq_len, the tokens per item "
        "of the components");
  }
  if (options.group_items > MixtureOptions::kMaxGroupItems) {
    return absl::InvalidArgumentError(absl::StrCat(
        "group_items must be at most 2^30, got ", options.group_items));
  }
  if (lengths.empty()) lengths.push_back({0, options.max_seq_len});
  for (size_t i = 0; i < lengths.size(); ++i) {
    const SeqLenChange& change = lengths[i];
    if (i == 0 ? change.start != 0 : change.start <= lengths[i - 1].start) {
      return absl::InvalidArgumentError(
          absl::StrCat("sequence length ", change.seq_len, " begins at sample ",
                       change.start,
                       i == 0 ? ", but the first must begin at 0"
                              : ", which is not after the one before it"));
    }
    const uint32_t least = 1 + options.sample_overlap;
    if (change.seq_len < least || change.seq_len > options.max_seq_len) {
      return absl::InvalidArgumentError(absl::StrCat(
          "sequence length from sample ", change.start, " on must be ", least,
          " to max_seq_len, ", options.max_seq_len, ", got ", change.seq_len));
    }
  }
  return lengths;
}

absl::StatusOr<Components> InCanonicalOrder(Components components) {
  if (components.empty()) {
    return absl::InvalidArgumentError("a mixture needs a component");
  }
  std::sort(components.begin(), components.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  for (size_t i = 1; i < components.size(); ++i) {
    if (components[i].name == components[i - 1].name) {
      return absl::InvalidArgumentError(
          absl::StrCat("two components are named '", components[i].name,
                       "'; names key the order, so they must differ"));
    }
  }
  return components;
}

}  // namespace

absl::StatusOr<MixturePlan> MixturePlan::Create(
    const MixtureOptions& options, std::vector<WeightedComponent> components,
    std::span<const uint64_t> further_starts) {
  if (options.block_size < 1 || options.block_size > StagePlan::kMaxBlockSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("block_size must be 1 to ", StagePlan::kMaxBlockSize,
                     ", got ", options.block_size));
  }
  auto state = std::make_shared<State>();
  PONIENTE_ASSIGN_OR_RETURN(state->components,
                            InCanonicalOrder(std::move(components)));
  state->options = options;
  state->further_starts.assign(further_starts.begin(), further_starts.end());
  state->names = internal::NamesOf(state->components);
  PONIENTE_ASSIGN_OR_RETURN(state->seq_lens, CheckedSeqLens(options));
  state->max_seq_len = options.max_seq_len;
  state->trim = options.trim;
  state->sample_overlap = options.sample_overlap;
  state->parts = internal::PartsOf(options, state->seq_lens);
  state->group_items = options.group_items;
  PONIENTE_ASSIGN_OR_RETURN(
      state->plan, internal::MakeStagePlan(options, state->components,
                                           state->seq_lens, further_starts));
  state->temperatures = internal::TemperaturesOf(options);
  return MixturePlan(std::move(state));
}

MixturePlan::MixturePlan(std::shared_ptr<const State> state)
    : state_(std::move(state)) {}

// Returns the decision in full: weights of all components, the temperature.
absl::StatusOr<internal::DecidedStage> MixturePlan::InFull(
    const State& state, const MixtureDecision& decision) {
  internal::DecidedStage full;
  full.start = decision.start;
  full.label = decision.label.empty()
                   ? absl::StrCat("decision at sample ", decision.start)
                   : decision.label;
  if (decision.start == 0 || decision.start >= internal::kMaxSamples ||
      (state.decided && decision.start < state.decided->start)) {
    return absl::InvalidArgumentError(absl::StrCat(
        full.label, ": must hold from a sample on that is ",
        state.decided ? absl::StrCat("at least ", state.decided->start,
                                     ", where the one before it begins,")
                      : std::string("above 0"),
        " and below 2^62, got ", decision.start));
  }
  MixtureStage in_force;
  for (const MixtureStage& stage : state.options.stages) {
    if (stage.start <= decision.start) in_force = stage;
  }
  if (state.decided && state.decided->start >= in_force.start) {
    full.weights = state.decided->weights;
    full.temperature = state.decided->temperature;
  } else {
    full.weights = internal::WeightsOf(in_force, state.components);
    full.temperature =
        in_force.ramps_temperature && !state.decided
            ? internal::PartAt(state.temperatures, decision.start,
                               &internal::TemperatureStep::start)
                  .value
            : in_force.temperature.value_or(state.options.temperature);
  }
  full.temperature = decision.temperature.value_or(full.temperature);
  full.retired = state.decided ? state.decided->retired : std::vector<bool>();
  full.retired.resize(state.names.size());
  const auto number_of =
      [&state, &full](const std::string& name) -> absl::StatusOr<size_t> {
    if (const auto number = NumberOf(state.names, name)) return *number;
    return absl::InvalidArgumentError(
        absl::StrCat(full.label, ": unknown component '", name, "'",
                     internal::NearestOrAll(name, state.names)));
  };
  for (const auto& [name, weight] : decision.weights) {
    PONIENTE_ASSIGN_OR_RETURN(const size_t number, number_of(name));
    if (full.retired[number]) {
      return absl::InvalidArgumentError(
          absl::StrCat(full.label, ": '", name,
                       "' has been retired, so it can have no weight"));
    }
    full.weights[number] = weight;
  }
  for (const std::string& name : decision.retired) {
    PONIENTE_ASSIGN_OR_RETURN(const size_t number, number_of(name));
    full.retired[number] = true;
  }
  return full;
}

absl::Status MixturePlan::Widen(const MixtureDecision& decision, State* state) {
  for (const WeightedComponent& added : decision.added) {
    const auto at = std::lower_bound(state->names.begin(), state->names.end(),
                                     std::string_view(added.name));
    const bool is_known = at != state->names.end() && *at == added.name;
    if (added.name.empty() || is_known) {
      return absl::InvalidArgumentError(absl::StrCat(
          decision.label.empty() ? "a decision" : decision.label, ": ",
          is_known ? absl::StrCat("there is a component '", added.name,
                                  "' already, and names key the order; add it "
                                  "under another name")
                   : std::string("a component needs a name")));
    }
    const auto number = at - state->names.begin();
    PONIENTE_ASSIGN_OR_RETURN(
        state->plan, internal::WithUndrawn(*state->plan, state->options,
                                           static_cast<size_t>(number)));
    state->names.insert(at, added.name);
    state->components.insert(state->components.begin() + number, added);
    if (!state->decided) continue;
    std::vector<double>& weights = state->decided->weights;
    weights.insert(weights.begin() + number, added.weight);
    std::vector<bool>& retired = state->decided->retired;
    retired.insert(retired.begin() + number, false);
  }
  return absl::OkStatus();
}

absl::StatusOr<MixturePlan> MixturePlan::With(
    std::span<const MixtureDecision> decisions) const {
  if (decisions.empty()) return *this;
  auto state = std::make_shared<State>(*state_);
  PONIENTE_RETURN_IF_ERROR(Widen(decisions.front(), state.get()));
  std::vector<internal::DecidedStage> decided;
  size_t done = 0;
  do {
    PONIENTE_ASSIGN_OR_RETURN(state->decided, InFull(*state, decisions[done]));
    if (!decided.empty() && decided.back().start == state->decided->start) {
      decided.pop_back();
    }
    decided.push_back(*state->decided);
    ++done;
  } while (done < decisions.size() && decisions[done].added.empty());
  PONIENTE_ASSIGN_OR_RETURN(
      state->plan,
      internal::WithDecided(*state->plan, state->options, state->components,
                            state->seq_lens, state->further_starts, decided));
  const uint64_t first = decided.front().start;
  std::erase_if(state->temperatures,
                [&](const auto& one) { return one.start >= first; });
  // Most changes leave the temperature as it is, and each plan copies the list.
  for (const auto& one : internal::TemperaturesOf(state->options, decided)) {
    if (state->temperatures.back().value == one.value) continue;
    state->temperatures.push_back(one);
  }
  // The next one adds components.
  return MixturePlan(std::move(state)).With(decisions.subspan(done));
}

std::span<const std::string> MixturePlan::names() const {
  return state_->names;
}

std::optional<uint32_t> MixturePlan::Find(std::string_view name) const {
  return NumberOf(state_->names, name);
}

std::vector<double> MixturePlan::WeightsAt(uint64_t sample) const {
  const uint32_t stage = state_->plan->BlockOf(sample).stage;
  const auto& quanta = state_->plan->quanta(stage);
  // Each batch of a loader asks. Signed numbers become doubles in one
  // instruction; quanta are at most 2^62.
  std::vector<double> weights(quanta.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] = static_cast<double>(static_cast<int64_t>(quanta[i])) * 0x1p-62;
  }
  return weights;
}

double MixturePlan::TemperatureAt(uint64_t sample) const {
  return internal::PartAt(state_->temperatures, sample,
                          &internal::TemperatureStep::start)
      .value;
}

uint32_t MixturePlan::SeqLenAt(uint64_t sample) const {
  if (state_->seq_lens.empty()) return 0;
  return internal::PartAt(state_->seq_lens, sample, &SeqLenChange::start)
      .seq_len;
}

std::span<const SeqLenChange> MixturePlan::seq_lens() const {
  return state_->seq_lens;
}

uint64_t MixturePlan::Count(uint32_t component, uint64_t samples) const {
  return state_->plan->Count(component, samples);
}

uint64_t MixturePlan::ItemsBefore(uint32_t component, uint64_t samples) const {
  const internal::ItemView endless;
  internal::ItemDraws draws(0, "", endless, {}, state_->group_items);
  for (const internal::PartsChange& change : state_->parts) {
    if (change.start >= samples && change.start > 0) break;
    draws.Continue(Count(component, change.start), endless, change.parts);
  }
  return draws.PlacesBefore(Count(component, samples));
}

uint64_t MixturePlan::EarliestStart(uint64_t sample) const {
  if (sample == 0) return 0;
  const internal::Block block = state_->plan->BlockOf(sample - 1);
  return block.first + block.size;
}

uint64_t MixturePlan::PrefixHash(uint64_t seed, uint64_t sample) const {
  const uint64_t dealt = state_->plan->PrefixHash(seed, state_->names, sample);
  const uint64_t end = EarliestStart(sample);
  internal::KeyHash hash(dealt);
  // A length of max_seq_len means whole items, and gives the same samples as no
  // lengths.
  bool cut = false;
  for (const SeqLenChange& change : state_->seq_lens) {
    if (change.start >= end) break;
    hash.Add(change.start).Add(uint64_t{change.seq_len});
    cut |= change.seq_len != state_->max_seq_len;
  }
  if (!cut) return dealt;
  hash.Add(uint64_t{state_->max_seq_len}).Add(uint64_t{state_->trim});
  if (state_->sample_overlap > 0) hash.Add(internal::Tag("overlap"));
  return hash.Add(state_->group_items).key();
}

const std::shared_ptr<const StagePlan>& MixturePlan::stages() const {
  return state_->plan;
}

}  // namespace poniente
