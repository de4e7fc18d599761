// SPDX-License-Identifier: Apache-2.0
// Finds the rows of MDS shards, and the ids in one of their columns.
//
// A shard is u32 rows | u32 where each row begins, and the last ends |
// JSON of the writer's settings | rows. A row is a u32 size for each column
// whose size varies, then the columns. A column of NumPy arrays may begin with
// a head: its type, the number of axes and their lengths.

#ifndef PONIENTE_FORMATS_MDS_MDS_ROWS_H_
#define PONIENTE_FORMATS_MDS_MDS_ROWS_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "formats/core/input_bytes.h"
#include "formats/mds/mds_column.h"
#include "poniente/token_source.h"
#include "store/read/compact_ends.h"

namespace poniente::internal {

// The rows of all shards, one shard after the other.
struct MdsRows {
  // The type of the ids. For kAny, the type in the first row.
  std::optional<StoredType> type;
  CompactEnds tokens;
  // Bytes before the ids of each row: from the end of the previous row's ids,
  // or from the beginning of the shard.
  CompactEnds gaps;
};

// Reads the table of a shard with `rows` rows and whatever else is needed to
// find their ids, and appends the rows to `all`. Sets `unread` if rows must
// still be checked by CheckMdsRow().
// Errors: DataLoss, naming path, row and byte, if the shard contradicts itself;
//     InvalidArgument if a type is not rows->type.
absl::Status AppendMdsRows(const InputBytes& shard, uint64_t rows,
                           const MdsTokenColumn& column, MdsRows* all,
                           bool* unread);

// Checks that the head of row `row` of `shard` agrees with the row's size:
// `tokens` ids from byte `offset` on.
// REQUIRES: AppendMdsRows() found them and left the row unread.
absl::Status CheckMdsRow(const InputBytes& shard, uint64_t row,
                         const MdsTokenColumn& column, StoredType type,
                         uint64_t offset, uint64_t tokens);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_MDS_MDS_ROWS_H_
