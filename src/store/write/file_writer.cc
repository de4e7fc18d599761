// SPDX-License-Identifier: Apache-2.0
#include "store/write/file_writer.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "util/check.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kLeastRoom = 8;

}  // namespace

absl::StatusOr<std::unique_ptr<FileWriter>> FileWriter::Create(
    std::string path, Observer observer) {
  PONIENTE_ASSIGN_OR_RETURN(OwnedFd fd,
                            OpenFd(path, O_WRONLY | O_CREAT | O_EXCL));
  return std::unique_ptr<FileWriter>(
      new FileWriter(std::move(path), std::move(fd), std::move(observer)));
}

absl::StatusOr<std::unique_ptr<FileWriter>> FileWriter::Continue(
    std::string path, uint64_t bytes, Observer observer) {
  PONIENTE_ASSIGN_OR_RETURN(OwnedFd fd, OpenFd(path, O_RDWR));
  std::unique_ptr<FileWriter> file(
      new FileWriter(std::move(path), std::move(fd), std::move(observer)));
  while (file->written_ < bytes) {
    const std::span<std::byte> piece(
        file->buffer_.get(), static_cast<size_t>(std::min<uint64_t>(
                                 kBufferBytes, bytes - file->written_)));
    PONIENTE_RETURN_IF_ERROR(
        ReadAll(file->fd_.get(), file->path_, file->written_, piece));
    PONIENTE_RETURN_IF_ERROR(file->observer_(piece));
    file->written_ += piece.size();
  }
  PONIENTE_RETURN_IF_ERROR(CutFile(file->fd_.get(), file->path_, bytes));
  return file;
}

FileWriter::FileWriter(std::string path, OwnedFd fd, Observer observer)
    : path_(std::move(path)),
      fd_(std::move(fd)),
      observer_(std::move(observer)),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(kBufferBytes)) {}

absl::Status FileWriter::Append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::span<std::byte> to = room();
    const size_t take = std::min(to.size(), bytes.size());
    std::memcpy(to.data(), bytes.data(), take);
    PONIENTE_RETURN_IF_ERROR(Advance(take));
    bytes = bytes.subspan(take);
  }
  return absl::OkStatus();
}

std::span<std::byte> FileWriter::room() {
  return {buffer_.get() + filled_, kBufferBytes - filled_};
}

absl::Status FileWriter::Advance(size_t bytes) {
  PONIENTE_CHECK(bytes <= kBufferBytes - filled_) << bytes;
  filled_ += bytes;
  return kBufferBytes - filled_ < kLeastRoom ? Flush() : absl::OkStatus();
}

absl::Status FileWriter::Flush() {
  const std::span<const std::byte> bytes(buffer_.get(), filled_);
  PONIENTE_RETURN_IF_ERROR(WriteAll(fd_.get(), path_, written_, bytes));
  PONIENTE_RETURN_IF_ERROR(observer_(bytes));
  written_ += filled_;
  filled_ = 0;
  return absl::OkStatus();
}

absl::Status FileWriter::Pad(uint64_t alignment) {
  while (size() % alignment != 0) {
    const std::span<std::byte> to = room();
    const size_t zeros = static_cast<size_t>(
        std::min<uint64_t>(to.size(), alignment - size() % alignment));
    std::memset(to.data(), 0, zeros);
    PONIENTE_RETURN_IF_ERROR(Advance(zeros));
  }
  return absl::OkStatus();
}

absl::Status FileWriter::Sync() {
  PONIENTE_RETURN_IF_ERROR(Flush());
  return SyncWritten();
}

absl::Status FileWriter::SyncWritten() const {
  return SyncFd(fd_.get(), path_);
}

}  // namespace poniente::internal
