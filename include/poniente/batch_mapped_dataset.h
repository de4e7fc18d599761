// SPDX-License-Identifier: Apache-2.0
// A dataset that applies a function to groups of another dataset's items.

#ifndef PONIENTE_BATCH_MAPPED_DATASET_H_
#define PONIENTE_BATCH_MAPPED_DATASET_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
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

// What MapBatches() makes of which items, and how.
struct MapBatchesOptions {
  // Items in a group: group q is items [q * group_items, (q + 1) * group_items)
  // of the dataset below. The last group has the rest. From 1 to 2^32; there is
  // no default.
  uint64_t group_items = 0;
  // Items that the function makes of each group, also of a short one. Default:
  // 0, as many as it gets. At most 2^32.
  uint64_t made_items = 0;
  // As MapOptions::parallel; the threads work on different groups. At most
  // 1024.
  uint32_t parallel = 1;
};

namespace internal {

// One call of the function of a MapBatches(), for one group.
struct GroupCall {
  uint64_t number = 0;  // of the group
  uint64_t epoch = 0;
  size_t begin = 0;  // of its items among GroupCalls::positions()
  size_t size = 0;
  // An item that is asked for.
  struct Wanted {
    size_t request = 0;  // where it is put
    uint64_t place = 0;  // among those that the group makes
  };
  std::vector<Wanted> wanted = {};
};

// The groups that a request needs, each once, unless the same item is asked for
// several times.
class GroupCalls {
 public:
  // REQUIRES: the groups of `positions` exist.
  GroupCalls(std::span<const Position> positions, const LengthState& child,
             const MapBatchesOptions& options);

  // Returns the items of all groups, call after call.
  std::span<const Position> positions() const { return positions_; }
  std::span<const GroupCall> calls() const { return calls_; }
  // Returns `error` with dataset, group and items in front.
  absl::Status AtGroup(const absl::Status& error, std::string_view name,
                       const GroupCall& call) const;
  // Returns an error unless the function has made as many items as it must.
  absl::Status CheckMade(size_t made, std::string_view name,
                         const GroupCall& call) const;

 private:
  const uint64_t made_by_group_;
  const bool makes_as_many_;
  std::vector<GroupCall> calls_;
  std::vector<Position> positions_;
};

absl::Status CheckGroups(std::string_view name, const DatasetNode* child,
                         const MapBatchesOptions& options);
NodeIdentity GroupsIdentity(std::string_view name,
                            const MapBatchesOptions& options);
uint64_t GroupsFingerprint(std::string_view name, const DatasetNode& child,
                           const MapBatchesOptions& options);
std::shared_ptr<const IndexMap> MapOfBatches(const LengthState& child,
                                             const MapBatchesOptions& options);
LengthState LengthOfBatches(const LengthState& child,
                            const MapBatchesOptions& options);
// Returns how many items the child must have so that `made` items can be made.
uint64_t ItemsForBatches(uint64_t made, const MapBatchesOptions& options);

}  // namespace internal

