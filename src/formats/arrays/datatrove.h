// SPDX-License-Identifier: Apache-2.0
// datatrove's .ds: ids without a header. Beside it may lie .ds.index, where its
// documents end, and .ds.metadata, which names tokenizer, width and count.

#ifndef PONIENTE_FORMATS_ARRAYS_DATATROVE_H_
#define PONIENTE_FORMATS_ARRAYS_DATATROVE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/core/compact_ends.h"
#include "formats/core/input_bytes.h"
#include "poniente/token_source.h"

namespace poniente::internal {

struct DatatroveMetadata {
  // Empty if it was not known.
  std::string tokenizer;
  StoredType type = StoredType::kU16;
  uint64_t tokens = 0;
};
absl::StatusOr<DatatroveMetadata> ParseDatatroveMetadata(
    const InputBytes& metadata);

// The type of the `bytes` of `path`, by the last end of its index; nothing if
// the index has no tokens. DataLoss if no type fits.
absl::StatusOr<std::optional<StoredType>> TypeByIndex(const InputBytes& index,
                                                      const std::string& path,
                                                      uint64_t bytes);

// Appends the lengths of the documents. DataLoss if the ends descend or are not
// of `tokens`, which `path` holds.
absl::Status AppendDocuments(const InputBytes& index, const std::string& path,
                             uint64_t tokens, CompactEnds* lengths);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_ARRAYS_DATATROVE_H_
