// SPDX-License-Identifier: Apache-2.0
// An array of ids that are stored plus 1.

#ifndef PONIENTE_FORMATS_MEGATRON_ONE_BASED_IDS_H_
#define PONIENTE_FORMATS_MEGATRON_ONE_BASED_IDS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/core/token_layout.h"
#include "poniente/token_source.h"

namespace poniente::internal {

// Decodes a whole file in blocks by subtracting 1 from each id. DataLoss for an
// id that is stored as 0 or less.
class OneBasedIds final : public TokenLocator, public BlockDecoder {
 public:
  static constexpr uint64_t kBlockBytes = uint64_t{1} << 18;

  // REQUIRES: bytes % StoredTypeBytes(type) == 0.
  OneBasedIds(std::string path, uint64_t bytes, StoredType type)
      : path_(std::move(path)), bytes_(bytes), type_(type) {}

  absl::Status Locate(TokenRange tokens,
                      std::vector<TokenRun>* runs) const override;
  absl::StatusOr<Stored> Find(uint64_t block) const override;
  uint64_t DecodedBytes(uint64_t block) const override;
  absl::Status Decode(uint64_t block, std::span<const std::byte> stored,
                      std::span<std::byte> decoded) const override;

 private:
  template <class Id>
  absl::Status TakeOneOff(uint64_t block, std::span<const std::byte> stored,
                          std::span<std::byte> decoded) const;

  const std::string path_;
  const uint64_t bytes_;
  const StoredType type_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_MEGATRON_ONE_BASED_IDS_H_
