// SPDX-License-Identifier: Apache-2.0
// A dataset that applies a function to another dataset's items.

#ifndef PONIENTE_MAPPED_DATASET_H_
#define PONIENTE_MAPPED_DATASET_H_

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

#include "poniente/async_dataset.h"
#include "poniente/extend/index_map_dataset.h"

namespace poniente {

namespace internal {

NodeIdentity MappedIdentity(std::string_view name);
uint64_t MappedFingerprint(std::string_view name, const DatasetNode& child);
// Returns the map from each index to the same index of the only child.
std::shared_ptr<const IndexMap> IdentityMap(const LengthState& length);

}  // namespace internal

// Item i is function(item i of the child). Created by Map().
template <class In, class Out>
class MappedDataset final : public AsyncDataset<Out> {
 public:
  using Function = std::function<absl::StatusOr<Out>(In)>;

  MappedDataset(std::string name, DatasetPtr<In> child, Function function)
      : name_(std::move(name)),
        child_(std::move(child)),
        function_(std::move(function)) {}

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
    return internal::MappedIdentity(name_);
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
    absl::StatusOr<std::vector<In>> items =
        co_await internal::Ask(child_, positions);
    if (!items.ok()) co_return items.status();
    if (items->size() != positions.size()) {
      co_return internal::CountError(child_->name(), items->size(),
                                     positions.size());
    }
    co_return Apply(*std::move(items), positions);
  }
  Task<uint64_t> WaitForLength(uint64_t n) const override {
    return child_->WaitForLength(n);
  }
  DatasetPtr<Out> WithSeed(uint64_t seed) const override {
    DatasetPtr<In> child = child_->WithSeed(seed);
    if (child == child_) return this->shared_from_this();
    return std::make_shared<MappedDataset>(name_, std::move(child), function_);
  }

 private:
  absl::StatusOr<std::vector<Out>> Apply(
      std::vector<In> items, std::span<const Position> positions) const {
    const internal::BusyCall call(this->busy_time());
    std::vector<Out> made;
    made.reserve(items.size());
    for (size_t i = 0; i < items.size(); ++i) {
      absl::StatusOr<Out> one = Call(std::move(items[i]));
      if (!one.ok()) {
        return internal::AtItems(one.status(), *this, positions.subspan(i, 1));
      }
      made.push_back(*std::move(one));
    }
    return made;
  }

  absl::StatusOr<Out> Call(In item) const {
    try {
      return function_(std::move(item));
    } catch (...) {
      return internal::StatusFromException(std::current_exception());
    }
  }

  const std::string name_;
  const DatasetPtr<In> child_;
  const Function function_;
};

// Returns a dataset of function(item). `function` takes an In by value and
// returns an Out or a StatusOr<Out>.
//
// function: must be pure, for determinism, and may run on several threads at
//     once. An exception it throws becomes a status: ResourceExhausted for
//     bad_alloc, otherwise Internal. The messages of its errors begin with the
//     name, the item and the epoch.
// name: identifies the function in the fingerprint; choose a new name when the
//     function's results change.
template <class Out, class In, class Function>
DatasetPtr<Out> Map(std::string name, DatasetPtr<In> dataset,
                    Function function) {
  return std::make_shared<MappedDataset<In, Out>>(
      std::move(name), std::move(dataset), std::move(function));
}

}  // namespace poniente

#endif  // PONIENTE_MAPPED_DATASET_H_
