// SPDX-License-Identifier: Apache-2.0
// Turns any index map into an AsyncDataset: groups a request by child, asks the
// children concurrently, and puts the answers back in order.

#ifndef PONIENTE_EXTEND_INDEX_MAP_DATASET_H_
#define PONIENTE_EXTEND_INDEX_MAP_DATASET_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/async_dataset.h"
#include "poniente/extend/child_groups.h"
#include "poniente/extend/dataset_node.h"
#include "poniente/extend/index_map.h"

namespace poniente {

// A child and the name that keys its seed and its place in paths.
template <class T>
struct NamedDataset {
  std::string name = {};
  DatasetPtr<T> dataset = nullptr;
  // Number of the view, for a component of a mixture with several views of the
  // same name; otherwise 0.
  uint32_t view = 0;
  // See NamedNode, for both.
  bool shares_sources = false;
  uint64_t added = 0;
};

// An index map, and whether it is final: no length can change it any more.
struct MadeMap {
  std::shared_ptr<const IndexMap> map = nullptr;
  bool is_final = true;
};

// Defines one kind of node, independently of the type of its items: above all
// how its index map follows from its children's lengths and its seed.
//
// Thread safety: immutable; shared by all copies of a node.
class NodeRecipe {
 public:
  virtual ~NodeRecipe();

  // Returns the kind: "flat_mixture", "concat", ...
  virtual std::string_view kind() const = 0;

  // Makes the index map from the lengths of the children. REQUIRES: all lengths
  // are final, unless follows_growth().
  virtual absl::StatusOr<MadeMap> MakeMap(std::span<const LengthState> lengths,
                                          uint64_t seed) const = 0;

  // Does the same for a node whose children are known, which are those of
  // `node`; the default needs only their lengths.
  virtual absl::StatusOr<MadeMap> MakeMapOf(
      const DatasetNode& node, std::span<const LengthState> lengths,
      uint64_t seed) const;

  // Returns whether MakeMap() also accepts lengths that are not final yet, and
  // then makes a map of the readable items.
  virtual bool follows_growth() const { return false; }

  // Returns the number of the child that must grow before more items can be
  // read. The default is the first one whose length is not final. REQUIRES: a
  // length is not final.
  virtual size_t WaitsFor(std::span<const LengthState> lengths) const;

  // Returns whether the node defines an order of its own.
  virtual bool is_order() const { return false; }

  // Return the values of DatasetNode::repeats_items() and is_prefix() for the
  // node.
  virtual bool repeats_items() const { return false; }
  virtual bool is_prefix() const { return false; }

  // Returns whether the node is endless, whatever its children are.
  virtual bool is_endless() const { return false; }

  // Returns whether the node is endless if one of its children is.
  virtual bool keeps_endless() const { return false; }

  // Returns whether an index means the same with and without this node. The
  // node's fingerprint is then that of its only child.
  virtual bool is_transparent() const { return false; }

  // Returns InvalidArgument if children of these lengths can never be used;
  // called before the lengths are final.
  virtual absl::Status CheckLengths(std::span<const LengthState> lengths) const;

  // Returns whether the children's order of declaration matters; if not, only
  // their names do.
  virtual bool is_sequence() const { return false; }

  // Returns the fingerprint of the parameters alone, without seed and children.
  virtual uint64_t fingerprint() const = 0;

  // Returns the seed that the user stated for this node; nullopt if it inherits
  // one.
  virtual std::optional<uint64_t> stated_seed() const { return std::nullopt; }

