// SPDX-License-Identifier: Apache-2.0
#include "store/side_file.h"

#include <algorithm>

#include "store/posix_file.h"
#include "util/status_macros.h"

namespace poniente::internal {

absl::StatusOr<SideFile> SideFile::Open(std::string path) {
  PONIENTE_ASSIGN_OR_RETURN(OpenFile file, OpenFile::Open(std::move(path)));
  SideFile side(file);
  if (side.size_ > kMostKeptBytes) {
    side.open_.emplace(std::move(file));
    return side;
  }
  std::vector<std::byte> bytes(static_cast<size_t>(side.size_));
  PONIENTE_RETURN_IF_ERROR(ReadAll(file.fd(), file.path(), 0, bytes));
  while (!bytes.empty() && bytes.back() == std::byte{0}) bytes.pop_back();
  side.kept_.assign(bytes.begin(), bytes.end());
  return side;
}

absl::Status SideFile::ReadAt(uint64_t offset,
                              std::span<std::byte> into) const {
  if (open_.has_value()) return ReadAll(open_->fd(), path_, offset, into);
  if (offset > size_ || into.size() > size_ - offset) {
    return EndsEarly(path_, size_, offset + into.size() - size_);
  }
  const auto kept = std::span(kept_).subspan(
      static_cast<size_t>(std::min<uint64_t>(offset, kept_.size())));
  const size_t held = std::min(kept.size(), into.size());
  std::copy_n(kept.begin(), held, into.begin());
  std::fill(into.begin() + static_cast<ptrdiff_t>(held), into.end(),
            std::byte{0});
  return absl::OkStatus();
}

}  // namespace poniente::internal
