// SPDX-License-Identifier: Apache-2.0
#include "io/mapping.h"

#include <sys/mman.h>

#include <cerrno>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace poniente::internal {

absl::StatusOr<Mapping> Mapping::Map(const OpenFile& file) {
  if (file.size() == 0) return Mapping(nullptr, 0);
  void* const begin =
      ::mmap(nullptr, file.size(), PROT_READ, MAP_SHARED, file.fd(), 0);
  if (begin == MAP_FAILED) {
    const int error = errno;
    return absl::Status(
        absl::ErrnoToStatusCode(error),
        absl::StrCat(file.path(), ": cannot map ", file.size(),
                     " bytes: ", std::generic_category().message(error),
                     "; choose another I/O backend (auto, uring, pread)"));
  }
  // Without it a fault reads up to read_ahead_kb: 16 times too much.
  (void)::madvise(begin, file.size(), MADV_RANDOM);
  return Mapping(static_cast<const std::byte*>(begin), file.size());
}

Mapping::~Mapping() {
  if (begin_ != nullptr) ::munmap(const_cast<std::byte*>(begin_), size_);
}

}  // namespace poniente::internal
