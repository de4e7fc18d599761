// SPDX-License-Identifier: Apache-2.0
// The bytes of an input while it is cut into units. A file is read on demand, a
// stream once. A file or stream that is compressed by gzip or zstd counts as
// the stream of the bytes that it holds, which may be read ahead.

#ifndef PONIENTE_PACK_PACK_FILE_H_
#define PONIENTE_PACK_PACK_FILE_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "io/memory_budget.h"
#include "pack/decompressor.h"
#include "pack/pack_input.h"
#include "pack/text_buffer.h"
#include "pack/text_inputs.h"
#include "store/posix_file.h"
#include "util/mutex.h"

namespace poniente::internal {

// Bytes of a unit of text, up to the end of a document or line.
inline constexpr uint64_t kPackUnitBytes = uint64_t{1} << 19;

// Memory for what all inputs have decompressed ahead.
inline MemoryBudget ahead_memory;

// An input that is a file or a stream.
//
// Errors: those of the disk; Cancelled if `stop` was set while waiting for a
//     stream; FailedPrecondition if a file is not the one that was found, or
//     changes while it is read; DataLoss if a file has become shorter, or if a
//     compressed one is damaged or cut short.
// Thread safety: Read() and ReadAhead() on any thread, the rest on one thread
//     at a time.
class PackFile {
 public:
  PackFile(TextInput input, const std::atomic<bool>* stop);
  ~PackFile();
  PackFile(const PackFile&) = delete;
  PackFile& operator=(const PackFile&) = delete;

  const TextInput& input() const { return input_; }
  // Returns whether the input is read once. Opens it, because a compressed file
  // is recognized by its first bytes.
  bool is_stream() const;

  // Drops the bytes of a stream before byte `at`, where the next unit begins.
  // REQUIRES: no unit beyond `at` has been taken.
  absl::Status SkipTo(uint64_t at);

  // Decompresses a piece of a compressed file before a unit needs it. Returns
  // false, at once, if there is nothing to do: the file is not compressed, is
  // read to its end, is being read by another thread, or ahead_memory is used.
  // An error is that of the unit that meets it.
  bool ReadAhead();

  // Returns the `bytes` bytes from byte `at` on, or fewer at the end. The
  // result is valid until the next call. For a stream, REQUIRES that `at` is
  // not before the end of the last unit taken.
  absl::StatusOr<std::string_view> Window(uint64_t at, size_t bytes);

  // Returns the size of the input. For a stream, REQUIRES that a window was
  // shorter than requested.
  uint64_t End() const {
    return is_stream() ? held_at_ + held_.size() : input_.bytes;
  }

  // Returns the unit from `begin` to `end`. For a stream, moves its bytes from
  // the window to the unit.
  PackUnit Take(const UnitBegin& begin, const UnitBegin& end, bool is_last);

  // Returns the bytes of a unit, which lie in the unit or in `buffer`.
  absl::StatusOr<std::string_view> Read(const PackUnit& unit,
                                        std::vector<char>* buffer) const;

 private:
  // Text of a compressed file that no unit has asked for yet.
  struct Piece {
    TextBuffer text;
    uint64_t stored_bytes = 0;  // that it was made of
  };

  absl::Status Open() const;
  // Compares the open file with what was found. REQUIRES: it is no stream.
  absl::Status CheckUnchanged() const;
  std::string Name() const;
  // Appends what the next read() gives to `*to`; sets at_end_.
  absl::Status ReadOnce(size_t bytes, TextBuffer* to)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(stream_mu_);
  // Learns from the first bytes, which are `begin`, whether the stream is
  // compressed; takes them if it is. Fails if they do not fit its name.
  absl::Status LookAtBegin(TextBuffer* begin)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(stream_mu_);
  // Appends a piece of the stream to `*text`. The piece has at most `bytes`
  // bytes if the stream is compressed. Returns false at the end.
  absl::StatusOr<bool> ReadPiece(size_t bytes, TextBuffer* text)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(stream_mu_);
  absl::Status ReadStream(size_t bytes);
  // Moves bytes that were read ahead to held_, until it has `bytes`, or the
  // next piece.
  void TakeAhead(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(stream_mu_);

  const TextInput input_;
  const std::atomic<bool>* const stop_;
  mutable std::once_flag once_;
  mutable absl::Status opened_;
  mutable OwnedFd file_;
  mutable bool is_compressed_ = false;  // a file
  // For a file: the window. For a stream: the bytes that were read but not
  // taken, from byte `held_at_` on.
  TextBuffer held_;
  uint64_t held_at_ = 0;
  // Compressed bytes of which held_ was made, and the units before it.
  uint64_t stored_held_ = 0;
  uint64_t stored_counted_ = 0;  // by units

  // Held while a stream is read, ahead or not.
  Mutex stream_mu_;
  bool at_end_ ABSL_GUARDED_BY(stream_mu_) = false;  // of what is stored
  bool begin_is_known_ ABSL_GUARDED_BY(stream_mu_) = false;
  // For a compressed stream: what has been read and not decompressed yet.
  std::unique_ptr<Decompressor> decompressor_ ABSL_GUARDED_BY(stream_mu_);
  TextBuffer stored_ ABSL_GUARDED_BY(stream_mu_);
  std::string_view stored_left_ ABSL_GUARDED_BY(stream_mu_);  // of stored_
  uint64_t stored_taken_ ABSL_GUARDED_BY(stream_mu_) = 0;
  // What was read ahead, before what ReadPiece() gives.
  std::deque<Piece> ahead_ ABSL_GUARDED_BY(stream_mu_);
  // That of reading ahead; false at the end.
  absl::StatusOr<bool> ahead_status_ ABSL_GUARDED_BY(stream_mu_) = true;
};

// Returns whether there is a NUL in the beginning of a file.
bool LooksBinary(std::string_view begin);

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_PACK_FILE_H_
