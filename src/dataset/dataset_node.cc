// SPDX-License-Identifier: Apache-2.0
#include "poniente/extend/dataset_node.h"

#include <algorithm>

namespace poniente {

DatasetNode::~DatasetNode() = default;

bool DatasetNode::has_order() const {
  const std::vector<NamedNode> below = children();
  return std::any_of(below.begin(), below.end(), [](const NamedNode& child) {
    return child.node->has_order();
  });
}

}  // namespace poniente
