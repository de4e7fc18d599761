// SPDX-License-Identifier: Apache-2.0
// dolma's tables of documents, compressed or not: the table of lengths and the
// rows one by one agree.

#include <cstddef>
#include <cstdint>

#include "formats/dolma/dolma_rows.h"
#include "util/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace poniente::internal;
  constexpr uint64_t kMaxTokens = uint64_t{1} << 40;
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const MemoryBytes input("input", {bytes, bytes + size});
  const auto table =
      ReadDolmaTable(input, kMaxTokens, /*most_memory=*/uint64_t{1} << 20);
  if (table.ok()) PONIENTE_CHECK(table->lengths.total() <= kMaxTokens);
  DolmaRows rows(input, /*keeps_names=*/true);
  DolmaRow row;
  uint64_t count = 0;
  auto is_row = rows.Next(&row);
  for (; is_row.ok() && *is_row; is_row = rows.Next(&row)) {
    PONIENTE_CHECK(row.start <= row.end);
    if (!table.ok()) continue;
    PONIENTE_CHECK(table->lengths.Begin(count) == row.start);
    PONIENTE_CHECK(table->lengths.Length(count) == row.end - row.start);
    ++count;
  }
  if (table.ok() && is_row.ok()) {
    PONIENTE_CHECK(count == table->lengths.size());
  }
  return 0;
}
