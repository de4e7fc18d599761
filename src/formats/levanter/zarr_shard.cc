// SPDX-License-Identifier: Apache-2.0
#include "formats/levanter/zarr_shard.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "formats/levanter/blosc_block.h"
#include "util/byte_order.h"
#include "util/crc32c.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kEntryBytes = 16;

absl::Status CheckChecksum(const InputBytes& file,
                           std::span<const std::byte> index, uint64_t at) {
  const std::span<const std::byte> entries = index.first(index.size() - 4);
  const auto stored = LoadLittle<uint32_t>(&index[entries.size()]);
  const uint32_t computed = Crc32c(entries);
  if (stored == computed) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "'", file.path(), "': the index of its chunks at byte ", at,
      " has another checksum: stored 0x", absl::Hex(stored, absl::kZeroPad8),
      ", computed 0x", absl::Hex(computed, absl::kZeroPad8),
      "; the file was cut short or damaged, restore it from a copy"));
}

// The bytes of a file in which chunks may lie.
struct Space {
  uint64_t begin = 0;
  uint64_t end = 0;
};

absl::Status CheckEntry(const InputBytes& file, const Zarr3Array& array,
                        size_t chunk, const StoredChunk& stored, Space space) {
  const bool lies_in = stored.offset >= space.begin &&
                       stored.offset <= space.end && stored.bytes > 0 &&
                       stored.bytes <= space.end - stored.offset;
  if (!lies_in) {
    return absl::DataLossError(absl::StrCat(
        "'", file.path(), "': chunk ", chunk, " is said to lie at byte ",
        stored.offset, ", ", stored.bytes, " bytes long; chunks lie in bytes ",
        space.begin, " to ", space.end));
  }
  const bool is_blosc = !array.blosc.empty();
  const uint64_t most =
      array.chunk_bytes() + (is_blosc ? kMaxBloscOverhead : 0);
  if (stored.bytes > most || (!is_blosc && stored.bytes != most)) {
    return absl::DataLossError(
        absl::StrCat("'", file.path(), "': chunk ", chunk, " at byte ",
                     stored.offset, " has ", stored.bytes, " bytes, expected ",
                     is_blosc ? "at most " : "", most));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<StoredChunk>> ReadShardIndex(
    const InputBytes& file, const Zarr3Array& array) {
  const uint64_t index_bytes = array.index_bytes();
  if (file.size() < index_bytes) {
    return absl::DataLossError(absl::StrCat(
        "'", file.path(), "' has ", file.size(), " bytes, fewer than the ",
        index_bytes, " of the index of its chunks; the file was cut short"));
  }
  const uint64_t last = file.size() - index_bytes;
  const uint64_t at = array.index_is_first ? 0 : last;
  const Space space =
      array.index_is_first ? Space{index_bytes, file.size()} : Space{0, last};
  std::vector<std::byte> index(index_bytes);
  PONIENTE_RETURN_IF_ERROR(file.ReadAt(at, index));
  if (array.index_has_checksum) {
    PONIENTE_RETURN_IF_ERROR(CheckChecksum(file, index, at));
  }
  std::vector<StoredChunk> chunks;
  uint64_t sum = 0;
  for (size_t i = 0; i < array.chunks_per_file(); ++i) {
    const StoredChunk stored{LoadLittle<uint64_t>(&index[i * kEntryBytes]),
                             LoadLittle<uint64_t>(&index[i * kEntryBytes + 8])};
    if (stored.offset == UINT64_MAX && stored.bytes == UINT64_MAX) continue;
    PONIENTE_RETURN_IF_ERROR(CheckEntry(file, array, i, stored, space));
    sum += stored.bytes;
    if (sum > space.end - space.begin) {
      return absl::DataLossError(
          absl::StrCat("'", file.path(), "': its chunks up to ", i, " have ",
                       sum, " bytes, the file has room for ",
                       space.end - space.begin, "; they lie on each other"));
    }
    chunks.resize(i + 1);
    chunks[i] = stored;
  }
  chunks.shrink_to_fit();
  return chunks;
}

absl::Status DecodeChunk(const Zarr3Array& array, std::string_view where,
                         std::span<const std::byte> stored,
                         std::span<std::byte> decoded) {
  if (!array.blosc.empty()) return DecodeBlosc(where, stored, decoded);
  if (stored.size() != decoded.size()) {
    return absl::DataLossError(absl::StrCat(Absl(where), ": has ",
                                            stored.size(), " bytes, expected ",
                                            decoded.size()));
  }
  std::copy(stored.begin(), stored.end(), decoded.begin());
  return absl::OkStatus();
}

}  // namespace poniente::internal
