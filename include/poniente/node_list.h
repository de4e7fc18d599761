// SPDX-License-Identifier: Apache-2.0
// The children of a Node (run.h).

#ifndef PONIENTE_NODE_LIST_H_
#define PONIENTE_NODE_LIST_H_

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <vector>

namespace poniente {

struct Node;

// A list of nodes that is used like a std::vector<Node>. Copies share the nodes
// until one of them may be changed, so that a node that is used many times
// takes its memory once. Every member that is not const makes the list its own
// first; it copies the nodes if they are shared, but not those below them. Once
// a list has handed out a reference to change a node, copies of it no longer
// share its nodes: what is written through the reference changes this list
// only.
//
// Thread safety: as a std::vector, also if lists share nodes.
class NodeList {
 public:
  using value_type = Node;
  using iterator = Node*;
  using const_iterator = const Node*;

  NodeList();
  NodeList(std::vector<Node> nodes);  // NOLINT(google-explicit-constructor)
  NodeList(std::initializer_list<Node> nodes);
  NodeList(const NodeList&);
  NodeList(NodeList&&) noexcept;
  NodeList& operator=(const NodeList&);
  NodeList& operator=(NodeList&&) noexcept;
  ~NodeList();

  size_t size() const;
  bool empty() const { return size() == 0; }
  const Node& operator[](size_t i) const;
  Node& operator[](size_t i);
  const Node& front() const;
  Node& front();
  const Node& back() const;
  Node& back();
  const Node* begin() const;
  Node* begin();
  const Node* end() const;
  Node* end();

  void push_back(Node node);
  Node& emplace_back();
  void reserve(size_t count);
  void resize(size_t count);
  void clear();
  // Returns the nodes, for what else a vector can do.
  std::vector<Node>& nodes();
  // Copies may share the nodes again, and those below: no reference that was
  // handed out to change one is used anymore.
  void allow_sharing();

  friend bool operator==(const NodeList& a, const NodeList& b);

 private:
  // Makes the nodes this list's own.
  std::vector<Node>& Own();

  std::shared_ptr<std::vector<Node>> nodes_;  // null: empty
  // Whether someone may hold a reference to change a node.
  bool is_lent_ = false;
};

}  // namespace poniente

#endif  // PONIENTE_NODE_LIST_H_
