// SPDX-License-Identifier: Apache-2.0
#include "poniente/transforms.h"

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "dataset/final_lengths.h"
#include "index/keyed_hash.h"
#include "index/maps/concat_map.h"
#include "index/maps/cut_map.h"
#include "index/maps/repeat_map.h"
#include "index/maps/shuffle_map.h"
#include "index/maps/slice_map.h"
#include "index/max_samples.h"
#include "index/permutation/item_order.h"
#include "poniente/extend/item_sets.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

class ConcatNodeRecipe final : public NodeRecipe {
 public:
  std::string_view kind() const override { return "concat"; }
  absl::Status CheckLengths(
      std::span<const LengthState> lengths) const override {
    return FinalLengths(lengths).status();
  }
  bool follows_growth() const override { return true; }
  bool is_sequence() const override { return true; }
  uint64_t fingerprint() const override { return 0; }

  uint64_t ChildSeed(uint64_t seed, std::string_view name) const override {
    return internal::ChildSeed(seed, name);
  }

  // The children up to and including the first one that still grows are
  // readable.
  absl::StatusOr<MadeMap> MakeMap(std::span<const LengthState> lengths,
                                  uint64_t) const override {
    PONIENTE_ASSIGN_OR_RETURN(std::vector<uint64_t> readable,
                              FinalLengths(lengths));
    bool is_final = true;
    for (size_t i = 0; i < lengths.size(); ++i) {
      if (!is_final) readable[i] = 0;
      is_final = is_final && lengths[i].is_final;
    }
    PONIENTE_ASSIGN_OR_RETURN(std::shared_ptr<const IndexMap> map,
                              ConcatMap::Create(readable));
    return MadeMap{std::move(map), is_final};
  }
};

class SliceNodeRecipe final : public NodeRecipe {
 public:
  SliceNodeRecipe(std::string kind, uint64_t begin, uint64_t end)
      : kind_(std::move(kind)), begin_(begin), end_(end) {}

  std::string_view kind() const override { return kind_; }
  bool follows_growth() const override { return true; }
  bool is_prefix() const override { return begin_ == 0; }
  uint64_t fingerprint() const override {
    return Derive(begin_, Tag("slice"), end_);
  }

  absl::StatusOr<MadeMap> MakeMap(std::span<const LengthState> lengths,
                                  uint64_t) const override {
    if (begin_ > end_) {
      return absl::InvalidArgumentError(
          absl::StrCat("begin ", begin_, " lies behind end ", end_));
    }
    const LengthState& child = lengths[0];
    if (child.is_endless && child.is_final) return OfEndless();
    if (child.is_endless)
      return MadeMap{std::make_shared<SliceMap>(0, 0), false};
    const uint64_t end = std::min(end_, child.readable);
    const uint64_t begin = std::min(begin_, end);
    return MadeMap{std::make_shared<SliceMap>(begin, end),
                   child.is_final || end_ <= child.readable};
  }

 private:
  absl::StatusOr<MadeMap> OfEndless() const {
    if (end_ > kMaxSamples) {
      return absl::InvalidArgumentError(
          absl::StrCat("end ", end_, " lies behind the last of 2^62 samples"));
    }
    if (begin_ == end_) {
      return MadeMap{std::make_shared<SliceMap>(begin_, end_), true};
    }
    return MadeMap{std::make_shared<EndlessSliceMap>(begin_, end_ - begin_),
                   true};
  }

  const std::string kind_;
  const uint64_t begin_;
  const uint64_t end_;
};

class RepeatNodeRecipe final : public NodeRecipe {
 public:
  explicit RepeatNodeRecipe(std::optional<uint64_t> times) : times_(times) {}

  std::string_view kind() const override { return "repeat"; }
  bool follows_growth() const override { return true; }
  bool repeats_items() const override { return true; }
  bool is_endless() const override { return !times_.has_value(); }
  // Endless repetition does not change the identity of a run, so a run may be
  // extended beyond an epoch later.
  bool is_transparent() const override { return is_endless(); }
  uint64_t fingerprint() const override {
    return Derive(times_.value_or(UINT64_MAX), Tag("repeat"));
  }

  absl::Status CheckLengths(
      std::span<const LengthState> lengths) const override {
    if (!lengths[0].is_endless) return absl::OkStatus();
    return absl::InvalidArgumentError("the dataset is endless already");
  }

