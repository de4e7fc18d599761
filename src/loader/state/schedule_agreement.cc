// SPDX-License-Identifier: Apache-2.0
#include "loader/state/schedule_agreement.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "index/max_samples.h"
#include "index/mixture/mixture_map.h"
#include "poniente/mixture_dataset.h"
#include "poniente/mixture_plan.h"
#include "poniente/token_window.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr char kRemedy[] =
    "; create the mixture with Schedule::mixture_options(), and give the "
    "schedule the mixture's components (ScheduleOptions::components)";

struct RootMixture {
  const DatasetNode* node = nullptr;
  std::shared_ptr<const IndexMap> map;  // keeps `mixture`
  const MixtureMap* mixture = nullptr;
  // Whether the root may be a mixture all the same, of a kind or in a place
  // that cannot be compared.
  bool is_hidden = false;
};

// Whether item i of the node is made of item i of its only child, for all i
// below `samples`.
bool PassesOn(const DatasetNode& node, const IndexMap& map,
              const DatasetNode& child, uint64_t samples) {
  const uint64_t length = std::min(samples, map.length().value_or(samples));
  if (node.makes_items()) {
    if (length == 0) return true;
    // The last item of a MapBatches() that makes other numbers is of another.
    const Position last = {.index = length - 1};
    ChildPosition below;
    map.Resolve(std::span(&last, 1), std::span(&below, 1));
    return below.position.index == last.index;
  }
  const LengthState below = child.length_now();
  if (length == 0 || (!below.is_endless && below.readable < length)) {
    return false;  // it repeats the child
  }
  return map.PrefixParameters({{.index = 0}, {.index = length - 1}}) ==
         uint64_t{0};
}

// Whether the node and those below it are the library's, and no mixtures.
bool HasNoMixture(const DatasetNode& node) {
  const std::vector<NamedNode> children = node.children();
  if (children.empty()) return true;
  const std::shared_ptr<const IndexMap> map = node.map();
  return map != nullptr && node.identity().has_value() &&
         dynamic_cast<const MixtureMap*>(map.get()) == nullptr &&
         std::all_of(
             children.begin(), children.end(),
             [](const NamedNode& child) { return HasNoMixture(*child.node); });
}

// `samples`: those that matter, from the first on.
RootMixture FindRootMixture(const DatasetNode& root, uint64_t samples) {
  RootMixture found;
  for (const DatasetNode* at = &root;;) {
    found.node = at;
    found.map = at->map();
    found.mixture = dynamic_cast<const MixtureMap*>(found.map.get());
    if (found.mixture != nullptr) return found;
    const std::vector<NamedNode> children = at->children();
    if (found.map == nullptr || children.size() != 1 ||
        !PassesOn(*at, *found.map, *children[0].node, samples)) {
      // A user's leaf may mix what it likes.
      const bool is_users_leaf = children.empty() && at->ranges() == nullptr;
      found.is_hidden = is_users_leaf || !HasNoMixture(*at);
      return found;
    }
    at = children[0].node;
  }
}

// The names of the mixture's components, in canonical order.
std::vector<std::string> NamesOf(const DatasetNode& mixture) {
  std::vector<std::string> names;
  for (const NamedNode& child : mixture.children()) {
    if (child.view == 0) names.push_back(child.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string ShareOf(uint64_t quanta) {
  return absl::StrFormat("%.12g", static_cast<double>(quanta) /
                                      static_cast<double>(QuotaTree::kTotal));
}

// Weights of one ratio that were stated in other numbers (0.4 and 0.6, 2 and
// 3) differ by some hundred quanta.
bool IsSameShare(uint64_t a, uint64_t b) {
  constexpr uint64_t kRounding = QuotaTree::kTotal >> 40;
  return std::max(a, b) - std::min(a, b) <= kRounding;
}

std::string SampleOf(const Schedule& schedule, uint64_t sample) {
  const bool has_step = schedule.steps() == 0 || sample < schedule.samples();
  return has_step ? absl::StrCat("step ", schedule.StepOf(sample), " (sample ",
                                 sample, ")")
                  : absl::StrCat("sample ", sample);
}

absl::Status CheckNames(std::span<const std::string> planned,
                        std::span<const std::string> mixed) {
  if (std::equal(planned.begin(), planned.end(), mixed.begin(), mixed.end())) {
    return absl::OkStatus();
  }
  const auto first_missing = [](std::span<const std::string> names,
                                std::span<const std::string> others) {
    const auto missing = std::find_if(
        names.begin(), names.end(), [&others](const std::string& name) {
          return !std::binary_search(others.begin(), others.end(), name);
        });
    return missing == names.end() ? nullptr : &*missing;
  };
  if (const std::string* const name = first_missing(planned, mixed)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the schedule has a component '", *name,
                     "', the root mixture has none of this name (it has ",
                     absl::StrJoin(mixed, ", "), ")", kRemedy));
  }
  const std::string* const name = first_missing(mixed, planned);
  return absl::InvalidArgumentError(
      absl::StrCat("the root mixture has a component '",
                   name == nullptr ? mixed.back() : *name,
                   "', the schedule has none of this name (it has ",
                   absl::StrJoin(planned, ", "), ")", kRemedy));
}

// Compares the quanta at every sample from which either plan has others.
absl::Status CheckShares(const Schedule& schedule, const StagePlan& planned,
                         const StagePlan& mixed,
                         std::span<const std::string> names) {
  size_t p = 0;
  size_t m = 0;
  uint64_t start = 0;
  while (true) {
    const auto ours = planned.quanta(p);
    const auto theirs = mixed.quanta(m);
    const auto [own, other] =
        std::mismatch(ours.begin(), ours.end(), theirs.begin(), IsSameShare);
    if (own != ours.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "from ", SampleOf(schedule, start), " on, the schedule says that '",
          names[static_cast<size_t>(own - ours.begin())], "' has the share ",
          ShareOf(*own), ", but the root mixture gives it ", ShareOf(*other),
          kRemedy));
    }
    constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
    const auto next = [](const StagePlan& plan, size_t stage) {
      return stage + 1 < plan.stages() ? plan.stage_start(stage + 1) : kNever;
    };
    start = std::min(next(planned, p), next(mixed, m));
    if (start == kNever) return absl::OkStatus();
    if (next(planned, p) == start) ++p;
    // Advances after `p` was compared with the same start.
    if (next(mixed, m) == start) ++m;
  }
}

