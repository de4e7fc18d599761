// SPDX-License-Identifier: Apache-2.0
// Tells where the loss mask of a leaf's source lies in files, so that the
// loader can read it with the tokens.

#ifndef PONIENTE_IO_LOSS_MASK_SOURCE_H_
#define PONIENTE_IO_LOSS_MASK_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "io/range_source.h"
#include "poniente/byte_reader.h"

namespace poniente {

// Where the mask of tokens [begin, begin + tokens) of a source lies.
struct LocatedLossMask {
  uint64_t begin = 0;
  uint64_t tokens = 0;
  // nullopt: nothing is stored, and all tokens have loss.
  std::optional<FileRange> range = std::nullopt;
  uint32_t first_bit = 0;  // as in LossMaskRange
};

// An interface that leaves implement whose source says which of its tokens have
// loss. Thread safety: immutable; any number of threads.
class LossMaskSource {
 public:
  virtual ~LossMaskSource() = default;

  // Returns the reader of the files that hold the mask.
  virtual const ByteReader& mask_reader() const = 0;
  // Appends where the mask of tokens [begin, end) of the source lies, in order,
  // none empty. REQUIRES: the tokens exist.
  virtual void LocateLossMask(uint64_t begin, uint64_t end,
                              std::vector<LocatedLossMask>* masks) const = 0;
  // Decodes the bytes of mask.range: sets each byte of `has_loss` to 1 if its
  // token has loss, else to 0. Errors are those of
  // TokenSource::DecodeLossMask(). REQUIRES: mask.range, and has_loss.size() ==
  // mask.tokens.
  virtual absl::Status DecodeLossMask(const LocatedLossMask& mask,
                                      const std::byte* stored,
                                      std::span<uint8_t> has_loss) const = 0;
};

}  // namespace poniente

#endif  // PONIENTE_IO_LOSS_MASK_SOURCE_H_