  // Returns the seed of a child (docs/index-math.md 1.1). The default passes on
  // the node's own; nodes with a key or with several children derive one from
  // the name.
  virtual uint64_t ChildSeed(uint64_t seed, std::string_view name) const;
};

namespace internal {

// Returns where the positions of a node with one child lie in the child.
std::vector<Position> ResolveOnly(const IndexMap& map,
                                  std::span<const Position> positions);
// Returns the error of a child's answer, or that for `got` items instead of
// `want`, with the name that the child has in its parent in front.
absl::Status CheckAnswer(std::string_view name, const DatasetNode& child,
                         const absl::Status& answer, size_t got, size_t want);

// Returns one more than the greatest index; 0 without positions.
uint64_t LengthNeeded(std::span<const Position> positions);
// Returns the positions of whole items in epoch 0.
std::vector<Position> WholeItems(std::span<const Index> indices);

// Returns OutOfRange for a position past the length, or past the only epoch.
absl::Status CheckInRange(const DatasetNode& node,
                          std::optional<uint64_t> length, bool has_one_epoch,
                          std::span<const Position> positions);
// Checks that all children exist, share one vocabulary and have distinct names.
absl::Status CheckChildren(std::string_view kind,
                           std::span<const NamedNode> children);
// Returns the item_tokens() that all children share; 0 if they differ.
uint32_t SharedItemTokens(std::span<const NamedNode> children);
// Returns the error for a child that returned `got` items instead of `want`.
absl::Status CountError(std::string_view child, size_t got, size_t want);
NodeIdentity IdentityOf(const NodeRecipe& recipe, uint64_t seed);
uint64_t NodeFingerprint(const NodeRecipe& recipe, uint64_t seed,
                         std::span<const NamedNode> children);
absl::Status PrependName(const absl::Status& status, std::string_view name);

// The index map of a node: the final one, or the one for the latest lengths.
class MapCell {
 public:
  // Returns the map for these lengths; FailedPrecondition while a length that
  // it needs is not final.
  absl::StatusOr<MadeMap> Get(const NodeRecipe& recipe, uint64_t seed,
                              const DatasetNode& node,
                              std::span<const LengthState> lengths) const;
  // Returns the final map if it exists already, else null.
  std::shared_ptr<const IndexMap> Kept() const;

 private:
  mutable std::mutex mu_;
  mutable std::shared_ptr<const IndexMap> kept_;  // guarded by mu_
  // Of lengths that are not final, and these; guarded by mu_.
  mutable std::shared_ptr<const IndexMap> growing_;
  mutable std::vector<LengthState> growing_lengths_;
};

}  // namespace internal

// A node whose items are its children's items, found by an index map. All nodes
// that only choose and order (Concat, Slice, Shuffle, FlatMixture,
// MixtureDataset) are this class with different recipes.
//
// Complexity: a request costs its arithmetic plus one call of each child that
// it touches; the children are asked concurrently. See AsyncDataset for
// determinism, ownership, threads, errors and cancellation.
template <class T>
class IndexMapDataset : public AsyncDataset<T>, public internal::OnlyCopies {
 public:
  // Creates a node and derives the seeds of its children. Fails if vocabularies
  // differ, names repeat, or the recipe refuses the lengths (of children whose
  // lengths are final).
  static absl::StatusOr<DatasetPtr<T>> Create(
      std::shared_ptr<const NodeRecipe> recipe,
      std::vector<NamedDataset<T>> children) {
    auto made = std::make_shared<IndexMapDataset<T>>(std::move(recipe),
                                                     std::move(children));
    absl::Status checked = made->Check();
    if (!checked.ok()) return checked;
    return DatasetPtr<T>(std::move(made));
  }

  // For Create() and subclasses. `seed` is the node's own seed; if the recipe
  // states one, that is used instead. The seeds of the children are derived
  // from it.
  IndexMapDataset(std::shared_ptr<const NodeRecipe> recipe,
                  std::vector<NamedDataset<T>> children, uint64_t seed = 0)
      : recipe_(std::move(recipe)),
        seed_(recipe_->stated_seed().value_or(seed)),
        children_(std::move(children)) {
    for (NamedDataset<T>& child : children_) {
      if (child.dataset == nullptr) continue;  // refused by Check()
      child.dataset =
          child.dataset->WithSeed(recipe_->ChildSeed(seed_, child.name));
    }
  }

