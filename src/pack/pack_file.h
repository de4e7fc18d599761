// SPDX-License-Identifier: Apache-2.0
// The bytes of an input while it is cut: a file, read on demand, or a stream,
// read once.

#ifndef PONIENTE_PACK_PACK_FILE_H_
#define PONIENTE_PACK_PACK_FILE_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pack/pack_input.h"
#include "pack/text_inputs.h"
#include "store/posix_file.h"

namespace poniente::internal {

// Bytes of a unit of text, up to the end of a document or line.
inline constexpr uint64_t kPackUnitBytes = uint64_t{1} << 19;

// One input.
//
// Errors: those of the disk. Cancelled: `stop` was set while a stream had
//     nothing to read. DataLoss: a file has become shorter.
// Thread safety: Read() on any thread, the rest on one thread at a time.
class PackFile {
 public:
  PackFile(TextInput input, const std::atomic<bool>* stop);

  const TextInput& input() const { return input_; }
  bool is_stream() const { return input_.is_stream(); }

  // Returns the `bytes` bytes from `at` on, or fewer at the end. Valid until
  // the next call. REQUIRES for a stream: `at` is not before the end of the
  // last Take().
  absl::StatusOr<std::string_view> Window(uint64_t at, size_t bytes);

  // Returns where the file ends. REQUIRES for a stream: a window was shorter
  // than asked.
  uint64_t End() const {
    return is_stream() ? held_at_ + held_.size() : input_.bytes;
  }

  // Ends the unit; for a stream, moves its bytes out of the window.
  PackUnit Take(const UnitBegin& begin, const UnitBegin& end, bool is_last);

  // Returns the bytes of a unit, which lie in the unit or in `buffer`.
  absl::StatusOr<std::string_view> Read(const PackUnit& unit,
                                        std::vector<char>* buffer) const;

 private:
  absl::Status Open() const;
  absl::Status ReadStream(size_t bytes);

  const TextInput input_;
  const std::atomic<bool>* const stop_;
  mutable std::once_flag once_;
  mutable absl::Status opened_;
  mutable OwnedFd file_;
  // For a file: the window. For a stream: the bytes that were read and not
  // taken, from `held_at_` on.
  std::string held_;
  uint64_t held_at_ = 0;
  bool at_end_ = false;
};

// Returns whether these are the first bytes of a file made by gzip, bzip2, xz
// or zstd.
bool LooksCompressed(std::string_view begin);
// Returns whether there is a NUL among the first bytes.
bool LooksBinary(std::string_view begin);

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_PACK_FILE_H_
