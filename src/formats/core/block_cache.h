// SPDX-License-Identifier: Apache-2.0
// Decoded blocks that may be wanted again.

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

// Forgets what was used least recently.
//
// Thread safety: any number of threads. A block that is handed out lives on.
class BlockCache {
 public:
  // `most_bytes` of blocks are kept, and the last one whatever its size.
  explicit BlockCache(uint64_t most_bytes) : most_bytes_(most_bytes) {}

  // Null if it is not kept.
  DecodedBlock Find(uint64_t block);
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
  std::list<Entry> entries_;  // last used first
  std::unordered_map<uint64_t, std::list<Entry>::iterator> by_block_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_CORE_BLOCK_CACHE_H_
