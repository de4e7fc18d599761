// SPDX-License-Identifier: Apache-2.0
#include "store/side_file.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "store/posix_file.h"
#include "util/byte_order.h"
#include "util/crc32c.h"
#include "util/status_macros.h"

namespace poniente::internal {

absl::StatusOr<SideFile> SideFile::Open(std::string path,
                                        SideChecksums checksums) {
  PONIENTE_ASSIGN_OR_RETURN(OpenFile file, OpenFile::Open(std::move(path)));
  SideFile side(file.path(), file.size(), std::move(checksums));
  PONIENTE_ASSIGN_OR_RETURN(Content content, side.Take(std::move(file)));
  side.opening_->content.Set(std::move(content));
  return side;
}

SideFile SideFile::OpenLater(std::string path, ExpectedFile expected,
                             SideChecksums checksums) {
  SideFile side(std::move(path), expected.bytes, std::move(checksums));
  side.opening_->expected = std::move(expected);
  return side;
}

absl::StatusOr<std::vector<uint32_t>> SideFile::ReadChecksums() const {
  std::vector<uint32_t> stored;
  if (checksums_.verify == VerifyChecksums::kOff || size_ == 0) return stored;
  const uint64_t blocks = (size_ - 1) / checksums_.block_bytes + 1;
  std::vector<std::byte> bytes(static_cast<size_t>(4 * blocks));
  PONIENTE_ASSIGN_OR_RETURN(const OpenFile file,
                            OpenFile::Open(checksums_.path));
  PONIENTE_RETURN_IF_ERROR(
      ReadAll(file.fd(), checksums_.path, checksums_.offset, bytes));
  for (size_t at = 0; at < bytes.size(); at += 4) {
    stored.push_back(LoadLittle<uint32_t>(bytes.data() + at));
  }
  return stored;
}

absl::Status SideFile::CheckBlock(uint64_t block,
                                  std::span<const std::byte> bytes,
                                  uint32_t stored) const {
  const uint32_t computed = Crc32c(bytes);
  if (computed == stored) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "'", path_, "': checksum mismatch in block ", block, " (", bytes.size(),
      " bytes from byte ", block * checksums_.block_bytes, "): stored ",
      absl::Hex(stored, absl::kZeroPad8), ", computed ",
      absl::Hex(computed, absl::kZeroPad8),
      ": the file is damaged; restore it from a copy or pack the store again"));
}

absl::StatusOr<SideFile::Content> SideFile::Take(OpenFile file) const {
  Content content;
  PONIENTE_ASSIGN_OR_RETURN(content.stored, ReadChecksums());
  if (file.size() > kMostKeptBytes) {
    content.is_verified = std::vector<std::atomic<bool>>(content.stored.size());
    content.open.emplace(std::move(file));
    return content;
  }
  std::vector<std::byte> bytes(static_cast<size_t>(file.size()));
  PONIENTE_RETURN_IF_ERROR(ReadAll(file.fd(), file.path(), 0, bytes));
  for (size_t block = 0; block < content.stored.size(); ++block) {
    const size_t begin = block * static_cast<size_t>(checksums_.block_bytes);
    const size_t count = std::min<size_t>(
        bytes.size() - begin, static_cast<size_t>(checksums_.block_bytes));
    content.damage.Update(CheckBlock(
        block, std::span(bytes).subspan(begin, count), content.stored[block]));
  }
  content.stored = {};
  while (!bytes.empty() && bytes.back() == std::byte{0}) bytes.pop_back();
  content.kept.assign(bytes.begin(), bytes.end());
  return content;
}

absl::StatusOr<SideFile::Content> SideFile::OpenExpected() const {
  PONIENTE_ASSIGN_OR_RETURN(OpenFile file,
                            OpenFile::OpenExpected(path_, opening_->expected));
  return Take(std::move(file));
}

// Block by block: what has been verified is read as it is, of all else the
// whole block is, and given from the bytes that were verified.
absl::Status SideFile::ReadVerified(const Content& content, uint64_t offset,
                                    std::span<std::byte> into) const {
  std::vector<std::byte> whole;
  while (!into.empty()) {
    const uint64_t block = offset / checksums_.block_bytes;
    const uint64_t begin = block * checksums_.block_bytes;
    const uint64_t end = std::min(size_, begin + checksums_.block_bytes);
    const auto part = into.first(
        static_cast<size_t>(std::min<uint64_t>(into.size(), end - offset)));
    std::atomic<bool>& is_verified = content.is_verified[block];
    if (checksums_.verify == VerifyChecksums::kFirstTouch &&
        is_verified.load(std::memory_order_relaxed)) {
      PONIENTE_RETURN_IF_ERROR(
          ReadAll(content.open->fd(), path_, offset, part));
    } else {
      whole.resize(static_cast<size_t>(end - begin));
      PONIENTE_RETURN_IF_ERROR(
          ReadAll(content.open->fd(), path_, begin, whole));
      PONIENTE_RETURN_IF_ERROR(CheckBlock(block, whole, content.stored[block]));
      is_verified.store(true, std::memory_order_relaxed);
      std::copy_n(whole.begin() + static_cast<ptrdiff_t>(offset - begin),
                  part.size(), part.begin());
    }
    offset += part.size();
    into = into.subspan(part.size());
  }
  return absl::OkStatus();
}

absl::Status SideFile::ReadAt(uint64_t offset,
                              std::span<std::byte> into) const {
  PONIENTE_RETURN_IF_ERROR(opening_->content.Ensure(
      &opening_->making, [this] { return OpenExpected(); }));
  const Content& content = *opening_->content.get();
  if (!content.damage.ok()) return content.damage;
  if (content.open.has_value() && content.stored.empty()) {
    return ReadAll(content.open->fd(), path_, offset, into);
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
