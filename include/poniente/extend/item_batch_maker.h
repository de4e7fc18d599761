// SPDX-License-Identifier: Apache-2.0
// Makes the batches of an ItemLoader: the part of it that knows the types.

#ifndef PONIENTE_EXTEND_ITEM_BATCH_MAKER_H_
#define PONIENTE_EXTEND_ITEM_BATCH_MAKER_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/async_dataset.h"
#include "poniente/extend/index_map_dataset.h"
#include "poniente/extend/item_bytes.h"
#include "poniente/extend/prefetch_memory.h"
#include "poniente/extend/worker_threads.h"
#include "poniente/task.h"

namespace poniente::internal {

// A batch of any type, as a pointer to a KeptBatch.
struct MadeBatch {
  std::shared_ptr<void> batch = nullptr;
  uint64_t bytes = 0;
};

// Makes batches of any type.
class ItemBatchMaker {
 public:
  virtual ~ItemBatchMaker();
  virtual const DatasetNode& root() const = 0;
  // Whether functions of the user's see items or batches.
  virtual bool has_functions() const = 0;
  virtual Task<uint64_t> WaitForLength(uint64_t n) const = 0;
  // Makes one batch of the first counts[0] positions, another of the following
  // counts[1], and so on. Adds to `collating` the time that putting the items
  // together took. REQUIRES: counts is not empty.
  virtual Task<std::vector<MadeBatch>> Make(
      std::span<const Position> positions, std::span<const size_t> counts,
      std::chrono::nanoseconds* collating) const = 0;
};

// A batch as the loader keeps it: made, or as items that lie with those of
// other small batches. Where one thread allocates a batch and another one frees
// it, both wait for the allocator's lock, so whoever takes it allocates it.
template <class T, class Batch>
class KeptBatch {
 public:
  // Moving an item must not fail, as the batch would be lost.
  static constexpr bool kMayShare = std::is_same_v<Batch, std::vector<T>> &&
                                    std::is_nothrow_move_constructible_v<T> &&
                                    !std::is_same_v<T, bool>;
  struct Shared {
    T* items;
    size_t count;
    size_t behind;  // items of the batches behind it
  };

  explicit KeptBatch(Batch batch) : kept_(std::move(batch)) {}
  explicit KeptBatch(Shared shared) : kept_(shared) {}

  // Returns the room for Take(). Called before a batch is taken: if there is no
  // memory, none is lost.
  static absl::StatusOr<std::vector<T>> MakeRoom(size_t items) try {
    std::vector<T> room;
    room.reserve(items);
    return room;
  } catch (...) {
    return StatusFromException(std::current_exception());
  }

  // `room`: an empty vector with room for shared items.
  Batch Take(std::vector<T> room) {
    if constexpr (kMayShare) {
      if (const Shared* const shared = std::get_if<Shared>(&kept_)) {
        // The next batch is taken soon, and another core has written it.
        PrefetchMemory(shared->items + shared->count,
                       std::min(shared->count, shared->behind) * sizeof(T),
                       4096);
        room.insert(room.end(), std::make_move_iterator(shared->items),
                    std::make_move_iterator(shared->items + shared->count));
        return room;
      }
    }
    return std::get<Batch>(std::move(kept_));
  }

 private:
  std::variant<Shared, Batch> kept_;
};

template <class T, class Batch>
class ItemBatchMakerOf final : public ItemBatchMaker {
 public:
  using Collate = std::function<absl::StatusOr<Batch>(std::vector<T>)>;
  using BytesOf = std::function<uint64_t(const Batch&)>;

  // `most_items`: of a batch.
  ItemBatchMakerOf(DatasetPtr<T> root, uint64_t most_items, Collate collate,
                   BytesOf bytes_of)
      : root_(std::move(root)),
        collate_(std::move(collate)),
        has_functions_(collate_ || bytes_of),
        bytes_of_(bytes_of ? std::move(bytes_of) : DefaultBytesOf<Batch>()),
        is_small_(most_items <= kMostOfSmall),
        room_(Kept::kMayShare && is_small_ && !has_functions_ ? most_items
                                                              : 0) {}

