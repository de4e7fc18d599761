// SPDX-License-Identifier: Apache-2.0
// Finds the ids of a Levanter cache. A block is a chunk of an array `data`.

#ifndef PONIENTE_FORMATS_LEVANTER_LEVANTER_BLOCKS_H_
#define PONIENTE_FORMATS_LEVANTER_LEVANTER_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/core/token_layout.h"
#include "formats/levanter/zarr_array.h"

namespace poniente::internal {

// Block numbers continue from one array to the next. Immutable once all arrays
// are added.
class LevanterBlocks final : public TokenLocator, public BlockDecoder {
 public:
  // Adds the first `tokens` items of `data` after those added before, and
  // appends its files to `files`. REQUIRES: data.CutTo() was called with their
  // number of chunks; all types are the same; fewer than 2^63 tokens in all.
  void Add(ZarrArray data, uint64_t tokens, std::vector<std::string>* files);

  uint64_t tokens() const { return tokens_; }

  absl::Status Locate(TokenRange tokens,
                      std::vector<TokenRun>* runs) const override;
  absl::StatusOr<Stored> Find(uint64_t block) const override;
  uint64_t DecodedBytes(uint64_t block) const override;
  absl::Status Decode(uint64_t block, std::span<const std::byte> stored,
                      std::span<std::byte> decoded) const override;

 private:
  struct Part {
    ZarrArray data;
    uint64_t first_token = 0;
    uint64_t first_block = 0;
    uint32_t first_file = 0;
  };

  const Part& PartOfBlock(uint64_t block) const;

  // Arrays without tokens are left out.
  std::vector<Part> parts_;
  uint64_t tokens_ = 0;
  uint64_t blocks_ = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_LEVANTER_LEVANTER_BLOCKS_H_
