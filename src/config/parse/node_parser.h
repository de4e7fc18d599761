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

// The last part of a path or of a dataset's name: a name that stays when a
// folder is moved.
std::string NameFromPath(std::string_view path);

// Nodes that use others are put together here, so that whoever reads the spec
// sees a tree. Errors go to the list.
class NodeParser {
 public:
  // Deeper nesting is a mistake, and would only exhaust the stack.
  static constexpr int kDeepest = 100;
  // Nodes that use nodes that use nodes grow without end.
  static constexpr uint64_t kMaxNodes = uint64_t{1} << 18;

  explicit NodeParser(ErrorList* errors) : errors_(errors) {}

  // [data.nodes], before anything that uses them.
  void ParseDefinitions(TableReader& data);

  // Fills `spec` from the keys of `table`. `weights_follow`: a stage may state
  // weights of the root's components. Whether each has one is left to the
  // caller: NodeSpec::states_weight.
  void Parse(TableReader& table, NodePlace at, NodeSpec* spec,
             bool weights_follow);

  // [[data.datasets]]: components whose weight is 1 unless stated, and whose
  // name is the last part of where they lie.
  void ParseDatasets(TableReader& data, const toml::array& datasets,
                     NodeSpec* mixture);

 private:
  // A node of [data.nodes]; parsed when it is first used.
  struct Definition {
    const toml::table* table = nullptr;
    Place place;
    enum class State { kNew, kOpen, kDone } state = State::kNew;
    NodeSpec spec;
    uint64_t nodes = 0;
  };

  void ParseDefinition(const std::string& name, Definition* definition,
                       int depth);
  void ParseBelow(TableReader& table, NodePlace at, NodeSpec* spec, int depth,
                  bool weights_follow = false);
  void ParseKind(TableReader& table, NodeSpec* spec, int depth,
                 bool weights_follow);
  void ParseDeclared(TableReader& table, NodeSpec* spec);
  void ParseNamed(TableReader& table, std::string_view key, NodeSpec* spec,
                  int depth, bool weights_follow);
  void ParseSequence(TableReader& table, NodeSpec* spec, int depth);
  void ParseUse(TableReader& table, NodeSpec* spec, int depth);
  void ParseMixture(TableReader& table, NodeSpec* spec);
  void ParseLossWeight(TableReader& table, NodePlace at, NodeSpec* spec);
  void ParseSeed(TableReader& table, NodePlace at, NodeSpec* spec);
  // Counts a node; false, with an error at `table`, once they are too many.
  bool CountNodes(TableReader& table, uint64_t nodes);
  // They are too many, which is reported: the rest is not looked at.
  bool IsFull() const { return nodes_ > kMaxNodes; }
  // After an error that says why `table`'s node is not looked at.
  static void Abandon(TableReader& table, NodeSpec* spec);

  ErrorList* const errors_;
  std::map<std::string, Definition> definitions_;
  // Those being parsed, from the outside in.
  std::vector<std::string> open_;
  uint64_t nodes_ = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_PARSE_NODE_PARSER_H_
