// SPDX-License-Identifier: Apache-2.0
#include "index/mixture/block_order.h"

#include "index/keyed_hash.h"
#include "util/check.h"

namespace poniente::internal {

BlockOrder::BlockOrder(const StageView& stage, const Block& block,
                       uint64_t seed)
    : stage_(stage),
      block_(block),
      // sigma = Perm(b, derive(seed, 'bloc', f)) (docs/index-math.md 2.3).
      sigma_(block.size, Derive(seed, kBlockTag, block.first)) {}

// at(k) of docs/index-math.md 2.3: the slot sigma(k - f), followed down the
// tree.
Draw BlockOrder::At(uint64_t sample) const {
  PONIENTE_CHECK(block_.Contains(sample)) << sample;
  const uint64_t begin = block_.first - stage_.start;
  Draw draw = stage_.tree->At(begin, begin + block_.size,
                              sigma_.Forward(sample - block_.first));
  // Ordinals count on from C_i(t_s).
  draw.ordinal += stage_.base[draw.component];
  return draw;
}

// find(i, n) of docs/index-math.md 2.3 inside the block: the slot of the draw,
// then the inverse of sigma.
uint64_t BlockOrder::Find(const Draw& draw) const {
  const uint64_t begin = block_.first - stage_.start;
  const uint64_t slot = stage_.tree->SlotOf(
      begin, begin + block_.size,
      {draw.component, draw.ordinal - stage_.base[draw.component]});
  return block_.first + sigma_.Inverse(slot);
}

void ExpandBlock(const StageView& stage, const Block& block,
                 std::vector<DrawRun>* runs) {
  const uint64_t begin = block.first - stage.start;
  stage.tree->Expand(begin, begin + block.size, runs);
  for (DrawRun& run : *runs) run.first_ordinal += stage.base[run.component];
}

}  // namespace poniente::internal
