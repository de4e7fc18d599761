// SPDX-License-Identifier: Apache-2.0
#include "io/pending_read.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Above this the kernel cuts reads short by itself (2 GiB less a page).
constexpr uint64_t kMaxPieceBytes = uint64_t{1} << 30;

// Transient errors in succession before one counts.
constexpr int kMaxFruitless = 64;

// ECANCELED and EFAULT are what io_uring gives when the thread that submitted a
// read has ended before it: another may try again. (A buffer that is really bad
// gives EFAULT every time.)
bool IsTransient(int error) {
  return error == EINTR || error == EAGAIN || error == ECANCELED ||
         error == EFAULT;
}

std::string_view Remedy(int error) {
  switch (error) {
    case EIO:
      return "; the disk reports an error, see the kernel's log (dmesg)";
    case EFAULT:
      return "; the buffer is not writable memory";
    case ENOMEM:
    case EAGAIN:
      return "; the kernel is out of memory or requests, free some";
    case ESTALE:
      return "; the file was replaced on its server, re-open it";
    default:
      return "";
  }
}

// What the file is as far as it can be told: as when opened, if not at all.
uint64_t SizeNow(const OpenFile& file) {
  struct stat facts;
  return ::fstat(file.fd(), &facts) == 0 ? static_cast<uint64_t>(facts.st_size)
                                         : file.size();
}

}  // namespace

PendingRead::PendingRead(const ReadRequest& request)
    : request_(&request),
      reader_(&ReaderAccess::State(*request.reader)),
      finished_(request.into.empty()) {}

size_t PendingRead::piece() const {
  return std::min<uint64_t>(request_->into.size() - done_, kMaxPieceBytes);
}

void PendingRead::TakeResult(int64_t result) {
  if (result > 0) {
    done_ += static_cast<uint64_t>(result);
    fruitless_ = 0;
    finished_ = done_ == request_->into.size();
  } else if (result == 0) {
    FailAtEnd(std::min(offset(), SizeNow(file())));
  } else if (const int error = static_cast<int>(-result);
             !IsTransient(error) || ++fruitless_ == kMaxFruitless) {
    FailWithErrno(error);
  }
}

void PendingRead::Succeed() {
  done_ = request_->into.size();
  finished_ = true;
}

void PendingRead::FailAtEnd(uint64_t end) {
  Fail(absl::DataLossError(absl::StrCat(
      file().path(), ": read of ", request_->into.size(), " bytes at offset ",
      request_->offset, ": the file ends at ", end, ", it had ", file().size(),
      " bytes when opened; was it truncated or replaced? re-open it")));
}

void PendingRead::FailWithErrno(int error) {
  // Abseil has no word for EIO but "unknown".
  Fail(absl::Status(
      error == EIO ? absl::StatusCode::kDataLoss
                   : absl::ErrnoToStatusCode(error),
      absl::StrCat(file().path(), ": read of ", request_->into.size(),
                   " bytes at offset ", request_->offset, ": ",
                   std::generic_category().message(error),
                   Absl(Remedy(error)))));
}

void PendingRead::Fail(absl::Status status) {
  status_ = std::move(status);
  finished_ = true;
}

}  // namespace poniente::internal
