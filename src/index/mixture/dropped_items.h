// SPDX-License-Identifier: Apache-2.0
// Items of a mixture's component that are dropped while a run goes on.

#ifndef PONIENTE_INDEX_MIXTURE_DROPPED_ITEMS_H_
#define PONIENTE_INDEX_MIXTURE_DROPPED_ITEMS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "index/permutation/item_order.h"
#include "index/selection/omissions.h"
#include "util/mutex.h"

namespace poniente::internal {

// Keeps the last answer of Places(), as a mixture that is changed again makes
// its map anew.
//
// Thread safety: any number of threads.
class DroppedItems {
 public:
  DroppedItems() = default;
  DroppedItems(const DroppedItems&) = delete;
  DroppedItems& operator=(const DroppedItems&) = delete;
  virtual ~DroppedItems();

  // Returns where a view of the component serves the items in an epoch: its
  // indices, in any order. Errors of reads.
  virtual absl::StatusOr<std::vector<uint64_t>> IndicesIn(
      uint32_t view, uint64_t epoch) const = 0;

  // Returns whether the items are left out of the epoch in which they are
  // dropped even if that has only begun: a part of a component that was split
  // leaves out what the component had read.
  virtual bool leaves_out_of_whole_epoch() const { return false; }

  // An epoch of a view of the component, as the mixture draws from it.
  struct Epoch {
    uint32_t view = 0;
    uint64_t number = 0;
    uint64_t length = 0;
    // Key of the order by which the mixture permutes the epoch.
    uint64_t key = 0;
    OrderSpec order = {};
  };
  // Returns the places of the epoch at which the items come, and those of
  // `before` (null: none).
  absl::StatusOr<std::shared_ptr<const Omissions>> Places(
      const Epoch& epoch, const std::shared_ptr<const Omissions>& before) const;

 private:
  struct Answer {
    Epoch epoch;
    std::shared_ptr<const Omissions> before;
    std::shared_ptr<const Omissions> places;
  };
  mutable Mutex mu_;
  mutable Answer last_ ABSL_GUARDED_BY(mu_);
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MIXTURE_DROPPED_ITEMS_H_
