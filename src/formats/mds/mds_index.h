// SPDX-License-Identifier: Apache-2.0
// The index.json of MosaicML's MDS datasets: their shards and columns.

#ifndef PONIENTE_FORMATS_MDS_MDS_INDEX_H_
#define PONIENTE_FORMATS_MDS_MDS_INDEX_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace poniente::internal {

// The columns, sorted by name; a row holds them in this order.
struct MdsColumns {
  std::vector<std::string> names;
  std::vector<std::string> encodings;
  // Bytes of the column in each row; nullopt if they vary.
  std::vector<std::optional<uint64_t>> sizes;

  friend bool operator==(const MdsColumns&, const MdsColumns&) = default;
};

struct MdsFile {
  std::string name;  // below the folder of the index
  uint64_t bytes = 0;
};

struct MdsShard {
  MdsFile raw;
  std::optional<MdsFile> zip;
  std::string compression;  // "zstd:7"; empty: none
  uint64_t rows = 0;
  uint32_t columns = 0;  // of MdsIndex
};

struct MdsIndex {
  std::vector<MdsColumns> columns;
  std::vector<MdsShard> shards;
};

// Returns whether a text that begins with `head` is an MDS index.
bool IsMdsIndex(std::string_view head);

// Parses an index. Errors name `path`. InvalidArgument: not an index, or one of
// another version or format.
absl::StatusOr<MdsIndex> ParseMdsIndex(const std::string& path,
                                       std::string_view text);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_MDS_MDS_INDEX_H_
