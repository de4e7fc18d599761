// SPDX-License-Identifier: Apache-2.0
// The order of documents by length in a file (docs/packing.md).

#ifndef PONIENTE_STORE_PACKING_LENGTH_ORDER_FILE_H_
#define PONIENTE_STORE_PACKING_LENGTH_ORDER_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "store/packing/length_order.h"
#include "store/packing/length_sort.h"
#include "store/posix_file.h"

namespace poniente::internal {

// Opens the file, and reads all of it but the table, whose blocks are read and
// verified when they are needed. Returns nullopt if there is no such file, or
// if it is the order of other documents than those of `key` (LengthOrderKey()).
// Errors: InvalidArgument if it is another kind of file, or of a later version;
// DataLoss if it is damaged.
absl::StatusOr<std::optional<LengthOrder>> OpenLengthOrderFile(
    const std::string& path, uint64_t key, uint64_t documents);

// A file that is written beside `path` and then takes its place. One process at
// a time holds it, so that the ranks of a run make an order only once.
class LengthOrderWriter {
 public:
  // Waits for other processes that write the same file. What a killed one left
  // is overwritten.
  static absl::StatusOr<LengthOrderWriter> Lock(const std::string& path);
  LengthOrderWriter(LengthOrderWriter&&) = default;
  LengthOrderWriter& operator=(LengthOrderWriter&&) = delete;
  // Removes the file unless Write() has succeeded.
  ~LengthOrderWriter();

  // Writes the order, makes it durable, and gives it its name. Call it once.
  absl::Status Write(uint64_t key, const LengthSort& sort);

 private:
  LengthOrderWriter(std::string path, std::string temporary, OwnedFd fd)
      : path_(std::move(path)),
        temporary_(std::move(temporary)),
        fd_(std::move(fd)) {}

  std::string path_;
  std::string temporary_;  // empty once it has its name
  OwnedFd fd_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_PACKING_LENGTH_ORDER_FILE_H_
