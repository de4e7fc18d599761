// SPDX-License-Identifier: Apache-2.0
// One request on its way, whatever serves it. Short reads, interruptions and
// errors of the kernel end here.

#ifndef PONIENTE_IO_PENDING_READ_H_
#define PONIENTE_IO_PENDING_READ_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "io/reader_state.h"
#include "poniente/byte_reader.h"

namespace poniente::internal {

class UringBatch;

// Thread safety: belongs to whatever serves it until it is finished.
class PendingRead {
 public:
  explicit PendingRead(const ReadRequest& request);

  // Where the next system call goes on.
  int fd() const { return file().fd(); }
  uint64_t offset() const { return request_->offset + done_; }
  std::byte* target() const { return request_->into.data() + done_; }
  // Bytes to ask of one call: what is left, within what a call can give.
  size_t piece() const;

  // Takes what a call for piece() gave: bytes, or -errno. Afterwards either
  // finished(), or to be called again.
  void TakeResult(int64_t result);
  // All bytes are there.
  void Succeed();
  // The file has been found to end before this range does, at `end`.
  void FailAtEnd(uint64_t end);
  void FailWithErrno(int error);

  bool finished() const { return finished_; }
  const absl::Status& status() const { return status_; }
  uint64_t bytes_done() const { return done_; }
  const ReadRequest& request() const { return *request_; }
  ReaderState& reader() const { return *reader_; }
  const OpenFile& file() const { return reader_->files[request_->file]; }

  // The ring's own notes.
  UringBatch* batch = nullptr;
  uint64_t submission = 0;  // number of the call that last submitted it
  bool hit = false;         // complete right after that call

 private:
  void Fail(absl::Status status);

  const ReadRequest* request_;
  ReaderState* reader_;
  uint64_t done_ = 0;
  int fruitless_ = 0;  // calls in succession that gave a transient error
  bool finished_ = false;
  absl::Status status_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_PENDING_READ_H_
