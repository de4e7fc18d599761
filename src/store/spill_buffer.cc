// SPDX-License-Identifier: Apache-2.0
#include "store/spill_buffer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "util/check.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr size_t kMostInMemory = size_t{1} << 20;

}  // namespace

absl::Status SpillBuffer::KeepFile(uint64_t bytes) {
  PONIENTE_ASSIGN_OR_RETURN(file_, OpenFd(path_, O_RDWR | O_CREAT));
  struct stat facts;
  if (::fstat(file_.get(), &facts) != 0) return ErrnoError(path_, "stat");
  const uint64_t there = static_cast<uint64_t>(facts.st_size);
  if (there < bytes) return EndsEarly(path_, there, bytes - there);
  spilled_ = bytes;
  return CutFile(file_.get(), path_, bytes);
}

absl::Status SpillBuffer::Flush() {
  PONIENTE_CHECK(file_.is_open()) << path_;
  return Spill();
}

absl::Status SpillBuffer::SyncWritten() const {
  return SyncFd(file_.get(), path_);
}

absl::Status SpillBuffer::Append(std::span<const std::byte> bytes) {
  if (tail_.size() + bytes.size() > kMostInMemory) {
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
