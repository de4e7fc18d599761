// SPDX-License-Identifier: Apache-2.0
#include "poniente/extend/index_map_dataset.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "index/max_samples.h"
#include "util/status_macros.h"

namespace poniente {

NodeRecipe::~NodeRecipe() = default;

uint64_t NodeRecipe::ChildSeed(uint64_t seed, std::string_view name) const {
  (void)name;
  return seed;
}

absl::StatusOr<MadeMap> NodeRecipe::MakeMapOf(
    const DatasetNode& node, std::span<const LengthState> lengths,
    uint64_t seed) const {
  (void)node;
  return MakeMap(lengths, seed);
}

size_t NodeRecipe::WaitsFor(std::span<const LengthState> lengths) const {
  const auto first =
      std::find_if(lengths.begin(), lengths.end(),
                   [](const LengthState& state) { return !state.is_final; });
  return static_cast<size_t>(first - lengths.begin());
}

absl::Status NodeRecipe::CheckLengths(
    std::span<const LengthState> lengths) const {
  (void)lengths;
  return absl::OkStatus();
}

namespace internal {

ChildGroups::ChildGroups(const IndexMap& map,
                         std::span<const Position> positions) {
  std::vector<ChildPosition> resolved(positions.size());
  map.Resolve(positions, resolved);
  uint32_t last = 0;
  for (const ChildPosition& one : resolved) last = std::max(last, one.child);
  // For each child: first the number of its requests, then the place where its
  // next request belongs.
  std::vector<uint32_t> next(size_t{last} + 1);
  for (const ChildPosition& one : resolved) {
    if (next[one.child]++ == 0) groups_.push_back({one.child, {}, {}});
  }
  positions_.resize(positions.size());
  places_.resize(positions.size());
  uint32_t begin = 0;
  for (ChildGroup& group : groups_) {
    const uint32_t count = std::exchange(next[group.child], begin);
    group.positions = std::span(positions_).subspan(begin, count);
    group.places = std::span(places_).subspan(begin, count);
    begin += count;
  }
  for (uint32_t i = 0; i < resolved.size(); ++i) {
    const uint32_t at = next[resolved[i].child]++;
    positions_[at] = resolved[i].position;
    places_[at] = i;
  }
}

std::vector<Position> ResolveOnly(const IndexMap& map,
                                  std::span<const Position> positions) {
  std::vector<Position> below;
  below.reserve(positions.size());
  // Piece by piece, so that only the result is allocated.
  std::array<ChildPosition, 64> piece;
  while (!positions.empty()) {
    const std::span resolved =
        std::span(piece).first(std::min(positions.size(), piece.size()));
    map.Resolve(positions.first(resolved.size()), resolved);
    for (const ChildPosition& one : resolved) below.push_back(one.position);
    positions = positions.subspan(resolved.size());
  }
  return below;
}

absl::Status CheckAnswer(std::string_view name, const DatasetNode& child,
                         const absl::Status& answer, size_t got, size_t want) {
  if (!answer.ok()) return PrependName(answer, name);
  if (got == want) return absl::OkStatus();
  return PrependName(CountError(child.name(), got, want), name);
}

uint64_t LengthNeeded(std::span<const Position> positions) {
  uint64_t needed = 0;
  for (const Position& position : positions) {
    // Does not wrap around to 0: an index of 2^64 - 1 is out of range.
    needed = std::max(
        needed, position.index == UINT64_MAX ? UINT64_MAX : position.index + 1);
  }
  return needed;
}

std::vector<Position> WholeItems(std::span<const Index> indices) {
  std::vector<Position> positions;
  positions.reserve(indices.size());
  for (const Index index : indices) positions.push_back({.index = index});
  return positions;
}

absl::Status CheckInRange(const DatasetNode& node,
                          std::optional<uint64_t> length, bool has_one_epoch,
                          std::span<const Position> positions) {
  const uint64_t end = length.value_or(kMaxSamples);
  for (const Position& position : positions) {
    if (has_one_epoch && position.epoch > 0) {
      return absl::OutOfRangeError(absl::StrCat(
          "epoch ", position.epoch, " of '", node.name(),
          "', which can be read for one epoch only: max_epochs, lengths or "
          "views of its components end with it"));
    }
    if (position.index < end) continue;
    return absl::OutOfRangeError(absl::StrCat(
        "index ", position.index, " of '", node.name(), "', which has ", end,
        " items", node.length_now().is_final ? "" : " so far"));
  }
  return absl::OkStatus();
}

absl::Status CheckChildren(std::string_view kind,
                           std::span<const NamedNode> children) {
  absl::flat_hash_set<std::pair<std::string, uint32_t>> names;
  const NamedNode* first_tokens = nullptr;
  for (const NamedNode& child : children) {
    if (child.node == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          Absl(kind), ": component '", child.name, "' has no dataset"));
    }
    if (!names.insert({child.name, child.view}).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(Absl(kind), ": two components are named '", child.name,
                       "'; names key the order, so they must differ"));
    }
    const Vocabulary* vocabulary = child.node->vocabulary();
    if (vocabulary == nullptr) continue;
    if (first_tokens == nullptr) first_tokens = &child;
    const Vocabulary& first = *first_tokens->node->vocabulary();
    if (*vocabulary == first) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(Absl(kind), ": '", first_tokens->name, "' has tokenizer '",
                     first.tokenizer, "' with ", first.size, " ids, '",
                     child.name, "' has '", vocabulary->tokenizer, "' with ",
                     vocabulary->size, "; pack both with one tokenizer"));
  }
  return absl::OkStatus();
}

