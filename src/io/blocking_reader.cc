// SPDX-License-Identifier: Apache-2.0
#include "io/blocking_reader.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "io/files/fault_hooks.h"

namespace poniente::internal {
namespace {

// Returns the number of bytes read, or -errno.
int64_t ReadOnce(const PendingRead& read) {
  const FileDescriptor fd(read.opened());
  if (fd.get() < 0) return fd.get();
  const auto places = read.places();
  const auto offset = static_cast<off_t>(read.offset());
  const ssize_t got =
      places.size() == 1
          ? ::pread(fd.get(), places.front().iov_base, read.piece(), offset)
          : ::preadv(fd.get(), places.data(),
                     static_cast<int>(std::min<size_t>(places.size(), IOV_MAX)),
                     offset);
  return got < 0 ? -errno : got;
}

}  // namespace

void ReadBlocking(std::span<PendingRead> reads) {
  if (reads.size() > 1) {
    for (const PendingRead& read : reads) {
      if (read.finished()) continue;
      // Only advice: if it fails, the reads below take longer.
      if (FaultAt(SystemCall::kFadvise) != 0) continue;
      const FileDescriptor fd(read.opened());
      (void)::posix_fadvise(fd.get(), static_cast<off_t>(read.offset()),
                            static_cast<off_t>(read.end() - read.offset()),
                            POSIX_FADV_WILLNEED);
    }
  }
  for (PendingRead& read : reads) {
    if (!read.finished()) read.LeaveToPread();
    while (!read.finished()) {
      read.TakeResult(HookedReadResult(SystemCall::kPread, ReadOnce(read)));
    }
  }
}

}  // namespace poniente::internal
