// SPDX-License-Identifier: Apache-2.0
// The first byte chooses the parser: 's' a stream, 'd' state.json, 'k'
// dataset_dict.json, 'c' dataset_info.json.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "formats/arrow/arrow_folder.h"
#include "formats/arrow/arrow_stream.h"
#include "util/check.h"

namespace poniente::internal {
namespace {

void ReadAsStream(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  const MemoryBytes input("fuzz.arrow", {bytes.begin(), bytes.end()});
  (void)IsArrow(bytes);
  CompactEnds rows;
  const auto stream = ParseArrowStream(input, "", &rows);
  if (!stream.ok()) return;
  const uint64_t width = StoredTypeBytes(stream->type);
  uint64_t tokens = 0;
  for (const ArrowRun& run : stream->runs) {
    PONIENTE_CHECK(run.tokens > 0 && run.offset <= input.size() &&
                   run.tokens <= (input.size() - run.offset) / width)
        << run.offset;
    tokens += run.tokens;
  }
  PONIENTE_CHECK(tokens == stream->tokens && tokens == rows.total()) << tokens;
  PONIENTE_CHECK(rows.size() == stream->rows) << rows.size();
}

}  // namespace
}  // namespace poniente::internal

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace poniente::internal;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1,
                              size - 1);
  switch (data[0]) {
    case 's':
      ReadAsStream(text);
      break;
    case 'd':
      (void)ParseSavedState("state.json", text);
      break;
    case 'k':
      (void)ParseSavedSplits("dataset_dict.json", text);
      break;
    case 'c':
      (void)ParseCacheInfo("dataset_info.json", text, 100);
      break;
    default:
      break;
  }
  return 0;
}
