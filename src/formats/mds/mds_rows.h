// SPDX-License-Identifier: Apache-2.0
// Rows of MDS shards, and the ids in one of their columns.
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
#include "formats/core/compact_ends.h"
#include "formats/core/input_bytes.h"
#include "formats/mds/mds_column.h"
#include "poniente/token_source.h"

namespace poniente::internal {

// Rows of shards that follow each other.
struct MdsRows {
  // Of ids; of kAny it is that of the first row.
  std::optional<StoredType> type;
  CompactEnds tokens;
  // Bytes between the ids of the row before, or the shard's beginning, and the
  // row's own.
  CompactEnds gaps;
};

// Reads the table of a shard with `rows` rows, and what else it takes to find
// the ids of each; appends them. `unread` tells whether rows were left to
// CheckMdsRow().
// Errors: DataLoss, naming path, row and byte, for what contradicts itself;
//     InvalidArgument if a type is not rows->type.
absl::Status AppendMdsRows(const InputBytes& shard, uint64_t rows,
                           const MdsTokenColumn& column, MdsRows* all,
                           bool* unread);

// Whether the head of row `row` of `shard` says what its size does: `tokens`
// ids from byte `offset` on.
// REQUIRES: AppendMdsRows() found them and left the row unread.
absl::Status CheckMdsRow(const InputBytes& shard, uint64_t row,
                         const MdsTokenColumn& column, StoredType type,
                         uint64_t offset, uint64_t tokens);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_MDS_MDS_ROWS_H_
