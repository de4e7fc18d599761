// SPDX-License-Identifier: Apache-2.0
#include "io/pending_read.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Below the size at which the kernel shortens reads itself (2 GiB less a page).
constexpr uint64_t kMaxPieceBytes = uint64_t{1} << 30;

// Returns after how many consecutive calls with this error a read fails.
uint32_t MaxTries(int error) {
  switch (error) {
    case EINTR:
    case EAGAIN:
    // io_uring reports one of the next two if the thread that submitted a read
    // ended before the read; another thread may try again. (A buffer that is
    // really invalid causes EFAULT every time.)
    case ECANCELED:
    case EFAULT:
      return 64;
    case EIO:
    case ENOMEM:
      return 4;
    default:
      return 1;
  }
}

std::string_view ReadRemedy(int error) {
  switch (error) {
    case EIO:
      return "; the disk reports an error, see the kernel's log (dmesg)";
    case EFAULT:
      return "; the buffer is not writable memory";
    case ENOMEM:
    case EAGAIN:
      return "; the kernel is out of memory or requests, free some";
    case ESTALE:
    case ENOENT:
      return "; the file was replaced or removed, re-open it";
    case EMFILE:
      return "; raise the limit of open files (ulimit -Hn)";
    case EINTR:
    case ECANCELED:
      return "; try again";
    default:
      return "; check the file system it lies on (dmesg)";
  }
}

}  // namespace

PendingRead::PendingRead(ReaderState* reader, uint32_t file, IoBackend backend,
                         uint64_t offset, uint64_t bytes, uint64_t needed,
                         std::byte* into)
    : reader_(reader),
      file_(file),
      backend_(backend),
      offset_(offset),
      bytes_(bytes),
      needed_(needed),
      place_{into, bytes} {}

void PendingRead::ExtendInPlace(uint64_t bytes, uint64_t needed) {
  iovec& last = num_places_ == 0
                    ? place_
                    : (*all_places_)[first_place_ + num_places_ - 1];
  last.iov_len += bytes;
  Grow(bytes, needed);
}

void PendingRead::ExtendAt(std::byte* into, uint64_t bytes, uint64_t needed,
                           std::vector<iovec>* places) {
  if (num_places_ == 0) {
    all_places_ = places;
    first_place_ = static_cast<uint32_t>(places->size());
    num_places_ = 1;
    places->push_back(place_);
  }
  places->push_back({into, bytes});
  ++num_places_;
  Grow(bytes, needed);
}

void PendingRead::Grow(uint64_t bytes, uint64_t needed) {
  needed_ = bytes_ + needed;
  bytes_ += bytes;
}

void PendingRead::Serve(const ReadRequest& request) {
  serves_one_ &= request_ == nullptr || request_ == &request;
  if (request_ == nullptr || &request < request_) request_ = &request;
}

std::string PendingRead::What() const {
  const bool alone = serves_one_ && request_ != nullptr;
  return absl::StrCat(
      opened().path(), ": read of ", alone ? request_->into.size() : needed_,
      " bytes at offset ", alone ? request_->offset : offset_, ": ");
}

const RingFile& PendingRead::file() const {
  return backend_ == IoBackend::kDirect ? reader_->direct[file_].get()->file()
                                        : opened().file();
}

std::span<const iovec> PendingRead::places() const {
  if (num_places_ == 0) return {&place_, 1};
  return {all_places_->data() + first_place_, num_places_};
}

size_t PendingRead::piece() const {
  return std::min<uint64_t>(places().front().iov_len, kMaxPieceBytes);
}

void PendingRead::Advance(uint64_t bytes) {
  done_ += bytes;
  while (num_places_ > 0) {
    iovec& first = (*all_places_)[first_place_];
    if (bytes < first.iov_len) break;
    bytes -= first.iov_len;
    ++first_place_;
    --num_places_;
    if (num_places_ == 0) return;
  }
  iovec& first = num_places_ == 0 ? place_ : (*all_places_)[first_place_];
  first.iov_base = static_cast<std::byte*>(first.iov_base) + bytes;
  first.iov_len -= bytes;
}

void PendingRead::TakeResult(int64_t result) {
  try {
    Take(result);
  } catch (const std::bad_alloc&) {
    // Without a text, for which there is no memory.
    Fail(absl::ResourceExhaustedError(""));
  }
}

void PendingRead::Take(int64_t result) {
  if (result < 0) return TakeError(static_cast<int>(-result));
  auto got = static_cast<uint64_t>(result);
  brought_ += got;
  if (done_ + got >= needed_) return Succeed();
  if (result == 0) {
    return FailAtEnd(std::min(offset(), opened().SizeNow()));
  }
  if (backend_ == IoBackend::kDirect) {
    // Continues at the last sector boundary; if no whole sector has arrived,
    // through the cache.
    got -= got % reader_->direct[file_].get()->offset_alignment();
    if (got == 0) backend_ = IoBackend::kBuffered;
  }
  fruitless_ = 0;
  Advance(got);
}

void PendingRead::TakeError(int error) {
  if ((error == EINVAL || error == EOPNOTSUPP) &&
      backend_ == IoBackend::kDirect) {
    reader_->RefuseDirect(absl::StrCat("O_DIRECT read: ",
                                       std::generic_category().message(error)));
    backend_ = IoBackend::kBuffered;
    ++retries_;
    return;
  }
  if (++fruitless_ >= MaxTries(error)) return FailWithErrno(error);
  ++retries_;
}

bool PendingRead::EndsInZero() const {
  if (ends_in_zero_ || needed_ != bytes_) return ends_in_zero_;
  const iovec& last = places().back();
  const auto* const bytes = static_cast<const std::byte*>(last.iov_base);
  return bytes[last.iov_len - 1] == std::byte{0};
}

void PendingRead::Succeed() {
  done_ = bytes_;
  finished_ = true;
}

void PendingRead::FailAtEnd(uint64_t end) {
  Fail(absl::DataLossError(absl::StrCat(
      What(), "the file ends at ", end, ", it had ", opened().size(),
      " bytes when opened; was it truncated or replaced? re-open it")));
}

void PendingRead::FailWithErrno(int error) {
  // Abseil maps EIO to kUnknown.
  Fail(absl::Status(
      error == EIO ? absl::StatusCode::kDataLoss
                   : absl::ErrnoToStatusCode(error),
      absl::StrCat(What(), std::generic_category().message(error),
                   fruitless_ > 1 ? absl::StrCat(", ", fruitless_, " times")
                                  : std::string(),
                   Absl(ReadRemedy(error)))));
}

void PendingRead::Fail(absl::Status status) {
  status_ = std::move(status);
  finished_ = true;
}

}  // namespace poniente::internal
