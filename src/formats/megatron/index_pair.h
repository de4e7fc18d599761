// SPDX-License-Identifier: Apache-2.0
// Finds datasets of two files, an index (.idx) and ids (.bin): Megatron's,
// Fairseq's, and those of their predecessor.

#ifndef PONIENTE_FORMATS_MEGATRON_INDEX_PAIR_H_
#define PONIENTE_FORMATS_MEGATRON_INDEX_PAIR_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "formats/core/found_path.h"
#include "poniente/open_token_source.h"

namespace poniente::internal {

struct IndexPair {
  std::string index;
  std::string ids;
};

// Returns the index of a dataset that is named without a suffix, as its own
// project does: path + ".idx", if that is a file.
std::optional<std::string> IndexOfPrefix(const std::string& path);

// Returns an index that begins with `magic`: `found` itself, the one beside a
// .bin, or the first .idx of a folder.
std::optional<std::string> FirstIndex(const FoundPath& found,
                                      std::string_view magic);

// Returns the two files. InvalidArgument if `found` is not a .idx or .bin, or
// is a folder in which the options do not choose one dataset.
absl::StatusOr<IndexPair> FindIndexPair(const FoundPath& found,
                                        const TokenSourceOptions& options);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_MEGATRON_INDEX_PAIR_H_
