// SPDX-License-Identifier: Apache-2.0
#include "formats/core/whole_file_blocks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "formats/core/zstd_block.h"
#include "util/status_macros.h"

namespace poniente::internal {

absl::Status CheckBlockBytes(const WholeFile& file) {
  if (file.decoded_bytes <= kMaxWholeBlockBytes) {
    if (file.stored_bytes <= MostStoredBytes(file.decoded_bytes)) {
      return absl::OkStatus();
    }
    return absl::DataLossError(absl::StrCat(
        "'", file.path, "' has ", file.stored_bytes, " bytes, and ",
        file.decoded_bytes, " unpacked, which take at most ",
        MostStoredBytes(file.decoded_bytes),
        "; it is damaged or is another file, copy it again"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", file.path, "' has ", file.decoded_bytes,
      " bytes unpacked, and is decoded as a whole: at most ",
      kMaxWholeBlockBytes,
      " are; unpack all files of its dataset, they are then read in place"));
}

absl::StatusOr<BlockDecoder::Stored> WholeFileBlocks::Find(
    uint64_t block) const {
  Stored stored;
  stored.file = static_cast<uint32_t>(block);
  stored.bytes = files_[block].stored_bytes;
  return stored;
}

absl::Status WholeFileBlocks::Decode(uint64_t block,
                                     std::span<const std::byte> stored,
                                     std::span<std::byte> decoded) const {
  const WholeFile& file = files_[block];
  if (file.compressed) {
    PONIENTE_RETURN_IF_ERROR(DecodeZstd(file.path, stored, decoded));
  } else if (stored.size() != decoded.size()) {
    return absl::DataLossError(
        absl::StrCat("'", file.path, "': ", stored.size(), " bytes, expected ",
                     decoded.size()));
  } else {
    std::copy(stored.begin(), stored.end(), decoded.begin());
  }
  return check_ ? check_(block, decoded) : absl::OkStatus();
}

}  // namespace poniente::internal
