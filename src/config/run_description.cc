// SPDX-License-Identifier: Apache-2.0
// The functions and methods that describe nodes.

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/run_nodes.h"
#include "poniente/run.h"

namespace poniente {
namespace {

// Settings in the order in which they are applied, by the names of their
// methods.
constexpr std::array<const char*, 8> kOrder = {
    "Documents", "OrderDocuments", "Filter", "Order",
    "Slice",     "Take",           "Repeat", "Shuffle"};

// Whether setting number `setting` of kOrder is stated.
bool IsStated(const Node& node, size_t setting) {
  const std::array<bool, kOrder.size()> stated = {
      node.documents.has_value(), node.order_documents.has_value(),
      node.filter.has_value(),    node.order.has_value(),
      node.slice.has_value(),     node.take.has_value(),
      node.repeat.has_value(),    node.shuffle.has_value()};
  return stated[setting];
}

// A copy to which setting number `setting` may be added.
Node Before(const Node& node, size_t setting) {
  Node copy = node;
  for (size_t later = setting; later < kOrder.size(); ++later) {
    if (!copy.mistake.empty() || !IsStated(node, later)) continue;
    copy.mistake =
        later == setting
            ? absl::StrCat("states ", kOrder[setting],
                           "() twice: put the node into a Concat() of one "
                           "part, and state the second there")
            : absl::StrCat("states ", kOrder[setting], "() after ",
                           kOrder[later],
                           "(), but it is applied before: put "
                           "the node into a Concat() of one part, and state ",
                           kOrder[setting], "() there");
  }
  return copy;
}

Node OfKind(NodeKind kind) {
  Node node;
  node.kind = kind;
  return node;
}

// Stops counting above kMaxNodes, and counts a tree without the children that
// it had too many of as too large.
uint64_t CountNodes(const Node& node) {
  uint64_t count = 1;
  if (internal::IsTooLarge(node)) count += internal::kMaxNodes;
  for (const Node& child : node.children) {
    if (count > internal::kMaxNodes) break;
    count += CountNodes(child);
  }
  return count;
}

// Drops the children of a tree that is too large: a node that is used twice by
// one that is used twice, and so on, would take for ever to walk.
Node Bounded(Node node) {
  if (CountNodes(node) <= internal::kMaxNodes) return node;
  node.children.clear();
  node.mistake = internal::TooManyNodes();
  return node;
}

Node OfParts(NodeKind kind, std::vector<NodePart> parts) {
  Node node = OfKind(kind);
  node.children.reserve(parts.size());
  for (NodePart& part : parts) {
    part.node.name = std::move(part.name);
    node.children.push_back(std::move(part.node));
  }
  return Bounded(std::move(node));
}

NodeFilter FromFile(NodeFilter::Kind kind, std::string path) {
  NodeFilter filter;
  filter.kind = kind;
  filter.path = std::move(path);
  return filter;
}

}  // namespace

NodeFilter operator>=(Score score, ScoreThreshold at_least) {
  NodeFilter filter =
      FromFile(NodeFilter::Kind::kScores, std::move(score.path));
  filter.format = score.format;
  filter.at_least = at_least;
  return filter;
}

NodeFilter Bitmap(std::string path) {
  return FromFile(NodeFilter::Kind::kBitmap, std::move(path));
}

NodeFilter Indices(std::string path) {
  return FromFile(NodeFilter::Kind::kIndices, std::move(path));
}

NodeFilter Fraction(double fraction, uint64_t seed) {
  NodeFilter filter = FromFile(NodeFilter::Kind::kFraction, "");
  filter.fraction = fraction;
  filter.seed = seed;
  return filter;
}

NodeFilter operator!(NodeFilter filter) {
  filter.invert = !filter.invert;
  return filter;
}

Node Node::PackDocuments(PackingOptions options) const {
  Node node = *this;
  if (node.pack_documents.has_value() && node.mistake.empty()) {
    node.mistake = "states PackDocuments() twice: call it once";
  }
  node.pack_documents = NodePacking{true, std::move(options), {}};
  return node;
}

Node Node::FillInTheMiddle(InfillingOptions options) const {
  Node node = *this;
  if (node.fill_in_the_middle.has_value() && node.mistake.empty()) {
    node.mistake = "states FillInTheMiddle() twice: call it once";
  }
  node.fill_in_the_middle = NodeInfilling{true, options, {}};
  return node;
}

Node Node::HoldOut(NodeHoldOut stated) const {
  Node node = *this;
  if (node.hold_out.has_value() && node.mistake.empty()) {
    node.mistake = "states HoldOut() twice: call it once";
  }
  node.hold_out = std::move(stated);
  return node;
}

Node Node::Documents(NodeFilter chosen) const {
  Node node = Before(*this, 0);
  node.documents = std::move(chosen);
  return node;
}

Node Node::OrderDocuments(NodeOrder by) const {
  Node node = Before(*this, 1);
  node.order_documents = std::move(by);
  return node;
}

Node Node::Filter(NodeFilter chosen) const {
  Node node = Before(*this, 2);
  node.filter = std::move(chosen);
  return node;
}

Node Node::Order(NodeOrder by) const {
  Node node = Before(*this, 3);
  node.order = std::move(by);
  return node;
}

Node Node::Slice(uint64_t begin, uint64_t end) const {
  Node node = Before(*this, 4);
  node.slice = NodeSlice{begin, end};
  return node;
}

Node Node::Take(uint64_t items) const {
  Node node = Before(*this, 5);
  node.take = items;
  return node;
}

Node Node::Repeat(uint64_t times) const {
  Node node = Before(*this, 6);
  node.repeat = times;
  return node;
}

Node Node::Shuffle(ShuffleOptions options) const {
  Node node = Before(*this, 7);
  node.shuffle = options;
  return node;
}

Node Node::Seed(uint64_t own) const {
  Node node = *this;
  node.seed = own;
  return node;
}

Node Node::LossWeight(double own) const {
  Node node = *this;
  node.loss_weight = own;
  return node;
}

Node Node::MaxEpochs(uint64_t epochs) const {
  Node node = *this;
  node.max_epochs = epochs;
  return node;
}

Node Node::Files(SourceFiles stated) const {
  Node node = *this;
  node.files = std::move(stated);
  return node;
}

Node Node::Growing() const {
  Node node = *this;
  node.files.growing = true;
  return node;
}

Node Node::Tokenizer(std::string tokenizer, uint64_t vocab_size) const {
  Node node = *this;
  Vocabulary& stated = node.vocabulary.emplace();
  stated.tokenizer = std::move(tokenizer);
  stated.size = vocab_size;
  return node;
}

Node Node::Settings(NodeMixture settings) const {
  Node node = *this;
  node.mixture = settings;
  return node;
}

Node Node::Stages(std::vector<RunStage> changes) const {
  Node node = *this;
  node.stages = std::move(changes);
  return node;
}

Node Source(std::string path) {
  Node node = OfKind(NodeKind::kStore);
  node.path = std::move(path);
  return node;
}

Node HubSource(std::string name, std::string config, std::string split) {
  Node node = OfKind(NodeKind::kHub);
  node.hub_name = std::move(name);
  node.hub_config = std::move(config);
  node.hub_split = std::move(split);
  return node;
}

Node Declared(uint64_t tokens) {
  Node node = OfKind(NodeKind::kDeclared);
  node.tokens = tokens;
  return node;
}

Node Flat(std::vector<NodePart> children) {
  return OfParts(NodeKind::kFlat, std::move(children));
}

Node Mixture(std::vector<NodeComponent> components) {
  Node node = OfKind(NodeKind::kMixture);
  for (NodeComponent& component : components) {
    component.node.name = std::move(component.name);
    component.node.weight = component.weight;
    node.children.push_back(std::move(component.node));
  }
  return Bounded(std::move(node));
}

Node Concat(std::vector<NodePart> parts) {
  return OfParts(NodeKind::kConcat, std::move(parts));
}

Node Use(std::string name, Node node) {
  Node user = OfKind(NodeKind::kUse);
  user.use = std::move(name);
  user.children.push_back(std::move(node));
  return Bounded(std::move(user));
}

}  // namespace poniente
