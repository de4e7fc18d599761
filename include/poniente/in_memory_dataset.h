// SPDX-License-Identifier: Apache-2.0
// A dataset over items in memory, complete or still growing.

#ifndef PONIENTE_IN_MEMORY_DATASET_H_
#define PONIENTE_IN_MEMORY_DATASET_H_

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "poniente/async_dataset.h"
#include "poniente/extend/prefetch_memory.h"

namespace poniente {

// What an in-memory dataset says about its items.
struct InMemoryOptions {
  // Name in messages; part of the fingerprint.
  std::string name = "memory";
  // Tokenizer of the items, if they are tokens. Unset: not known.
  std::optional<Vocabulary> vocabulary = std::nullopt;
};

namespace internal {

// Resumes coroutines that wait for a dataset to grow.
class GrowthSignal {
 public:
  GrowthSignal();
  ~GrowthSignal();
  uint64_t version() const;
  void NotifyAll();
  Task<> WaitPast(uint64_t seen);

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

uint64_t InMemoryFingerprint(const InMemoryOptions& options, uint64_t length);

}  // namespace internal

// Items in memory that may be appended, by one thread or several, while others
// read.
//
// Waiting: readers of items that do not exist yet wait for them without
//     polling, until Finish() makes the length final. Reading past the final
//     length returns OutOfRange.
// fingerprint(): covers name and length only, not the items, so it is
//     meaningful only after Finish().
// Thread safety: Append() and Finish() may be called on any thread.
//
// See AsyncDataset for the rest. T must be copyable.
template <class T>
class InMemoryDataset final : public AsyncDataset<T>,
                              public internal::OnlyCopies {
  static_assert(std::copyable<T>,
                "InMemoryDataset<T>: T must be copyable, because it keeps an "
                "item and returns copies; use std::shared_ptr<const T> as the "
                "item");

 public:
  // Returns a complete dataset of `items`.
  static DatasetPtr<T> Create(std::vector<T> items,
                              InMemoryOptions options = InMemoryOptions()) {
    auto made = Growing(std::move(options));
    made->first_ = std::move(items);
    made->Finish();
    return made;
  }

  // Returns an empty dataset that grows by Append() until Finish().
  static std::shared_ptr<InMemoryDataset> Growing(
      InMemoryOptions options = InMemoryOptions()) {
    return std::make_shared<InMemoryDataset>(std::move(options));
  }

  explicit InMemoryDataset(InMemoryOptions options)
      : options_(std::move(options)) {}

  // Appends items; FailedPrecondition after Finish().
  absl::Status Append(std::vector<T> items) {
    {
      std::lock_guard lock(mu_);
      if (finished_.load(std::memory_order_relaxed)) {
        return absl::FailedPreconditionError(
            "'" + options_.name + "' is finished; nothing can be appended");
      }
      for (auto&& item : items) appended_.push_back(std::move(item));
    }
    growth_.NotifyAll();
    return absl::OkStatus();
  }

  // Makes the length final. Further calls have no effect.
  void Finish() {
    {
      std::lock_guard lock(mu_);
      // Release: readers that see it read the items without the lock.
      finished_.store(true, std::memory_order_release);
    }
    growth_.NotifyAll();
  }

  std::string name() const override { return options_.name; }
  const Vocabulary* vocabulary() const override {
    return options_.vocabulary ? &*options_.vocabulary : nullptr;
  }
  uint64_t fingerprint() const override {
    return internal::InMemoryFingerprint(options_, length_now().readable);
  }
  LengthState length_now() const override {
    if (finished_.load(std::memory_order_acquire)) {
      return LengthState::Final(first_.size() + appended_.size());
    }
    std::lock_guard lock(mu_);
    return LengthState::Growing(appended_.size());
  }

  Task<std::vector<T>> GetBatch(std::span<const Index> indices) const override {
    uint64_t needed = 0;
    for (const Index index : indices) {
      if (index >= needed) needed = index == UINT64_MAX ? index : index + 1;
    }
    absl::StatusOr<uint64_t> readable = co_await WaitForLength(needed);
    if (!readable.ok()) co_return readable.status();
    if (*readable < needed) {
      co_return internal::CheckReadable(*this, indices);
    }
    std::vector<T> items;
    items.reserve(indices.size());
    if (finished_.load(std::memory_order_acquire)) {  // nothing moves any more
      for (size_t i = 0; i < indices.size(); ++i) {
        if constexpr (!std::is_same_v<T, bool>) {
          if (i + kAhead < indices.size()) {
            internal::PrefetchMemory(
                std::addressof(Complete(indices[i + kAhead])), sizeof(T), 1024);
          }
        }
        items.push_back(Complete(indices[i]));
      }
      co_return items;
    }
    for (const T* item : Find(indices)) items.push_back(*item);
    co_return items;
  }

  Task<uint64_t> WaitForLength(uint64_t n) const override {
    while (true) {
      const uint64_t seen = growth_.version();
      const LengthState now = length_now();
      if (now.is_final || now.readable >= n) co_return now.readable;
      absl::Status waited = co_await growth_.WaitPast(seen);
      if (!waited.ok()) co_return waited;
    }
  }

 private:
  // Items are fetched from memory that far ahead of the one that is copied:
  // their places do not follow one another.
  static constexpr size_t kAhead = 4;

  // Returns a reference; a value where a vector holds bits. REQUIRES: finished.
  decltype(auto) Complete(Index index) const {
    return index < first_.size() ? first_[index]
                                 : appended_[index - first_.size()];
  }
  // Returns where the items are; they stay there while others are appended.
  std::vector<const T*> Find(std::span<const Index> indices) const {
    std::vector<const T*> found;
    found.reserve(indices.size());
    std::lock_guard lock(mu_);
    for (const Index index : indices) found.push_back(&appended_[index]);
    return found;
  }

  const InMemoryOptions options_;
  mutable std::mutex mu_;
  std::vector<T> first_;                // of Create(); none while it grows
  std::deque<T> appended_;              // guarded by mu_, until finished_
  std::atomic<bool> finished_ = false;  // written under mu_
  mutable internal::GrowthSignal growth_;
};

}  // namespace poniente

#endif  // PONIENTE_IN_MEMORY_DATASET_H_
