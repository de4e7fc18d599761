// SPDX-License-Identifier: Apache-2.0
#include "formats/dolma/unzipped_text.h"

#include <zlib.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kPieceBytes = 65536;
constexpr int kGzipOnly = 16 + MAX_WBITS;

std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool IsGzip(std::span<const std::byte> bytes) {
  return AsText(bytes).starts_with("\x1f\x8b");
}

}  // namespace

struct UnzippedText::Inflater {
  Inflater() { ready = ::inflateInit2(&stream, kGzipOnly) == Z_OK; }
  ~Inflater() {
    if (ready) ::inflateEnd(&stream);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream stream = {};
  bool ready = false;
};

UnzippedText::UnzippedText(const InputBytes& input) : input_(input) {}
UnzippedText::~UnzippedText() = default;

absl::Status UnzippedText::Damaged(std::string_view why) const {
  return absl::DataLossError(absl::StrCat(
      "'", input_.path(), "': at byte ", read_ - left_.size(),
      " of its gzip data: ", Absl(why), "; copy it again, or make it anew"));
}

absl::Status UnzippedText::Refill() {
  if (!left_.empty() || read_ == input_.size()) return absl::OkStatus();
  const bool is_first = read_ == 0;
  buffer_.resize(std::min(kPieceBytes, input_.size() - read_));
  PONIENTE_RETURN_IF_ERROR(input_.ReadAt(read_, buffer_));
  read_ += buffer_.size();
  left_ = buffer_;
  if (!is_first || !IsGzip(left_)) return absl::OkStatus();
  inflater_ = std::make_unique<Inflater>();
  in_member_ = true;
  text_.resize(kPieceBytes);
  if (inflater_->ready) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "'", input_.path(), "': no memory to decompress it; free some"));
}

absl::StatusOr<std::string_view> UnzippedText::Inflate() {
  z_stream& stream = inflater_->stream;
  // zlib takes what it does not change as mutable.
  stream.next_in =
      const_cast<Bytef*>(reinterpret_cast<const Bytef*>(left_.data()));
  stream.avail_in = static_cast<uInt>(left_.size());
  stream.next_out = reinterpret_cast<Bytef*>(text_.data());
  stream.avail_out = static_cast<uInt>(text_.size());
  const int result = ::inflate(&stream, Z_NO_FLUSH);
  left_ = left_.last(stream.avail_in);
  if (result == Z_STREAM_END) {
    in_member_ = false;
    ::inflateReset(&stream);
  } else if (result != Z_OK && result != Z_BUF_ERROR) {
    return Damaged(stream.msg != nullptr ? stream.msg : "it is damaged");
  }
  return AsText(std::span(text_).first(text_.size() - stream.avail_out));
}

absl::StatusOr<std::string_view> UnzippedText::Next() {
  while (true) {
    PONIENTE_RETURN_IF_ERROR(Refill());
    if (inflater_ == nullptr) {
      const std::string_view text = AsText(left_);
      left_ = {};
      return text;
    }
    if (!in_member_) {
      while (!left_.empty() && left_[0] == std::byte{0}) {
        left_ = left_.subspan(1);
      }
      in_member_ = !left_.empty();
      if (!in_member_ && read_ == input_.size()) return std::string_view();
      continue;
    }
    const bool is_all = left_.empty();
    PONIENTE_ASSIGN_OR_RETURN(const std::string_view text, Inflate());
    if (!text.empty()) return text;
    if (is_all && in_member_) {
      return Damaged("it ends early: cut short, or its writer was killed");
    }
  }
}

}  // namespace poniente::internal
