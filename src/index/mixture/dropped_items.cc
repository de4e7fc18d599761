// SPDX-License-Identifier: Apache-2.0
#include "index/mixture/dropped_items.h"

#include <utility>

#include "util/status_macros.h"

namespace poniente::internal {

DroppedItems::~DroppedItems() = default;

absl::StatusOr<std::shared_ptr<const Omissions>> DroppedItems::Places(
    const Epoch& epoch, const std::shared_ptr<const Omissions>& before) const {
  {
    MutexLock lock(&mu_);
    const Epoch& known = last_.epoch;
    if (last_.places != nullptr && last_.before == before &&
        known.view == epoch.view && known.number == epoch.number &&
        known.length == epoch.length && known.key == epoch.key) {
      return last_.places;
    }
  }
  PONIENTE_ASSIGN_OR_RETURN(std::vector<uint64_t> places,
                            IndicesIn(epoch.view, epoch.number));
  if (epoch.order.kind != ShuffleKind::kNone) {
    const ItemOrder order(epoch.length, epoch.key, epoch.order);
    order.Inverse(places, places);
  }
  if (before != nullptr) places = before->With(std::move(places));
  PONIENTE_RETURN_IF_ERROR(CheckOmissions(places.size()));
  auto made =
      std::make_shared<const Omissions>(std::move(places), epoch.length);
  MutexLock lock(&mu_);
  last_ = {epoch, before, made};
  return made;
}

}  // namespace poniente::internal
