// SPDX-License-Identifier: Apache-2.0
#include "io/mmap_reader.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <span>

#include "io/guarded_copy.h"

namespace poniente::internal {
namespace {

// After a SIGBUS: the file became shorter, or the disk failed.
void FailAfterFault(PendingRead* read) {
  struct stat info;
  if (::fstat(read->fd(), &info) == 0 &&
      static_cast<uint64_t>(info.st_size) <
          read->request().offset + read->request().into.size()) {
    read->FailAtEnd(static_cast<uint64_t>(info.st_size));
  } else {
    read->FailWithErrno(EIO);
  }
}

bool EndsInZero(const PendingRead& read) {
  return read.finished() && read.status().ok() &&
         !read.request().into.empty() &&
         read.request().into.back() == std::byte{0};
}

// A file cut short inside a page shows zeros up to the page's end, without a
// SIGBUS: a range that ends in a zero may have run into them.
void CheckEnds(std::span<PendingRead> reads) {
  const OpenFile* seen = nullptr;
  uint64_t size = 0;
  for (PendingRead& read : reads) {
    if (!EndsInZero(read)) continue;
    if (&read.file() != seen) {
      struct stat info;
      if (::fstat(read.fd(), &info) != 0) continue;
      seen = &read.file();
      size = static_cast<uint64_t>(info.st_size);
    }
    if (size < read.request().offset + read.request().into.size()) {
      read.FailAtEnd(size);
    }
  }
}

}  // namespace

void ReadMapped(std::span<PendingRead> reads) {
  for (PendingRead& read : reads) {
    if (read.finished()) continue;
    const ReadRequest& request = read.request();
    const std::byte* const from =
        read.reader().mappings[request.file].begin() + request.offset;
    if (GuardedCopy(from, request.into.size(), request.into.data())) {
      read.Succeed();
    } else {
      FailAfterFault(&read);
    }
  }
  CheckEnds(reads);
}

}  // namespace poniente::internal