absl::Status CheckStarts(const Schedule& schedule,
                         const MixtureOptions& options,
                         const StagePlan& mixed) {
  for (const MixtureStage& stage : options.stages) {
    size_t m = 0;
    while (m < mixed.stages() && mixed.stage_start(m) != stage.start) ++m;
    if (m < mixed.stages()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "the schedule changes the weights at ", SampleOf(schedule, stage.start),
        stage.name.empty() ? "" : absl::StrCat(", in stage '", stage.name, "'"),
        ", but the root mixture has no stage that begins there; create it with "
        "Schedule::MixtureOptionsFrom()"));
  }
  return absl::OkStatus();
}

std::string LengthWords(std::span<const SeqLenChange> lengths) {
  if (lengths.empty()) return "one length throughout";
  const auto add = [](std::string* out, const SeqLenChange& one) {
    absl::StrAppend(out, one.seq_len, " tokens from sample ", one.start, " on");
  };
  constexpr size_t kShown = 8;
  const auto shown = lengths.first(std::min(lengths.size(), kShown));
  return absl::StrCat(absl::StrJoin(shown, ", ", add),
                      lengths.size() > kShown ? ", ..." : "");
}

// A mixture of tokens that is not cut where the schedule changes the length
// would serve other items, or windows of another length.
absl::Status CheckLengths(const DatasetNode& mixture,
                          const MixtureOptions& options) {
  const auto* const tokens =
      dynamic_cast<const MixtureDataset<TokenWindow>*>(&mixture);
  if (tokens == nullptr) return absl::OkStatus();
  const absl::StatusOr<MixturePlan> plan = tokens->plan();
  if (!plan.ok()) return absl::OkStatus();  // of lengths that are not final
  const auto mixed = plan->seq_lens();
  const bool is_same =
      std::equal(mixed.begin(), mixed.end(), options.seq_lens.begin(),
                 options.seq_lens.end(), [](const auto& a, const auto& b) {
                   return a.start == b.start && a.seq_len == b.seq_len;
                 });
  if (is_same) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the schedule has samples of ", LengthWords(options.seq_lens),
      ", the root mixture of ", LengthWords(mixed), kRemedy));
}

absl::Status NoMixture(const DatasetNode& root, const Schedule& schedule,
                       const MixtureOptions& options) {
  if (schedule.mixture() == nullptr && options.stages.empty()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the schedule describes a mixture",
      schedule.mixture() == nullptr
          ? std::string(" whose weights change")
          : absl::StrCat(" of ",
                         absl::StrJoin(schedule.mixture()->names(), ", ")),
      ", but the root '", root.name(),
      "' is not a mixture; leave components and weights out of the schedule, "
      "or give the loader the mixture"));
}

}  // namespace

std::vector<NamedShare> SharesAt(const DatasetNode& root, uint64_t sample) {
  const RootMixture found = FindRootMixture(root, sample + 1);
  std::vector<NamedShare> shares;
  if (found.is_hidden || found.mixture == nullptr) return shares;
  const StagePlan& plan = found.mixture->plan();
  // A forged state may name a sample that no run has.
  const size_t stage = plan.BlockOf(std::min(sample, kMaxSamples - 1)).stage;
  const std::vector<std::string> names = NamesOf(*found.node);
  for (size_t c = 0; c < names.size(); ++c) {
    const uint64_t quanta = plan.quanta(stage)[c];
    if (quanta > 0) shares.push_back({names[c], quanta});
  }
  return shares;
}

absl::Status CheckScheduleAgrees(const DatasetNode& root,
                                 const Schedule& schedule) {
  const MixtureOptions options = schedule.mixture_options();
  const RootMixture found = FindRootMixture(
      root, schedule.steps() > 0 ? schedule.samples() : kMaxSamples);
  if (found.is_hidden) return absl::OkStatus();
  if (found.mixture == nullptr) return NoMixture(root, schedule, options);
  const StagePlan& mixed = found.mixture->plan();
  if (options.seed && *options.seed != found.mixture->seed()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the schedule's mixture has seed ", *options.seed,
        ", the root mixture has seed ", found.mixture->seed(), kRemedy));
  }
  PONIENTE_RETURN_IF_ERROR(CheckLengths(*found.node, options));
  if (schedule.mixture() == nullptr) {
    return CheckStarts(schedule, options, mixed);
  }
  const StagePlan& planned = *schedule.mixture()->stages();
  const std::vector<std::string> names = NamesOf(*found.node);
  PONIENTE_RETURN_IF_ERROR(CheckNames(schedule.mixture()->names(), names));
  if (planned.block_size() != mixed.block_size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the schedule's mixture has block_size ", planned.block_size(),
        ", the root mixture has ", mixed.block_size(), kRemedy));
  }
  return CheckShares(schedule, planned, mixed, names);
}

}  // namespace poniente::internal
