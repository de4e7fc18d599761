// SPDX-License-Identifier: Apache-2.0
// Megatron's and Fairseq's indexes. Input: 8 bytes, how many the .bin has; the
// index.

#include <cstddef>
#include <cstdint>
#include <span>

#include "formats/megatron/megatron.h"
#include "util/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using poniente::internal::LoadLittle;
  if (size < 8) return 0;
  const auto rest = std::as_bytes(std::span(data, size).subspan(8));
  const poniente::internal::MemoryBytes index("x.idx",
                                              {rest.begin(), rest.end()});
  const auto layout = poniente::internal::LayOutMegatron(
      index, "x.bin", LoadLittle<uint64_t>(data), {});
  if (!layout.ok()) return 0;
  const auto& documents = *layout->documents;
  PONIENTE_CHECK(documents.ends().total() == layout->shards[0].tokens);
  for (uint64_t d = 0; d < documents.ends().size(); ++d) {
    PONIENTE_CHECK(documents.Name(d).ok());
  }
  return 0;
}
