// SPDX-License-Identifier: Apache-2.0
// An MDS index, and one shard read by its first columns: u32 bytes of the
// index | u8, 1: the shard is compressed by zstd | index | shard.

#include <algorithm>
#include <string>
#include <vector>

#include "formats/core/zstd_block.h"
#include "formats/mds/mds_index.h"
#include "formats/mds/mds_rows.h"
#include "util/byte_order.h"
#include "util/check.h"

namespace poniente::internal {
namespace {

// What was found lies in the shard.
void CheckRows(const InputBytes& shard, const MdsTokenColumn& column,
               const MdsRows& rows, bool unread) {
  uint64_t at = 0;
  for (uint64_t row = 0; row < rows.tokens.size(); ++row) {
    const uint64_t tokens = rows.tokens.Length(row);
    at += rows.gaps.Length(row);
    if (unread) {
      (void)CheckMdsRow(shard, row, column, *rows.type, at, tokens);
    }
    at += tokens * StoredTypeBytes(*rows.type);
    PONIENTE_CHECK(at <= shard.size());
  }
}

void Read(const InputBytes& shard, const MdsIndex& index) {
  for (const MdsShard& entry : index.shards) {
    const auto column =
        FindMdsTokenColumn("index", index.columns[entry.columns], {});
    if (!column.ok()) continue;
    MdsRows rows;
    bool unread = false;
    if (!AppendMdsRows(shard, entry.rows, *column, &rows, &unread).ok()) {
      continue;
    }
    CheckRows(shard, *column, rows, unread);
  }
}

}  // namespace
}  // namespace poniente::internal

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace poniente::internal;
  if (size < 5) return 0;
  const size_t text_bytes =
      std::min<size_t>(LoadLittle<uint32_t>(data), size - 5);
  const std::string text(reinterpret_cast<const char*>(data) + 5, text_bytes);
  (void)IsMdsIndex(text);
  const auto index = ParseMdsIndex("index", text);
  if (!index.ok() || index->shards.size() > 8) return 0;
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  const MemoryBytes shard(
      "shard", std::vector<std::byte>(begin + 5 + text_bytes, begin + size));
  if (data[4] != 1 || !CheckZstd("shard").ok()) {
    Read(shard, *index);
    return 0;
  }
  if (index->shards.empty() || index->shards[0].raw.bytes > 1 << 20) return 0;
  const auto decoded = OpenZstdBytes(shard, index->shards[0].raw.bytes);
  if (decoded.ok()) Read(**decoded, *index);
  return 0;
}
