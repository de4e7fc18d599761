// SPDX-License-Identifier: Apache-2.0
// A dataset that keeps another dataset's items in memory.

#ifndef PONIENTE_CACHED_DATASET_H_
#define PONIENTE_CACHED_DATASET_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/async_dataset.h"
#include "poniente/extend/index_map_dataset.h"
#include "poniente/extend/item_bytes.h"
#include "poniente/mapped_dataset.h"

namespace poniente {

// How much a Cache() keeps. State at least one of the two bounds.
template <class T>
struct CacheOptions {
  // Items kept. Default: 0, no bound on their number.
  uint64_t max_items = 0;
  // Bytes of the items kept, by bytes_of. The cache itself needs about 150
  // bytes more for each. Default: 0, no bound on their bytes.
  uint64_t max_bytes = 0;
  // Returns the bytes of an item, with what it owns. Default: known for types
  // that memcpy can copy, for strings and vectors of them, and for TokenWindow.
  std::function<uint64_t(const T&)> bytes_of = nullptr;
};

namespace internal {

// Items by position, the least recently used of which are dropped.
//
// Thread safety: any number of threads and executors.
class ItemCache {
 public:
  using Item = std::shared_ptr<const void>;

  ItemCache(uint64_t max_items, uint64_t max_bytes);
  ~ItemCache();

 private:
  friend class CacheRequest;
  class Impl;

  const std::unique_ptr<Impl> impl_;
};

// What one request takes from a cache. An item is read by one request at a
// time; others wait for it.
class CacheRequest {
 public:
  CacheRequest(std::shared_ptr<ItemCache> cache, std::vector<Position> keys);
  // Leaves to others what this request was to read and has not put.
  ~CacheRequest();
  CacheRequest(const CacheRequest&) = delete;
  CacheRequest& operator=(const CacheRequest&) = delete;

  // Takes the items that are there, and returns the places of those keys that
  // this request must read, each key once.
  const std::vector<size_t>& Look();
  // Puts the item of the key at `place`, one that Look() has returned.
  void Put(size_t place, ItemCache::Item item, uint64_t bytes);
  // Waits for the items that other requests read. Returns whether all items are
  // there; if not, because another request has failed, call Look() again.
  Task<bool> WaitForOthers();
  // REQUIRES: WaitForOthers() has returned true.
  const ItemCache::Item& item(size_t place) const { return items_[place]; }

 private:
  class Waits;

