// SPDX-License-Identifier: Apache-2.0
#include "io/checksum_fetch.h"

#include <utility>

#include "io/reader_state.h"

namespace poniente::internal {
namespace {

bool IsReadByRing(const ReaderState& reader) {
  const IoBackend backend = reader.Now();
  return backend == IoBackend::kBuffered || backend == IoBackend::kDirect;
}

// Returns whether the block is not verified yet, or is verified at each read.
bool NeedsChecksum(const ReaderState& reader, const FileChecksums& checksums,
                   uint64_t block) {
  return reader.options.verify == VerifyChecksums::kAlways ||
         !checksums.verified().Has(block);
}

}  // namespace

ChecksumFetch::ChecksumFetch(std::span<const OrderedRequest> requests) {
  for (const OrderedRequest& request : requests) {
    const FileChecksums* const checksums =
        request.reader->ChecksumsOf(request.request->file);
    if (checksums == nullptr || checksums->is_in_memory()) continue;
    const uint64_t last = checksums->BlockOf(request.end() - 1);
    for (uint64_t block = checksums->BlockOf(request.begin()); block <= last;
         ++block) {
      if (!NeedsChecksum(*request.reader, *checksums, block)) continue;
      if (!checksums->WantsChunkOf(block)) continue;
      if (!IsReadByRing(*request.reader)) break;
      Add(*checksums, block / FileChecksums::kChunkBlocks);
    }
  }
}

void ChecksumFetch::Add(const FileChecksums& checksums, uint64_t number) {
  // Requests of a file are consecutive and sorted by offset.
  if (!chunks_.empty() && chunks_.back().checksums == &checksums &&
      chunks_.back().number == number) {
    return;
  }
  const size_t bytes = checksums.ChunkBytes(number);
  chunks_.push_back({&checksums, number, std::make_unique<std::byte[]>(bytes)});
  reads_.push_back({&checksums.reader(),
                    0,
                    checksums.ChunkOffset(number),
                    {chunks_.back().values.get(), bytes}});
}

void ChecksumFetch::Keep() {
  for (Chunk& chunk : chunks_) {
    chunk.checksums->KeepChunk(chunk.number, std::move(chunk.values));
  }
}

}  // namespace poniente::internal
