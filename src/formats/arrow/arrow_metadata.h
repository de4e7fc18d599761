// SPDX-License-Identifier: Apache-2.0
// The messages of an Arrow stream: its schema, and where in the body of a
// record batch one column lies.

#ifndef PONIENTE_FORMATS_ARROW_ARROW_METADATA_H_
#define PONIENTE_FORMATS_ARROW_ARROW_METADATA_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/token_source.h"

namespace poniente::internal {

// Fewer than any schema or batch of people's data needs.
inline constexpr uint64_t kMaxArrowMetadataBytes = 8 << 20;

enum class ArrowMessageKind {
  kSchema,
  kDictionaries,
  kRecordBatch,
  kOther,
};

struct ArrowMessage {
  ArrowMessageKind kind = ArrowMessageKind::kOther;
  uint64_t body_bytes = 0;
};

// What a column or several have of a record batch.
struct ArrowCounts {
  uint64_t nodes = 0;
  uint64_t buffers = 0;
  // Arrays that have any number of buffers more; each batch says how many.
  uint64_t views = 0;
};

enum class ArrowListKind { k32BitOffsets, k64BitOffsets, kFixedSize };

// A column of lists of integers.
struct ArrowColumn {
  std::string name;
  ArrowListKind kind = ArrowListKind::k32BitOffsets;
  // Ids of each row, if all have the same number; at least 1.
  uint64_t fixed_size = 0;
  StoredType type = StoredType::kI64;
  // What the columns before it have, and all columns.
  ArrowCounts before;
  ArrowCounts all;
};

// Bytes of a batch's body.
struct ArrowBuffer {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// A column's part of a record batch.
struct ArrowBatch {
  uint64_t rows = 0;
  // rows + 1 offsets into `ids`, unless all rows have the same length or there
  // are none. They fit into the buffer.
  ArrowBuffer offsets;
  ArrowBuffer ids;
  // Ids that `ids` has room for.
  uint64_t num_ids = 0;
};

// The parsers of metadata: bytes aligned to 8, at most kMaxArrowMetadataBytes.
// Messages of their errors do not name the path. DataLoss: damaged, or
// contradicts itself. InvalidArgument: legal, but holds no ids that can be read
// in place. Unimplemented: compressed; or built without FlatBuffers.

absl::StatusOr<ArrowMessage> ParseArrowMessage(
    std::span<const std::byte> metadata);

// Chooses column `name`; if that is empty "input_ids", else "tokens", else the
// only one of lists of integers. REQUIRES: a message of that kind.
absl::StatusOr<ArrowColumn> ParseArrowSchema(
    std::span<const std::byte> metadata, std::string_view name);

// REQUIRES: a message of that kind.
absl::StatusOr<ArrowBatch> ParseArrowBatch(std::span<const std::byte> metadata,
                                           const ArrowColumn& column);

// Where the record batches of an Arrow file begin, in their order.
absl::StatusOr<std::vector<uint64_t>> ParseArrowFooter(
    std::span<const std::byte> footer);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_ARROW_ARROW_METADATA_H_
