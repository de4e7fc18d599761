// SPDX-License-Identifier: Apache-2.0
#include "formats/core/block_cache.h"

#include <atomic>
#include <iterator>

namespace poniente::internal {

BlockCache& BlockCache::OfProcess() {
  // Never destroyed: sources may outlive static objects.
  static auto* const cache = new BlockCache();
  return *cache;
}

DecodedBlock BlockCache::Find(uint64_t source, uint64_t block) {
  MutexLock lock(&mutex_);
  const auto found = by_key_.find({source, block});
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->decoded;
}

void BlockCache::Keep(uint64_t source, uint64_t block, DecodedBlock decoded) {
  const Key key = {source, block};
  const uint64_t bytes = decoded->size();
  Entries entry;
  entry.push_front({key, std::move(decoded)});
  MutexLock lock(&mutex_);
  // Another thread may have decoded the same block at the same time.
  if (!by_key_.emplace(key, entry.begin()).second) return;
  entries_.splice(entries_.begin(), entry);
  bytes_ += bytes;
  budget_.TakeAnyway(bytes);
  while (!budget_.HasRoomFor(0) && entries_.size() > 1) {
    Remove(std::prev(entries_.end()));
  }
}

void BlockCache::Drop(uint64_t source) {
  MutexLock lock(&mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    entry = entry->key.first == source ? Remove(entry) : std::next(entry);
  }
}

BlockCache::Entries::iterator BlockCache::Remove(Entries::iterator entry) {
  const uint64_t bytes = entry->decoded->size();
  bytes_ -= bytes;
  budget_.Return(bytes);
  by_key_.erase(entry->key);
  return entries_.erase(entry);
}

uint64_t BlockCache::bytes() const {
  MutexLock lock(&mutex_);
  return bytes_;
}

CachedBlocks::CachedBlocks()
    : source_([] {
        static std::atomic<uint64_t> sources = 0;
        return sources.fetch_add(1, std::memory_order_relaxed);
      }()) {}

}  // namespace poniente::internal
