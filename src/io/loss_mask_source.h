// SPDX-License-Identifier: Apache-2.0
// Tells where the loss mask of a leaf's source lies in files, so that the
// loader can read it with the tokens.

#ifndef PONIENTE_IO_LOSS_MASK_SOURCE_H_
#define PONIENTE_IO_LOSS_MASK_SOURCE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "io/range_source.h"
#include "poniente/byte_reader.h"

namespace poniente {

// Where the mask of some consecutive tokens lies: one bit per token, 1 if it
// has loss. The bit of token i is bit (first_bit + i) % 8 of byte (first_bit +
// i) / 8 of the range.
struct LossMaskBits {
  uint64_t tokens = 0;
  // nullopt: nothing is stored, and all tokens have loss.
  std::optional<FileRange> range = std::nullopt;
  uint32_t first_bit = 0;  // 0 to 7
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
                              std::vector<LossMaskBits>* masks) const = 0;
};

}  // namespace poniente

#endif  // PONIENTE_IO_LOSS_MASK_SOURCE_H_
