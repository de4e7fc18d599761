// SPDX-License-Identifier: Apache-2.0
// One node of the tree, and what lies below it.

#ifndef PONIENTE_CONFIG_PARSE_NODE_PARSER_H_
#define PONIENTE_CONFIG_PARSE_NODE_PARSER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/parse/toml_reader.h"
#include "config/spec.h"

namespace poniente::internal {

// Returns the last part of a path or of a dataset's name, which stays the same
// if a folder is moved.
std::string NameFromPath(std::string_view path);

// Parses nodes. Nodes that refer to others are expanded here, so that readers
// of the spec see a tree. Errors go to the list.
class NodeParser {
 public:
  // Deepest nesting: more is a mistake, and would only exhaust the stack.
  static constexpr int kDeepest = 100;
  // Most nodes: nodes that refer to nodes that refer to nodes could grow
  // without end.
  static constexpr uint64_t kMaxNodes = uint64_t{1} << 18;

  explicit NodeParser(ErrorList* errors) : errors_(errors) {}

  // Parses [data.nodes]; call it before parsing anything that uses them.
  void ParseDefinitions(TableReader& data);

  // Fills `spec` from the keys of `table`. `weights_follow`: a stage may state
  // weights of the root's components. The caller checks whether each component
  // has one: NodeSpec::states_weight.
  void Parse(TableReader& table, NodePosition at, NodeSpec* spec,
             bool weights_follow);

  // Parses [[data.datasets]]: components with weight 1 unless stated, named by
  // the last part of where they lie.
  void ParseDatasets(TableReader& data, const toml::array& datasets,
                     NodeSpec* mixture);

 private:
  // A node of [data.nodes]; parsed when it is first used.
  struct Definition {
    const toml::table* table = nullptr;
    SourceLocation location;
    enum class State { kNew, kOpen, kDone } state = State::kNew;
    NodeSpec spec;
    uint64_t nodes = 0;
  };

  void ParseDefinition(const std::string& name, Definition* definition,
                       int depth);
  void ParseBelow(TableReader& table, NodePosition at, NodeSpec* spec,
                  int depth, bool weights_follow = false);
  void ParseKind(TableReader& table, NodeSpec* spec, int depth,
                 bool weights_follow);
  void ParseDeclared(TableReader& table, NodeSpec* spec);
  void ParseNamed(TableReader& table, std::string_view key, NodeSpec* spec,
                  int depth, bool weights_follow);
  void ParseSequence(TableReader& table, NodeSpec* spec, int depth);
  void ParseUse(TableReader& table, NodeSpec* spec, int depth);
  void ParseMixture(TableReader& table, NodeSpec* spec);
  void ParseLossWeight(TableReader& table, NodePosition at, NodeSpec* spec);
  void ParseSeed(TableReader& table, NodePosition at, NodeSpec* spec);
  // Counts nodes; returns false, with an error at `table`, once there are too
  // many.
  bool CountNodes(TableReader& table, uint64_t nodes);
  // There are too many, which has been reported: the rest is skipped.
  bool IsFull() const { return nodes_ > kMaxNodes; }
  // Skips the node of `table` after an error.
  static void Abandon(TableReader& table, NodeSpec* spec);

  ErrorList* const errors_;
  std::map<std::string, Definition> definitions_;
  // Definitions being parsed, from the outside in.
  std::vector<std::string> open_;
  uint64_t nodes_ = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_PARSE_NODE_PARSER_H_
