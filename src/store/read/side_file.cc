// SPDX-License-Identifier: Apache-2.0
#include "store/read/side_file.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "store/posix_file.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// A larger read is made and verified in pieces of this many bytes.
constexpr size_t kMaxReadBytes = size_t{1} << 20;

}  // namespace

absl::StatusOr<SideFile> SideFile::Open(std::string path,
                                        std::optional<BlockChecksums> checksums,
                                        VerifyChecksums verify) {
  PONIENTE_ASSIGN_OR_RETURN(OpenFile file, OpenFile::Open(std::move(path)));
  SideFile side(file.path(), file.size(), std::move(checksums), verify);
  PONIENTE_ASSIGN_OR_RETURN(Content content, side.Take(std::move(file)));
  side.opening_->content.Set(std::move(content));
  return side;
}

SideFile SideFile::OpenLater(std::string path, ExpectedFile expected,
                             std::optional<BlockChecksums> checksums,
                             VerifyChecksums verify) {
  SideFile side(std::move(path), expected.bytes, std::move(checksums), verify);
  side.opening_->expected = std::move(expected);
  return side;
}

absl::StatusOr<SideFile::Content> SideFile::Take(OpenFile file) const {
  Content content;
  if (checksums_.has_value() && verify_ != VerifyChecksums::kOff) {
    PONIENTE_ASSIGN_OR_RETURN(content.checksums,
                              FileChecksums::Open(*checksums_, file));
  }
  if (file.size() > kMaxKeptBytes) {
    content.open.emplace(std::move(file));
    return content;
  }
  std::vector<std::byte> bytes(static_cast<size_t>(file.size()));
  PONIENTE_RETURN_IF_ERROR(ReadAll(file, 0, bytes));
  if (const auto checksums = std::exchange(content.checksums, nullptr)) {
    for (uint64_t at = 0; at < bytes.size();) {
      const uint64_t block = checksums->BlockOf(at);
      const uint64_t end = checksums->EndOf(block);
      content.damage.Update(checksums->Verify(
          path_, block,
          std::span(bytes).subspan(static_cast<size_t>(at),
                                   static_cast<size_t>(end - at)),
          checksums->verified()));
      at = end;
    }
  }
  while (!bytes.empty() && bytes.back() == std::byte{0}) bytes.pop_back();
  content.kept.assign(bytes.begin(), bytes.end());
  return content;
}

absl::StatusOr<SideFile::Content> SideFile::OpenExpected() const {
  PONIENTE_ASSIGN_OR_RETURN(OpenFile file,
                            OpenFile::OpenExpected(path_, opening_->expected));
  return Take(std::move(file));
}

// Reads bytes of verified blocks directly, and whole blocks. Of other blocks,
// reads all, verifies them, and copies from the verified bytes.
absl::Status SideFile::ReadVerified(const Content& content, uint64_t offset,
                                    std::span<std::byte> into) const {
  const FileChecksums& checksums = *content.checksums;
  std::vector<std::byte> whole;
  while (!into.empty()) {
    const auto part = into.first(std::min(into.size(), kMaxReadBytes));
    const uint64_t first = checksums.BlockOf(offset);
    const uint64_t last = checksums.BlockOf(offset + part.size() - 1);
    const VerifiedBlocks& verified = checksums.VerifiedOf(*content.open);
    bool is_done = verify_ == VerifyChecksums::kFirstTouch;
    for (uint64_t block = first; block <= last && is_done; ++block) {
      is_done = verified.Has(block);
    }
    if (is_done) {
      PONIENTE_RETURN_IF_ERROR(ReadAll(*content.open, offset, part));
      is_done = checksums.Holds(verified, content.open->IdentityNow());
    }
    if (!is_done) {
      const uint64_t begin = checksums.BeginOf(first);
      const auto size = static_cast<size_t>(checksums.EndOf(last) - begin);
      const bool is_in_place = begin == offset && size == part.size();
      if (!is_in_place) whole.resize(size);
      const std::span<std::byte> blocks = is_in_place ? part : std::span(whole);
      PONIENTE_RETURN_IF_ERROR(ReadAll(*content.open, begin, blocks));
      for (uint64_t block = first; block <= last; ++block) {
        const auto at = static_cast<size_t>(checksums.BeginOf(block) - begin);
        const auto end = static_cast<size_t>(checksums.EndOf(block) - begin);
        PONIENTE_RETURN_IF_ERROR(checksums.Verify(
            path_, block, blocks.subspan(at, end - at), verified));
      }
      if (!is_in_place) {
        std::copy_n(whole.begin() + static_cast<ptrdiff_t>(offset - begin),
                    part.size(), part.begin());
      }
    }
    offset += part.size();
    into = into.subspan(part.size());
  }
  return absl::OkStatus();
}

void SideFile::WillRead(uint64_t offset, uint64_t bytes) const {
  const Content* const content = opening_->content.get();
  if (content == nullptr || !content->open.has_value()) return;
  const FileDescriptor fd(*content->open);
  (void)::posix_fadvise(fd.get(), static_cast<off_t>(offset),
                        static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
}

absl::Status SideFile::ReadAt(uint64_t offset,
                              std::span<std::byte> into) const {
  PONIENTE_RETURN_IF_ERROR(opening_->content.Ensure(
      &opening_->making, [this] { return OpenExpected(); }));
  const Content& content = *opening_->content.get();
  if (!content.damage.ok()) return content.damage;
  if (content.open.has_value() && content.checksums == nullptr) {
    return ReadAll(*content.open, offset, into);
  }
  if (offset > size_ || into.size() > size_ - offset) {
    return EndsEarly(path_, size_, offset + into.size() - size_);
  }
  if (content.open.has_value()) return ReadVerified(content, offset, into);
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
