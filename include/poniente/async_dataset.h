// SPDX-License-Identifier: Apache-2.0
// The interface of every dataset: random access by index, as coroutines.

#ifndef PONIENTE_ASYNC_DATASET_H_
#define PONIENTE_ASYNC_DATASET_H_

#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "poniente/extend/busy_time.h"
#include "poniente/extend/dataset_node.h"
#include "poniente/extend/index_map.h"
#include "poniente/task.h"

namespace poniente {

template <class T>
class AsyncDataset;

// Datasets are immutable and shared: one dataset may be part of several trees.
template <class T>
using DatasetPtr = std::shared_ptr<const AsyncDataset<T>>;

namespace internal {

// Returns the error for a part of an item that cannot be cut.
absl::Status PartOfItemError(const DatasetNode& node);
// Returns OK if an item of `tokens` tokens has the part that `position` asks
// for, else OutOfRange. REQUIRES: `position` asks for a part.
absl::Status CheckPart(const DatasetNode& node, const Position& position,
                       uint64_t tokens);
// Reduces each window to the part that its position asks for.
absl::Status CutToParts(const DatasetNode& node,
                        std::span<const Position> positions,
                        std::vector<TokenWindow>* windows);
// Returns the positions of the same items, whole.
std::vector<Position> WithoutParts(std::span<const Position> positions);
// Reduces each item to the part that its position asks for. InvalidArgument if
// a part is asked for and T has no parts.
template <class T>
absl::Status CutItems(const DatasetNode& node,
                      std::span<const Position> positions,
                      std::vector<T>* items);
// Returns the error of FinalLength() for an endless dataset.
absl::Status EndlessError(const DatasetNode& node);
// Returns OK if every index is below the readable length of `node`, else
// OutOfRange.
absl::Status CheckReadable(const DatasetNode& node,
                           std::span<const Index> indices);
// Returns `error` with the node's name in front of the message and, if there is
// only one position, its item and epoch. Returns Cancelled unchanged.
absl::Status AtItems(const absl::Status& error, const DatasetNode& node,
                     std::span<const Position> positions);

// Returns the items at `positions`; nodes and loaders call this in place of
// GetAt(). If the dataset throws, returns the status that stands for the
// exception, with the dataset's name and the item in front of the message: of
// several, the first one that throws when it is asked for alone. Counts the
// time, if the dataset's CountTime() has been called.
template <class T>
Task<std::vector<T>> Ask(DatasetPtr<T> dataset,
                         std::span<const Position> positions);
// The same for WaitForLength().
template <class T>
Task<uint64_t> AskLength(DatasetPtr<T> dataset, uint64_t n);

// The error of a dataset that grows and does not override WaitForLength().
absl::Status CannotWaitError(const DatasetNode& node, uint64_t n);

}  // namespace internal

// Items 0, 1, 2, ..., which can be read in any order.
//
// T: default constructible and movable.
// Start: a call does nothing until it is awaited. Spans are borrowed until the
//     awaited call returns.
// Determinism: item i depends on i alone, not on the caller, the time, or the
//     other indices of a request.
// Ownership: created with std::make_shared and shared as DatasetPtr<T>, from
//     which Map(), Shuffle() and the like deduce T.
// Thread safety: any number of threads and executors at once.
// Errors: OutOfRange for an index at or past the final length; errors of the
//     leaves, with the names of the nodes above them prepended. The node above
//     turns an exception into a status: ResourceExhausted for bad_alloc,
//     otherwise Internal. Loaders call name(), length_now() and fingerprint()
//     when they are created, and return what these throw.
// Cancellation: returns Cancelled once all the work it started has ended.
template <class T>
class AsyncDataset : public DatasetNode,
                     public std::enable_shared_from_this<AsyncDataset<T>> {
  static_assert(std::default_initializable<T> && std::movable<T>,
                "AsyncDataset<T>: T must be default constructible and movable; "
                "wrap other types, for example in a std::shared_ptr");

 public:
  using Item = T;

  // Returns the items at `indices`, in that order; duplicates are allowed. On a
  // growing dataset, waits until the items exist. Every dataset overrides this.
  virtual Task<std::vector<T>> GetBatch(
      std::span<const Index> indices) const = 0;

  // Returns one item.
  Task<T> Get(Index index) const;

  // Returns the items at `positions`: each position is an index, an epoch and
  // the part wanted. Nodes call this on their children. By default, calls
  // GetBatch(), which ignores the epoch, and then cuts the parts out of token
  // windows.
  virtual Task<std::vector<T>> GetAt(std::span<const Position> positions) const;

  // Returns the number of items, once it can no longer change.
  // FailedPrecondition for an endless dataset.
  virtual Task<uint64_t> FinalLength() const;

  // Waits until at least `n` items are readable or the length is final, then
  // returns the readable length. Does not poll. The default is for datasets
  // whose length is final from the start; of others, it is Unimplemented.
  virtual Task<uint64_t> WaitForLength(uint64_t n) const;

  // Returns the readable length now, without waiting; nullopt if endless.
  std::optional<uint64_t> CurrentLength() const {
    const LengthState now = length_now();
    if (now.is_endless) return std::nullopt;
    return now.readable;
  }

  // Returns whether there will ever be a final length.
  bool IsFinite() const { return !length_now().is_endless; }

  // Returns the same dataset with its order keyed by `seed`, which a parent
  // derives from its own seed; all data is shared. Returns this dataset itself
  // if no order below depends on a seed, or if its seed was stated when it was
  // created.
  virtual DatasetPtr<T> WithSeed(uint64_t seed) const {
    (void)seed;
    return this->shared_from_this();
  }

  // Run GetBatch() and Get() to the end on the calling thread, for code that is
  // not a coroutine.
  absl::StatusOr<std::vector<T>> GetBatchBlocking(
      std::span<const Index> indices) const {
    return RunBlocking(GetBatch(indices));
  }
  absl::StatusOr<T> GetBlocking(Index index) const {
    return RunBlocking(Get(index));
  }
};

template <class T>
Task<T> AsyncDataset<T>::Get(Index index) const {
  absl::StatusOr<std::vector<T>> items =
      co_await GetBatch(std::span<const Index>(&index, 1));
  if (!items.ok()) co_return items.status();
  co_return std::move(items->front());
}

template <class T>
Task<std::vector<T>> internal::Ask(DatasetPtr<T> dataset,
                                   std::span<const Position> positions) {
  // A node that makes items counts the time of its function itself.
  const BusyCall call(dataset->makes_items() ? nullptr : dataset->busy_time());
  absl::StatusOr<std::vector<T>> items;
  bool is_thrown = false;
  try {
    items = co_await dataset->GetAt(positions);
  } catch (...) {
    is_thrown = true;
    items = AtItems(StatusFromException(std::current_exception()), *dataset,
                    positions);
  }
  if (!is_thrown || positions.size() < 2 ||
      absl::IsResourceExhausted(items.status())) {
    co_return items;
  }
  for (size_t i = 0; i < positions.size(); ++i) {
    const std::span<const Position> one = positions.subspan(i, 1);
    try {
      absl::StatusOr<std::vector<T>> alone = co_await dataset->GetAt(one);
      if (absl::IsCancelled(alone.status())) break;
    } catch (...) {
      items =
          AtItems(StatusFromException(std::current_exception()), *dataset, one);
      break;
    }
  }
  co_return items;
}

template <class T>
Task<uint64_t> internal::AskLength(DatasetPtr<T> dataset, uint64_t n) {
  absl::StatusOr<uint64_t> length;
  try {
    length = co_await dataset->WaitForLength(n);
  } catch (...) {
    length =
        AtItems(StatusFromException(std::current_exception()), *dataset, {});
  }
  co_return length;
}

template <class T>
absl::Status internal::CutItems(const DatasetNode& node,
                                std::span<const Position> positions,
                                std::vector<T>* items) {
  if constexpr (std::is_same_v<T, TokenWindow>) {
    return CutToParts(node, positions, items);
  } else {
    (void)items;
    for (const Position& position : positions) {
      if (position.part_length != kWholeItem) return PartOfItemError(node);
    }
    return absl::OkStatus();
  }
}

template <class T>
Task<std::vector<T>> AsyncDataset<T>::GetAt(
    std::span<const Position> positions) const {
  std::vector<Index> indices;
  indices.reserve(positions.size());
  for (const Position& position : positions) {
    const bool is_cut = position.part_length != kWholeItem;
    if (is_cut && !std::is_same_v<T, TokenWindow>) {
      co_return internal::PartOfItemError(*this);
    }
    indices.push_back(position.index);
  }
  absl::StatusOr<std::vector<T>> items = co_await GetBatch(indices);
  if constexpr (std::is_same_v<T, TokenWindow>) {
    if (items.ok()) {
      absl::Status cut = internal::CutToParts(*this, positions, &*items);
      if (!cut.ok()) co_return cut;
    }
  }
  co_return items;
}

template <class T>
Task<uint64_t> AsyncDataset<T>::WaitForLength(uint64_t n) const {
  const LengthState now = length_now();
  if (now.readable < n && !now.is_final && !now.is_endless) {
    co_return internal::CannotWaitError(*this, n);
  }
  co_return now.readable;
}

template <class T>
Task<uint64_t> AsyncDataset<T>::FinalLength() const {
  while (true) {
    const LengthState now = length_now();
    if (now.is_endless) co_return internal::EndlessError(*this);
    if (now.is_final) co_return now.readable;
    absl::StatusOr<uint64_t> grown = co_await WaitForLength(now.readable + 1);
    if (!grown.ok()) co_return grown.status();
  }
}

}  // namespace poniente

#endif  // PONIENTE_ASYNC_DATASET_H_