  // For how many items whoever takes a batch must make room.
  size_t room() const { return room_; }
  const DatasetNode& root() const override { return *root_; }
  bool has_functions() const override { return has_functions_; }
  Task<uint64_t> WaitForLength(uint64_t n) const override {
    return AskLength(root_, n);
  }
  Task<std::vector<MadeBatch>> Make(
      std::span<const Position> positions, std::span<const size_t> counts,
      std::chrono::nanoseconds* collating) const override {
    // Small batches are asked for together. Items of larger ones take longer
    // to move into their batches than to be asked for.
    if (is_small_) co_return co_await MakePart(positions, counts, collating);
    std::vector<MadeBatch> all;
    all.reserve(counts.size());
    for (size_t i = 0; i < counts.size(); ++i) {
      absl::StatusOr<std::vector<MadeBatch>> made = co_await MakePart(
          positions.first(counts[i]), counts.subspan(i, 1), collating);
      if (!made.ok()) co_return made.status();
      positions = positions.subspan(counts[i]);
      all.push_back(std::move(made->front()));
    }
    co_return all;
  }

 private:
  using Kept = KeptBatch<T, Batch>;
  // Batches that were made together.
  struct Request {
    std::vector<T> items;  // that they share
    std::vector<Kept> batches;
  };

  // A large batch has at least 16 KiB.
  static constexpr uint64_t kMostOfSmall = ((16 << 10) - 1) / sizeof(T);

  // As Make(), with one question to the root. Adds to `collating`.
  Task<std::vector<MadeBatch>> MakePart(
      std::span<const Position> positions, std::span<const size_t> counts,
      std::chrono::nanoseconds* collating) const {
    absl::StatusOr<std::vector<T>> items = co_await Ask(root_, positions);
    if (!items.ok()) co_return items.status();
    if (items->size() != positions.size()) {
      co_return CountError(root_->name(), items->size(), positions.size());
    }
    const auto began = std::chrono::steady_clock::now();
    absl::StatusOr<std::vector<MadeBatch>> made =
        KeepAll(*std::move(items), counts);
    *collating += std::chrono::steady_clock::now() - began;
    co_return made;
  }

  absl::StatusOr<std::vector<MadeBatch>> KeepAll(
      std::vector<T> items, std::span<const size_t> counts) const {
    const auto request = std::make_shared<Request>();
    std::vector<MadeBatch> made(counts.size());
    request->batches.reserve(counts.size());
    if constexpr (Kept::kMayShare) {
      if (room_ > 0) {
        request->items = std::move(items);
        Share(counts, request.get(), &made);
      }
    }
    if (request->batches.empty()) {
      absl::Status status =
          CollateAll(std::move(items), counts, request.get(), &made);
      if (!status.ok()) return PrependName(status, "collate");
    }
    for (size_t i = 0; i < counts.size(); ++i) {
      made[i].batch = std::shared_ptr<void>(request, &request->batches[i]);
    }
    return made;
  }

  static void Share(std::span<const size_t> counts, Request* request,
                    std::vector<MadeBatch>* made) {
    T* items = request->items.data();
    size_t behind = request->items.size();
    for (size_t i = 0; i < counts.size(); ++i) {
      behind -= counts[i];
      request->batches.emplace_back(
          typename Kept::Shared{items, counts[i], behind});
      items += counts[i];
      const size_t bytes = sizeof(Batch) + counts[i] * sizeof(T);
      (*made)[i].bytes = std::is_trivially_copyable_v<T> ? bytes : 0;
    }
  }

  absl::Status CollateAll(std::vector<T> items, std::span<const size_t> counts,
                          Request* request,
                          std::vector<MadeBatch>* made) const {
    auto next = std::make_move_iterator(items.begin());
    for (size_t i = 0; i < counts.size(); ++i) {
      std::vector<T> part;
      if (counts.size() == 1) {
        part = std::move(items);
      } else {
        const auto end = next + static_cast<ptrdiff_t>(counts[i]);
        part.assign(next, end);
        next = end;
      }
      absl::StatusOr<Batch> batch = CollateOne(std::move(part));
      if (!batch.ok()) return batch.status();
      (*made)[i].bytes = bytes_of_ ? bytes_of_(*batch) : 0;
      request->batches.emplace_back(*std::move(batch));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Batch> CollateOne(std::vector<T> items) const {
    if constexpr (std::is_same_v<Batch, std::vector<T>>) {
      if (!collate_) return absl::StatusOr<Batch>(std::move(items));
    }
    return CallFunction<Batch>(collate_, std::move(items));
  }

  const DatasetPtr<T> root_;
  const Collate collate_;
  const bool has_functions_;
  const BytesOf bytes_of_;
  const bool is_small_;
  const size_t room_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_EXTEND_ITEM_BATCH_MAKER_H_
