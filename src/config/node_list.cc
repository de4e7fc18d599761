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
NodeList::NodeList(const NodeList& other)
    : nodes_(other.is_lent_ && other.nodes_ != nullptr
                 ? std::make_shared<std::vector<Node>>(*other.nodes_)
                 : other.nodes_) {}
NodeList::NodeList(NodeList&& other) noexcept
    : nodes_(std::move(other.nodes_)),
      is_lent_(std::exchange(other.is_lent_, false)) {}
NodeList& NodeList::operator=(const NodeList& other) {
  if (this != &other) *this = NodeList(other);
  return *this;
}
NodeList& NodeList::operator=(NodeList&& other) noexcept {
  nodes_ = std::move(other.nodes_);
  is_lent_ = std::exchange(other.is_lent_, false);
  return *this;
}
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

void NodeList::push_back(Node node) { Own().push_back(std::move(node)); }
Node& NodeList::emplace_back() { return nodes().emplace_back(); }
void NodeList::reserve(size_t count) { Own().reserve(count); }
void NodeList::resize(size_t count) { Own().resize(count); }
void NodeList::clear() {
  nodes_ = nullptr;
  is_lent_ = false;
}

std::vector<Node>& NodeList::nodes() {
  is_lent_ = true;
  return Own();
}

void NodeList::allow_sharing() {
  // Only a list that is lent is sure to be alone with its nodes. The others
  // share them with all that is below.
  if (!is_lent_ || nodes_ == nullptr) return;
  for (Node& node : *nodes_) node.children.allow_sharing();
  is_lent_ = false;
}

std::vector<Node>& NodeList::Own() {
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
