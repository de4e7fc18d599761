// SPDX-License-Identifier: Apache-2.0
#include "store/read/begin_fingerprints.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>

#include "index/keyed_hash.h"
#include "store/read/side_file.h"
#include "util/byte_order.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kChunkBlocks = 8192;

// Returns the hash of what came before and of the checksums.
uint64_t HashAfter(uint64_t before, std::span<const std::byte> checksums) {
  KeyHash hash(before);
  for (size_t at = 0; at < checksums.size(); at += 4) {
    hash.Add(LoadLittle<uint32_t>(checksums.data() + at));
  }
  return hash.key();
}

}  // namespace

absl::StatusOr<uint64_t> BeginFingerprints::Of(const std::string& path,
                                               uint64_t blocks,
                                               uint64_t block_bytes) {
  MutexLock lock(&mu_);
  const uint64_t chunks = blocks / kChunkBlocks;
  uint64_t chunk = std::min<uint64_t>(chunks, after_.size());
  uint64_t hash = chunk == 0 ? 0 : after_[chunk - 1];
  std::vector<std::byte> checksums;
  std::optional<SideFile> file;
  for (uint64_t at = chunk * kChunkBlocks; at < blocks;) {
    if (!file) {
      PONIENTE_ASSIGN_OR_RETURN(file, SideFile::Open(path));
    }
    const uint64_t count = std::min(kChunkBlocks, blocks - at);
    checksums.resize(4 * count);
    PONIENTE_RETURN_IF_ERROR(file->ReadAt(4 * at, checksums));
    hash = HashAfter(hash, checksums);
    if (count == kChunkBlocks) after_.push_back(hash);
    at += count;
  }
  return Derive(hash, Tag("begin"), blocks, block_bytes);
}

}  // namespace poniente::internal
