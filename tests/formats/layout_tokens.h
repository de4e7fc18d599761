// SPDX-License-Identifier: Apache-2.0
// Reads what a TokenLayout says plainly: whole files, one run at a time.

#ifndef PONIENTE_TESTS_FORMATS_LAYOUT_TOKENS_H_
#define PONIENTE_TESTS_FORMATS_LAYOUT_TOKENS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/token_layout.h"
#include "store/stored_ids.h"
#include "tests/support/temp_dir.h"
#include "util/status_macros.h"

namespace poniente::testing {

inline uint64_t LayoutTokens(const internal::TokenLayout& layout) {
  uint64_t tokens = 0;
  for (const internal::TokenShard& shard : layout.shards) {
    tokens += shard.tokens;
  }
  return tokens;
}

inline absl::Status AppendRun(const internal::TokenLayout& layout,
                              const internal::TokenRun& run,
                              std::vector<uint32_t>* to) {
  std::string bytes;
  if (layout.decoder) {
    PONIENTE_ASSIGN_OR_RETURN(const auto stored,
                              layout.decoder->Find(run.place));
    const std::string file = ReadFile(layout.files.at(stored.file));
    bytes.resize(layout.decoder->DecodedBytes(run.place));
    PONIENTE_RETURN_IF_ERROR(layout.decoder->Decode(
        run.place,
        std::as_bytes(std::span(file).subspan(stored.offset, stored.bytes)),
        std::as_writable_bytes(std::span(bytes))));
  } else {
    bytes = ReadFile(layout.files.at(run.place));
  }
  const uint64_t width = StoredTypeBytes(layout.type);
  if (run.tokens == 0 || run.offset > bytes.size() ||
      run.tokens > (bytes.size() - run.offset) / width) {
    return absl::InternalError("a run is empty, or leaves its file");
  }
  std::vector<uint32_t> ids(run.tokens);
  if (internal::DecodeIds(
          reinterpret_cast<const std::byte*>(bytes.data()) + run.offset,
          layout.type, ids)) {
    return absl::DataLossError("no id");
  }
  to->insert(to->end(), ids.begin(), ids.end());
  return absl::OkStatus();
}

// Tokens [begin, end).
inline absl::StatusOr<std::vector<uint32_t>> ReadLayout(
    const internal::TokenLayout& layout, uint64_t begin, uint64_t end) {
  std::vector<internal::TokenRun> runs;
  if (layout.places) {
    PONIENTE_RETURN_IF_ERROR(layout.places->Locate({begin, end}, &runs));
  } else {
    uint64_t first = 0;
    for (const internal::TokenShard& shard : layout.shards) {
      const uint64_t from = std::max(begin, first);
      const uint64_t to = std::min(end, first + shard.tokens);
      if (from < to) {
        runs.push_back(
            {shard.file,
             shard.offset + (from - first) * StoredTypeBytes(layout.type),
             to - from});
      }
      first += shard.tokens;
    }
  }
  std::vector<uint32_t> tokens;
  for (const internal::TokenRun& run : runs) {
    PONIENTE_RETURN_IF_ERROR(AppendRun(layout, run, &tokens));
  }
  return tokens;
}

inline absl::StatusOr<std::vector<uint32_t>> ReadLayout(
    const internal::TokenLayout& layout) {
  return ReadLayout(layout, 0, LayoutTokens(layout));
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_FORMATS_LAYOUT_TOKENS_H_
