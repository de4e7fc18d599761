// SPDX-License-Identifier: Apache-2.0
// Datasets that make items of other datasets' items: Map() applies a function
// to each, Zip() puts those of the same index together.

#ifndef PONIENTE_MAPPED_DATASET_H_
#define PONIENTE_MAPPED_DATASET_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/async_dataset.h"
#include "poniente/extend/index_map_dataset.h"
#include "poniente/extend/worker_threads.h"

namespace poniente {

// How Map() calls its function.
struct MapOptions {
  // Threads that call the function for the dataset. They are started when they
  // are first needed; if the system gives fewer, these do. Default: 1, the
  // thread that asks for the items, which for a loader is its own. Never
  // changes an item or its order.
  uint32_t parallel = 1;
};

namespace internal {

// Maps that make windows have another identity than they had when a function
// got only the part of a window that a run cuts out: those runs cannot go on.
NodeIdentity MappedIdentity(std::string_view name, bool makes_windows);
uint64_t MappedFingerprint(std::string_view name, const DatasetNode& child);
// Returns the map from each index to the same index of the only child.
std::shared_ptr<const IndexMap> IdentityMap(const LengthState& length);
// Returns the same map for a node that counts as though it did not exist.
std::shared_ptr<const IndexMap> TransparentMap(const LengthState& length);
// Returns whether an item may differ from epoch to epoch.
bool DependsOnEpoch(const DatasetNode& node);

}  // namespace internal

// Item i is function(item i of the child), which is whole: a part of item i is
// a part of the function's result. Created by Map().
template <class In, class Out>
class MappedDataset final : public AsyncDataset<Out>,
                            public internal::OnlyComputes {
 public:
  using Function = std::function<absl::StatusOr<Out>(In)>;

  MappedDataset(std::string name, DatasetPtr<In> child, Function function,
                const MapOptions& options = MapOptions())
      : MappedDataset(std::move(name), std::move(child),
                      std::make_shared<const Function>(std::move(function)),
                      internal::WorkerThreads::Create(options.parallel)) {}
  // For copies, which share function and threads.
  MappedDataset(std::string name, DatasetPtr<In> child,
                std::shared_ptr<const Function> function,
                std::shared_ptr<internal::WorkerThreads> threads)
      : name_(std::move(name)),
        child_(std::move(child)),
        function_(std::move(function)),
        threads_(std::move(threads)) {}

  std::string name() const override { return name_; }
  std::vector<NamedNode> children() const override {
    return {{"", child_.get()}};
  }
  std::shared_ptr<const IndexMap> map() const override {
    return internal::IdentityMap(child_->length_now());
  }
  bool makes_items() const override { return true; }
  const Vocabulary* vocabulary() const override {
    return std::is_same_v<In, Out> ? child_->vocabulary() : nullptr;
  }
  uint64_t fingerprint() const override {
    return internal::MappedFingerprint(name_, *child_);
  }
  std::optional<NodeIdentity> identity() const override {
    return internal::MappedIdentity(name_, std::is_same_v<Out, TokenWindow>);
  }
  LengthState length_now() const override { return child_->length_now(); }

  Task<std::vector<Out>> GetBatch(
      std::span<const Index> indices) const override {
    const std::vector<Position> positions = internal::WholeItems(indices);
    absl::StatusOr<std::vector<Out>> items = co_await GetAt(positions);
    co_return items;
  }
  Task<std::vector<Out>> GetAt(
      std::span<const Position> positions) const override {
    const std::vector<Position> whole = internal::WithoutParts(positions);
    absl::StatusOr<std::vector<In>> items =
        co_await internal::Ask(child_, std::span(whole));
    if (!items.ok()) co_return items.status();
    if (items->size() != positions.size()) {
      co_return internal::CountError(child_->name(), items->size(),
                                     positions.size());
    }
    absl::StatusOr<std::vector<Out>> made;
    if (threads_ == nullptr || items->empty()) {
      made = Apply(*std::move(items), whole);
    } else {
      made = co_await ApplyOnThreads(*std::move(items), whole);
    }
    if (!made.ok()) co_return made.status();
    absl::Status cut = internal::CutItems(*this, positions, &*made);
    if (!cut.ok()) co_return cut;
    co_return made;
  }
  Task<uint64_t> WaitForLength(uint64_t n) const override {
    return internal::AskLength(child_, n);
  }
  DatasetPtr<Out> WithSeed(uint64_t seed) const override {
    DatasetPtr<In> child = child_->WithSeed(seed);
    if (child == child_) return this->shared_from_this();
    return std::make_shared<MappedDataset>(name_, std::move(child), function_,
                                           threads_);
  }

 private:
  absl::StatusOr<std::vector<Out>> Apply(
      std::vector<In> items, std::span<const Position> positions) const {
    const internal::BusyCall call(this->busy_time());
    std::vector<Out> made;
    made.reserve(items.size());
    for (size_t i = 0; i < items.size(); ++i) {
      absl::StatusOr<Out> one =
          internal::CallFunction<Out>(*function_, std::move(items[i]));
      if (!one.ok()) {
        return internal::AtItems(one.status(), *this, positions.subspan(i, 1));
      }
      made.push_back(*std::move(one));
    }
    return made;
  }

  // What the threads use. It outlives this coroutine if an execution context is
  // destroyed.
  struct Work {
    std::shared_ptr<const Function> function;
    std::vector<In> items;
    std::vector<std::optional<Out>> made;

    absl::Status Do(size_t i) {
      absl::StatusOr<Out> one =
          internal::CallFunction<Out>(*function, std::move(items[i]));
      if (!one.ok()) return one.status();
      made[i].emplace(*std::move(one));
      return absl::OkStatus();
    }
  };

  Task<std::vector<Out>> ApplyOnThreads(
      std::vector<In> items, std::span<const Position> positions) const {
    const internal::BusyCall call(this->busy_time());
    auto work = std::make_shared<Work>();
    work->function = function_;
    work->items = std::move(items);
    work->made.resize(work->items.size());
    std::function<absl::Status(size_t)> each = [work](size_t i) {
      return work->Do(i);
    };
    size_t failed = 0;
    absl::Status done = co_await threads_->ForEach(work->items.size(),
                                                   std::move(each), &failed);
    if (!done.ok()) {
      co_return internal::AtItems(done, *this, positions.subspan(failed, 1));
    }
    std::vector<Out> made;
    made.reserve(work->made.size());
    for (std::optional<Out>& one : work->made) made.push_back(*std::move(one));
    co_return made;
  }

  const std::string name_;
  const DatasetPtr<In> child_;
  const std::shared_ptr<const Function> function_;
  const std::shared_ptr<internal::WorkerThreads> threads_;  // null: none
};

// Returns a dataset of function(item); null if `dataset` is. `function` takes
// an In by value and returns an Out or a StatusOr<Out>.
//
// function: must be pure, for determinism, and may run on several threads at
//     once. An exception it throws becomes a status: ResourceExhausted for
//     bad_alloc, otherwise Internal, as does Cancelled. The messages of its
//     errors begin with the name, the item and the epoch.
// name: identifies the function in the fingerprint; choose a new name when the
//     function's results change.
// options: on how many threads the function runs. With `parallel`, a loader
//     that prefetches keeps the threads busy with several batches at once, so
//     state at least as many LoaderOptions::prefetch_batches. Results and
//     errors are the same for every number of threads.
// Cancellation: waits for calls in progress; without `parallel`, for those of
//     all items that were asked for together.
template <class Out, class In, class Function>
DatasetPtr<Out> Map(std::string name, DatasetPtr<In> dataset, Function function,
                    const MapOptions& options = MapOptions()) {
  if (dataset == nullptr) return nullptr;
  return std::make_shared<MappedDataset<In, Out>>(
      std::move(name), std::move(dataset), std::move(function), options);
}

namespace internal {

NodeIdentity ZipIdentity(size_t children);
uint64_t ZipFingerprint(std::span<const NamedNode> children);
// Returns InvalidArgument if a child is missing, if two have the same name, or
// if their lengths are final and differ.
absl::Status CheckZip(std::span<const NamedNode> children);
// Returns the readable length of all children together. It is not final while
// lengths differ.
LengthState ZipLength(std::span<const NamedNode> children);
// Returns the error for lengths that can no longer become equal; OK if they
// can.
absl::Status CheckZipLengths(std::span<const NamedNode> children);

}  // namespace internal

// Item i is the tuple of the children's items i. Created by Zip().
template <class... Ts>
class ZippedDataset final : public AsyncDataset<std::tuple<Ts...>>,
                            public internal::OnlyComputes {
 public:
  using Item = std::tuple<Ts...>;

  explicit ZippedDataset(NamedDataset<Ts>... children)
      : children_(std::move(children)...) {}

  std::string name() const override { return "zip"; }
  std::vector<NamedNode> children() const override {
    return std::apply(
        [](const auto&... child) {
          return std::vector<NamedNode>{{child.name, child.dataset.get()}...};
        },
        children_);
  }
  std::shared_ptr<const IndexMap> map() const override {
    return internal::IdentityMap(length_now());
  }
  bool makes_items() const override { return true; }
  uint64_t fingerprint() const override {
    return internal::ZipFingerprint(children());
  }
  std::optional<NodeIdentity> identity() const override {
    return internal::ZipIdentity(sizeof...(Ts));
  }
  LengthState length_now() const override {
    return internal::ZipLength(children());
  }

  Task<std::vector<Item>> GetBatch(
      std::span<const Index> indices) const override {
    const std::vector<Position> positions = internal::WholeItems(indices);
    absl::StatusOr<std::vector<Item>> items = co_await GetAt(positions);
    co_return items;
  }

  Task<std::vector<Item>> GetAt(
      std::span<const Position> positions) const override {
    std::vector<Item> items(positions.size());
    absl::Status whole = internal::CutItems(*this, positions, &items);
    if (!whole.ok()) co_return whole;
    absl::StatusOr<uint64_t> readable =
        co_await WaitForLength(internal::LengthNeeded(positions));
    if (!readable.ok()) co_return readable.status();
    absl::Status in_range = internal::CheckInRange(
        *this, internal::IdentityMap(length_now())->length(), false, positions);
    if (!in_range.ok()) co_return in_range;
    std::vector<Task<>> asks;
    AddAsks(positions, &items, &asks, std::index_sequence_for<Ts...>());
    absl::Status asked = co_await WhenAll(std::move(asks));
    if (!asked.ok()) co_return asked;
    co_return items;
  }

  Task<uint64_t> WaitForLength(uint64_t n) const override {
    while (true) {
      // Read before the lengths are compared, so that growth is not missed.
      const LengthState now = length_now();
      if (now.readable >= n || now.is_final) co_return now.readable;
      absl::Status can_agree = internal::CheckZipLengths(children());
      if (!can_agree.ok()) co_return can_agree;
      std::vector<Task<>> waits;
      AddWaits(now.readable + 1, &waits, std::index_sequence_for<Ts...>());
      absl::Status waited = co_await WhenAll(std::move(waits));
      if (!waited.ok()) co_return waited;
    }
  }

  DatasetPtr<Item> WithSeed(uint64_t seed) const override {
    auto seeded = std::apply(
        [seed](const auto&... child) {
          return std::make_shared<ZippedDataset>(
              NamedDataset<Ts>{child.name, child.dataset->WithSeed(seed)}...);
        },
        children_);
    if (seeded->HasSameChildren(*this)) return this->shared_from_this();
    return seeded;
  }

 private:
  bool HasSameChildren(const ZippedDataset& other) const {
    const std::vector<NamedNode> ours = children();
    const std::vector<NamedNode> theirs = other.children();
    for (size_t i = 0; i < ours.size(); ++i) {
      if (ours[i].node != theirs[i].node) return false;
    }
    return true;
  }

  template <size_t... places>
  void AddAsks(std::span<const Position> positions, std::vector<Item>* items,
               std::vector<Task<>>* asks,
               std::index_sequence<places...>) const {
    (asks->push_back(
         AskChild<places>(&std::get<places>(children_), positions, items)),
     ...);
  }
  template <size_t... places>
  void AddWaits(uint64_t n, std::vector<Task<>>* waits,
                std::index_sequence<places...>) const {
    (waits->push_back(WaitForChild(&std::get<places>(children_), n)), ...);
  }

  template <size_t place, class T>
  static Task<> AskChild(const NamedDataset<T>* child,
                         std::span<const Position> positions,
                         std::vector<Item>* items) {
    absl::StatusOr<std::vector<T>> got =
        co_await internal::Ask(child->dataset, positions);
    if (!got.ok()) co_return internal::PrependName(got.status(), child->name);
    if (got->size() != positions.size()) {
      co_return internal::CountError(child->name, got->size(),
                                     positions.size());
    }
    for (size_t i = 0; i < got->size(); ++i) {
      std::get<place>((*items)[i]) = std::move((*got)[i]);
    }
    co_return absl::OkStatus();
  }
  template <class T>
  static Task<> WaitForChild(const NamedDataset<T>* child, uint64_t n) {
    absl::StatusOr<uint64_t> grown =
        co_await internal::AskLength(child->dataset, n);
    co_return internal::PrependName(grown.status(), child->name);
  }

  const std::tuple<NamedDataset<Ts>...> children_;
};

// Returns a dataset of tuples: item i has item i of every child, in the order
// given. Map() turns a tuple into a struct. Children without a name are called
// "0", "1", ... by their place.
//
// Order: shuffle the result, not the children. (All children have the node's
//     own seed, so equal shuffles of children of the same length still agree.)
// Provenance: an item is traced to the first child's item; the steps that read
//     an item can be found for every child.
// Growing dataset: what all children have can be read.
// Errors: InvalidArgument if lengths that are final differ, since items would
//     then be lost in silence; Take() the same number of each. If this is known
//     only later, it is the error of a request beyond the shorter one.
//     InvalidArgument also for a part of an item.
template <class... Ts>
absl::StatusOr<DatasetPtr<std::tuple<Ts...>>> Zip(
    NamedDataset<Ts>... children) requires(sizeof...(Ts) > 0) {
  size_t place = 0;
  const auto fill_in = [&place](std::string* name) {
    if (name->empty()) *name = std::to_string(place);
    ++place;
  };
  (fill_in(&children.name), ...);
  const std::vector<NamedNode> nodes = {
      {children.name, children.dataset.get()}...};
  absl::Status checked = internal::CheckZip(nodes);
  if (!checked.ok()) return checked;
  return DatasetPtr<std::tuple<Ts...>>(
      std::make_shared<ZippedDataset<Ts...>>(std::move(children)...));
}
template <class... Ts>
absl::StatusOr<DatasetPtr<std::tuple<Ts...>>>
Zip(std::shared_ptr<const AsyncDataset<Ts>>... datasets) requires(
    sizeof...(Ts) > 0) {
  return Zip(NamedDataset<Ts>{"", std::move(datasets)}...);
}

}  // namespace poniente

#endif  // PONIENTE_MAPPED_DATASET_H_
