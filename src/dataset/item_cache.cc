// SPDX-License-Identifier: Apache-2.0
#include <boost/unordered/unordered_flat_map.hpp>
#include <list>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "async/notifier.h"
#include "index/keyed_hash.h"
#include "poniente/cached_dataset.h"
#include "util/mutex.h"

namespace poniente::internal {
namespace {

using CacheKey = std::pair<Index, uint64_t>;  // index, epoch

CacheKey KeyOf(const Position& position) {
  return {position.index, position.epoch};
}

// The items that one request reads.
struct CacheFlight {
  Notifier changed;
};

// An item that is being read. Kept by those who wait for it, even if the cache
// drops it at once.
struct CacheSlot {
  std::shared_ptr<CacheFlight> flight;
  ItemCache::Item item;  // null: not there yet
  bool is_over = false;  // will not change any more
};

}  // namespace

class ItemCache::Impl {
 public:
  Impl(uint64_t max_items, uint64_t max_bytes)
      : max_items_(max_items), max_bytes_(max_bytes) {}

  struct Found {
    Item item;                        // it is there
    std::shared_ptr<CacheSlot> slot;  // or it is being read
    bool is_own = false;              // by the caller, from now on
  };

  Found Look(const CacheKey& key, const std::shared_ptr<CacheFlight>& flight) {
    MutexLock lock(&mu_);
    if (const auto kept = kept_.find(key); kept != kept_.end()) {
      by_use_.splice(by_use_.begin(), by_use_, kept->second.use);
      return {kept->second.item, nullptr, false};
    }
    std::shared_ptr<CacheSlot>& slot = read_[key];
    if (slot != nullptr) return {nullptr, slot, false};
    slot = std::make_shared<CacheSlot>();
    slot->flight = flight;
    return {nullptr, slot, true};
  }

  // `item` is null if it could not be read.
  void End(const CacheKey& key, CacheSlot* slot, Item item, uint64_t bytes) {
    std::vector<Item> dropped;  // destroyed without the lock
    MutexLock lock(&mu_);
    slot->item = item;
    slot->is_over = true;
    read_.erase(key);
    if (item == nullptr || (max_bytes_ > 0 && bytes > max_bytes_)) return;
    try {
      std::list<CacheKey> use = {key};
      kept_.emplace(key, Kept{std::move(item), bytes, use.begin()});
      by_use_.splice(by_use_.begin(), use);
      bytes_ += bytes;
      while ((max_items_ > 0 && kept_.size() > max_items_) ||
             (max_bytes_ > 0 && bytes_ > max_bytes_)) {
        const auto last = kept_.find(by_use_.back());
        dropped.push_back(std::move(last->second.item));
        bytes_ -= last->second.bytes;
        kept_.erase(last);
        by_use_.pop_back();
      }
    } catch (const std::bad_alloc&) {
      // It is not kept, or the next one drops more.
    }
    lock.Unlock();
  }

  bool IsOver(const CacheSlot& slot, Item* item) {
    MutexLock lock(&mu_);
    if (slot.is_over) *item = slot.item;
    return slot.is_over;
  }

 private:
  struct Kept {
    Item item;
    uint64_t bytes = 0;
    std::list<CacheKey>::iterator use;
  };

  const uint64_t max_items_;
  const uint64_t max_bytes_;
  Mutex mu_;
  boost::unordered_flat_map<CacheKey, Kept> kept_ ABSL_GUARDED_BY(mu_);
  boost::unordered_flat_map<CacheKey, std::shared_ptr<CacheSlot>> read_
      ABSL_GUARDED_BY(mu_);
  std::list<CacheKey> by_use_ ABSL_GUARDED_BY(mu_);  // the latest first
  uint64_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

ItemCache::ItemCache(uint64_t max_items, uint64_t max_bytes)
    : impl_(std::make_unique<Impl>(max_items, max_bytes)) {}
ItemCache::~ItemCache() = default;

class CacheRequest::Waits {
 public:
  // The request's own reads since the last Look(), and the slots of others.
  std::shared_ptr<CacheFlight> flight;
  boost::unordered_flat_map<size_t, std::shared_ptr<CacheSlot>> own;
  std::vector<std::pair<size_t, std::shared_ptr<CacheSlot>>> others;
};

CacheRequest::CacheRequest(std::shared_ptr<ItemCache> cache,
                           std::vector<Position> keys)
    : cache_(std::move(cache)),
      keys_(std::move(keys)),
      items_(keys_.size()),
      waits_(std::make_unique<Waits>()) {}

CacheRequest::~CacheRequest() {
  if (waits_->own.empty()) return;
  for (const auto& [place, slot] : waits_->own) {
    cache_->impl_->End(KeyOf(keys_[place]), slot.get(), nullptr, 0);
  }
  waits_->flight->changed.NotifyAll();
}

const std::vector<size_t>& CacheRequest::Look() {
  missing_.clear();
  waits_->flight = std::make_shared<CacheFlight>();
  waits_->others.clear();
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (items_[i] != nullptr) continue;
    ItemCache::Impl::Found found =
        cache_->impl_->Look(KeyOf(keys_[i]), waits_->flight);
    items_[i] = std::move(found.item);
    if (found.is_own) {
      try {
        missing_.push_back(i);
        waits_->own.emplace(i, found.slot);
      } catch (...) {
        // Else nobody would ever read it.
        cache_->impl_->End(KeyOf(keys_[i]), found.slot.get(), nullptr, 0);
        waits_->flight->changed.NotifyAll();
        throw;
      }
    } else if (found.slot != nullptr) {  // also a duplicate of an own one
      waits_->others.emplace_back(i, std::move(found.slot));
    }
  }
  return missing_;
}

void CacheRequest::Put(size_t place, ItemCache::Item item, uint64_t bytes) {
  items_[place] = item;
  const auto own = waits_->own.find(place);
  cache_->impl_->End(KeyOf(keys_[place]), own->second.get(), std::move(item),
                     bytes);
  waits_->own.erase(own);
  if (waits_->own.empty()) waits_->flight->changed.NotifyAll();
}

Task<bool> CacheRequest::WaitForOthers() {
  bool has_all = true;
  for (const auto& [place, slot] : waits_->others) {
    while (true) {
      const uint64_t seen = slot->flight->changed.version();
      if (cache_->impl_->IsOver(*slot, &items_[place])) break;
      absl::Status waited = co_await slot->flight->changed.WaitPast(seen);
      if (!waited.ok()) co_return waited;
    }
    has_all = has_all && items_[place] != nullptr;
  }
  co_return has_all;
}

absl::Status CheckCache(const DatasetNode* child, uint64_t max_items,
                        uint64_t max_bytes, bool knows_bytes) {
  if (child == nullptr) {
    return absl::InvalidArgumentError("cache: it has no dataset below it");
  }
  if (max_items == 0 && max_bytes == 0) {
    return absl::InvalidArgumentError(
        "cache: state max_items or max_bytes, since nothing else bounds its "
        "memory");
  }
  if (max_bytes > 0 && !knows_bytes) {
    return absl::InvalidArgumentError(
        "cache: max_bytes needs bytes_of, since the bytes of such items are "
        "not known");
  }
  return absl::OkStatus();
}

NodeIdentity CacheIdentity() { return {.parameters = Tag("cache").word()}; }

}  // namespace poniente::internal
