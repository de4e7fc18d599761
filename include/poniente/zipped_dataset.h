// SPDX-License-Identifier: Apache-2.0
// A dataset that puts the items of several datasets together, by their index.

#ifndef PONIENTE_ZIPPED_DATASET_H_
#define PONIENTE_ZIPPED_DATASET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/async_dataset.h"
#include "poniente/extend/index_map_dataset.h"
#include "poniente/mapped_dataset.h"

namespace poniente {

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
      co_return internal::PrependName(
          internal::CountError(child->dataset->name(), got->size(),
                               positions.size()),
          child->name);
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

#endif  // PONIENTE_ZIPPED_DATASET_H_
