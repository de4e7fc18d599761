// SPDX-License-Identifier: Apache-2.0
// The tables beside datatrove's .ds. Input: 8 bytes, how many the .ds has; 4
// bytes, how many the index has, the index; the metadata.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "formats/arrays/datatrove.h"
#include "util/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using poniente::internal::LoadLittle;
  using poniente::internal::MemoryBytes;
  if (size < 12) return 0;
  const auto ids_bytes = LoadLittle<uint64_t>(data);
  const auto rest = std::as_bytes(std::span(data, size).subspan(12));
  const auto first =
      rest.first(std::min<size_t>(LoadLittle<uint32_t>(data + 8), rest.size()));
  const auto second = rest.subspan(first.size());
  const MemoryBytes index("x.ds.index", {first.begin(), first.end()});
  const MemoryBytes metadata("x.ds.metadata", {second.begin(), second.end()});
  const auto said = poniente::internal::ParseDatatroveMetadata(metadata);
  PONIENTE_CHECK(!said.ok() || poniente::StoredTypeBytes(said->type) >= 2);
  const auto type = poniente::internal::TypeByIndex(index, "x.ds", ids_bytes);
  if (!type.ok() || !type->has_value()) return 0;
  const uint64_t tokens = ids_bytes / poniente::StoredTypeBytes(**type);
  poniente::internal::CompactEnds lengths;
  const absl::Status read =
      poniente::internal::AppendDocuments(index, "x.ds", tokens, &lengths);
  PONIENTE_CHECK(!read.ok() || lengths.total() == tokens);
  return 0;
}
