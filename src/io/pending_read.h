// SPDX-License-Identifier: Apache-2.0
// One read in progress, on any backend. Handles short reads, interruptions and
// errors of the kernel.

#ifndef PONIENTE_IO_PENDING_READ_H_
#define PONIENTE_IO_PENDING_READ_H_

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "io/reader_state.h"
#include "poniente/byte_reader.h"

namespace poniente::internal {

class UringBatch;

// A range of a file that is to be read into one or more places in memory.
//
// Thread safety: belongs to its backend until it is finished.
class PendingRead {
 public:
  // Reads bytes [offset, offset + bytes) into `into`. If the end of a direct
  // read was rounded up, only its first `needed` bytes have to arrive.
  PendingRead(ReaderState* reader, uint32_t file, IoBackend backend,
              uint64_t offset, uint64_t bytes, uint64_t needed,
              std::byte* into);

  // Extend the read by `bytes`, the first `needed` of which have to arrive:
  // right after its last bytes in memory, or at another place, `into`, which is
  // appended to `places`. For planning only. REQUIRES: all calls pass the same
  // `places`, and no other read has appended to it since this one first did.
  void ExtendInPlace(uint64_t bytes, uint64_t needed);
  void ExtendAt(std::byte* into, uint64_t bytes, uint64_t needed,
                std::vector<iovec>* places);

  // Extends the needed bytes to `end` in the file.
  void Need(uint64_t end) { needed_ = std::max(needed_, end - offset_); }
  // Records that the read also reads bytes of this request.
  void Serve(const ReadRequest& request);

  // Return the file and the offset for the next system call.
  const RingFile& file() const;
  uint64_t offset() const { return offset_ + done_; }
  // Returns the remaining places.
  std::span<const iovec> places() const;
  // Returns how many bytes to request for the first of places(), within the
  // limit of a call.
  size_t piece() const;

  // Takes the result of a call for places(): a number of bytes, or -errno.
  // Afterwards the read is finished(), or it needs another call, maybe with
  // another backend(). Throws nothing: if there is no memory, the read fails.
  void TakeResult(int64_t result);
  // Fails the read because the file ends at `end`, before the read's range
  // does.
  void FailAtEnd(uint64_t end);
  // Returns whether the last byte is zero. REQUIRES: the read finished without
  // an error, and was not past the cache.
  bool EndsInZero() const;
  // Records that the read is valid only if the file is unchanged since these
  // blocks were verified.
  void RelyOn(const VerifiedBlocks* verified) { relied_on_ = verified; }
  // Makes pread the backend, because the present one cannot serve the read.
  void LeaveToPread() { backend_ = IoBackend::kPread; }
  void CountRetry() { ++retries_; }
  // Records that the last byte of a copy's source was zero after the copy.
  void SetEndsInZero() { ends_in_zero_ = true; }

  // Returns the first request that the read serves, in the order of the batch.
  const ReadRequest* request() const { return request_; }
  // Returns what was passed to RelyOn(); null if it was not called.
  const VerifiedBlocks* relied_on() const { return relied_on_; }
  bool finished() const { return finished_; }
  const absl::Status& status() const { return status_; }
  // Returns how many bytes the calls have read; bytes read twice count twice.
  uint64_t bytes_brought() const { return brought_; }
  uint32_t retries() const { return retries_; }
  IoBackend backend() const { return backend_; }
  ReaderState& reader() const { return *reader_; }
  uint32_t file_number() const { return file_; }
  const OpenFile& opened() const { return reader_->opened(file_); }
  uint64_t begin() const { return offset_; }
  uint64_t end() const { return offset_ + bytes_; }
  uint64_t needed_end() const { return offset_ + needed_; }
  uint64_t size() const { return bytes_; }

  // For the ring only.
  UringBatch* batch = nullptr;
  uint64_t submission = 0;    // number of the call that last submitted it
  bool hit = false;           // complete right after that call
  bool hit_is_known = false;  // that call was short, so a hit was cached

 private:
  // Returns "path: read of 10 bytes at offset 5: ".
  std::string What() const;
  void Grow(uint64_t bytes, uint64_t needed);
  void Advance(uint64_t bytes);
  void Succeed();
  void Take(int64_t result);
  void TakeError(int error);
  void FailWithErrno(int error);
  void Fail(absl::Status status);

  ReaderState* reader_;
  const ReadRequest* request_ = nullptr;
  const VerifiedBlocks* relied_on_ = nullptr;
  bool serves_one_ = true;
  uint32_t file_;
  IoBackend backend_;
  bool finished_ = false;
  bool ends_in_zero_ = false;
  uint64_t offset_;
  uint64_t bytes_;
  uint64_t needed_;
  uint64_t done_ = 0;
  uint64_t brought_ = 0;
  uint32_t retries_ = 0;
  uint32_t fruitless_ = 0;  // consecutive calls with a transient error
  iovec place_;             // if there is only one; otherwise:
  std::vector<iovec>* all_places_ = nullptr;
  uint32_t first_place_ = 0;
  uint32_t num_places_ = 0;
  absl::Status status_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_PENDING_READ_H_
