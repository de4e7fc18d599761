// SPDX-License-Identifier: Apache-2.0
// A zarr.json, a file of chunks and a ledger, each of the first two after its
// length in 4 bytes; the chunks are decoded, as offsets of rows if they can be.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "formats/core/input_bytes.h"
#include "formats/levanter/blosc_block.h"
#include "formats/levanter/levanter_ledger.h"
#include "formats/levanter/levanter_rows.h"
#include "formats/levanter/zarr3.h"
#include "formats/levanter/zarr_shard.h"
#include "util/byte_order.h"

namespace {

using namespace poniente;            // NOLINT
using namespace poniente::internal;  // NOLINT

constexpr uint64_t kMaxTable = uint64_t{4} << 20;

std::span<const std::byte> Take(std::span<const std::byte>* rest) {
  if (rest->size() < 4) return {};
  const auto wanted = LoadLittle<uint32_t>(rest->data());
  *rest = rest->subspan(4);
  const auto part = rest->first(std::min<size_t>(wanted, rest->size()));
  *rest = rest->subspan(part.size());
  return part;
}

std::string_view Text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

absl::StatusOr<bool> Decode(const Zarr3Array& array, const MemoryBytes& file,
                            const StoredChunk& stored,
                            std::span<std::byte> decoded) {
  if (stored.bytes == 0) return false;
  std::vector<std::byte> bytes(stored.bytes);
  PONIENTE_RETURN_IF_ERROR(file.ReadAt(stored.offset, bytes));
  PONIENTE_RETURN_IF_ERROR(DecodeChunk(array, "chunk", bytes, decoded));
  return true;
}

void ReadArray(std::span<const std::byte> json,
               std::span<const std::byte> bytes) {
  const auto array = ParseZarr3("zarr.json", Text(json));
  if (!array.ok()) return;
  const MemoryBytes file("c/0", {bytes.begin(), bytes.end()});
  const auto chunks = ReadShardIndex(file, *array);
  if (!chunks.ok()) return;
  if (!array->blosc.empty() && !CheckBloscDecodes(array->blosc).ok()) return;
  const auto read = [&](uint64_t chunk, std::span<std::byte> decoded) {
    return Decode(*array, file,
                  chunk < chunks->size() ? (*chunks)[chunk] : StoredChunk{},
                  decoded);
  };
  if (StoredTypeBytes(array->type) == 8) {
    CompactEnds ends;
    (void)ReadRowEnds("offsets", *array, read, bytes.size() + kMaxTable, &ends);
    return;
  }
  std::vector<std::byte> decoded(array->chunk_bytes());
  for (uint64_t i = 0; i < std::min<uint64_t>(chunks->size(), 4); ++i) {
    (void)read(i, decoded);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::span<const std::byte> rest = std::as_bytes(std::span(data, size));
  const std::span<const std::byte> json = Take(&rest);
  const std::span<const std::byte> file = Take(&rest);
  ReadArray(json, file);
  (void)ParseLevanterLedger("shard_ledger.json", Text(rest));
  return 0;
}
