// SPDX-License-Identifier: Apache-2.0
#include "store/write/direct_writer.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "io/mmap/stream_copy.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Least memory of a Pages object. A large piece needs more.
constexpr size_t kLeastPageRoom = size_t{1} << 20;
// Bounds of one allocation ahead of the writes, which covers the expected rest
// of the file, or a quarter of its size so far. Each allocation waits for all
// writes in flight, so larger allocations wait less often.
constexpr uint64_t kLeastAhead = uint64_t{8} << 20;
constexpr uint64_t kMaxAhead = uint64_t{256} << 20;

// An allocation takes at most this part (one eighth) of the free space, because
// other programs and the store's other files need space, too.
constexpr uint64_t kPartOfFree = 8;

uint64_t PageOf(uint64_t at) { return at / kPageBytes * kPageBytes; }

// Returns the free bytes of the file system; 0 if that is not known.
uint64_t FreeBytes(int fd) {
  struct statvfs facts;
  if (::fstatvfs(fd, &facts) != 0) return 0;
  return uint64_t{facts.f_bavail} * facts.f_frsize;
}

}  // namespace

bool DirectWriter::AllocateRange(int fd, uint64_t begin, uint64_t end) {
  // Beyond this limit, the call would end the process (SIGXFSZ), even if the
  // data itself would fit.
  rlimit limit;
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 ||
      limit.rlim_cur != RLIM_INFINITY) {
    return false;
  }
  int result = -1;
  do {
    result = ::fallocate(fd, 0, static_cast<off_t>(begin),
                         static_cast<off_t>(end - begin));
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

std::unique_ptr<DirectWriter> DirectWriter::Open(const std::string& path,
                                                 uint64_t bytes,
                                                 uint64_t expected,
                                                 Allocator allocator) {
  absl::StatusOr<OwnedFd> direct = OpenFd(path, O_RDWR | O_DIRECT);
  if (!direct.ok()) return nullptr;
  absl::StatusOr<OwnedFd> buffered = OpenFd(path, O_RDWR);
  if (!buffered.ok()) return nullptr;
  Begun begun;
  begun.there = bytes % kPageBytes;
  const absl::Status read = ReadAll(buffered->get(), path, PageOf(bytes),
                                    std::span(begun.bytes).first(begun.there));
  if (!read.ok()) return nullptr;
  std::unique_ptr<DirectWriter> writer(
      new DirectWriter(path, *std::move(direct), *std::move(buffered), bytes,
                       expected, allocator));
  const MutexLock lock(&writer->mu_);
  if (begun.there > 0) writer->begun_[PageOf(bytes)] = begun;
  writer->Allocate(bytes + kPageBytes);
  return writer->allocates_ ? std::move(writer) : nullptr;
}

void DirectWriter::Allocate(uint64_t end) {
  while (allocates_ && allocated_ < end) {
    const uint64_t missing =
        allocated_ < expected_ ? expected_ - allocated_ : allocated_ / 4;
    const uint64_t most =
        std::min(kMaxAhead, FreeBytes(direct_.get()) / kPartOfFree);
    const uint64_t ahead = std::min(std::max(missing, kLeastAhead), most);
    allocates_ = ahead >= kLeastAhead &&
                 allocator_(direct_.get(), allocated_, allocated_ + ahead);
    if (allocates_) {
      allocated_ += ahead;
    } else {
      // Frees what was allocated partly. Nothing has been written there.
      (void)CutFile(direct_.get(), path_, allocated_);
    }
  }
}

std::optional<DirectWriter::Page> DirectWriter::Keep(
    uint64_t at, std::span<const std::byte> bytes) {
  Begun& begun = begun_[PageOf(at)];
  std::memcpy(&begun.bytes[at % kPageBytes], bytes.data(), bytes.size());
  begun.there += bytes.size();
  if (begun.there < kPageBytes) return std::nullopt;
  return begun.bytes;
}

absl::Status DirectWriter::Pages::Reserve(size_t bytes) {
  size_ = 0;
  if (bytes <= room_) return absl::OkStatus();
  room_ = std::max(kLeastPageRoom,
                   (bytes + kPageBytes - 1) / kPageBytes * kPageBytes);
  memory_.reset();
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, room_)));
  if (memory_ != nullptr) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("no ", std::exchange(room_, 0),
                   " bytes of memory to write from; use fewer threads"));
}

void DirectWriter::Pages::Append(std::span<const std::byte> bytes) {
  // The processor does not read the copy again; the disk reads it from memory.
  StreamCopy(bytes, memory_.get() + size_, {});
  size_ += bytes.size();
}

absl::Status DirectWriter::Stage(uint64_t at, std::span<const std::byte> bytes,
                                 Pages* to) {
  const uint64_t end = at + bytes.size();
  const uint64_t first_end = std::min(end, PageOf(at + kPageBytes - 1));
  const uint64_t last = std::max(first_end, PageOf(end));
  const auto part = [&](uint64_t from, uint64_t until) {
    return bytes.subspan(from - at, until - from);
  };
  std::optional<Page> first_page;
  std::optional<Page> last_page;
  {
    const MutexLock lock(&mu_);
    Allocate(end);
    if (first_end > at) first_page = Keep(at, part(at, first_end));
    if (end > last) last_page = Keep(last, part(last, end));
  }
  PONIENTE_RETURN_IF_ERROR(to->Reserve(last - first_end + 2 * kPageBytes));
  to->at_ = first_page ? PageOf(at) : first_end;
  to->first_.reset();
  to->last_.reset();
  if (first_page) {
    to->first_ = PageOf(at);
    to->Append(*first_page);
  }
  to->Append(part(first_end, last));
  if (last_page) {
    to->last_ = last;
    to->Append(*last_page);
  }
  FinishStreams();
  return absl::OkStatus();
}

absl::Status DirectWriter::WriteAt(uint64_t at,
                                   std::span<const std::byte> pages) const {
  const absl::Status written = WriteAll(direct_.get(), path_, at, pages);
  // Some file systems need a larger alignment than a page, and fail only here.
  if (!absl::IsInvalidArgument(written)) return written;
  return WriteAll(buffered_.get(), path_, at, pages);
}

absl::Status DirectWriter::Write(const Pages& pages) {
  PONIENTE_RETURN_IF_ERROR(WriteAt(pages.at_, pages.bytes()));
  if (!pages.first_ && !pages.last_) return absl::OkStatus();
  const MutexLock lock(&mu_);
  if (pages.first_) begun_.erase(*pages.first_);
  if (pages.last_) begun_.erase(*pages.last_);
  return absl::OkStatus();
}

absl::Status DirectWriter::WriteKept(uint64_t end) {
  // Holds the lock, so that no page is completed meanwhile. A page that was
  // completed before, but not yet written, is written twice with the same
  // bytes.
  const MutexLock lock(&mu_);
  Pages pages;
  for (const auto& [at, begun] : begun_) {
    if (at >= end) break;
    PONIENTE_RETURN_IF_ERROR(pages.Reserve(kPageBytes));
    pages.Append(begun.bytes);
    FinishStreams();
    PONIENTE_RETURN_IF_ERROR(WriteAt(at, pages.bytes()));
  }
  return absl::OkStatus();
}

}  // namespace poniente::internal