  // While the child grows, what there is of its first epoch is readable.
  absl::StatusOr<MadeMap> MakeMap(std::span<const LengthState> lengths,
                                  uint64_t) const override {
    if (!lengths[0].is_final && times_ != uint64_t{0}) {
      return MadeMap{std::make_shared<SliceMap>(0, lengths[0].readable), false};
    }
    PONIENTE_ASSIGN_OR_RETURN(std::shared_ptr<const IndexMap> map,
                              RepeatMap::Create(lengths[0].readable, times_));
    return MadeMap{std::move(map), true};
  }

 private:
  const std::optional<uint64_t> times_;
};

std::string_view ShuffleName(ShuffleKind kind) {
  if (kind == ShuffleKind::kEras) return "era_shuffle";
  if (kind == ShuffleKind::kBlocks) return "block_shuffle";
  return "shuffle";
}

class ShuffleNodeRecipe final : public NodeRecipe {
 public:
  ShuffleNodeRecipe(const OrderSpec& spec, std::optional<uint64_t> seed)
      : spec_(spec), seed_(seed) {}

  std::string_view kind() const override { return ShuffleName(spec_.kind); }
  bool follows_growth() const override { return has_eras(); }
  bool keeps_endless() const override { return has_eras(); }
  bool is_order() const override { return true; }
  std::optional<uint64_t> stated_seed() const override { return seed_; }
  uint64_t fingerprint() const override { return OrderFingerprint(spec_); }

  uint64_t ChildSeed(uint64_t seed, std::string_view name) const override {
    return internal::ChildSeed(seed, name);
  }

  absl::Status CheckLengths(
      std::span<const LengthState> lengths) const override {
    if (!lengths[0].is_endless || has_eras()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "an endless dataset cannot be shuffled as a whole; Take() a finite "
        "part of it, or shuffle it in eras (EraShuffle(), era_items)");
  }

  absl::StatusOr<MadeMap> MakeMap(std::span<const LengthState> lengths,
                                  uint64_t seed) const override {
    const LengthState& child = lengths[0];
    if (child.is_endless) return OfEndless(child, seed);
    uint64_t length = child.readable;
    if (!child.is_final) length -= length % spec_.era_items;
    PONIENTE_RETURN_IF_ERROR(CheckOrder(spec_, length));
    return MadeMap{std::make_shared<ShuffleMap>(length, seed, spec_),
                   child.is_final};
  }

 private:
  bool has_eras() const { return spec_.kind == ShuffleKind::kEras; }

  absl::StatusOr<MadeMap> OfEndless(const LengthState& child,
                                    uint64_t seed) const {
    if (!child.is_final) {
      return absl::FailedPreconditionError(
          "what the endless dataset is made of is not final yet");
    }
    return MadeMap{std::make_shared<ShuffleMap>(std::nullopt, seed, spec_),
                   true};
  }

  const OrderSpec spec_;
  const std::optional<uint64_t> seed_;
};

class CutNodeRecipe final : public NodeRecipe {
 public:
  CutNodeRecipe(const MixtureOptions& options, std::vector<PartsChange> parts)
      : options_(options), parts_(std::move(parts)) {}

  std::string_view kind() const override { return "cut"; }
  bool is_order() const override { return true; }
  bool is_endless() const override { return true; }
  std::optional<uint64_t> stated_seed() const override { return options_.seed; }
  uint64_t fingerprint() const override {
    const uint64_t plain = Derive(options_.max_seq_len, Tag("cut"),
                                  options_.trim, options_.group_items);
    return options_.sample_overlap == 0 ? plain : Derive(plain, Tag("overlap"));
  }

  // The child gets the same seed (there is no ChildSeed()). So a run whose
  // lengths change from some step on reads the same before that step as without
  // the Cut. The keys of parts are derived from the seed, so they differ from
  // it.
  absl::StatusOr<MadeMap> MakeMap(std::span<const LengthState> lengths,
                                  uint64_t seed) const override {
    std::optional<uint64_t> length;
    if (!lengths[0].is_endless) length = lengths[0].readable;
    PONIENTE_ASSIGN_OR_RETURN(
        std::shared_ptr<const IndexMap> map,
        CutMap::Create(length, seed, parts_, options_.group_items));
    return MadeMap{std::move(map), true};
  }