  std::string name() const override { return std::string(recipe_->kind()); }
  std::vector<NamedNode> children() const override {
    std::vector<NamedNode> nodes;
    nodes.reserve(children_.size());
    for (const NamedDataset<T>& child : children_) {
      nodes.push_back({child.name, child.dataset.get(), child.view,
                       child.shares_sources, child.added});
    }
    return nodes;
  }
  std::shared_ptr<const IndexMap> map() const override {
    const absl::StatusOr<MadeMap> made = MapNow();
    return made.ok() ? made->map : nullptr;
  }
  const Vocabulary* vocabulary() const override {
    for (const NamedDataset<T>& child : children_) {
      if (const Vocabulary* found = child.dataset->vocabulary()) return found;
    }
    return nullptr;
  }
  uint32_t item_tokens() const override {
    return internal::SharedItemTokens(children());
  }
  bool repeats_items() const override { return recipe_->repeats_items(); }
  bool is_prefix() const override { return recipe_->is_prefix(); }
  bool has_order() const override {
    return recipe_->is_order() || DatasetNode::has_order();
  }
  uint64_t fingerprint() const override {
    return internal::NodeFingerprint(*recipe_, seed_, children());
  }
  std::optional<NodeIdentity> identity() const override {
    return internal::IdentityOf(*recipe_, seed_);
  }
  LengthState length_now() const override {
    const absl::StatusOr<MadeMap> made = MapNow();
    if (!made.ok()) return {0, false, IsEndless()};
    const std::optional<uint64_t> length = made->map->length();
    if (!length.has_value()) return LengthState::Endless();
    return {*length, made->is_final, !made->is_final && IsEndless()};
  }

  Task<std::vector<T>> GetBatch(std::span<const Index> indices) const override {
    const std::vector<Position> positions = internal::WholeItems(indices);
    absl::StatusOr<std::vector<T>> items = co_await GetAt(positions);
    co_return items;
  }

  Task<std::vector<T>> GetAt(
      std::span<const Position> positions) const override {
    if (positions.empty()) co_return std::vector<T>();
    absl::StatusOr<MadeMap> made =
        co_await MapFor(internal::LengthNeeded(positions));
    if (!made.ok()) co_return made.status();
    absl::Status in_range = internal::CheckInRange(
        *this, made->map->length(), made->map->has_one_epoch(), positions);
    if (!in_range.ok()) co_return in_range;
    if (children_.size() == 1) {  // needs no groups
      absl::StatusOr<std::vector<T>> all =
          co_await AskOnly(&children_[0], made->map.get(), positions);
      co_return all;
    }
    const internal::ChildGroups groups(*made->map, positions);
    absl::Status resolved = made->map->status();
    if (!resolved.ok()) {
      co_return internal::PrependName(resolved, recipe_->kind());
    }
    std::vector<T> items(positions.size());
    std::vector<Task<>> asks;
    asks.reserve(groups.size());
    for (const internal::ChildGroup& group : groups) {
      asks.push_back(AskChild(&children_[group.child], &group, &items));
    }
    absl::Status asked = co_await WhenAll(std::move(asks));
    if (!asked.ok()) co_return asked;
    co_return items;
  }

  Task<uint64_t> WaitForLength(uint64_t n) const override {
    absl::StatusOr<MadeMap> made = co_await MapFor(n);
    if (!made.ok()) co_return made.status();
    co_return made->map->length().value_or(UINT64_MAX);
  }

  // Returns the children, under their seeds.
  const std::vector<NamedDataset<T>>& named_children() const {
    return children_;
  }

  // Returns the same node over other children. Errors as Create().
  absl::StatusOr<DatasetPtr<T>> WithChildren(
      std::vector<NamedDataset<T>> children) const {
    return Remade(recipe_, std::move(children));
  }

  // Returns the recipe that the node was made of.
  const NodeRecipe& recipe() const { return *recipe_; }

  DatasetPtr<T> WithSeed(uint64_t seed) const override {
    if (recipe_->stated_seed().has_value() || seed == seed_) {
      return this->shared_from_this();
    }
    return Remake(recipe_, children_, seed);
  }

 protected:
  // Returns the same node, of the subclass's type, under another seed.
  virtual DatasetPtr<T> Remake(std::shared_ptr<const NodeRecipe> recipe,
                               std::vector<NamedDataset<T>> children,
                               uint64_t seed) const {
    return std::make_shared<IndexMapDataset<T>>(std::move(recipe),
                                                std::move(children), seed);
  }

  // Returns a node of the subclass's type under the same seed. Errors as
  // Create().
  absl::StatusOr<DatasetPtr<T>> Remade(
      std::shared_ptr<const NodeRecipe> recipe,
      std::vector<NamedDataset<T>> children) const {
    DatasetPtr<T> made = Remake(std::move(recipe), std::move(children), seed_);
    absl::Status checked =
        static_cast<const IndexMapDataset<T>&>(*made).Check();
    if (!checked.ok()) return checked;
    return made;
  }