  const std::shared_ptr<ItemCache> cache_;
  const std::vector<Position> keys_;
  std::vector<ItemCache::Item> items_;  // null: not there yet
  std::vector<size_t> missing_;
  const std::unique_ptr<Waits> waits_;
};

absl::Status CheckCache(const DatasetNode* child, uint64_t max_items,
                        uint64_t max_bytes, bool knows_bytes);
NodeIdentity CacheIdentity();

}  // namespace internal

// The child's items, some of them kept. Created by Cache().
template <class T>
class CachedDataset final : public AsyncDataset<T>,
                            public internal::OnlyComputes {
  static_assert(std::copy_constructible<T>,
                "Cache(): T must be copyable, because the cache keeps an item "
                "and returns copies; use std::shared_ptr<const T> as the item");

 public:
  CachedDataset(DatasetPtr<T> child, CacheOptions<T> options)
      : child_(std::move(child)),
        options_(std::move(options)),
        epoch_counts_(internal::DependsOnEpoch(*child_)),
        cache_(std::make_shared<internal::ItemCache>(options_.max_items,
                                                     options_.max_bytes)) {}

  std::string name() const override { return "cache"; }
  std::vector<NamedNode> children() const override {
    return {{"", child_.get()}};
  }
  std::shared_ptr<const IndexMap> map() const override {
    return internal::TransparentMap(child_->length_now());
  }
  const Vocabulary* vocabulary() const override { return child_->vocabulary(); }
  uint32_t item_tokens() const override { return child_->item_tokens(); }
  uint64_t fingerprint() const override { return child_->fingerprint(); }
  std::optional<NodeIdentity> identity() const override {
    return internal::CacheIdentity();
  }
  LengthState length_now() const override { return child_->length_now(); }

  Task<std::vector<T>> GetBatch(std::span<const Index> indices) const override {
    const std::vector<Position> positions = internal::WholeItems(indices);
    absl::StatusOr<std::vector<T>> items = co_await GetAt(positions);
    co_return items;
  }

  Task<std::vector<T>> GetAt(
      std::span<const Position> positions) const override {
    const std::vector<Position> whole = internal::WithoutParts(positions);
    internal::CacheRequest request(cache_, KeysOf(whole));
    while (true) {
      const std::vector<size_t>& missing = request.Look();
      if (!missing.empty()) {
        absl::Status read = co_await Read(&whole, &missing, &request);
        if (!read.ok()) co_return read;
      }
      absl::StatusOr<bool> all = co_await request.WaitForOthers();
      if (!all.ok()) co_return all.status();
      if (*all) break;
    }
    std::vector<T> items;
    items.reserve(whole.size());
    for (size_t i = 0; i < whole.size(); ++i) {
      items.push_back(*static_cast<const T*>(request.item(i).get()));
    }
    absl::Status cut = internal::CutItems(*this, positions, &items);
    if (!cut.ok()) co_return cut;
    co_return items;
  }

  Task<uint64_t> WaitForLength(uint64_t n) const override {
    return internal::AskLength(child_, n);
  }
  Task<uint64_t> FinalLength() const override { return child_->FinalLength(); }
  DatasetPtr<T> WithSeed(uint64_t seed) const override {
    DatasetPtr<T> child = child_->WithSeed(seed);
    if (child == child_) return this->shared_from_this();
    return std::make_shared<CachedDataset>(std::move(child), options_);
  }

 private:
  std::vector<Position> KeysOf(std::vector<Position> whole) const {
    for (Position& position : whole) {
      if (!epoch_counts_) position.epoch = 0;
    }
    return whole;
  }

  Task<> Read(const std::vector<Position>* whole,
              const std::vector<size_t>* missing,
              internal::CacheRequest* request) const {
    std::vector<Position> asked;
    asked.reserve(missing->size());
    for (const size_t place : *missing) asked.push_back((*whole)[place]);
    absl::StatusOr<std::vector<T>> got =
        co_await internal::Ask(child_, std::span<const Position>(asked));
    if (!got.ok()) co_return got.status();
    if (got->size() != asked.size()) {
      co_return internal::CountError(child_->name(), got->size(), asked.size());
    }
    for (size_t i = 0; i < got->size(); ++i) {
      auto item = std::make_shared<const T>(std::move((*got)[i]));
      const uint64_t bytes = options_.bytes_of ? options_.bytes_of(*item) : 0;
      request->Put((*missing)[i], std::move(item), bytes);
    }
    co_return absl::OkStatus();
  }

  const DatasetPtr<T> child_;
  const CacheOptions<T> options_;
  const bool epoch_counts_;
  const std::shared_ptr<internal::ItemCache> cache_;
};

// Returns the same dataset, whose items are kept in memory after they were read
// for the first time. When a bound is reached, the least recently used items
// are dropped. For items that take long to read or to make and are read again:
// in a later epoch, or by several trees that share the cached dataset.
//
// Several requests for an item that is not there read it once. An item that is
// the same in every epoch is kept once for all epochs. (A shuffle or a mixture
// below the cache makes epochs differ; put the cache below it.) Errors are not
// kept: a request that waited for an item that could not be read reads it
// itself.
//
// Order: an item, its index and the fingerprint stay as they are, so a cache
//     may be added to a running run. Never changes an item.
// Tokens in files: a Loader reads them around the cache, straight into the
//     batch; the page cache keeps them.
// T: copyable. Use std::shared_ptr<const T> for items that are large.
// Errors: InvalidArgument if no bound is stated, or max_bytes without bytes_of
//     for a type whose bytes are not known.
template <class T>
absl::StatusOr<DatasetPtr<T>> Cache(DatasetPtr<T> dataset,
                                    CacheOptions<T> options) {
  if (!options.bytes_of) options.bytes_of = internal::DefaultBytesOf<T>();
  absl::Status checked =
      internal::CheckCache(dataset.get(), options.max_items, options.max_bytes,
                           static_cast<bool>(options.bytes_of));
  if (!checked.ok()) return checked;
  return DatasetPtr<T>(std::make_shared<CachedDataset<T>>(std::move(dataset),
                                                          std::move(options)));
}

}  // namespace poniente

#endif  // PONIENTE_CACHED_DATASET_H_
