// SPDX-License-Identifier: Apache-2.0
// The order of documents by length in a file (docs/packing.md).

#ifndef PONIENTE_STORE_PACKING_LENGTH_ORDER_FILE_H_
#define PONIENTE_STORE_PACKING_LENGTH_ORDER_FILE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "store/packing/length_order.h"
#include "store/packing/length_sort.h"

namespace poniente::internal {

// Opens the file, and reads all of it but the table, whose blocks are read and
// verified when they are needed. Returns nullopt if there is no such file, or
// if it is the order of other documents than those of `key` (LengthOrderKey()).
// Errors: InvalidArgument if it is another kind of file, or of a later version;
// DataLoss if it is damaged.
absl::StatusOr<std::optional<LengthOrder>> OpenLengthOrderFile(
    const std::string& path, uint64_t key, uint64_t documents);

// Writes the order to an open, empty file (ReplacedFile).
absl::Status WriteLengthOrder(int fd, const std::string& path, uint64_t key,
                              const LengthSort& sort);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_PACKING_LENGTH_ORDER_FILE_H_
