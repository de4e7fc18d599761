// SPDX-License-Identifier: Apache-2.0
#include "pack/pack_file.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "util/memory_sizes.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr int kPollMilliseconds = 100;
constexpr size_t kStreamPieceBytes = size_t{1} << 18;

// `bytes` bytes that lie in their pages as those from `at` on lie in the file:
// some processors copy several times slower to a place that is a few bytes
// further into its page than where it comes from.
std::span<char> PlaceFor(uint64_t at, size_t bytes, std::vector<char>* buffer) {
  if (buffer->size() < bytes + kPageBytes) buffer->resize(bytes + kPageBytes);
  const uint64_t begin = reinterpret_cast<uintptr_t>(buffer->data());
  return std::span(*buffer).subspan((at - begin) % kPageBytes, bytes);
}

}  // namespace

PackFile::PackFile(TextInput input, const std::atomic<bool>* stop)
    : input_(std::move(input)), stop_(stop) {}

absl::Status PackFile::Open() const {
  std::call_once(once_, [this] {
    // A pipe that nobody writes to yet must not keep from being interrupted.
    auto file = input_.path == "-"
                    ? absl::StatusOr<OwnedFd>(OwnedFd(::dup(STDIN_FILENO)))
                    : OpenFd(input_.path,
                             is_stream() ? O_RDONLY | O_NONBLOCK : O_RDONLY);
    opened_ = file.status();
    if (file.ok()) file_ = *std::move(file);
  });
  return opened_;
}

absl::Status PackFile::ReadStream(size_t bytes) {
  const std::string name = input_.path == "-" ? "standard input" : input_.path;
  while (!at_end_ && held_.size() < bytes) {
    pollfd waits = {file_.get(), POLLIN, 0};
    const int ready = ::poll(&waits, 1, kPollMilliseconds);
    if (stop_->load()) return absl::CancelledError("interrupted");
    if (ready <= 0) continue;
    const size_t before = held_.size();
    const size_t room = std::max(bytes - before, kStreamPieceBytes);
    held_.resize(before + room);
    const ssize_t got = ::read(file_.get(), held_.data() + before, room);
    held_.resize(before + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno != EINTR && errno != EAGAIN) {
      return ErrnoError(name, "read");
    }
    at_end_ = got == 0;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string_view> PackFile::Window(uint64_t at, size_t bytes) {
  PONIENTE_RETURN_IF_ERROR(Open());
  if (is_stream()) {
    const size_t before = static_cast<size_t>(at - held_at_);
    PONIENTE_RETURN_IF_ERROR(ReadStream(before + bytes));
    if (before >= held_.size()) return std::string_view();
    return std::string_view(held_).substr(before, bytes);
  }
  if (at >= input_.bytes) return std::string_view();
  held_.resize(
      static_cast<size_t>(std::min<uint64_t>(bytes, input_.bytes - at)));
  PONIENTE_RETURN_IF_ERROR(ReadAll(file_.get(), input_.path, at,
                                   std::as_writable_bytes(std::span(held_))));
  return std::string_view(held_);
}

PackUnit PackFile::Take(const UnitBegin& begin, const UnitBegin& end,
                        bool is_last) {
  PackUnit unit{begin, end, is_last, end.at - begin.at, {}};
  if (is_stream()) {
    unit.data = held_.substr(0, static_cast<size_t>(unit.bytes));
    held_.erase(0, unit.data.size());
    held_at_ = end.at;
  }
  return unit;
}

absl::StatusOr<std::string_view> PackFile::Read(
    const PackUnit& unit, std::vector<char>* buffer) const {
  if (is_stream()) return std::string_view(unit.data);
  const size_t bytes = static_cast<size_t>(unit.end.at - unit.begin.at);
  if (bytes == 0) return std::string_view();
  PONIENTE_RETURN_IF_ERROR(Open());
  const std::span<char> into = PlaceFor(unit.begin.at, bytes, buffer);
  const absl::Status read = ReadAll(file_.get(), input_.path, unit.begin.at,
                                    std::as_writable_bytes(into));
  if (absl::IsDataLoss(read)) {
    return absl::DataLossError(absl::StrCat(
        "'", input_.path, "' has become shorter than the ", input_.bytes,
        " bytes it had when this began; pack it again"));
  }
  PONIENTE_RETURN_IF_ERROR(read);
  return std::string_view(into.data(), bytes);
}

bool LooksCompressed(std::string_view begin) {
  return begin.starts_with("\x1f\x8b") || begin.starts_with("BZh") ||
         begin.starts_with(
             "\xfd"
             "7zXZ") ||
         begin.starts_with("\x28\xb5\x2f\xfd");
}

bool LooksBinary(std::string_view begin) {
  constexpr size_t kLookedAt = 4096;
  return begin.substr(0, kLookedAt).find('\0') != std::string_view::npos;
}

}  // namespace poniente::internal
