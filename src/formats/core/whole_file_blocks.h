// SPDX-License-Identifier: Apache-2.0
// Shards that are compressed as a whole: one block for each file.

#ifndef PONIENTE_FORMATS_CORE_WHOLE_FILE_BLOCKS_H_
#define PONIENTE_FORMATS_CORE_WHOLE_FILE_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/core/token_layout.h"

namespace poniente::internal {

inline constexpr uint64_t kMaxWholeBlockBytes = uint64_t{256} << 20;

struct WholeFile {
  std::string path;
  // Sizes as stored and as decoded.
  uint64_t stored_bytes = 0;
  uint64_t decoded_bytes = 0;
  // Whether the file is compressed, by zstd; if not, both sizes are the same.
  bool compressed = false;
};

// Returns InvalidArgument if the file is too large for a block, and DataLoss if
// no compressor makes so much of what it holds.
absl::Status CheckBlockBytes(const WholeFile& file);

// Decodes whole files: block i is file i of TokenLayout::files.
class WholeFileBlocks final : public BlockDecoder {
 public:
  // Checks a block after it has been decoded.
  using Check = std::function<absl::Status(uint64_t block,
                                           std::span<const std::byte> decoded)>;

  // REQUIRES: CheckBlockBytes() is OK for each file.
  WholeFileBlocks(std::vector<WholeFile> files, Check check)
      : files_(std::move(files)), check_(std::move(check)) {}

  absl::StatusOr<Stored> Find(uint64_t block) const override;
  uint64_t DecodedBytes(uint64_t block) const override {
    return files_[block].decoded_bytes;
  }
  absl::Status Decode(uint64_t block, std::span<const std::byte> stored,
                      std::span<std::byte> decoded) const override;

 private:
  const std::vector<WholeFile> files_;
  const Check check_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_CORE_WHOLE_FILE_BLOCKS_H_
