// SPDX-License-Identifier: Apache-2.0
// A whole file mapped for reading.

#ifndef PONIENTE_IO_MAPPING_H_
#define PONIENTE_IO_MAPPING_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "io/open_file.h"

namespace poniente::internal {

// Ownership: unmaps; does not need the file open.
// The pages past the end of a file that was cut short raise SIGBUS: read them
// with GuardedCopy only.
class Mapping {
 public:
  static absl::StatusOr<Mapping> Map(const OpenFile& file);

  Mapping(Mapping&& other) noexcept
      : begin_(std::exchange(other.begin_, nullptr)), size_(other.size_) {}
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping();

  // Null for an empty file.
  const std::byte* begin() const { return begin_; }

 private:
  Mapping(const std::byte* begin, uint64_t size) : begin_(begin), size_(size) {}

  const std::byte* begin_;
  uint64_t size_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_MAPPING_H_
