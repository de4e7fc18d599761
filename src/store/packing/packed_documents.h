// SPDX-License-Identifier: Apache-2.0
// What packed windows under different seeds share.

#ifndef PONIENTE_STORE_PACKING_PACKED_DOCUMENTS_H_
#define PONIENTE_STORE_PACKING_PACKED_DOCUMENTS_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "index/packing/window_packing.h"
#include "poniente/extend/item_sets.h"
#include "poniente/packing.h"
#include "poniente/selection.h"
#include "poniente/token_source.h"
#include "store/packing/packing_plans.h"

namespace poniente::internal {

// The documents of a source in windows of one length.
//
// Thread safety: immutable; any number of threads.
struct Packed {
  // `selection`: the documents that are packed; nullopt: all.
  Packed(std::shared_ptr<const TokenSource> source,
         std::unique_ptr<const PackingPlans> plans, uint32_t window_tokens,
         const PackingOptions& options,
         const std::optional<Selection>& selection);

  // Returns the order of an epoch under a seed.
  PackingOrder OrderOf(uint64_t seed, uint64_t epoch) const {
    return options.shuffle ? PackingOrder(seed, epoch) : PackingOrder();
  }

  std::shared_ptr<const TokenSource> source;
  std::unique_ptr<const PackingPlans> plans;
  uint32_t window_tokens;
  PackingOptions options;
  uint64_t fingerprint;  // without the seed
  // Hash of the documents, their chunks and the order of these; without the
  // seed and the length of windows.
  uint64_t chunks;
};

// Returns the sets in which documents are read: the shuffle windows of chunks,
// or single chunks if they are not shuffled. Null if documents are not packed
// by chunks.
std::shared_ptr<const ItemSets> MakeSets(std::shared_ptr<const Packed> packed,
                                         uint64_t seed);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_PACKING_PACKED_DOCUMENTS_H_
