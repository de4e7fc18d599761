// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_views/page_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "store/posix_file.h"
#include "util/status_macros.h"

namespace poniente::cli {
namespace {

using internal::ErrnoError;
using internal::OpenFd;
using internal::OwnedFd;

// Where `path` leads to, also if there is nothing yet.
std::string Followed(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real =
      std::filesystem::weakly_canonical(path, error);
  return error ? path : real.string();
}

// `mode`: of the page that it replaces, if there is one.
absl::Status WriteFile(const std::string& path, int flags,
                       std::string_view page, std::optional<mode_t> mode) {
  PONIENTE_ASSIGN_OR_RETURN(const OwnedFd fd, OpenFd(path, O_WRONLY | flags));
  if (mode.has_value() && ::fchmod(fd.get(), *mode) != 0) {
    return ErrnoError(path, "set the mode");
  }
  // Not at an offset, which a pipe does not have.
  while (!page.empty()) {
    const ssize_t written = ::write(fd.get(), page.data(), page.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoError(path, "write");
    page.remove_prefix(static_cast<size_t>(written));
  }
  // Before it is renamed: else a loss of power could leave an empty page.
  return mode.has_value() ? internal::SyncFd(fd.get(), path) : absl::OkStatus();
}

absl::Status ReplaceFile(const std::string& stated, std::string_view page) {
  struct stat known = {};
  const bool exists = ::stat(stated.c_str(), &known) == 0;
  if (exists && !S_ISREG(known.st_mode)) {
    return WriteFile(stated, 0, page, std::nullopt);
  }
  const std::string path = Followed(stated);
  std::optional<mode_t> mode;
  if (exists) mode = known.st_mode & 07777;
  const std::string temporary = absl::StrCat(path, ".", ::getpid(), ".tmp");
  absl::Status written = WriteFile(temporary, O_CREAT | O_TRUNC, page, mode);
  if (written.ok() && std::rename(temporary.c_str(), path.c_str()) != 0) {
    written = ErrnoError(path, "rename");
  }
  if (!written.ok()) ::unlink(temporary.c_str());
  return written;
}

}  // namespace

absl::Status WritePage(const std::string& path, std::string_view page) {
  const absl::Status written = ReplaceFile(path, page);
  if (written.ok()) return written;
  return internal::Prepend(written, absl::StrCat("cannot write '", path, "'"));
}

}  // namespace poniente::cli
