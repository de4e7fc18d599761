// SPDX-License-Identifier: Apache-2.0
#include "io/files/ready_event.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "io/files/descriptors.h"

namespace poniente::internal {

absl::StatusOr<std::unique_ptr<ReadyEvent>> ReadyEvent::Create() {
  std::unique_ptr<ReadyEvent> event(new ReadyEvent());
  event->fd_ = CallForDescriptor([] {
    const int fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return fd >= 0 ? fd : -errno;
  });
  if (event->fd_ < 0) {
    const int error = -event->fd_;
    return absl::Status(
        absl::ErrnoToStatusCode(error),
        absl::StrCat("cannot create an eventfd: ", std::strerror(error),
                     error == EMFILE
                         ? "; raise the limit of open files (ulimit -n)"
                         : ""));
  }
  return event;
}

ReadyEvent::~ReadyEvent() {
  if (fd_ >= 0) ::close(fd_);
}

// The counter is 0 or 1, so neither call can fail or block. If somebody else
// has read it, there is nothing left to read.
void ReadyEvent::Set(bool is_ready) {
  if (is_ready == is_ready_) return;
  is_ready_ = is_ready;
  if (is_ready) {
    static_cast<void>(::eventfd_write(fd_, 1));
  } else {
    eventfd_t count;
    static_cast<void>(::eventfd_read(fd_, &count));
  }
}

}  // namespace poniente::internal
