// SPDX-License-Identifier: Apache-2.0
// The interface of every dataset: random access by index, as coroutines.

#ifndef PONIENTE_ASYNC_DATASET_H_
#define PONIENTE_ASYNC_DATASET_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "poniente/extend/dataset_node.h"
#include "poniente/extend/index_map.h"
#include "poniente/task.h"

namespace poniente {

template <class T>
class AsyncDataset;

// Datasets are immutable and shared: one may sit in several trees.
template <class T>
using DatasetPtr = std::shared_ptr<const AsyncDataset<T>>;

namespace internal {

absl::Status PartOfItemError(const DatasetNode& node);
// Ok if an item of so many tokens has the part that `position` asks for, else
// OutOfRange. REQUIRES: it asks for a part.
absl::Status CheckPart(const DatasetNode& node, const Position& position,
                       uint64_t tokens);
// Leaves of each window the part that its position asks for.
absl::Status CutToParts(const DatasetNode& node,
                        std::span<const Position> positions,
                        std::vector<TokenWindow>* windows);
absl::Status EndlessError(const DatasetNode& node);
// Ok if every index is below node's readable length, else OutOfRange.
absl::Status CheckReadable(const DatasetNode& node,
                           std::span<const Index> indices);

}  // namespace internal

// Items 0, 1, 2, ... that can be asked for in any order.
//
// T: default constructible and movable.
// Start: a call does nothing until it is awaited. Spans are borrowed until the
//     awaited call returns.
// Determinism: item i is the same whoever asks, whenever, in whatever company.
// Ownership: made with std::make_shared, shared as DatasetPtr<T>.
// Thread safety: any number of threads and executors at once.
// Errors: OutOfRange for an index at or past the final length; what the leaves
//     say, with the names of the nodes on the way in front.
// Cancellation: Cancelled, once whatever was started has ended.
template <class T>
class AsyncDataset : public DatasetNode,
                     public std::enable_shared_from_this<AsyncDataset<T>> {
 public:
  using Item = T;

  // The items at `indices`, in that order; duplicates are allowed. Of a growing
  // dataset, waits for those that are not there yet. The call to override.
  virtual Task<std::vector<T>> GetBatch(
      std::span<const Index> indices) const = 0;

  // One item.
  Task<T> Get(Index index) const;

  // What nodes ask each other: an index with its epoch and the part wanted.
  // By default, whole items by GetBatch, in every epoch the same; of token
  // windows, the part is cut out afterwards.
  virtual Task<std::vector<T>> GetAt(std::span<const Position> positions) const;

  // The number of items, once it can no longer change; FailedPrecondition for
  // endless datasets.
  virtual Task<uint64_t> FinalLength() const;

  // Resumes when at least n items are readable, or when the length is final;
  // gives the readable length. No polling. By default, for lengths that are
  // final from the start.
  virtual Task<uint64_t> WaitForLength(uint64_t n) const;

  // What is readable now, without waiting; nullopt if endless.
  std::optional<uint64_t> CurrentLength() const {
    const LengthState now = length_now();
    if (now.is_endless) return std::nullopt;
    return now.readable;
  }

  // Will there ever be a final length?
  bool IsFinite() const { return !length_now().is_endless; }

  // The same dataset with its order keyed by `seed`, which a parent derives
  // from its own; shares all data. Itself if no order below depends on a seed,
  // or if its seed was stated when it was made.
  virtual DatasetPtr<T> WithSeed(uint64_t seed) const {
    (void)seed;
    return this->shared_from_this();
  }

  // The same for plain code: run to the end on the calling thread.
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
  (void)n;
  co_return length_now().readable;
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
