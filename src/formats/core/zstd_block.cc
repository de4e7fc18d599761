// SPDX-License-Identifier: Apache-2.0
#include "formats/core/zstd_block.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "store/posix_file.h"
#include "util/mutex.h"
#include "util/status_macros.h"

#if defined(PONIENTE_HAS_ZSTD)
#include <zstd.h>
#include <zstd_errors.h>
#endif

namespace poniente::internal {

#if defined(PONIENTE_HAS_ZSTD)

namespace {

constexpr int kMaxWindowLog = 26;

struct FreeDecoder {
  void operator()(ZSTD_DCtx* decoder) const { ZSTD_freeDCtx(decoder); }
};
using Decoder = std::unique_ptr<ZSTD_DCtx, FreeDecoder>;

absl::Status NoDecoder(const std::string& path) {
  return absl::ResourceExhaustedError(
      absl::StrCat("'", path, "': no memory for a zstd decoder"));
}

absl::Status DamagedZstd(const std::string& path, size_t result) {
  return absl::DataLossError(absl::StrCat(
      "'", path, "': zstd cannot decode it: ", ZSTD_getErrorName(result),
      "; copy the file again"));
}

class ZstdBytes final : public InputBytes {
 public:
  ZstdBytes(const InputBytes& input, uint64_t size, Decoder decoder)
      : input_(input),
        path_(absl::StrCat(input.path(), " (decoded)")),
        size_(size),
        decoder_(std::move(decoder)),
        stored_(65536),
        skipped_(65536) {}

  const std::string& path() const override { return path_; }
  uint64_t size() const override { return size_; }
  absl::Status ReadAt(uint64_t offset,
                      std::span<std::byte> into) const override {
    MutexLock lock(&mutex_);
    if (offset < at_) Restart();
    while (at_ < offset) {
      const uint64_t some = std::min<uint64_t>(offset - at_, skipped_.size());
      PONIENTE_RETURN_IF_ERROR(Next(std::span(skipped_).first(some)));
    }
    return Next(into);
  }

 private:
  void Restart() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    ZSTD_DCtx_reset(decoder_.get(), ZSTD_reset_session_only);
    at_ = next_ = 0;
    from_ = {nullptr, 0, 0};
  }

  absl::Status Next(std::span<std::byte> into) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    ZSTD_outBuffer to = {into.data(), into.size(), 0};
    while (to.pos < to.size) {
      const size_t had = to.pos;
      const size_t result = ZSTD_decompressStream(decoder_.get(), &to, &from_);
      at_ += to.pos - had;
      if (ZSTD_isError(result) != 0) {
        if (ZSTD_getErrorCode(result) ==
            ZSTD_error_frameParameter_windowTooLarge) {
          return absl::InvalidArgumentError(absl::StrCat(
              "'", input_.path(), "': decoding it needs a zstd window of more ",
              "than ", uint64_t{1} << kMaxWindowLog, " bytes; unpack the ",
              "file beside it"));
        }
        return DamagedZstd(input_.path(), result);
      }
      if (to.pos > had || from_.pos < from_.size) continue;
      const uint64_t some =
          std::min<uint64_t>(stored_.size(), input_.size() - next_);
      if (some == 0) return EndsEarly(path_, at_, to.size - to.pos);
      PONIENTE_RETURN_IF_ERROR(
          input_.ReadAt(next_, std::span(stored_).first(some)));
      next_ += some;
      from_ = {stored_.data(), some, 0};
    }
    return absl::OkStatus();
  }

  // Constant after construction.
  const InputBytes& input_;
  const std::string path_;
  const uint64_t size_;

  mutable Mutex mutex_;
  mutable Decoder decoder_ ABSL_GUARDED_BY(mutex_);
  mutable std::vector<std::byte> stored_ ABSL_GUARDED_BY(mutex_);
  mutable std::vector<std::byte> skipped_ ABSL_GUARDED_BY(mutex_);
  // The rest of stored_ that the decoder has not read yet.
  mutable ZSTD_inBuffer from_ ABSL_GUARDED_BY(mutex_) = {nullptr, 0, 0};
  mutable uint64_t next_ ABSL_GUARDED_BY(mutex_) = 0;  // in input_
  mutable uint64_t at_ ABSL_GUARDED_BY(mutex_) = 0;    // decoded bytes
};

}  // namespace

absl::Status CheckZstd(const std::string&) { return absl::OkStatus(); }

absl::Status DecodeZstd(const std::string& path,
                        std::span<const std::byte> stored,
                        std::span<std::byte> decoded) {
  const Decoder decoder(ZSTD_createDCtx());
  if (!decoder) return NoDecoder(path);
  const size_t result =
      ZSTD_decompressDCtx(decoder.get(), decoded.data(), decoded.size(),
                          stored.data(), stored.size());
  if (ZSTD_isError(result) != 0) return DamagedZstd(path, result);
  if (result != decoded.size()) {
    return absl::DataLossError(absl::StrCat("'", path, "' decodes to ", result,
                                            " bytes, expected ", decoded.size(),
                                            "; copy the file again"));
  }
  return absl::OkStatus();
}

std::optional<uint64_t> ZstdDecodedBytes(std::span<const std::byte> head) {
  const unsigned long long bytes =
      ZSTD_getFrameContentSize(head.data(), head.size());
  if (bytes == ZSTD_CONTENTSIZE_UNKNOWN || bytes == ZSTD_CONTENTSIZE_ERROR) {
    return std::nullopt;
  }
  return bytes;
}

absl::StatusOr<std::unique_ptr<InputBytes>> OpenZstdBytes(
    const InputBytes& input, uint64_t size) {
  Decoder decoder(ZSTD_createDCtx());
  if (!decoder ||
      ZSTD_isError(ZSTD_DCtx_setParameter(decoder.get(), ZSTD_d_windowLogMax,
                                          kMaxWindowLog)) != 0) {
    return NoDecoder(input.path());
  }
  return std::make_unique<ZstdBytes>(input, size, std::move(decoder));
}

#else

absl::Status CheckZstd(const std::string& path) {
  return absl::UnimplementedError(
      absl::StrCat("'", path,
                   "' is compressed by zstd, which this build is without; "
                   "install libzstd-dev and build again, or unpack the file"));
}

absl::Status DecodeZstd(const std::string& path, std::span<const std::byte>,
                        std::span<std::byte>) {
  return CheckZstd(path);
}

std::optional<uint64_t> ZstdDecodedBytes(std::span<const std::byte>) {
  return std::nullopt;
}

absl::StatusOr<std::unique_ptr<InputBytes>> OpenZstdBytes(
    const InputBytes& input, uint64_t) {
  return CheckZstd(input.path());
}

#endif

}  // namespace poniente::internal
