// SPDX-License-Identifier: Apache-2.0
#include "store/write/spill_buffer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "util/check.h"
#include "util/crc32c.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr size_t kMaxInMemory = size_t{1} << 20;

}  // namespace

absl::Status SpillBuffer::KeepFile(uint64_t bytes, uint32_t checksum) {
  PONIENTE_ASSIGN_OR_RETURN(file_, OpenFd(path_, O_RDWR | O_CREAT));
  struct stat facts;
  if (::fstat(file_.get(), &facts) != 0) return ErrnoError(path_, "stat");
  const uint64_t there = static_cast<uint64_t>(facts.st_size);
  if (there < bytes) return EndsEarly(path_, there, bytes - there);
  PONIENTE_ASSIGN_OR_RETURN(checksum_, ReadChecksum(bytes));
  if (checksum_ != checksum) {
    return absl::DataLossError(
        absl::StrCat("'", path_,
                     "' is damaged: what was written there has "
                     "another checksum; remove it, and write the store again"));
  }
  spilled_ = bytes;
  return CutFile(file_.get(), path_, bytes);
}

absl::StatusOr<uint32_t> SpillBuffer::ReadChecksum(uint64_t bytes) const {
  uint32_t checksum = 0;
  std::vector<std::byte> piece(
      static_cast<size_t>(std::min<uint64_t>(bytes, kMaxInMemory)));
  for (uint64_t at = 0; at < bytes;) {
    const auto next = std::span(piece).first(
        static_cast<size_t>(std::min<uint64_t>(piece.size(), bytes - at)));
    PONIENTE_RETURN_IF_ERROR(ReadAll(file_.get(), path_, at, next));
    checksum = ExtendCrc32c(checksum, next);
    at += next.size();
  }
  return checksum;
}

absl::Status SpillBuffer::Flush() {
  PONIENTE_CHECK(file_.is_open()) << path_;
  return Spill();
}

absl::Status SpillBuffer::SyncWritten() const {
  return SyncFd(file_.get(), path_);
}

absl::Status SpillBuffer::Append(std::span<const std::byte> bytes) {
  if (tail_.size() + bytes.size() > kMaxInMemory) {
    PONIENTE_RETURN_IF_ERROR(Spill());
  }
  tail_.insert(tail_.end(), bytes.begin(), bytes.end());
  return absl::OkStatus();
}

absl::Status SpillBuffer::Spill() {
  if (!file_.is_open()) {
    PONIENTE_ASSIGN_OR_RETURN(file_, OpenFd(path_, O_RDWR | O_CREAT | O_TRUNC));
    if (::unlink(path_.c_str()) != 0) return ErrnoError(path_, "remove");
  }
  PONIENTE_RETURN_IF_ERROR(WriteAll(file_.get(), path_, spilled_, tail_));
  spilled_ += tail_.size();
  checksum_ = ExtendCrc32c(checksum_, tail_);
  tail_.clear();
  return absl::OkStatus();
}

absl::Status SpillBuffer::CopyTo(FileWriter* out) {
  for (uint64_t at = 0; at < spilled_;) {
    std::span<std::byte> to = out->room();
    to = to.first(
        static_cast<size_t>(std::min<uint64_t>(to.size(), spilled_ - at)));
    PONIENTE_RETURN_IF_ERROR(ReadAll(file_.get(), path_, at, to));
    PONIENTE_RETURN_IF_ERROR(out->Advance(to.size()));
    at += to.size();
  }
  return out->Append(tail_);
}

}  // namespace poniente::internal
