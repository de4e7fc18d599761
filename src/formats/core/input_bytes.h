// SPDX-License-Identifier: Apache-2.0
// The input of a parser: bytes at offsets, of a file or in memory.

#ifndef PONIENTE_FORMATS_CORE_INPUT_BYTES_H_
#define PONIENTE_FORMATS_CORE_INPUT_BYTES_H_

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "store/read/side_file.h"
#include "util/byte_order.h"
#include "util/status_macros.h"

namespace poniente::internal {

// Thread safety: any number of threads.
class InputBytes {
 public:
  virtual ~InputBytes() = default;

  // Returns the path for messages.
  virtual const std::string& path() const = 0;
  virtual uint64_t size() const = 0;
  // Fills `into` from `offset`; DataLoss, naming path and place, if the bytes
  // end earlier.
  virtual absl::Status ReadAt(uint64_t offset,
                              std::span<std::byte> into) const = 0;
  // Advises that these bytes, if they exist, are read soon.
  virtual void WillRead(uint64_t /*offset*/, uint64_t /*bytes*/) const {}
};

class FileBytes final : public InputBytes {
 public:
  static absl::StatusOr<FileBytes> Open(const std::string& path);

  const std::string& path() const override { return file_.path(); }
  uint64_t size() const override { return file_.size(); }
  absl::Status ReadAt(uint64_t offset,
                      std::span<std::byte> into) const override {
    return file_.ReadAt(offset, into);
  }
  void WillRead(uint64_t offset, uint64_t bytes) const override {
    file_.WillRead(offset, bytes);
  }

 private:
  explicit FileBytes(SideFile file) : file_(std::move(file)) {}

  SideFile file_;
};

class MemoryBytes final : public InputBytes {
 public:
  MemoryBytes(std::string path, std::vector<std::byte> bytes)
      : path_(std::move(path)), bytes_(std::move(bytes)) {}

  const std::string& path() const override { return path_; }
  uint64_t size() const override { return bytes_.size(); }
  absl::Status ReadAt(uint64_t offset,
                      std::span<std::byte> into) const override;

 private:
  std::string path_;
  std::vector<std::byte> bytes_;
};

// Returns all of `input` as text; InvalidArgument if it has more than `most`
// bytes.
absl::StatusOr<std::string> ReadAllText(const InputBytes& input, uint64_t most);

// Returns the first `count` bytes, or all if there are fewer.
absl::StatusOr<std::vector<std::byte>> ReadHead(const InputBytes& input,
                                                uint64_t count);

bool BeginsWith(std::span<const std::byte> bytes, std::string_view magic);

// Calls visit(value) for each of `count` little-endian integers from byte
// `offset` on, in order, until it returns an error. Reads 64 KiB at a time, and
// has the next MiB read meanwhile.
template <std::unsigned_integral U, class Visit>
absl::Status ForEachInteger(const InputBytes& input, uint64_t offset,
                            uint64_t count, const Visit& visit) {
  constexpr uint64_t kAtOnce = 65536 / sizeof(U);
  constexpr uint64_t kAhead = uint64_t{1} << 20;
  std::vector<std::byte> bytes(std::min(count, kAtOnce) * sizeof(U));
  uint64_t advised = offset;
  while (count > 0) {
    const uint64_t ahead = std::min(count * sizeof(U), kAhead);
    const uint64_t new_bytes = offset + ahead - advised;
    // Not if it is all read next.
    if (count > kAtOnce && new_bytes >= std::min(ahead, kAhead / 2)) {
      input.WillRead(advised, new_bytes);
      advised += new_bytes;
    }
    const uint64_t some = std::min(count, kAtOnce);
    const std::span<std::byte> part = std::span(bytes).first(some * sizeof(U));
    PONIENTE_RETURN_IF_ERROR(input.ReadAt(offset, part));
    for (uint64_t i = 0; i < some; ++i) {
      PONIENTE_RETURN_IF_ERROR(
          visit(LoadLittle<U>(part.data() + i * sizeof(U))));
    }
    offset += part.size();
    count -= some;
  }
  return absl::OkStatus();
}

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_CORE_INPUT_BYTES_H_
