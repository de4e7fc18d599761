// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/plan_leaves.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "config/tree/stored_width.h"
#include "poniente/extend/piecewise_items.h"

namespace poniente::internal {

void AddStored(const DatasetNode& leaf, const ConfigSource* known,
               PlannedRunSource* source) {
  source->token_bytes = StoredWidth(known, leaf.vocabulary());
  if (known == nullptr) return;
  const bool is_own = known->is_readable && known->data == nullptr;
  if (is_own && source->is_leaf) source->kind = "own_dataset";
  source->is_width_known = known->data != nullptr;
  if (source->stored_tokens > 0) return;  // another view of it
  source->location = known->location;
  source->stored_tokens = known->tokens;
  if (PackedItemsOf(leaf) != nullptr) {
    source->left_over_tokens = 0;
    return;
  }
  // Of some of the documents. (Items without a length of their own are, too.)
  if (known->documents != nullptr || leaf.item_tokens() == 0) return;
  // Windows may share their last token with the next one.
  const PiecewiseItems* const pieces = PiecesOf(leaf);
  const uint64_t shared = pieces != nullptr && pieces->items_overlap() ? 1 : 0;
  const uint64_t windows = leaf.length_now().readable;
  const uint64_t in_windows =
      windows * (uint64_t{leaf.item_tokens()} - shared) +
      (windows > 0 ? shared : 0);
  source->left_over_tokens =
      known->tokens - std::min(known->tokens, in_windows);
}

void AddPacking(const DatasetNode& leaf, PlannedRunSource* source) {
  const PackedItems* const packed = PackedItemsOf(leaf);
  if (packed == nullptr) return;
  const PackingSummary& summary = packed->packing_summary();
  if (!source->packing.has_value()) source->packing = summary;
  if (summary == *source->packing) return;
  std::vector<PackingSummary>& others = source->other_packings;
  if (std::find(others.begin(), others.end(), summary) != others.end()) return;
  others.insert(std::upper_bound(others.begin(), others.end(), summary,
                                 [](const auto& a, const auto& b) {
                                   return a.window_tokens < b.window_tokens;
                                 }),
                summary);
}

}  // namespace poniente::internal
