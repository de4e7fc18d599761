// SPDX-License-Identifier: Apache-2.0
#include "poniente/node_list.h"

#include <atomic>
#include <utility>

#include "poniente/run.h"

namespace poniente {

NodeList::NodeList() = default;
NodeList::NodeList(std::vector<Node> nodes)
    : nodes_(std::make_shared<std::vector<Node>>(std::move(nodes))) {}
NodeList::NodeList(std::initializer_list<Node> nodes)
    : NodeList(std::vector<Node>(nodes)) {}
NodeList::NodeList(const NodeList&) = default;
NodeList::NodeList(NodeList&&) noexcept = default;
NodeList& NodeList::operator=(const NodeList&) = default;
NodeList& NodeList::operator=(NodeList&&) noexcept = default;
NodeList::~NodeList() = default;

size_t NodeList::size() const { return nodes_ == nullptr ? 0 : nodes_->size(); }
const Node& NodeList::operator[](size_t i) const { return (*nodes_)[i]; }
Node& NodeList::operator[](size_t i) { return nodes()[i]; }
const Node& NodeList::front() const { return nodes_->front(); }
Node& NodeList::front() { return nodes().front(); }
const Node& NodeList::back() const { return nodes_->back(); }
Node& NodeList::back() { return nodes().back(); }
const Node* NodeList::begin() const {
  return nodes_ == nullptr ? nullptr : nodes_->data();
}
Node* NodeList::begin() { return empty() ? nullptr : nodes().data(); }
const Node* NodeList::end() const { return begin() + size(); }
Node* NodeList::end() { return begin() + size(); }

void NodeList::push_back(Node node) { nodes().push_back(std::move(node)); }
Node& NodeList::emplace_back() { return nodes().emplace_back(); }
void NodeList::reserve(size_t count) { nodes().reserve(count); }
void NodeList::resize(size_t count) { nodes().resize(count); }
void NodeList::clear() { nodes_ = nullptr; }

std::vector<Node>& NodeList::nodes() {
  if (nodes_ == nullptr) {
    nodes_ = std::make_shared<std::vector<Node>>();
  } else if (nodes_.use_count() > 1) {
    nodes_ = std::make_shared<std::vector<Node>>(*nodes_);
  } else {
    // Another thread may have read the nodes until it dropped its list.
    std::atomic_thread_fence(std::memory_order_acquire);
  }
  return *nodes_;
}

bool operator==(const NodeList& a, const NodeList& b) {
  if (a.nodes_ == b.nodes_) return true;
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!(a[i] == b[i])) return false;
  }
  return true;
}

}  // namespace poniente
