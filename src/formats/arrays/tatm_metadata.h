// SPDX-License-Identifier: Apache-2.0
// Reads metadata.yaml, which tatm puts into a folder of token files.

#ifndef PONIENTE_FORMATS_ARRAYS_TATM_METADATA_H_
#define PONIENTE_FORMATS_ARRAYS_TATM_METADATA_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "formats/core/found_path.h"
#include "formats/core/token_layout.h"
#include "poniente/token_source.h"

namespace poniente::internal {

struct TatmMetadata {
  std::optional<StoredType> type;
  uint64_t vocabulary_size = 0;  // 0: not stated
  std::string tokenizer;         // empty: not stated
};

// Reads dtype, vocab_size and tokenizer below `tokenized_info`. It understands
// only the YAML that tatm writes there: one `key: value` per line, indented.
// InvalidArgument for values that are not valid; messages do not name the path.
absl::StatusOr<TatmMetadata> ParseTatmMetadata(std::string_view text);

// Takes over what the folder's metadata.yaml says, if there is one. If it
// disagrees with the arrays, the arrays win, and a warning says so. A file that
// cannot be read is also a warning.
void ApplyTatmMetadata(const FoundPath& found, TokenLayout* layout);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_ARRAYS_TATM_METADATA_H_
