// SPDX-License-Identifier: Apache-2.0
// Parses one node of the tree and everything below it.

#ifndef PONIENTE_CONFIG_PARSE_NODE_PARSER_H_
#define PONIENTE_CONFIG_PARSE_NODE_PARSER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/parse/toml_reader.h"
#include "config/run_nodes.h"

namespace poniente::internal {

// Returns the last part of a path or of a dataset's name. It stays the same if
// the folders above are moved or renamed.
std::string NameFromPath(std::string_view path);

// Parses nodes. Nodes that refer to others are expanded here, so that readers
// of the spec see a tree. Errors go to the list.
class NodeParser {
 public:
  static constexpr int kDeepest = kDeepestTree;

  // `share_of`: what shares of the run are shares of, for nested stages.
  NodeParser(ErrorList* errors, ShareOf share_of)
      : errors_(errors), share_of_(share_of) {}

  // Parses [data.nodes]; call it before parsing anything that uses them.
  void ParseDefinitions(TableReader& data);

  // Fills `spec` from the keys of `table`. `weights_follow`: a stage may state
  // weights of the root's components. The caller checks whether each component
  // has one: Node::states_weight.
  void Parse(TableReader& table, NodePosition at, Node* spec,
             bool weights_follow);

  // Appends the children of a flat node or a mixture to `parent`, from a table
  // of nodes by name. `depth` is that of `parent`. Returns whether a mixture
  // draws from any of them.
  bool ParseChildren(TableReader& named, int depth, Node* parent);

  // Parses [[data.datasets]]: components of weight 1 unless stated. A component
  // without a name is named after the last part of its path.
  void ParseDatasets(TableReader& data, const toml::array& datasets,
                     Node* mixture);

 private:
  // A node of [data.nodes]; parsed when it is first used.
  struct Definition {
    const toml::table* table = nullptr;
    SourceLocation location;
    enum class State { kNew, kOpen, kDone } state = State::kNew;
    Node spec;
    uint64_t nodes = 0;
    int height = 0;  // nodes from it to the deepest below
  };

  void ParseDefinition(const std::string& name, Definition* definition,
                       int depth);
  void ParseBelow(TableReader& table, NodePosition at, Node* spec, int depth,
                  bool weights_follow = false);
  void ParseKind(TableReader& table, Node* spec, int depth,
                 bool weights_follow);
  void ParseDeclared(TableReader& table, Node* spec);
  void ParseNamed(TableReader& table, std::string_view key, Node* spec,
                  int depth, bool weights_follow);
  void ParseSequence(TableReader& table, Node* spec, int depth);
  void ParseUse(TableReader& table, Node* spec, int depth);
  void ParseMixture(TableReader& table, Node* spec);
  void ParseLossWeight(TableReader& table, NodePosition at, Node* spec);
  void ParseSeed(TableReader& table, NodePosition at, Node* spec);
  // Counts nodes; returns false, with an error at `table`, once there are too
  // many.
  bool CountNodes(TableReader& table, uint64_t nodes);
  // Returns whether there are too many nodes. This has then been reported, and
  // the remaining nodes are skipped.
  bool IsFull() const { return nodes_ > kMaxNodes; }
  // Skips the node of `table` after an error.
  static void Abandon(TableReader& table, Node* spec);

  ErrorList* const errors_;
  const ShareOf share_of_;
  std::map<std::string, Definition> definitions_;
  // Names of the definitions being parsed, the outermost first.
  std::vector<std::string> open_;
  uint64_t nodes_ = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_PARSE_NODE_PARSER_H_
