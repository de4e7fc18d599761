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

// A limit for the metadata of a message, more than real schemas and batches
// need.
inline constexpr uint64_t kMaxArrowMetadataBytes = 8 << 20;
// A limit for the footer of a file: 24 bytes for each batch, and the schema.
inline constexpr uint64_t kMaxArrowFooterBytes = 256 << 20;

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

// Parts of a record batch that belong to one or several columns.
struct ArrowCounts {
  uint64_t nodes = 0;
  uint64_t buffers = 0;
  // Arrays with additional buffers; each batch says how many.
  uint64_t views = 0;
};

enum class ArrowListKind { k32BitOffsets, k64BitOffsets, kFixedSize };

// A column of lists of integers.
struct ArrowColumn {
  std::string name;
  ArrowListKind kind = ArrowListKind::k32BitOffsets;
  // Ids in each row, if all rows have the same number; at least 1.
  uint64_t fixed_size = 0;
  StoredType type = StoredType::kI64;
  // Counts of the columns before this one, and of all columns.
  ArrowCounts before;
  ArrowCounts all;
};

// A range of bytes in a batch's body.
struct ArrowBuffer {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// A column's part of a record batch.
struct ArrowBatch {
  uint64_t rows = 0;
  // rows + 1 offsets into `ids`. Unused if all rows have the same length or
  // there are no rows. The offsets fit into the buffer.
  ArrowBuffer offsets;
  ArrowBuffer ids;
  // The number of ids that `ids` has room for.
  uint64_t num_ids = 0;
};

// Where a file's footer says that a record batch lies: its metadata, with the
// bytes before them, and then its body.
struct ArrowBlock {
  uint64_t offset = 0;
  uint64_t metadata_bytes = 0;
  uint64_t body_bytes = 0;
};

struct ArrowFooter {
  ArrowColumn column;
  std::vector<ArrowBlock> batches;  // as listed; not checked
};

// The parsers below take metadata: bytes aligned to 8, at most
// kMaxArrowMetadataBytes (a footer: kMaxArrowFooterBytes). Their error messages
// do not name the path. DataLoss: damaged, or contradicts itself.
// InvalidArgument: valid, but holds no ids that can be read in place.
// Unimplemented: compressed, or this build has no FlatBuffers.

absl::StatusOr<ArrowMessage> ParseArrowMessage(
    std::span<const std::byte> metadata);

// Chooses column `name`. If that is empty, chooses "input_ids", else "tokens",
// else the only column of lists of integers. REQUIRES: the message is a schema.
absl::StatusOr<ArrowColumn> ParseArrowSchema(
    std::span<const std::byte> metadata, std::string_view name);

// Finds the column's part of a record batch. REQUIRES: the message is one.
absl::StatusOr<ArrowBatch> ParseArrowBatch(std::span<const std::byte> metadata,
                                           const ArrowColumn& column);

// Chooses the column as ParseArrowSchema(), from the schema in the footer.
absl::StatusOr<ArrowFooter> ParseArrowFooter(std::span<const std::byte> footer,
                                             std::string_view name);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_ARROW_ARROW_METADATA_H_
