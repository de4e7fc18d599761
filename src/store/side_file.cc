// SPDX-License-Identifier: Apache-2.0
#include "store/side_file.h"

#include <algorithm>

#include "store/posix_file.h"
#include "util/status_macros.h"

namespace poniente::internal {

absl::StatusOr<SideFile> SideFile::Open(std::string path) {
  PONIENTE_ASSIGN_OR_RETURN(OpenFile file, OpenFile::Open(std::move(path)));
  SideFile side(file.path(), file.size());
  PONIENTE_ASSIGN_OR_RETURN(Content content, Take(std::move(file)));
  side.opening_->content.Set(std::move(content));
  return side;
}

SideFile SideFile::OpenLater(std::string path, ExpectedFile expected) {
  SideFile side(std::move(path), expected.bytes);
  side.opening_->expected = std::move(expected);
  return side;
}

absl::StatusOr<SideFile::Content> SideFile::Take(OpenFile file) {
  Content content;
  if (file.size() > kMostKeptBytes) {
    content.open.emplace(std::move(file));
    return content;
  }
  std::vector<std::byte> bytes(static_cast<size_t>(file.size()));
  PONIENTE_RETURN_IF_ERROR(ReadAll(file.fd(), file.path(), 0, bytes));
  while (!bytes.empty() && bytes.back() == std::byte{0}) bytes.pop_back();
  content.kept.assign(bytes.begin(), bytes.end());
  return content;
}

absl::StatusOr<SideFile::Content> SideFile::OpenExpected() const {
  PONIENTE_ASSIGN_OR_RETURN(OpenFile file,
                            OpenFile::OpenExpected(path_, opening_->expected));
  return Take(std::move(file));
}

absl::Status SideFile::ReadAt(uint64_t offset,
                              std::span<std::byte> into) const {
  PONIENTE_RETURN_IF_ERROR(opening_->content.Ensure(
      &opening_->making, [this] { return OpenExpected(); }));
  const Content& content = *opening_->content.get();
  if (content.open.has_value()) {
    return ReadAll(content.open->fd(), path_, offset, into);
  }
  if (offset > size_ || into.size() > size_ - offset) {
    return EndsEarly(path_, size_, offset + into.size() - size_);
  }
  const auto kept = std::span(content.kept)
                        .subspan(static_cast<size_t>(
                            std::min<uint64_t>(offset, content.kept.size())));
  const size_t held = std::min(kept.size(), into.size());
  std::copy_n(kept.begin(), held, into.begin());
  std::fill(into.begin() + static_cast<ptrdiff_t>(held), into.end(),
            std::byte{0});
  return absl::OkStatus();
}

}  // namespace poniente::internal
