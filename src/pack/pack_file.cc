// SPDX-License-Identifier: Apache-2.0
#include "pack/pack_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
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
// At most this much is decompressed at a time.
constexpr size_t kPieceBytes = size_t{1} << 18;
// Memory for most units of a stream, and for the bytes that are read behind
// them to find their ends.
constexpr size_t kUnitRoom = kPackUnitBytes + (size_t{1} << 17);
// Memory of a piece that is decompressed ahead: the bytes left from the unit
// before can be put before it, and it can become a unit.
constexpr size_t kFrontRoom = size_t{1} << 17;
constexpr size_t kAheadRoom = kFrontRoom + kUnitRoom;

// `bytes` bytes that lie in their pages as those from `at` on lie in the file:
// some processors copy several times slower to a place that is a few bytes
// further into its page than where it comes from.
std::span<char> PlaceFor(uint64_t at, size_t bytes, std::vector<char>* buffer) {
  if (buffer->size() < bytes + kPageBytes) buffer->resize(bytes + kPageBytes);
  const uint64_t begin = reinterpret_cast<uintptr_t>(buffer->data());
  return std::span(*buffer).subspan((at - begin) % kPageBytes, bytes);
}

bool IsDecompressed(Compression compression) {
  const auto made = Decompressor::Create(compression, "");
  return !made.ok() || *made != nullptr;
}

}  // namespace

PackFile::PackFile(TextInput input, const std::atomic<bool>* stop)
    : input_(std::move(input)), stop_(stop) {}

PackFile::~PackFile() {
  const MutexLock lock(&stream_mu_);
  ahead_memory.Return(ahead_.size() * kAheadRoom);
}

absl::Status PackFile::Open() const {
  std::call_once(once_, [this] {
    // A pipe that nobody writes to yet must not keep from being interrupted.
    const bool may_wait = input_.is_stream();
    auto file =
        input_.path == "-"
            ? absl::StatusOr<OwnedFd>(OwnedFd(::dup(STDIN_FILENO)))
            : OpenFd(input_.path, may_wait ? O_RDONLY | O_NONBLOCK : O_RDONLY);
    opened_ = file.status();
    if (!file.ok()) return;
    file_ = *std::move(file);
    if (may_wait) return;
    opened_ = CheckUnchanged();
    if (!opened_.ok()) return;
    char begin[kMagicBytes] = {};
    const ssize_t got = ::pread(file_.get(), begin, sizeof(begin), 0);
    const std::string_view known(
        begin, static_cast<size_t>(std::max<ssize_t>(got, 0)));
    // If the begin is not that of the name, LookAtBegin() tells the error.
    is_compressed_ = IsDecompressed(CompressionOf(known)) ||
                     !CheckBegin(input_.path, known).ok();
  });
  return opened_;
}

absl::Status PackFile::CheckUnchanged() const {
  struct stat facts;
  if (::fstat(file_.get(), &facts) != 0) return ErrnoError(Name(), "stat");
  const FileStamp now = StampOf(facts);
  const auto before = static_cast<int64_t>(input_.modified_nanoseconds);
  // Without a time, it is not known what was found.
  const bool is_same = now.bytes == input_.bytes && now.mtime_ns == before;
  if (before == 0 || is_same) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("'", Name(), "' has changed since the pack began: it had ",
                   input_.bytes, " bytes, modified at ", before,
                   " ns since 1970, and now has ", now.bytes, ", modified at ",
                   now.mtime_ns, "; pack it again once nothing writes to it"));
}

bool PackFile::is_stream() const {
  if (input_.is_stream()) return true;
  Open().IgnoreError();  // told by the first read
  return is_compressed_;
}

std::string PackFile::Name() const {
  return input_.path == "-" ? "standard input" : input_.path;
}

absl::Status PackFile::ReadOnce(size_t bytes, TextBuffer* to) {
  pollfd waits = {file_.get(), POLLIN, 0};
  const int ready = ::poll(&waits, 1, kPollMilliseconds);
  if (stop_->load()) return absl::CancelledError("interrupted");
  if (ready <= 0) return absl::OkStatus();
  const size_t before = to->size();
  const ssize_t got = ::read(file_.get(), to->Extend(bytes), bytes);
  to->Truncate(before + static_cast<size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0 && errno != EINTR && errno != EAGAIN) {
    return ErrnoError(Name(), "read");
  }
  at_end_ = got == 0;
  return absl::OkStatus();
}

