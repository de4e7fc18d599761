// SPDX-License-Identifier: Apache-2.0
#include "poniente/extend/dataset_node.h"

#include <algorithm>
#include <memory>

namespace poniente {

DatasetNode::~DatasetNode() { delete busy_time(); }

bool DatasetNode::has_order() const {
  const std::vector<NamedNode> below = children();
  return std::any_of(below.begin(), below.end(), [](const NamedNode& child) {
    return child.node->has_order();
  });
}

void DatasetNode::CountTime() const {
  if (busy_time() != nullptr) return;
  auto made = std::make_unique<internal::BusyTime>();
  internal::BusyTime* none = nullptr;
  // Release: busy_time() hands it out without a lock.
  if (busy_time_.compare_exchange_strong(none, made.get(),
                                         std::memory_order_release,
                                         std::memory_order_relaxed)) {
    (void)made.release();
  }
}

}  // namespace poniente
