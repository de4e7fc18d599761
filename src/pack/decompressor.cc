// SPDX-License-Identifier: Apache-2.0
#include "pack/decompressor.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "util/status_macros.h"
#ifdef PONIENTE_HAS_ZSTD
#include <zstd.h>
#endif

namespace poniente::internal {
namespace {

constexpr int kGzipOnly = 16 + MAX_WBITS;

constexpr std::string_view kGzipMagic = "\x1f\x8b";
constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";

// What files of a format are named, and what they begin with.
struct FileFormat {
  Compression compression;
  const char* ending;
  const char* name;
  std::string_view magic;
};
constexpr FileFormat kFileFormats[] = {
    {Compression::kGzip, ".gz", "gzip", kGzipMagic},
    {Compression::kZstd, ".zst", "zstd", kZstdMagic},
    {Compression::kBzip2, ".bz2", "bzip2", "BZh"},
    {Compression::kXz, ".xz", "xz", "\xfd\x37zXZ"},
};

// Behind a byte of 0x50 to 0x5f.
constexpr std::string_view kSkippableMagic = "\x2a\x4d\x18";

// Returns whether a frame that zstd skips may begin like this, by one byte.
bool MayBeSkippable(std::string_view begin) {
  return !begin.empty() && (begin[0] & 0xf0) == 0x50;
}

// Returns whether it begins with a frame that zstd skips, as pzstd writes them.
bool IsSkippable(std::string_view begin) {
  return MayBeSkippable(begin) && begin.substr(1).starts_with(kSkippableMagic);
}

// Returns the format that the end of the name says; null if it says none.
const FileFormat* FormatNamed(std::string_view name) {
  for (const FileFormat& format : kFileFormats) {
    if (absl::EndsWithIgnoreCase(Absl(name), format.ending)) return &format;
  }
  return nullptr;
}

std::string HexByte(char byte) {
  return absl::StrCat(
      "0x", absl::Hex(static_cast<unsigned char>(byte), absl::kZeroPad2));
}

absl::Status NoMemory(const std::string& name) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "'", name, "': not enough memory to decompress it; free some"));
}

absl::Status Damaged(const std::string& name, uint64_t at, const char* format,
                     std::string_view why) {
  return absl::DataLossError(absl::StrCat(
      "'", name, "': at byte ", at, " of its ", format, " data: ", Absl(why),
      "; copy the file again, or create it again"));
}

constexpr char kCutShort[] =
    "it ends early: cut short, or its writer was killed";

class GzipDecompressor final : public Decompressor {
 public:
  explicit GzipDecompressor(std::string name) : name_(std::move(name)) {
    is_ready_ = ::inflateInit2(&stream_, kGzipOnly) == Z_OK;
  }
  ~GzipDecompressor() override {
    if (is_ready_) ::inflateEnd(&stream_);
  }
  bool is_ready() const { return is_ready_; }

  absl::Status Next(std::string_view* stored, size_t most,
                    TextBuffer* text) override {
    if (!in_member_ && had_member_) {
      // Padding of tapes and disks.
      const size_t zeros =
          std::min(stored->find_first_not_of('\0'), stored->size());
      Take(zeros, stored);
      if (stored->empty()) return absl::OkStatus();
    }
    in_member_ = true;
    // zlib takes what it does not change as mutable.
    stream_.next_in =
        const_cast<Bytef*>(reinterpret_cast<const Bytef*>(stored->data()));
    stream_.avail_in = static_cast<uInt>(stored->size());
    const size_t before = text->size();
    stream_.next_out = reinterpret_cast<Bytef*>(text->Extend(most));
    stream_.avail_out = static_cast<uInt>(most);
    const int result = ::inflate(&stream_, Z_NO_FLUSH);
    text->Truncate(before + (most - stream_.avail_out));
    has_more_ = stream_.avail_out == 0 && result != Z_STREAM_END;
    Take(stored->size() - stream_.avail_in, stored);
    if (result == Z_STREAM_END) {
      in_member_ = false;
      had_member_ = true;
      ::inflateReset(&stream_);
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      return Damaged(name_, taken_, "gzip",
                     stream_.msg != nullptr ? stream_.msg : "it is damaged");
    }
    return absl::OkStatus();
  }

  absl::Status CheckEnd() const override {
    if (!in_member_) return absl::OkStatus();
    return Damaged(name_, taken_, "gzip", kCutShort);
  }

