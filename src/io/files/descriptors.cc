// SPDX-License-Identifier: Apache-2.0
#include "io/files/descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "io/files/fault_hooks.h"

namespace poniente::internal {

// Those who need the soft limit low are programs that call select(), which this
// library never does.
void RaiseDescriptorLimit() {
  rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  if (limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  if (FaultAt(SystemCall::kSetrlimit) != 0) return;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);  // the next call tells
}

int AboveStandard(int fd) {
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  const int result = moved >= 0 ? moved : -errno;
  ::close(fd);
  return result;
}

}  // namespace poniente::internal
