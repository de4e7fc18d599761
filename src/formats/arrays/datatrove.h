// SPDX-License-Identifier: Apache-2.0
// Reads datatrove's .ds: ids without a header. Two files may lie beside it:
// .ds.index says where documents end, and .ds.metadata names the tokenizer, the
// width and the count.

#ifndef PONIENTE_FORMATS_ARRAYS_DATATROVE_H_
#define PONIENTE_FORMATS_ARRAYS_DATATROVE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/core/input_bytes.h"
#include "poniente/token_source.h"
#include "store/read/compact_ends.h"

namespace poniente::internal {

struct DatatroveMetadata {
  // Empty if datatrove did not know it.
  std::string tokenizer;
  StoredType type = StoredType::kU16;
  uint64_t tokens = 0;
};
absl::StatusOr<DatatroveMetadata> ParseDatatroveMetadata(
    const InputBytes& metadata);

// Returns the type of the ids in `path`, a file of `bytes` bytes, computed from
// the last end in its index; nullopt if the index has no tokens. DataLoss if no
// type fits.
absl::StatusOr<std::optional<StoredType>> TypeByIndex(const InputBytes& index,
                                                      const std::string& path,
                                                      uint64_t bytes);

// Appends the lengths of the documents. `path` holds `tokens` ids. DataLoss if
// the index is cut short, if the ends descend, or if the last end is not
// `tokens`.
absl::Status AppendDocuments(const InputBytes& index, const std::string& path,
                             uint64_t tokens, CompactEnds* lengths);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_ARRAYS_DATATROVE_H_
