// SPDX-License-Identifier: Apache-2.0
// Decompresses an input of pack, piece by piece.

#ifndef PONIENTE_PACK_DECOMPRESSOR_H_
#define PONIENTE_PACK_DECOMPRESSOR_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pack/text_buffer.h"

namespace poniente::internal {

// How a file is compressed, by its first bytes.
enum class Compression { kNone, kGzip, kZstd, kBzip2, kXz };

// First bytes that CompressionOf() needs; fewer if the file is shorter.
inline constexpr size_t kMagicBytes = 6;
Compression CompressionOf(std::string_view begin);

// Checks a file by its first bytes, as for CompressionOf(). DataLoss, with the
// place, if it is named .gz, .zst, .bz2 or .xz, in any case, but does not begin
// like a compressed file: else damaged data would pass as text or as an empty
// file.
absl::Status CheckBegin(const std::string& name, std::string_view begin);

// Checks a stream, whose name says nothing, by all of its bytes. DataLoss if
// they are the beginning of what gzip or zstd begins with, and are not text.
absl::Status CheckNotCut(const std::string& name, std::string_view all);

// A stream of gzip members or zstd frames, one after another, as gzip and zstd
// decompress them: zeros after the last gzip member are ignored, and so are
// skippable frames of zstd.
//
// Memory: 64 KiB for gzip; for zstd what the frame asks for, at most 128 MiB.
// Thread safety: one thread at a time.
class Decompressor {
 public:
  virtual ~Decompressor() = default;

  // Creates one for gzip or, if this build has zstd, for zstd; null for any
  // other. `name` is that of the input, for errors.
  static absl::StatusOr<std::unique_ptr<Decompressor>> Create(
      Compression compression, std::string name);

  // Takes bytes from the front of `*stored` and appends what they hold to
  // `*text`, `most` bytes at most. DataLoss, with the place, if they are
  // damaged. REQUIRES: most > 0.
  virtual absl::Status Next(std::string_view* stored, size_t most,
                            TextBuffer* text) = 0;
  // Returns whether Next() may have more to append for the bytes taken so far.
  bool has_more() const { return has_more_; }
  // Checks that the input may end here; else DataLoss: it has been cut short.
  // REQUIRES: !has_more().
  virtual absl::Status CheckEnd() const = 0;

 protected:
  bool has_more_ = false;
};

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_DECOMPRESSOR_H_