// Items made from groups of consecutive items. Created by MapBatches().
template <class In, class Out>
class BatchMappedDataset final : public AsyncDataset<Out>,
                                 public internal::OnlyComputes {
 public:
  using Function =
      std::function<absl::StatusOr<std::vector<Out>>(std::vector<In>)>;

  BatchMappedDataset(std::string name, DatasetPtr<In> child,
                     std::shared_ptr<const Function> function,
                     std::shared_ptr<internal::WorkerThreads> threads,
                     const MapBatchesOptions& options)
      : name_(std::move(name)),
        child_(std::move(child)),
        function_(std::move(function)),
        threads_(std::move(threads)),
        options_(options) {}

  std::string name() const override { return name_; }
  std::vector<NamedNode> children() const override {
    return {{"", child_.get()}};
  }
  std::shared_ptr<const IndexMap> map() const override {
    return internal::MapOfBatches(child_->length_now(), options_);
  }
  bool makes_items() const override { return true; }
  const Vocabulary* vocabulary() const override {
    return std::is_same_v<In, Out> ? child_->vocabulary() : nullptr;
  }
  uint64_t fingerprint() const override {
    return internal::GroupsFingerprint(name_, *child_, options_);
  }
  std::optional<NodeIdentity> identity() const override {
    return internal::GroupsIdentity(name_, options_);
  }
  LengthState length_now() const override {
    return internal::LengthOfBatches(child_->length_now(), options_);
  }

  Task<std::vector<Out>> GetBatch(
      std::span<const Index> indices) const override {
    const std::vector<Position> positions = internal::WholeItems(indices);
    absl::StatusOr<std::vector<Out>> items = co_await Make(positions);
    co_return items;
  }
  Task<std::vector<Out>> GetAt(
      std::span<const Position> positions) const override {
    const std::vector<Position> whole = internal::WithoutParts(positions);
    absl::StatusOr<std::vector<Out>> items = co_await Make(whole);
    if (!items.ok()) co_return items.status();
    absl::Status cut = internal::CutItems(*this, positions, &*items);
    if (!cut.ok()) co_return cut;
    co_return items;
  }
  Task<uint64_t> WaitForLength(uint64_t n) const override {
    absl::StatusOr<uint64_t> below = co_await internal::AskLength(
        child_, internal::ItemsForBatches(n, options_));
    if (!below.ok()) co_return below.status();
    co_return length_now().readable;
  }
  DatasetPtr<Out> WithSeed(uint64_t seed) const override {
    DatasetPtr<In> child = child_->WithSeed(seed);
    if (child == child_) return this->shared_from_this();
    return std::make_shared<BatchMappedDataset>(name_, std::move(child),
                                                function_, threads_, options_);
  }

 private:
  // What the calls use, as MappedDataset::Work.
  struct Work {
    Work(std::span<const Position> positions, const LengthState& child,
         const MapBatchesOptions& options)
        : calls(positions, child, options), made(positions.size()) {}

    absl::Status Do(size_t number) {
      const internal::GroupCall& call = calls.calls()[number];
      const auto begin = items.begin() + static_cast<ptrdiff_t>(call.begin);
      std::vector<In> group(
          std::make_move_iterator(begin),
          std::make_move_iterator(begin + static_cast<ptrdiff_t>(call.size)));
      absl::StatusOr<std::vector<Out>> all =
          internal::CallFunction<std::vector<Out>>(*function, std::move(group));
      if (!all.ok()) return calls.AtGroup(all.status(), name, call);
      absl::Status checked = calls.CheckMade(all->size(), name, call);
      if (!checked.ok()) return checked;
      for (const internal::GroupCall::Wanted& one : call.wanted) {
        made[one.request].emplace(std::move((*all)[one.place]));
      }
      return absl::OkStatus();
    }

    const internal::GroupCalls calls;
    std::string name;
    std::shared_ptr<const Function> function;
    std::vector<In> items;
    std::vector<std::optional<Out>> made;
  };

  // `positions`: of whole items.
  Task<std::vector<Out>> Make(std::span<const Position> positions) const {
    absl::StatusOr<uint64_t> readable =
        co_await WaitForLength(internal::LengthNeeded(positions));
    if (!readable.ok()) co_return readable.status();
    const LengthState below = child_->length_now();
    absl::Status in_range = internal::CheckInRange(
        *this, internal::MapOfBatches(below, options_)->length(), false,
        positions);
    if (!in_range.ok()) co_return in_range;
    auto work = std::make_shared<Work>(positions, below, options_);
    work->name = name_;
    work->function = function_;
    absl::StatusOr<std::vector<In>> items =
        co_await internal::Ask(child_, work->calls.positions());
    if (!items.ok()) co_return items.status();
    if (items->size() != work->calls.positions().size()) {
      co_return internal::CountError(child_->name(), items->size(),
                                     work->calls.positions().size());
    }
    work->items = *std::move(items);
    absl::Status called = co_await CallAll(work);
    if (!called.ok()) co_return called;
    std::vector<Out> made;
    made.reserve(work->made.size());
    for (std::optional<Out>& one : work->made) made.push_back(*std::move(one));
    co_return made;
  }

  Task<> CallAll(std::shared_ptr<Work> work) const {
    const internal::BusyCall busy(this->busy_time());
    const size_t count = work->calls.calls().size();
    if (threads_ == nullptr || count == 0) {
      for (size_t i = 0; i < count; ++i) {
        absl::Status done = work->Do(i);
        if (!done.ok()) co_return done;
      }
      co_return absl::OkStatus();
    }
    std::function<absl::Status(size_t)> each = [work](size_t i) {
      return work->Do(i);
    };
    size_t failed = 0;
    absl::Status done =
        co_await threads_->ForEach(count, std::move(each), &failed);
    co_return done;
  }

  const std::string name_;
  const DatasetPtr<In> child_;
  const std::shared_ptr<const Function> function_;
  const std::shared_ptr<internal::WorkerThreads> threads_;  // null: none
  const MapBatchesOptions options_;
};

// Returns a dataset of what `function` makes of groups of consecutive items:
// tokenizing, decoding or packing that is cheaper for many items at once, or
// one item out of several. `function` takes a std::vector<In> by value and
// returns a std::vector<Out> or a StatusOr of one.
//
// Groups: options.group_items consecutive items of one epoch, counted from item
//     0, whatever is asked for. So item i of the result depends on i alone:
//     with the default made_items, it is item i % group_items of what the
//     function makes of group i / group_items.
// Cost: a request reads all items of every group that it touches, and calls the
//     function once for each. Put a shuffle below MapBatches(), not above it,
//     or a Cache() above it.
// Provenance: an item is traced to the item of its group at the same place;
//     steps that read an item are those that read anything of its group.
// Growing dataset: groups can be read once they are complete; the last, short
//     one when the length is final.
// function, name: as for Map(). Errors begin with the name, the group and the
//     epoch. It is Internal if the function makes another number of items.
// Errors: InvalidArgument for numbers that MapBatchesOptions does not allow.
template <class Out, class In, class Function>
absl::StatusOr<DatasetPtr<Out>> MapBatches(std::string name,
                                           DatasetPtr<In> dataset,
                                           const MapBatchesOptions& options,
                                           Function function) {
  using Mapped = BatchMappedDataset<In, Out>;
  constexpr bool kFits = std::is_invocable_r_v<absl::StatusOr<std::vector<Out>>,
                                               Function&, std::vector<In>>;
  constexpr bool kIsCopyable = std::is_copy_constructible_v<Function>;
  static_assert(kFits,
                "MapBatches<Out>(): the function must take a std::vector of "
                "items by value, and return a std::vector<Out> or a StatusOr "
                "of one");
  static_assert(kIsCopyable,
                "MapBatches<Out>(): the function must be copyable; keep what "
                "cannot be copied in a std::shared_ptr");
  if constexpr (kFits && kIsCopyable) {  // else more errors would follow
    absl::Status checked = internal::CheckGroups(name, dataset.get(), options);
    if (!checked.ok()) return checked;
    return DatasetPtr<Out>(std::make_shared<Mapped>(
        std::move(name), std::move(dataset),
        std::make_shared<const typename Mapped::Function>(std::move(function)),
        internal::WorkerThreads::Create(options.parallel), options));
  } else {
    return DatasetPtr<Out>();
  }
}

}  // namespace poniente

#endif  // PONIENTE_BATCH_MAPPED_DATASET_H_
