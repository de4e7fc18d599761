// SPDX-License-Identifier: Apache-2.0
// One read in progress, on any backend. Short reads, interruptions and errors
// of the kernel end here.

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

// A range of a file that is read into one or more places in memory.
//
// Thread safety: belongs to its backend until it is finished.
class PendingRead {
 public:
  // Reads bytes [offset, offset + bytes) into `into`. If the end of a direct
  // read was rounded up, only its first `needed` bytes have to arrive.
  PendingRead(ReaderState* reader, uint32_t file, IoBackend backend,
              uint64_t offset, uint64_t bytes, uint64_t needed,
              std::byte* into);

  // While it is planned: it goes on with `bytes` more, of which `needed` are
  // needed, right after the last ones in memory or at `into`, which becomes a
  // place of its own, kept in `places` after those it has there.
  void ExtendInPlace(uint64_t bytes, uint64_t needed);
  void ExtendAt(std::byte* into, uint64_t bytes, uint64_t needed,
                std::vector<iovec>* places);

  // Extends the needed bytes to `end` in the file.
  void Need(uint64_t end) { needed_ = std::max(needed_, end - offset_); }
  // Records that the read also brings bytes of this request.
  void Serve(const ReadRequest& request);

  // Returns the file for the next system call.
  const RingFile& file() const;
  uint64_t offset() const { return offset_ + done_; }
  // Returns the remaining places.
  std::span<const iovec> places() const;
  // Returns the bytes to ask for in the first of them, within the limit of a
  // call.
  size_t piece() const;

  // Takes the result of a call for places(): bytes, or -errno. Afterwards the
  // read is finished(), or another call is needed, maybe by another backend.
  void TakeResult(int64_t result);
  // Fails the read because the file ends at `end`, before the read's range
  // does.
  void FailAtEnd(uint64_t end);
  // Returns, for a read that finished without an error, whether the last byte
  // is zero. (Unknown for a read past the cache.)
  bool EndsInZero() const;
  // Makes the read valid only if the file is unchanged since these blocks were
  // verified.
  void RelyOn(const VerifiedBlocks* verified) { relied_on_ = verified; }
  // Leaves the read to pread, because its backend cannot serve it.
  void LeaveToPread() { backend_ = IoBackend::kPread; }
  void CountRetry() { ++retries_; }
  // Records that the source of a copy ended in zero after it.
  void SetEndsInZero() { ends_in_zero_ = true; }

  // Returns the first request that the read serves, in the order of the batch.
  const ReadRequest* request() const { return request_; }
  // Returns what RelyOn() was called with; null if nothing.
  const VerifiedBlocks* relied_on() const { return relied_on_; }
  bool finished() const { return finished_; }
  const absl::Status& status() const { return status_; }
  // Returns the bytes that calls returned; bytes read twice count twice.
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

  // Notes of the ring.
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