  absl::Status Check() const {
    absl::Status children_fit =
        internal::CheckChildren(recipe_->kind(), children());
    if (!children_fit.ok()) return children_fit;
    const absl::StatusOr<MadeMap> made = MapNow();
    if (made.ok() || absl::IsFailedPrecondition(made.status())) return {};
    return internal::PrependName(made.status(), recipe_->kind());
  }

  const std::shared_ptr<const NodeRecipe>& shared_recipe() const {
    return recipe_;
  }
  uint64_t seed() const { return seed_; }
  std::vector<LengthState> ChildLengths() const {
    std::vector<LengthState> lengths;
    lengths.reserve(children_.size());
    for (const NamedDataset<T>& child : children_) {
      lengths.push_back(child.dataset->length_now());
    }
    return lengths;
  }

 private:
  bool IsEndless() const {
    return recipe_->is_endless() ||
           (recipe_->keeps_endless() &&
            std::any_of(children_.begin(), children_.end(),
                        [](const NamedDataset<T>& child) {
                          return !child.dataset->IsFinite();
                        }));
  }

  absl::StatusOr<MadeMap> MapNow() const {
    if (auto kept = cell_.Kept()) return MadeMap{std::move(kept), true};
    return cell_.Get(*recipe_, seed_, *this, ChildLengths());
  }

  // Returns the map once it covers `length` items or is final.
  Task<MadeMap> MapFor(uint64_t length) const {
    while (true) {
      // A final map needs no more questions to the children.
      if (auto kept = cell_.Kept()) co_return MadeMap{std::move(kept), true};
      // Read before the map, so that growth in between is not missed.
      const std::vector<LengthState> lengths = ChildLengths();
      absl::StatusOr<MadeMap> made = MapNow();
      if (!made.ok() && !absl::IsFailedPrecondition(made.status())) {
        co_return internal::PrependName(made.status(), recipe_->kind());
      }
      if (made.ok() && (made->is_final ||
                        made->map->length().value_or(UINT64_MAX) >= length)) {
        co_return made;
      }
      const bool all_final =
          std::all_of(lengths.begin(), lengths.end(),
                      [](const LengthState& state) { return state.is_final; });
      if (all_final) continue;  // since we looked
      const size_t waited_for = recipe_->WaitsFor(lengths);
      const NamedDataset<T>& child = children_[waited_for];
      absl::StatusOr<uint64_t> grown = co_await internal::AskLength(
          child.dataset, lengths[waited_for].readable + 1);
      if (!grown.ok()) {
        co_return internal::PrependName(grown.status(), child.name);
      }
    }
  }

  // Asks the only child, whose answer is in order already.
  Task<std::vector<T>> AskOnly(const NamedDataset<T>* child,
                               const IndexMap* map,
                               std::span<const Position> positions) const {
    const std::vector<Position> below = internal::ResolveOnly(*map, positions);
    absl::Status resolved = map->status();
    if (!resolved.ok()) {
      co_return internal::PrependName(resolved, recipe_->kind());
    }
    absl::StatusOr<std::vector<T>> got = co_await internal::Ask(
        child->dataset, std::span<const Position>(below));
    absl::Status checked =
        internal::CheckAnswer(child->name, *child->dataset, got.status(),
                              got.ok() ? got->size() : 0, below.size());
    if (!checked.ok()) co_return checked;
    co_return got;
  }

  static Task<> AskChild(const NamedDataset<T>* child,
                         const internal::ChildGroup* group,
                         std::vector<T>* items) {
    absl::StatusOr<std::vector<T>> got =
        co_await internal::Ask(child->dataset, group->positions);
    absl::Status checked =
        internal::CheckAnswer(child->name, *child->dataset, got.status(),
                              got.ok() ? got->size() : 0, group->places.size());
    if (!checked.ok()) co_return checked;
    for (size_t i = 0; i < got->size(); ++i) {
      (*items)[group->places[i]] = std::move((*got)[i]);
    }
    co_return absl::OkStatus();
  }

  const std::shared_ptr<const NodeRecipe> recipe_;
  const uint64_t seed_;
  std::vector<NamedDataset<T>> children_;  // constant after construction
  internal::MapCell cell_;
};

}  // namespace poniente

#endif  // PONIENTE_EXTEND_INDEX_MAP_DATASET_H_
