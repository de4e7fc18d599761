// SPDX-License-Identifier: Apache-2.0
#include "io/files/direct_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <bit>
#include <cerrno>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "io/files/descriptors.h"
#include "io/files/fault_hooks.h"

namespace poniente::internal {
namespace {

bool IsAlignment(uint32_t value) {
  return std::has_single_bit(value) && value <= 4096;
}

// Returns a descriptor for reads past the page cache, or -errno.
int OpenAgain(int fd) {
  if (const int fault = FaultAt(SystemCall::kOpenDirect); fault != 0) {
    return -fault;
  }
  const std::string path = absl::StrCat("/proc/self/fd/", fd);
  const int direct = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
  return direct >= 0 ? direct : -errno;
}

// Returns whether `fd` is one of the last eighth of the descriptors that the
// process may have. They are left to the rest of the program.
bool TakesTooMany(int fd) {
  rlimit limit;
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
         static_cast<rlim_t>(fd) >= limit.rlim_cur - limit.rlim_cur / 8;
}

}  // namespace

absl::StatusOr<DirectFile> DirectFile::Open(const OpenFile& file) {
  const int fd =
      CallForDescriptor([&file] { return OpenAgain(file.file().fd()); });
  if (fd < 0) {
    return absl::Status(absl::ErrnoToStatusCode(-fd),
                        absl::StrCat("open with O_DIRECT: ",
                                     std::generic_category().message(-fd)));
  }
  DirectFile direct(fd);
  if (TakesTooMany(fd)) RaiseDescriptorLimit();
  if (TakesTooMany(fd)) {
    return absl::ResourceExhaustedError(
        "open with O_DIRECT: few descriptors are left (ulimit -Hn)");
  }
  struct statx facts = {};
  if (FaultAt(SystemCall::kStatx) == 0 &&
      ::statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &facts) == 0 &&
      (facts.stx_mask & STATX_DIOALIGN) != 0 &&
      IsAlignment(facts.stx_dio_mem_align) &&
      IsAlignment(facts.stx_dio_offset_align)) {
    direct.memory_alignment_ = facts.stx_dio_mem_align;
    direct.offset_alignment_ = facts.stx_dio_offset_align;
  }
  return direct;
}

}  // namespace poniente::internal
