// SPDX-License-Identifier: Apache-2.0
// What parsers, writers and builders of a Run ask about it.

#ifndef PONIENTE_CONFIG_RUN_NODES_H_
#define PONIENTE_CONFIG_RUN_NODES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "poniente/run.h"

namespace poniente::internal {

// Returns "file:line:column: key"; only the key where there is no file.
std::string ToString(const SourceLocation& location);

// Limit of the nodes of a tree, those of each use counted: a short description
// could make a very large tree.
inline constexpr uint64_t kMaxNodes = uint64_t{1} << 18;

// Limit of nesting, also through nodes that are used: deeper trees are a
// mistake, and could exhaust the stack.
inline constexpr size_t kDeepestTree = 100;
// Returns "makes a tree of more than 262144 nodes".
std::string TooManyNodes();
// Returns whether the node had more nodes below it than that, and lost them.
bool IsTooLarge(const Node& node);

// Where a node stands, which decides the keys it may have and who shuffles it.
enum class NodePosition { kRoot, kComponent, kOther };

// Returns the node that `node` stands for, with its own kind.
const Node& Used(const Node& node);
// Returns whether the node is a source, not made of others.
bool IsSource(const Node& node);
// Returns whether the node is one source, perhaps used under several names.
bool IsOneSource(const Node& node);
// Returns whether the node chooses or orders items of what it is made of.
bool ChangesItems(const Node& node);
// Returns the weight of a component; 1 where it states none.
inline double WeightOf(const Node& component) {
  return component.weight.value_or(1);
}

// Returns the components of a mixture, without their sizes.
std::vector<WeightedComponent> WeightedChildren(const Node& mixture);
// Returns whether the mixture draws from its component `child` at first, or in
// one of its stages.
bool IsDrawn(const Node& mixture, const Node& child,
             const std::vector<RunStage>& stages);

// Returns the tokens of a dataset of the program's own, if its length is known.
// Items that do not state their tokens have those of a window.
std::optional<uint64_t> TokensOfDataset(const Run& run,
                                        const DatasetNode& dataset);

bool IsStartOfRun(const RunPoint& point);

// Returns the longest sample of the run, and the tokens per window: what the
// run states, else its longest sample.
uint32_t LongestSample(const Run& run);
uint32_t WindowTokens(const Run& run);

// Sets another threshold for the scores that a component is filtered by: of its
// own filter, else of the filter of what it uses, else of its documents.
// Returns false if it has none.
bool SetThreshold(const ScoreThreshold& at_least, Node* node);
bool HasThreshold(const Node& node);

// Returns whether sources at a node are filled in the middle, which `is_above`
// says of those at the node above it.
inline bool IsInfilled(const Node& node, bool is_above) {
  return node.fill_in_the_middle ? node.fill_in_the_middle->is_infilled
                                 : is_above;
}
// Returns whether a source at or below the node is.
bool HasInfilledSource(const Node& node, bool is_above);
// Returns the hold-out as an inline table of TOML. `all`: also what is as by
// default.
std::string HoldOutText(const NodeHoldOut& hold_out, bool all);

// Returns what is wrong with an order of documents that are packed.
std::string DocumentOrderOfPacked();

// Returns the loader's options, with the loss weights of the nodes.
LoaderOptions LoaderOptionsOf(const Run& run);

// Returns the keys of all nodes that are datasets of the program's own.
std::vector<std::string> DatasetKeys(const Run& run);

// Returns whether there are nodes more than `levels` below the node.
bool IsDeeperThan(const Node& node, size_t levels);

// Calls visit(key, node, depth) for each node, with the key that TOML gives it
// and the number of nodes that this key names. Nodes at a depth of more than
// 60, or more than kDeepestTree below the root, are left out.
using VisitNode =
    std::function<void(const std::string& key, const Node& node, size_t depth)>;
void ForEachNode(const Run& run, const VisitNode& visit);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_RUN_NODES_H_
