// SPDX-License-Identifier: Apache-2.0
#include "io/files/descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "io/files/fault_hooks.h"

namespace poniente::internal {

// Raising the limit is safe here: only programs that call select() need a low
// soft limit, and this library never does.
void RaiseDescriptorLimit() {
  rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  if (limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  if (FaultAt(SystemCall::kSetrlimit) != 0) return;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);  // the next call shows it
}

int AboveStandard(int fd) {
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  const int result = moved >= 0 ? moved : -errno;
  ::close(fd);
  return result;
}

}  // namespace poniente::internal
