// SPDX-License-Identifier: Apache-2.0
// The order inside one block of a mixture. The block's samples, grouped by
// component in the order of the tree's leaves, are its slots; sample first + j
// is slot sigma(j), sigma being a permutation keyed by the block's first
// sample.

#ifndef PONIENTE_INDEX_MIXTURE_BLOCK_ORDER_H_
#define PONIENTE_INDEX_MIXTURE_BLOCK_ORDER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "index/mixture/quota_tree.h"
#include "poniente/permutation.h"

namespace poniente::internal {

// Samples [first, first + size) of a run, all in one stage.
struct Block {
  uint32_t stage = 0;
  uint64_t first = 0;
  uint64_t size = 0;

  bool Contains(uint64_t sample) const { return sample - first < size; }
  friend bool operator==(const Block&, const Block&) = default;
};

// What a block needs to know of its stage. Borrows; the stage's plan owns.
struct StageView {
  const QuotaTree* tree;
  // Samples of each component before the stage.
  std::span<const uint64_t> base;
  uint64_t start;
};

// Determinism: the stage, the block and the seed decide.
// Ownership: borrows the stage.
// Thread safety: immutable; any number of threads.
// Complexity: about 30 ns to make; then O(depth) per sample.
class BlockOrder {
 public:
  BlockOrder(const StageView& stage, const Block& block, uint64_t seed);

  const Block& block() const { return block_; }
  const Permutation& sigma() const { return sigma_; }

  // Ordinals count through all stages. REQUIRES: block().Contains(sample).
  Draw At(uint64_t sample) const;

  // The inverse. REQUIRES: the draw is one of the block's.
  uint64_t Find(const Draw& draw) const;

 private:
  StageView stage_;
  Block block_;
  Permutation sigma_;
};

// The slots of a block, as runs; needs no seed. Replaces what `runs` held.
void ExpandBlock(const StageView& stage, const Block& block,
                 std::vector<DrawRun>* runs);

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MIXTURE_BLOCK_ORDER_H_
