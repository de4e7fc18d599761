// SPDX-License-Identifier: Apache-2.0
#include "formats/levanter/levanter_blocks.h"

#include <algorithm>
#include <utility>

#include "formats/levanter/zarr_shard.h"

namespace poniente::internal {

void LevanterBlocks::Add(ZarrArray data, uint64_t tokens,
                         std::vector<std::string>* files) {
  if (tokens == 0) return;
  const auto first_file = static_cast<uint32_t>(files->size());
  for (const ZarrArray::File& file : data.files()) files->push_back(file.path);
  const uint64_t chunk = data.metadata().chunk_length;
  parts_.push_back({std::move(data), tokens_, blocks_, first_file});
  tokens_ += tokens;
  blocks_ += (tokens - 1) / chunk + 1;
}

absl::Status LevanterBlocks::Locate(TokenRange tokens,
                                    std::vector<TokenRun>* runs) const {
  auto part = std::upper_bound(
      parts_.begin(), parts_.end(), tokens.begin,
      [](uint64_t token, const Part& p) { return token < p.first_token; });
  if (part != parts_.begin()) --part;
  for (uint64_t at = tokens.begin; at < tokens.end; ++part) {
    const auto next = part + 1;
    const uint64_t part_end =
        next == parts_.end() ? tokens_ : next->first_token;
    const uint64_t end = std::min(tokens.end, part_end);
    const Zarr3Array& array = part->data.metadata();
    while (at < end) {
      const uint64_t local = at - part->first_token;
      const uint64_t in_chunk = local % array.chunk_length;
      const uint64_t some = std::min(array.chunk_length - in_chunk, end - at);
      runs->push_back({part->first_block + local / array.chunk_length,
                       in_chunk * StoredTypeBytes(array.type), some});
      at += some;
    }
  }
  return absl::OkStatus();
}

const LevanterBlocks::Part& LevanterBlocks::PartOfBlock(uint64_t block) const {
  const auto after = std::upper_bound(
      parts_.begin(), parts_.end(), block,
      [](uint64_t number, const Part& p) { return number < p.first_block; });
  return *(after - 1);
}

absl::StatusOr<BlockDecoder::Stored> LevanterBlocks::Find(
    uint64_t block) const {
  const Part& part = PartOfBlock(block);
  const uint64_t chunk = block - part.first_block;
  const ZarrArray::File* file = part.data.FileOf(chunk);
  if (file == nullptr) return Stored{};
  const StoredChunk stored = part.data.ChunkIn(*file, chunk);
  const auto at = static_cast<uint32_t>(file - part.data.files().data());
  return Stored{part.first_file + at, stored.offset, stored.bytes};
}

uint64_t LevanterBlocks::DecodedBytes(uint64_t block) const {
  return PartOfBlock(block).data.metadata().chunk_bytes();
}

absl::Status LevanterBlocks::Decode(uint64_t block,
                                    std::span<const std::byte> stored,
                                    std::span<std::byte> decoded) const {
  const Part& part = PartOfBlock(block);
  return DecodeChunk(part.data.metadata(),
                     part.data.Where(block - part.first_block), stored,
                     decoded);
}

}  // namespace poniente::internal
