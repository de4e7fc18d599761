// SPDX-License-Identifier: Apache-2.0
// The order inside one block of a mixture (docs/index-math.md 2.3). The slots
// of a block are its samples grouped by component, in the order of the tree's
// leaves. Sample first + j has slot sigma(j), where sigma is a permutation
// keyed by the first sample of the block.

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

// What a block needs to know about its stage. Borrows from the stage's plan.
struct StageView {
  const QuotaTree* tree;
  // Samples of each component before the stage.
  std::span<const uint64_t> base;
  uint64_t start;
};

// The samples of one block.
//
// Determinism: the stage, the block and the seed decide.
// Ownership: borrows the stage.
// Thread safety: immutable; any number of threads.
// Complexity: about 30 ns to create, then O(depth) per sample.
class BlockOrder {
 public:
  BlockOrder(const StageView& stage, const Block& block, uint64_t seed);

  const Block& block() const { return block_; }
  const Permutation& sigma() const { return sigma_; }

  // Returns the draw that a sample is; its ordinal counts through all stages.
  // REQUIRES: block().Contains(sample).
  Draw At(uint64_t sample) const;

  // Inverts At(). REQUIRES: the draw is one of the block's.
  uint64_t Find(const Draw& draw) const;

 private:
  StageView stage_;
  Block block_;
  Permutation sigma_;
};

// Replaces `runs` by the slots of a block, as runs. Needs no seed.
void ExpandBlock(const StageView& stage, const Block& block,
                 std::vector<DrawRun>* runs);

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MIXTURE_BLOCK_ORDER_H_
