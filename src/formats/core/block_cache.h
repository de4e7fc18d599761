// SPDX-License-Identifier: Apache-2.0
// Keeps decoded blocks, so that they need not be read and decoded again.

#ifndef PONIENTE_FORMATS_CORE_BLOCK_CACHE_H_
#define PONIENTE_FORMATS_CORE_BLOCK_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace poniente::internal {

using DecodedBlock = std::shared_ptr<const std::vector<std::byte>>;

// An LRU cache: drops the least recently used blocks first.
//
// Thread safety: any number of threads.
// Ownership: shared; a block that was returned stays valid after it is dropped.
class BlockCache {
 public:
  // Keeps blocks of `most_bytes` together. The block used last is always kept,
  // even if it is larger.
  explicit BlockCache(uint64_t most_bytes) : most_bytes_(most_bytes) {}

  // Returns a block; null if it is not in the cache.
  DecodedBlock Find(uint64_t block);
  // Adds a block; has no effect if it is already in the cache.
  void Keep(uint64_t block, DecodedBlock decoded);

  uint64_t bytes() const;

 private:
  struct Entry {
    uint64_t block;
    DecodedBlock decoded;
  };

  const uint64_t most_bytes_;
  mutable std::mutex mutex_;
  uint64_t bytes_ = 0;
  std::list<Entry> entries_;  // the most recently used first
  std::unordered_map<uint64_t, std::list<Entry>::iterator> by_block_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_CORE_BLOCK_CACHE_H_
