// SPDX-License-Identifier: Apache-2.0
// A dataset that applies a function to each item of another dataset.

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
  // thread that asks for the items, which for a loader is its own. At most
  // 1024: with more, every request for items is InvalidArgument. Never changes
  // an item or its order.
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
    if (threads_ != nullptr) {
      absl::Status allowed =
          internal::CheckParallel(name_, threads_->threads());
      if (!allowed.ok()) co_return allowed;
    }
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
  constexpr bool kFits =
      std::is_invocable_r_v<absl::StatusOr<Out>, Function&, In>;
  constexpr bool kIsCopyable = std::is_copy_constructible_v<Function>;
  static_assert(kFits,
                "Map<Out>(): the function must take an item of the dataset by "
                "value, and return an Out or a StatusOr<Out>");
  static_assert(kIsCopyable,
                "Map<Out>(): the function must be copyable; keep what cannot "
                "be copied in a std::shared_ptr");
  if constexpr (kFits && kIsCopyable) {  // else more errors would follow
    if (dataset == nullptr) return nullptr;
    return std::make_shared<MappedDataset<In, Out>>(
        std::move(name), std::move(dataset), std::move(function), options);
  } else {
    return nullptr;
  }
}

}  // namespace poniente

#endif  // PONIENTE_MAPPED_DATASET_H_