 private:
  const MixtureOptions options_;
  const std::vector<PartsChange> parts_;
};

// What Cut() does to one dataset, several that follow one another do.
class SuccessionNodeRecipe final : public NodeRecipe {
 public:
  SuccessionNodeRecipe(const MixtureOptions& options,
                       std::vector<uint64_t> starts)
      : options_(options), starts_(std::move(starts)) {}

  std::string_view kind() const override { return "cut"; }
  bool is_order() const override { return true; }
  bool is_endless() const override { return true; }
  std::optional<uint64_t> stated_seed() const override { return options_.seed; }
  uint64_t fingerprint() const override {
    return Derive(options_.max_seq_len, Tag("cut"), Tag("packed"));
  }

  absl::StatusOr<MadeMap> MakeMap(std::span<const LengthState>,
                                  uint64_t) const override {
    return absl::InternalError("needs the children's sets");
  }
  absl::StatusOr<MadeMap> MakeMapOf(const DatasetNode& node,
                                    std::span<const LengthState> lengths,
                                    uint64_t seed) const override {
    const std::vector<NamedNode> children = node.children();
    std::vector<std::shared_ptr<const ItemSets>> sets;
    std::vector<CutMap::View> views;
    for (size_t i = 0; i < children.size(); ++i) {
      sets.push_back(children[i].node->item_sets());
      views.push_back({starts_[i], lengths[i].readable, sets.back().get()});
    }
    PONIENTE_ASSIGN_OR_RETURN(std::shared_ptr<const IndexMap> map,
                              CutMap::CreateOfViews(views, seed));
    return MadeMap{std::move(map), true};
  }

 private:
  const MixtureOptions options_;
  const std::vector<uint64_t> starts_;
};

// Checks the lengths as a mixture does.
absl::StatusOr<MixturePlan> PlanOfLengths(const MixtureOptions& options) {
  MixtureOptions lengths = options;
  lengths.stages.clear();
  lengths.weight_rule = WeightRule::kProportions;
  return MixturePlan::Create(lengths, {{""}});
}

}  // namespace

absl::StatusOr<std::shared_ptr<const NodeRecipe>> CutRecipe(
    const MixtureOptions& options) {
  PONIENTE_ASSIGN_OR_RETURN(const MixturePlan plan, PlanOfLengths(options));
  return std::make_shared<CutNodeRecipe>(options,
                                         PartsOf(options, plan.seq_lens()));
}

absl::StatusOr<std::shared_ptr<const NodeRecipe>> SuccessionRecipe(
    const MixtureOptions& options, std::vector<uint64_t> starts) {
  PONIENTE_RETURN_IF_ERROR(PlanOfLengths(options).status());
  const bool increase =
      !starts.empty() && starts[0] == 0 &&
      std::adjacent_find(starts.begin(), starts.end(),
                         std::greater_equal<>()) == starts.end();
  if (!increase) {
    return absl::InvalidArgumentError(
        "datasets that follow one another need starts that increase from 0");
  }
  return std::make_shared<SuccessionNodeRecipe>(options, std::move(starts));
}

std::shared_ptr<const NodeRecipe> ConcatRecipe() {
  return std::make_shared<ConcatNodeRecipe>();
}
std::shared_ptr<const NodeRecipe> SliceRecipe(std::string kind, uint64_t begin,
                                              uint64_t end) {
  return std::make_shared<SliceNodeRecipe>(std::move(kind), begin, end);
}
std::shared_ptr<const NodeRecipe> RepeatRecipe(std::optional<uint64_t> times) {
  return std::make_shared<RepeatNodeRecipe>(times);
}
absl::StatusOr<std::shared_ptr<const NodeRecipe>> ShuffleRecipe(
    const ShuffleOptions& options, const DatasetNode* child,
    std::optional<uint64_t> seed) {
  PONIENTE_CHECK(options.kind != ShuffleKind::kNone);
  const absl::StatusOr<OrderSpec> spec =
      ResolveShuffle(options, child == nullptr ? 1 : child->item_tokens());
  if (!spec.ok()) return Prepend(spec.status(), ShuffleName(options.kind));
  return std::make_shared<ShuffleNodeRecipe>(*spec, seed);
}

}  // namespace poniente::internal
