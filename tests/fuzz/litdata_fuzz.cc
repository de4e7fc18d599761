// SPDX-License-Identifier: Apache-2.0
// A litdata index, and one chunk read as each of its chunks: u32 bytes of the
// index | index | chunk.

#include <algorithm>
#include <string>
#include <vector>

#include "formats/litdata/litdata_index.h"
#include "util/byte_order.h"
#include "util/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace poniente;
  using namespace poniente::internal;
  if (size < 4) return 0;
  const size_t text_bytes =
      std::min<size_t>(LoadLittle<uint32_t>(data), size - 4);
  const std::string text(reinterpret_cast<const char*>(data) + 4, text_bytes);
  (void)IsLitdataIndex(text);
  const auto index = ParseLitdataIndex("index", text);
  if (!index.ok() || index->chunks.size() > 8) return 0;
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  const MemoryBytes bytes(
      "chunk", std::vector<std::byte>(begin + 4 + text_bytes, begin + size));
  for (const LitdataChunk& chunk : index->chunks) {
    CompactEnds ends;
    const auto items = AppendLitdataItems(bytes, chunk, index->type, &ends);
    if (!items.ok()) continue;
    PONIENTE_CHECK(!items->known || ends.total() == items->tokens);
    PONIENTE_CHECK(LitdataHeadBytes(chunk.items) +
                       items->tokens * StoredTypeBytes(index->type) ==
                   bytes.size());
  }
  return 0;
}
