// SPDX-License-Identifier: Apache-2.0
#include "formats/core/block_cache.h"

#include <utility>

namespace poniente::internal {

DecodedBlock BlockCache::Find(uint64_t block) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = by_block_.find(block);
  if (found == by_block_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->decoded;
}

void BlockCache::Keep(uint64_t block, DecodedBlock decoded) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // Another thread may have decoded the same block at the same time.
  if (by_block_.contains(block)) return;
  bytes_ += decoded->size();
  entries_.push_front({block, std::move(decoded)});
  by_block_[block] = entries_.begin();
  while (bytes_ > most_bytes_ && entries_.size() > 1) {
    bytes_ -= entries_.back().decoded->size();
    by_block_.erase(entries_.back().block);
    entries_.pop_back();
  }
}

uint64_t BlockCache::bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return bytes_;
}

}  // namespace poniente::internal