 private:
  void Take(size_t bytes, std::string_view* stored) {
    stored->remove_prefix(bytes);
    taken_ += bytes;
  }

  const std::string name_;
  z_stream stream_ = {};
  bool is_ready_ = false;
  bool in_member_ = false;
  bool had_member_ = false;
  uint64_t taken_ = 0;
};

#ifdef PONIENTE_HAS_ZSTD
class ZstdDecompressor final : public Decompressor {
 public:
  explicit ZstdDecompressor(std::string name)
      : name_(std::move(name)), context_(ZSTD_createDCtx()) {}
  ~ZstdDecompressor() override { ZSTD_freeDCtx(context_); }
  ZstdDecompressor(const ZstdDecompressor&) = delete;
  ZstdDecompressor& operator=(const ZstdDecompressor&) = delete;
  bool is_ready() const { return context_ != nullptr; }

  absl::Status Next(std::string_view* stored, size_t most,
                    TextBuffer* text) override {
    const size_t before = text->size();
    ZSTD_inBuffer in = {stored->data(), stored->size(), 0};
    ZSTD_outBuffer out = {text->Extend(most), most, 0};
    const size_t result = ZSTD_decompressStream(context_, &out, &in);
    text->Truncate(before + out.pos);
    has_more_ = out.pos == out.size && result != 0;
    stored->remove_prefix(in.pos);
    taken_ += in.pos;
    if (ZSTD_isError(result) != 0) {
      return Damaged(name_, taken_, "zstd", ZSTD_getErrorName(result));
    }
    in_frame_ = result != 0;
    return absl::OkStatus();
  }

  absl::Status CheckEnd() const override {
    if (!in_frame_) return absl::OkStatus();
    return Damaged(name_, taken_, "zstd", kCutShort);
  }

 private:
  const std::string name_;
  ZSTD_DCtx* const context_;
  bool in_frame_ = false;
  uint64_t taken_ = 0;
};
#endif

template <class Made>
absl::StatusOr<std::unique_ptr<Decompressor>> Make(const std::string& name) {
  auto made = std::make_unique<Made>(name);
  if (!made->is_ready()) return NoMemory(name);
  return made;
}

}  // namespace

Compression CompressionOf(std::string_view begin) {
  for (const FileFormat& format : kFileFormats) {
    if (begin.starts_with(format.magic)) return format.compression;
  }
  return IsSkippable(begin) ? Compression::kZstd : Compression::kNone;
}

absl::Status CheckBegin(const std::string& name, std::string_view begin) {
  const FileFormat* const named = FormatNamed(name);
  if (named == nullptr || CompressionOf(begin) != Compression::kNone) {
    return absl::OkStatus();
  }
  std::string magic(named->magic);
  if (named->compression == Compression::kZstd && MayBeSkippable(begin)) {
    magic = absl::StrCat(Absl(begin.substr(0, 1)), Absl(kSkippableMagic));
  }
  size_t at = 0;
  while (at < std::min(begin.size(), magic.size()) && begin[at] == magic[at]) {
    ++at;
  }
  const std::string found =
      begin.empty() ? "is empty (0 bytes)"
      : at == begin.size()
          ? absl::StrCat("ends at byte ", at, ", within the ", magic.size(),
                         " bytes that ", named->name, " begins with")
          : absl::StrCat("does not begin as ", named->name, " does (byte ", at,
                         " is ", HexByte(begin[at]), ", not ",
                         HexByte(magic[at]), ")");
  return absl::DataLossError(absl::StrCat(
      "'", name, "' is named ", named->ending, " but ", found,
      ": it is truncated or damaged; copy the file again, or create it again; "
      "rename it if it is plain text"));
}

absl::Status CheckNotCut(const std::string& name, std::string_view all) {
  if (all == kGzipMagic.substr(0, 1)) {
    return Damaged(name, all.size(), "gzip", kCutShort);
  }
  // The first byte of zstd alone is the text "(".
  if (all.size() > 1 && all.size() < kZstdMagic.size() &&
      kZstdMagic.starts_with(all)) {
    return Damaged(name, all.size(), "zstd", kCutShort);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Decompressor>> Decompressor::Create(
    Compression compression, std::string name) {
  if (compression == Compression::kGzip) return Make<GzipDecompressor>(name);
#ifdef PONIENTE_HAS_ZSTD
  if (compression == Compression::kZstd) return Make<ZstdDecompressor>(name);
#endif
  return nullptr;
}

}  // namespace poniente::internal