uint32_t SharedItemTokens(std::span<const NamedNode> children) {
  uint32_t shared = 0;
  for (const NamedNode& child : children) {
    const uint32_t tokens =
        child.node == nullptr ? 0 : child.node->item_tokens();
    if (tokens == 0 || (shared != 0 && tokens != shared)) return 0;
    shared = tokens;
  }
  return shared;
}

absl::Status CountError(std::string_view child, size_t got, size_t want) {
  return absl::InternalError(absl::StrCat("dataset '", Absl(child), "' gave ",
                                          got, " items, asked for ", want));
}

NodeIdentity IdentityOf(const NodeRecipe& recipe, uint64_t seed) {
  return {
      .parameters = Derive(recipe.fingerprint(), Tag("node"), recipe.kind()),
      .seed = seed,
      .states_seed = recipe.stated_seed().has_value(),
      .is_order = recipe.is_order(),
      .is_sequence = recipe.is_sequence()};
}

uint64_t NodeFingerprint(const NodeRecipe& recipe, uint64_t seed,
                         std::span<const NamedNode> children) {
  if (recipe.is_transparent()) return children[0].node->fingerprint();
  std::vector<NamedNode> listed(children.begin(), children.end());
  std::erase_if(listed, [](const NamedNode& child) {
    return child.view > 0 || child.added > 0;
  });
  uint64_t print =
      Derive(recipe.fingerprint(), Tag("node"), recipe.kind(),
             recipe.is_order() ? seed : uint64_t{0}, uint64_t{listed.size()});
  if (!recipe.is_sequence()) {
    std::sort(
        listed.begin(), listed.end(),
        [](const NamedNode& a, const NamedNode& b) { return a.name < b.name; });
  }
  for (const NamedNode& child : listed) {
    print = Derive(print, Tag("child"), std::string_view(child.name),
                   child.node->fingerprint());
  }
  return print;
}

absl::Status PrependName(const absl::Status& status, std::string_view name) {
  return name.empty() ? status : Prepend(status, name);
}

absl::StatusOr<MadeMap> MapCell::Get(
    const NodeRecipe& recipe, uint64_t seed, const DatasetNode& node,
    std::span<const LengthState> lengths) const {
  PONIENTE_RETURN_IF_ERROR(recipe.CheckLengths(lengths));
  const bool all_final =
      std::all_of(lengths.begin(), lengths.end(),
                  [](const LengthState& length) { return length.is_final; });
  if (!all_final && !recipe.follows_growth()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the length of a dataset below '", Absl(recipe.kind()),
                     "' is not final yet"));
  }
  if (!all_final) {
    std::lock_guard lock(mu_);
    if (growing_ != nullptr &&
        std::equal(lengths.begin(), lengths.end(), growing_lengths_.begin(),
                   growing_lengths_.end())) {
      return MadeMap{growing_, false};
    }
  }
  PONIENTE_ASSIGN_OR_RETURN(MadeMap made,
                            recipe.MakeMapOf(node, lengths, seed));
  std::lock_guard lock(mu_);
  if (made.is_final) {
    if (kept_ == nullptr) kept_ = made.map;
    made.map = kept_;
    growing_.reset();
  } else {
    growing_ = made.map;
    growing_lengths_.assign(lengths.begin(), lengths.end());
  }
  return made;
}

std::shared_ptr<const IndexMap> MapCell::Kept() const {
  std::lock_guard lock(mu_);
  return kept_;
}

}  // namespace internal
}  // namespace poniente
