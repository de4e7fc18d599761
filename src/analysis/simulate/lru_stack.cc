// SPDX-License-Identifier: Apache-2.0
#include "analysis/simulate/lru_stack.h"

#include <algorithm>

#include "util/check.h"

namespace poniente::internal {
namespace {

constexpr uint32_t kNoObject = UINT32_MAX;
constexpr size_t kFewestSlots = 1024;

}  // namespace

uint64_t LruStack::Use(uint32_t object, uint64_t bytes) {
  PONIENTE_CHECK(object <= objects());
  if (next_slot_ == object_in_.size()) Compact();
  uint64_t distance = 0;
  if (object == objects()) {
    slot_of_.push_back(next_slot_);
    bytes_of_.push_back(bytes);
    bytes_ += bytes;
  } else {
    distance = Distance(object);
    Add(slot_of_[object], 0 - bytes);
    object_in_[slot_of_[object]] = kNoObject;
    slot_of_[object] = next_slot_;
  }
  Add(next_slot_, bytes);
  object_in_[next_slot_++] = object;
  return distance;
}

uint64_t LruStack::Distance(uint32_t object) const {
  return bytes_ - BytesBefore(slot_of_[object]);
}

void LruStack::Compact() {
  const size_t slots = std::max(kFewestSlots, size_t{2} * objects() + 2);
  std::vector<uint32_t> in_order;
  in_order.reserve(slots);
  for (const uint32_t object : object_in_) {
    if (object != kNoObject) in_order.push_back(object);
  }
  next_slot_ = static_cast<uint32_t>(in_order.size());
  in_order.resize(slots, kNoObject);
  object_in_ = std::move(in_order);
  tree_.assign(slots + 1, 0);
  for (uint32_t slot = 0; slot < next_slot_; ++slot) {
    slot_of_[object_in_[slot]] = slot;
    Add(slot, bytes_of_[object_in_[slot]]);
  }
}

void LruStack::Add(size_t slot, uint64_t bytes) {
  for (size_t at = slot + 1; at < tree_.size(); at += at & (0 - at)) {
    tree_[at] += bytes;
  }
}

uint64_t LruStack::BytesBefore(size_t slot) const {
  uint64_t bytes = 0;
  for (size_t at = slot; at > 0; at -= at & (0 - at)) bytes += tree_[at];
  return bytes;
}

}  // namespace poniente::internal
