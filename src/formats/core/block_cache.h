// SPDX-License-Identifier: Apache-2.0
// Keeps decoded blocks, so that they need not be read and decoded again.

#ifndef PONIENTE_FORMATS_CORE_BLOCK_CACHE_H_
#define PONIENTE_FORMATS_CORE_BLOCK_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "io/memory_budget.h"
#include "util/mutex.h"

namespace poniente::internal {

using DecodedBlock = std::shared_ptr<const std::vector<std::byte>>;

// An LRU cache of the blocks of any number of sources, within one MemoryBudget:
// drops the least recently used blocks first, whosever they are.
//
// Thread safety: any number of threads.
// Ownership: shared; a block that was returned stays valid after it is dropped.
class BlockCache {
 public:
  // Returns that of all sources of the process.
  static BlockCache& OfProcess();

  // Returns a block of a source; null if it is not in the cache.
  DecodedBlock Find(uint64_t source, uint64_t block);
  // Adds a block; has no effect if it is already in the cache. The block added
  // last is always kept, even if it is larger than the budget.
  void Keep(uint64_t source, uint64_t block, DecodedBlock decoded);
  // Drops all blocks of a source.
  void Drop(uint64_t source);

  uint64_t bytes() const;
  // Tests may set less than the budget of the process.
  void SetLimit(uint64_t bytes) { budget_.SetLimit(bytes); }

 private:
  using Key = std::pair<uint64_t, uint64_t>;  // source, block
  struct Entry {
    Key key;
    DecodedBlock decoded;
  };
  using Entries = std::list<Entry>;

  // Returns the entry behind it.
  Entries::iterator Remove(Entries::iterator entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  MemoryBudget budget_;
  mutable Mutex mutex_;
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // The most recently used first.
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<Key, Entries::iterator> by_key_ ABSL_GUARDED_BY(mutex_);
};

// The blocks of one source in the cache of the process. Drops them at its end.
class CachedBlocks {
 public:
  CachedBlocks();
  ~CachedBlocks() { BlockCache::OfProcess().Drop(source_); }
  CachedBlocks(const CachedBlocks&) = delete;
  CachedBlocks& operator=(const CachedBlocks&) = delete;

  DecodedBlock Find(uint64_t block) const {
    return BlockCache::OfProcess().Find(source_, block);
  }
  void Keep(uint64_t block, DecodedBlock decoded) const {
    BlockCache::OfProcess().Keep(source_, block, std::move(decoded));
  }

 private:
  const uint64_t source_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_CORE_BLOCK_CACHE_H_
