// SPDX-License-Identifier: Apache-2.0
#include "formats/levanter/blosc_block.h"

#if defined(PONIENTE_HAS_BLOSC)
#include <blosc.h>
#endif

#include "absl/strings/str_cat.h"
#include "util/byte_order.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {

#if defined(PONIENTE_HAS_BLOSC)

namespace {

// The header has four fields of one byte (version, version of the compressor,
// flags, size of an item) and three fields of 4 bytes at the offsets below.
constexpr size_t kBloscHeaderBytes = 16;
constexpr size_t kDecodedAt = 4;
constexpr size_t kBlockAt = 8;
constexpr size_t kFrameAt = 12;

absl::Status DamagedBlosc(std::string_view where, std::string_view what) {
  return absl::DataLossError(
      absl::StrCat(Absl(where), ": ", Absl(what),
                   "; the file is damaged, restore it from a copy"));
}

}  // namespace

absl::Status CheckBloscDecodes(const std::string& compressor) {
  if (blosc_compname_to_compcode(compressor.c_str()) >= 0) {
    return absl::OkStatus();
  }
  return absl::UnimplementedError(
      absl::StrCat("chunks are compressed by blosc with '", OneLine(compressor),
                   "', which the blosc library here is without; it has ",
                   blosc_list_compressors()));
}

absl::Status DecodeBlosc(std::string_view where,
                         std::span<const std::byte> frame,
                         std::span<std::byte> decoded) {
  if (frame.size() < kBloscHeaderBytes) {
    return DamagedBlosc(
        where, absl::StrCat("a blosc frame of ", frame.size(),
                            " bytes, expected at least ", kBloscHeaderBytes));
  }
  const auto frame_bytes = LoadLittle<uint32_t>(&frame[kFrameAt]);
  if (frame_bytes != frame.size()) {
    return DamagedBlosc(
        where, absl::StrCat("its blosc frame says it has ", frame_bytes,
                            " bytes, stored are ", frame.size()));
  }
  const auto decoded_bytes = LoadLittle<uint32_t>(&frame[kDecodedAt]);
  if (decoded_bytes != decoded.size()) {
    return DamagedBlosc(
        where,
        absl::StrCat("its blosc frame says it decodes to ", decoded_bytes,
                     " bytes, expected ", decoded.size()));
  }
  const auto block_bytes = LoadLittle<uint32_t>(&frame[kBlockAt]);
  if (block_bytes == 0 || block_bytes > decoded_bytes) {
    return DamagedBlosc(
        where, absl::StrCat("its blosc frame has blocks of ", block_bytes,
                            " bytes, expected 1 to ", decoded_bytes));
  }
  size_t valid_bytes = 0;
  if (blosc_cbuffer_validate(frame.data(), frame.size(), &valid_bytes) != 0 ||
      valid_bytes != decoded.size()) {
    return DamagedBlosc(where, "its blosc frame has an invalid header");
  }
  const int got =
      blosc_decompress_ctx(frame.data(), decoded.data(), decoded.size(),
                           /*numinternalthreads=*/1);
  if (got < 0 || static_cast<size_t>(got) != decoded.size()) {
    return DamagedBlosc(
        where, absl::StrCat("its blosc frame does not decode (", got, ")"));
  }
  return absl::OkStatus();
}

#else

absl::Status CheckBloscDecodes(const std::string& compressor) {
  return absl::UnimplementedError(absl::StrCat(
      "chunks are compressed by blosc with '", OneLine(compressor),
      "', which this build cannot decode; install libblosc-dev and build "
      "again"));
}

absl::Status DecodeBlosc(std::string_view where,
                         std::span<const std::byte> /*frame*/,
                         std::span<std::byte> /*decoded*/) {
  return Prepend(CheckBloscDecodes("blosc"), where);
}

#endif

}  // namespace poniente::internal
