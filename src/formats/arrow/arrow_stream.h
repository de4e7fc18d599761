// SPDX-License-Identifier: Apache-2.0
// Arrow's IPC streams. A stream is a sequence of messages: first a schema, then
// record batches of some rows each. The ids of a batch lie end to end. An Arrow
// file is a stream between magic bytes and a footer.

#ifndef PONIENTE_FORMATS_ARROW_ARROW_STREAM_H_
#define PONIENTE_FORMATS_ARROW_ARROW_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/core/input_bytes.h"
#include "poniente/token_source.h"
#include "store/read/compact_ends.h"

namespace poniente::internal {

// The ids of one record batch.
struct ArrowRun {
  uint64_t offset = 0;  // in the file
  uint64_t tokens = 0;  // at least 1
};

struct ArrowStream {
  std::string column;
  StoredType type = StoredType::kI64;
  std::vector<ArrowRun> runs;
  uint64_t tokens = 0;
  uint64_t rows = 0;
  std::vector<std::string> warnings;
};

// Returns whether a file that begins with `head` is certainly a stream or an
// Arrow file.
bool IsArrow(std::span<const std::byte> head);

// Finds the ids of `column` (if it is empty, ParseArrowSchema() chooses), and
// appends the length of each row to `rows`. Reads messages and row offsets, no
// ids. Errors as ParseArrowBatch(), naming path and place.
absl::StatusOr<ArrowStream> ParseArrowStream(const InputBytes& input,
                                             std::string_view column,
                                             CompactEnds* rows);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_ARROW_ARROW_STREAM_H_
