// SPDX-License-Identifier: Apache-2.0
#include "io/blocking_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "io/fault_hooks.h"

namespace poniente::internal {

void ReadBlocking(std::span<PendingRead> reads) {
  if (reads.size() > 1) {
    for (const PendingRead& read : reads) {
      if (read.finished()) continue;
      // Advice only: without it the reads below take longer.
      (void)::posix_fadvise(read.fd(), static_cast<off_t>(read.offset()),
                            static_cast<off_t>(read.piece()),
                            POSIX_FADV_WILLNEED);
    }
  }
  for (PendingRead& read : reads) {
    while (!read.finished()) {
      const ssize_t got = ::pread(read.fd(), read.target(), read.piece(),
                                  static_cast<off_t>(read.offset()));
      read.TakeResult(HookedReadResult(got < 0 ? -errno : got));
    }
  }
}

}  // namespace poniente::internal
