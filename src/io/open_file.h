// SPDX-License-Identifier: Apache-2.0
// A regular file held open for random reads.

#ifndef PONIENTE_IO_OPEN_FILE_H_
#define PONIENTE_IO_OPEN_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace poniente::internal {

// Ownership: closes its descriptor.
class OpenFile {
 public:
  // Errors: as errno says, naming path and remedy; InvalidArgument for what is
  // not a regular file.
  static absl::StatusOr<OpenFile> Open(std::string path);

  OpenFile(OpenFile&& other) noexcept;
  OpenFile& operator=(OpenFile&&) = delete;
  ~OpenFile();

  const std::string& path() const { return path_; }
  int fd() const { return fd_; }
  // Bytes when opened.
  uint64_t size() const { return size_; }

 private:
  OpenFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_;
  uint64_t size_ = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_OPEN_FILE_H_