absl::Status PackFile::LookAtBegin(TextBuffer* begin) {
  PONIENTE_RETURN_IF_ERROR(CheckBegin(input_.path, begin->view()));
  // If they are fewer than kMagicBytes, they are the whole stream.
  PONIENTE_RETURN_IF_ERROR(CheckNotCut(Name(), begin->view()));
  begin_is_known_ = true;
  PONIENTE_ASSIGN_OR_RETURN(
      decompressor_,
      Decompressor::Create(CompressionOf(begin->view()), Name()));
  if (decompressor_ == nullptr) return absl::OkStatus();
  stored_ = std::exchange(*begin, {});
  stored_left_ = stored_.view();
  return absl::OkStatus();
}

absl::StatusOr<bool> PackFile::ReadPiece(size_t bytes, TextBuffer* text) {
  const size_t before = text->size();
  while (!begin_is_known_) {
    if (at_end_ || text->size() >= kMagicBytes) {
      PONIENTE_RETURN_IF_ERROR(LookAtBegin(text));
    } else {
      PONIENTE_RETURN_IF_ERROR(ReadOnce(kStreamPieceBytes, text));
    }
  }
  while (text->size() == before) {
    if (!stored_left_.empty() ||
        (decompressor_ != nullptr && decompressor_->has_more())) {
      const size_t left = stored_left_.size();
      PONIENTE_RETURN_IF_ERROR(decompressor_->Next(
          &stored_left_, std::min(bytes, kPieceBytes), text));
      stored_taken_ += left - stored_left_.size();
    } else if (at_end_) {
      if (decompressor_ != nullptr) {
        PONIENTE_RETURN_IF_ERROR(decompressor_->CheckEnd());
      }
      if (!input_.is_stream()) PONIENTE_RETURN_IF_ERROR(CheckUnchanged());
      return false;
    } else if (decompressor_ != nullptr) {
      stored_.Truncate(0);
      PONIENTE_RETURN_IF_ERROR(ReadOnce(kStreamPieceBytes, &stored_));
      stored_left_ = stored_.view();
    } else {
      PONIENTE_RETURN_IF_ERROR(
          ReadOnce(std::max(bytes, kStreamPieceBytes), text));
    }
  }
  return true;
}

bool PackFile::ReadAhead() {
  if (input_.is_stream() || !is_stream()) return false;
  if (!stream_mu_.TryLock()) return false;
  const MutexLock lock(&stream_mu_, kAdoptLock);
  if (!ahead_status_.ok() || !*ahead_status_) return false;
  if (!ahead_memory.Take(kAheadRoom)) return false;
  Piece piece{TextBuffer(kFrontRoom, kAheadRoom - kFrontRoom)};
  const uint64_t taken = stored_taken_;
  while (piece.text.size() < kPackUnitBytes) {
    const size_t before = piece.text.size();
    ahead_status_ = ReadPiece(kPackUnitBytes - before, &piece.text);
    if (ahead_status_.ok() && *ahead_status_) continue;
    piece.text.Truncate(before);
    break;
  }
  piece.stored_bytes = stored_taken_ - taken;
  if (piece.text.empty()) {
    ahead_memory.Return(kAheadRoom);
    return false;
  }
  ahead_.push_back(std::move(piece));
  return true;
}

// Copies as little as possible: if the held bytes are few, they go before the
// piece; else only the missing bytes of the piece go behind them.
void PackFile::TakeAhead(size_t bytes) {
  Piece& piece = ahead_.front();
  stored_held_ += std::exchange(piece.stored_bytes, 0);
  if (piece.text.Prepend(held_.view())) {
    held_ = std::move(piece.text);
  } else {
    const size_t taken = std::min(bytes - held_.size(), piece.text.size());
    held_.Append(piece.text.view().substr(0, taken));
    piece.text.RemovePrefix(taken);
    if (!piece.text.empty()) return;
  }
  ahead_.pop_front();
  ahead_memory.Return(kAheadRoom);
}

