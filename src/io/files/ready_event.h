// SPDX-License-Identifier: Apache-2.0
// A file descriptor that tells any event loop whether something is ready.

#ifndef PONIENTE_IO_FILES_READY_EVENT_H_
#define PONIENTE_IO_FILES_READY_EVENT_H_

#include <memory>

#include "absl/status/statusor.h"

namespace poniente::internal {

// An eventfd, readable while something is ready. Closed when this object is
// destroyed.
//
// Thread safety: Set() from one thread at a time; the descriptor may be polled
// on any thread.
class ReadyEvent {
 public:
  // Creates a descriptor that is not readable. Errors: those of eventfd(2);
  // ResourceExhausted if there are no descriptors left.
  static absl::StatusOr<std::unique_ptr<ReadyEvent>> Create();
  ~ReadyEvent();
  ReadyEvent(const ReadyEvent&) = delete;
  ReadyEvent& operator=(const ReadyEvent&) = delete;

  int fd() const { return fd_; }

  // Makes the descriptor readable, or not readable. One system call for each
  // change, none without one.
  void Set(bool is_ready);

 private:
  ReadyEvent() = default;

  int fd_ = -1;
  bool is_ready_ = false;
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_FILES_READY_EVENT_H_
