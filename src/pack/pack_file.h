// SPDX-License-Identifier: Apache-2.0
// The bytes of an input, for those who cut it: a file, read where it is asked
// for, or a stream, read once.

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

// The bytes of a unit of text, up to where the document or line ends.
inline constexpr uint64_t kPackUnitBytes = uint64_t{1} << 19;

// Errors: those of the disk. Cancelled: `stop` was set while a stream had
//     nothing to read. DataLoss: a file has become shorter.
// Thread safety: Read() on any thread, the rest on one at a time.
class PackFile {
 public:
  PackFile(TextInput input, const std::atomic<bool>* stop);

  const TextInput& input() const { return input_; }
  bool is_stream() const { return input_.is_stream(); }

  // The `bytes` bytes from `at` on, or those there are. Valid until the next
  // call. REQUIRES of a stream: `at` is not before the end of the last Take().
  absl::StatusOr<std::string_view> Window(uint64_t at, size_t bytes);

  // Where the file ends. REQUIRES of a stream: a window was shorter than asked.
  uint64_t End() const {
    return is_stream() ? held_at_ + held_.size() : input_.bytes;
  }

  // Ends the unit, and of a stream takes its bytes from the window.
  PackUnit Take(const UnitBegin& begin, const UnitBegin& end, bool is_last);

  // The bytes of a unit; they lie in it or in `buffer`.
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
  // Of a file: the window. Of a stream: what was read and not taken, which
  // begins at `held_at_`.
  std::string held_;
  uint64_t held_at_ = 0;
  bool at_end_ = false;
};

// Whether these are the first bytes of a file that gzip, bzip2, xz or zstd
// made.
bool LooksCompressed(std::string_view begin);
// Whether there is a NUL among the first bytes.
bool LooksBinary(std::string_view begin);

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_PACK_FILE_H_