// Until `bytes` are held, or the end.
absl::Status PackFile::ReadStream(size_t bytes) {
  while (held_.size() < bytes) {
    const MutexLock lock(&stream_mu_);
    if (!ahead_.empty()) {
      TakeAhead(bytes);
      continue;
    }
    PONIENTE_RETURN_IF_ERROR(ahead_status_.status());
    const uint64_t taken = stored_taken_;
    PONIENTE_ASSIGN_OR_RETURN(const bool has_more,
                              ReadPiece(bytes - held_.size(), &held_));
    stored_held_ += stored_taken_ - taken;
    if (!has_more) return absl::OkStatus();
  }
  return absl::OkStatus();
}

absl::Status PackFile::SkipTo(uint64_t at) {
  if (!is_stream() || held_at_ >= at) return absl::OkStatus();
  PONIENTE_RETURN_IF_ERROR(Open());
  while (held_at_ < at) {
    PONIENTE_RETURN_IF_ERROR(ReadStream(static_cast<size_t>(
        std::min<uint64_t>(kPackUnitBytes, at - held_at_))));
    if (held_.empty()) {
      return absl::DataLossError(absl::StrCat(
          "'", Name(), "' now holds fewer bytes than the ", at,
          " that were already packed from it; pack it again with --restart"));
    }
    const size_t dropped =
        static_cast<size_t>(std::min<uint64_t>(held_.size(), at - held_at_));
    held_.RemovePrefix(dropped);
    held_at_ += dropped;
  }
  stored_counted_ = stored_held_;
  return absl::OkStatus();
}

absl::StatusOr<std::string_view> PackFile::Window(uint64_t at, size_t bytes) {
  PONIENTE_RETURN_IF_ERROR(Open());
  if (is_stream()) {
    const size_t before = static_cast<size_t>(at - held_at_);
    PONIENTE_RETURN_IF_ERROR(ReadStream(before + bytes));
    if (before >= held_.size()) return std::string_view();
    return held_.view().substr(before, bytes);
  }
  if (at >= input_.bytes) return std::string_view();
  held_.Truncate(0);
  const size_t wanted =
      static_cast<size_t>(std::min<uint64_t>(bytes, input_.bytes - at));
  PONIENTE_RETURN_IF_ERROR(
      ReadAll(file_.get(), input_.path, at,
              std::as_writable_bytes(std::span(held_.Extend(wanted), wanted))));
  return held_.view();
}

PackUnit PackFile::Take(const UnitBegin& begin, const UnitBegin& end,
                        bool is_last) {
  PackUnit unit{begin, end, is_last, end.at - begin.at, {}};
  if (is_stream()) {
    // What is left is short: the unit gets the memory.
    TextBuffer left(0, is_last ? 0 : kUnitRoom);
    left.Append(held_.view().substr(static_cast<size_t>(unit.bytes)));
    held_.Truncate(static_cast<size_t>(unit.bytes));
    unit.data = std::exchange(held_, std::move(left));
    held_at_ = end.at;
  }
  // The progress is that through what is stored.
  if (stored_held_ > 0) {
    unit.bytes = stored_held_ - std::exchange(stored_counted_, stored_held_);
  }
  return unit;
}

absl::StatusOr<std::string_view> PackFile::Read(
    const PackUnit& unit, std::vector<char>* buffer) const {
  if (is_stream()) return unit.data.view();
  const size_t bytes = static_cast<size_t>(unit.end.at - unit.begin.at);
  if (bytes == 0 && !unit.is_last) return std::string_view();
  PONIENTE_RETURN_IF_ERROR(Open());
  const std::span<char> into = PlaceFor(unit.begin.at, bytes, buffer);
  const absl::Status read = ReadAll(file_.get(), input_.path, unit.begin.at,
                                    std::as_writable_bytes(into));
  if (absl::IsDataLoss(read)) {
    return absl::DataLossError(absl::StrCat(
        "'", input_.path, "' has become shorter than the ", input_.bytes,
        " bytes that it had at the start; pack it again"));
  }
  PONIENTE_RETURN_IF_ERROR(read);
  if (unit.is_last) PONIENTE_RETURN_IF_ERROR(CheckUnchanged());
  return std::string_view(into.data(), bytes);
}

bool LooksBinary(std::string_view begin) {
  constexpr size_t kLookedAt = 4096;
  return begin.substr(0, kLookedAt).find('\0') != std::string_view::npos;
}

}  // namespace poniente::internal
