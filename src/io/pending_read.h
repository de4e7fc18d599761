// SPDX-License-Identifier: Apache-2.0
// One read on its way, whatever serves it. Short reads, interruptions and
// errors of the kernel end here.

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

// A stretch of a file that goes to one or more places in memory.
//
// Thread safety: belongs to whatever serves it until it is finished.
class PendingRead {
 public:
  // Reads bytes [offset, offset + bytes) to `into`. A direct read whose end was
  // rounded up finds all it needs in the first `needed`.
  PendingRead(ReaderState* reader, uint32_t file, IoBackend backend,
              uint64_t offset, uint64_t bytes, uint64_t needed,
              std::byte* into);

  // While it is planned: it goes on with `bytes` more, of which `needed` are
  // needed, right after the last ones in memory or at `into`, which becomes a
  // place of its own, kept in `places` after those it has there.
  void ExtendInPlace(uint64_t bytes, uint64_t needed);
  void ExtendAt(std::byte* into, uint64_t bytes, uint64_t needed,
                std::vector<iovec>* places);

  // What lies before `end` in the file is needed, too.
  void Need(uint64_t end) { needed_ = std::max(needed_, end - offset_); }
  // It brings bytes of this request, too.
  void Serve(const ReadRequest& request);

  // Where the next system call goes on.
  const RingFile& file() const;
  uint64_t offset() const { return offset_ + done_; }
  // The places left.
  std::span<const iovec> places() const;
  // Bytes to ask for the first of them, within what a call can give.
  size_t piece() const;

  // Takes what a call for places() gave: bytes, or -errno. Afterwards either
  // finished(), or to be called again, maybe by another backend.
  void TakeResult(int64_t result);
  // The file has been found to end before this range does, at `end`.
  void FailAtEnd(uint64_t end);
  // Once finished without an error: the last byte is zero. (Not known of a read
  // past the cache.)
  bool EndsInZero() const;
  // It is right only if the file is still as it was when these were verified.
  void RelyOn(const VerifiedBlocks* verified) { relied_on_ = verified; }
  // Left to pread, as what should serve it cannot.
  void LeaveToPread() { backend_ = IoBackend::kPread; }
  void CountRetry() { ++retries_; }
  // The source of a copy ended in zero after it.
  void SetEndsInZero() { ends_in_zero_ = true; }

  // The first of those served, in the order of the batch.
  const ReadRequest* request() const { return request_; }
  // Null if it needs none.
  const VerifiedBlocks* relied_on() const { return relied_on_; }
  bool finished() const { return finished_; }
  const absl::Status& status() const { return status_; }
  // Bytes that calls brought, twice if they were read twice.
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

  // The ring's own notes.
  UringBatch* batch = nullptr;
  uint64_t submission = 0;    // number of the call that last submitted it
  bool hit = false;           // complete right after that call
  bool hit_is_known = false;  // which was so short that only the cache can

 private:
  // "path: read of 10 bytes at offset 5: ".
  std::string What() const;
  void Grow(uint64_t bytes, uint64_t needed);
  void Advance(uint64_t bytes);
  void Succeed();
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
  uint32_t fruitless_ = 0;  // calls in succession that gave a transient error
  iovec place_;             // the only one, or
  std::vector<iovec>* all_places_ = nullptr;
  uint32_t first_place_ = 0;
  uint32_t num_places_ = 0;
  absl::Status status_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_PENDING_READ_H_
