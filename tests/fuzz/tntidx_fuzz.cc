// SPDX-License-Identifier: Apache-2.0
// Indexes of Fairseq's lazy datasets and of old Megatron. Input: 8 bytes, how
// many the .bin has; the index. What is read of Fairseq's is decoded, too, from
// the index itself.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "formats/megatron/one_based_ids.h"
#include "formats/megatron/tntidx.h"
#include "util/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using poniente::internal::LoadLittle;
  using poniente::internal::OneBasedIds;
  if (size < 8) return 0;
  const auto rest = std::as_bytes(std::span(data, size).subspan(8));
  const poniente::internal::MemoryBytes index("x.idx",
                                              {rest.begin(), rest.end()});
  const auto layout = poniente::internal::LayOutTntidx(
      index, "x.bin", LoadLittle<uint64_t>(data), {});
  if (!layout.ok()) return 0;
  PONIENTE_CHECK(layout->documents->ends().total() == layout->shards[0].tokens);
  if (!layout->decoder || layout->shards[0].tokens == 0) return 0;
  std::vector<std::byte> decoded(layout->decoder->DecodedBytes(0));
  PONIENTE_CHECK(decoded.size() <= OneBasedIds::kBlockBytes);
  const size_t there = std::min(decoded.size(), rest.size());
  (void)layout->decoder->Decode(0, rest.first(there),
                                std::span(decoded).first(there));
  return 0;
}
