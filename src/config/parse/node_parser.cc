// SPDX-License-Identifier: Apache-2.0
#include "config/parse/node_parser.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/parse/files_parser.h"
#include "config/parse/modifier_parser.h"
#include "config/parse/nested_stage_parser.h"
#include "config/parse/stage_parser.h"
#include "config/parse/weights_sum.h"
#include "index/max_samples.h"
#include "util/nearest_name.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

uint64_t CountBelow(const Node& node) {
  uint64_t count = 1;
  for (const Node& child : node.children) count += CountBelow(child);
  return count;
}

int HeightOf(const Node& node) {
  int height = 0;
  for (const Node& child : node.children) {
    height = std::max(height, 1 + HeightOf(child));
  }
  return height;
}

std::string ParseText(TableReader& table, std::string_view key) {
  const std::optional<std::string> text = table.String(key);
  if (text == "") table.Error(key, "must not be empty");
  return text.value_or("");
}

bool IsDrawn(const Node& mixture, double weight) {
  return mixture.mixture.weight_rule == WeightRule::kScores ? weight > -INFINITY
                                                            : weight > 0;
}

}  // namespace

std::string NameFromPath(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

bool NodeParser::CountNodes(TableReader& table, uint64_t nodes) {
  const bool was_fine = !IsFull();
  nodes_ += nodes;
  if (!IsFull()) return true;
  nodes_ = kMaxNodes + 1;
  if (was_fine) {
    table.ErrorHere(TooManyNodes());
  }
  return false;
}

void NodeParser::ParseDefinitions(TableReader& data) {
  const toml::table* const nodes = data.Table("nodes");
  if (nodes == nullptr) return;
  TableReader named(*nodes, data.LocationOf("nodes"), errors_);
  for (const std::string& name : named.KeysInOrder()) {
    const toml::table* const table = named.Table(name);
    if (table == nullptr) continue;
    Definition& definition = definitions_[name];
    definition.table = table;
    definition.location = named.LocationOf(name);
  }
  // Also those that nobody uses: what is wrong with them is reported.
  for (auto& [name, definition] : definitions_) {
    if (definition.state == Definition::State::kNew) {
      ParseDefinition(name, &definition, 1);
    }
  }
  nodes_ = 0;  // what is used counts where it is used
}

void NodeParser::ParseDefinition(const std::string& name,
                                 Definition* definition, int depth) {
  definition->state = Definition::State::kOpen;
  open_.push_back(name);
  TableReader table(*definition->table, definition->location, errors_,
                    {KeyTable::kNode});
  ParseBelow(table, NodePosition::kOther, &definition->spec, depth);
  table.Finish();
  open_.pop_back();
  definition->spec.children.allow_sharing();  // by those that use it
  definition->nodes = CountBelow(definition->spec);
  definition->height = HeightOf(definition->spec);
  definition->state = Definition::State::kDone;
}

void NodeParser::Parse(TableReader& table, NodePosition at, Node* spec,
                       bool weights_follow) {
  ParseBelow(table, at, spec, 0, weights_follow);
}

void NodeParser::ParseBelow(TableReader& table, NodePosition at, Node* spec,
                            int depth, bool weights_follow) {
  spec->location = table.location();
  if (depth > kDeepest) {
    table.ErrorHere(absl::StrCat("is nested deeper than ", kDeepest));
    return Abandon(table, spec);
  }
  if (!CountNodes(table, 1)) return Abandon(table, spec);
  ParseKind(table, spec, depth, weights_follow);
  ParseModifiers(table, spec);
  ParseLossWeight(table, at, spec);
  ParseSeed(table, at, spec);
  if (spec->kind == NodeKind::kMixture && at != NodePosition::kRoot) {
    ParseMixtureStages(table, share_of_, spec);
  }
}

void NodeParser::Abandon(TableReader& table, Node* spec) {
  table.Abandon();
  spec->weight = 1;  // perhaps: what is wrong is reported already
}

void NodeParser::ParseKind(TableReader& table, Node* spec, int depth,
                           bool weights_follow) {
  struct Kind {
    std::string_view key;
    NodeKind kind;
  };
  constexpr std::array<Kind, 7> kKinds = {{{"path", NodeKind::kStore},
                                           {"hf_name", NodeKind::kHub},
                                           {"tokens", NodeKind::kDeclared},
                                           {"flat", NodeKind::kFlat},
                                           {"mixture", NodeKind::kMixture},
                                           {"concat", NodeKind::kConcat},
                                           {"use", NodeKind::kUse}}};
  std::string_view found;
  for (const Kind& kind : kKinds) {
    if (!table.Has(kind.key)) continue;
    if (!found.empty()) {
      table.Error(kind.key,
                  absl::StrCat("cannot be combined with ", Absl(found),
                               ": a node is of one kind"));
      continue;
    }
    found = kind.key;
    spec->kind = kind.kind;
  }
  if (found.empty()) {
    table.ErrorHere(
        "needs one of path, hf_name, tokens, flat, mixture, concat or use");
    return;
  }
  switch (spec->kind) {
    case NodeKind::kStore:
      spec->path = ParseText(table, found);
      spec->vocabulary = ParseVocabulary(table);
      spec->files = ParseFiles(table);
      return;
    case NodeKind::kHub:
      spec->hub_name = ParseText(table, found);
      spec->hub_config = table.String("hf_config").value_or("");
      spec->hub_split = table.String("hf_split").value_or("train");
      spec->vocabulary = ParseVocabulary(table);
      spec->files = ParseFiles(table);
      return;
    case NodeKind::kDeclared:
      return ParseDeclared(table, spec);
    case NodeKind::kConcat:
      return ParseSequence(table, spec, depth);
    case NodeKind::kUse:
      return ParseUse(table, spec, depth);
    case NodeKind::kMixture:
      ParseMixture(table, spec);
      return ParseNamed(table, found, spec, depth, weights_follow);
    case NodeKind::kFlat:
      return ParseNamed(table, found, spec, depth, false);
    case NodeKind::kDataset:
      break;  // no text states one
  }
}

void NodeParser::ParseDeclared(TableReader& table, Node* spec) {
  spec->tokens = table.Amount("tokens", 1, kMaxSamples).value_or(1);
  spec->vocabulary = ParseVocabulary(table);
}

void NodeParser::ParseNamed(TableReader& table, std::string_view key,
                            Node* spec, int depth, bool weights_follow) {
  const toml::table* children = table.Table(key);
  if (children == nullptr) return;
  TableReader named(*children, table.LocationOf(key), errors_);
  const bool is_drawn = ParseChildren(named, depth, spec);
  if (IsFull()) return;
  if (spec->children.empty()) {
    named.ErrorHere("has no components");
  } else if (spec->kind == NodeKind::kMixture && !is_drawn && !weights_follow) {
    named.ErrorHere("has weights that are all zero: nothing could be drawn");
  }
}

bool NodeParser::ParseChildren(TableReader& named, int depth, Node* parent) {
  const bool weighted = parent->kind == NodeKind::kMixture;
  const std::vector<std::string> names = named.KeysInOrder();
  bool is_drawn = false;
  parent->children.reserve(names.size());
  for (const std::string& name : names) {
    if (IsFull()) break;
    const toml::table* child = named.Table(name);
    Node& made = parent->children.emplace_back();
    made.name = name;
    if (name.empty()) {
      named.Error(
          name, "must have a name, because the order of samples depends on it");
    }
    if (child == nullptr) {
      made.weight = 1;  // whatever it is: reported already
      continue;
    }
    TableReader reader(*child, named.LocationOf(name), errors_,
                       {KeyTable::kNode});
    ParseBelow(reader,
               weighted ? NodePosition::kComponent : NodePosition::kOther,
               &made, depth + 1);
    if (weighted) {
      made.max_epochs = reader.Unsigned("max_epochs", 1, kMaxSamples);
      const auto weight =
          ParseWeight(reader, "weight", parent->mixture.weight_rule);
      // A wrong one is reported already.
      if (reader.Has("weight")) made.weight = weight.value_or(1);
      is_drawn |= IsDrawn(*parent, WeightOf(made));
    } else if (reader.Has("weight")) {
      reader.Error("weight", "is allowed only for components of a mixture");
    }
    reader.Finish();
  }
  return is_drawn;
}

void NodeParser::ParseSequence(TableReader& table, Node* spec, int depth) {
  const toml::array* parts = table.Tables("concat");
  if (parts == nullptr) return;
  const SourceLocation location = table.LocationOf("concat");
  std::set<std::string> names;
  spec->children.reserve(parts->size());
  for (size_t i = 0; i < parts->size() && !IsFull(); ++i) {
    const toml::table& part = *parts->get(i)->as_table();
    TableReader reader(
        part, LocationOfNode(part, location, absl::StrCat("[", i, "]")),
        errors_, {KeyTable::kNode});
    Node& made = spec->children.emplace_back();
    ParseBelow(reader, NodePosition::kOther, &made, depth + 1);
    made.name = reader.String("name").value_or(absl::StrCat(i));
    if (made.name.empty()) reader.Error("name", "must not be empty");
    if (!names.insert(made.name).second) {
      reader.ErrorHere(
          absl::StrCat("has the name '", made.name,
                       "' of an earlier part: state another name"));
    }
    reader.Finish();
  }
  if (parts->empty()) table.Error("concat", "has no parts");
}

void NodeParser::ParseUse(TableReader& table, Node* spec, int depth) {
  const std::optional<std::string> name = table.String("use");
  spec->children.emplace_back();  // whatever is wrong: a node has its child
  if (!name.has_value()) return;
  const auto found = definitions_.find(*name);
  if (found == definitions_.end()) {
    std::vector<std::string> names;
    for (const auto& [known, definition] : definitions_) names.push_back(known);
    table.Error("use", absl::StrCat("names '", *name,
                                    "', which data.nodes does not have",
                                    NearestOrAll(*name, names)));
    return;
  }
  Definition& definition = found->second;
  if (definition.state == Definition::State::kOpen) {
    const auto first = std::find(open_.begin(), open_.end(), *name);
    table.Error("use", absl::StrCat("makes a cycle: ",
                                    absl::StrJoin(first, open_.end(), " uses "),
                                    " uses ", *name));
    return;
  }
  if (definition.state == Definition::State::kNew) {
    ParseDefinition(*name, &definition, depth + 1);
  }
  if (depth + 1 + definition.height > kDeepest) {
    table.Error("use", absl::StrCat("names '", *name,
                                    "', so that the tree would be nested "
                                    "deeper than ",
                                    kDeepest));
    return;
  }
  if (!CountNodes(table, definition.nodes)) return;
  spec->use = *name;
  spec->children.back() = definition.spec;
}

void NodeParser::ParseMixture(TableReader& table, Node* spec) {
  NodeMixture& mixture = spec->mixture;
  mixture.block_size =
      table.Unsigned("block_size", 1, 65536).value_or(mixture.block_size);
  constexpr WeightRule kRules[] = {WeightRule::kProportions,
                                   WeightRule::kSizeProportional,
                                   WeightRule::kScores};
  mixture.weight_rule =
      kRules[table.Choice("weight_rule", {"proportions", "sizes", "scores"})
                 .value_or(0)];
  mixture.temperature = ParseTemperature(table, "temperature").value_or(1);
  constexpr StopRule kStops[] = {StopRule::kRestart, StopRule::kFirstExhausted,
                                 StopRule::kAllExhausted};
  mixture.stop_rule = kStops[table
                                 .Choice("stop", {"restart", "first_exhausted",
                                                  "all_exhausted"})
                                 .value_or(0)];
  mixture.weights_sum = ParseWeightsSum(table, "weights_sum");
  mixture.group_items =
      table.Unsigned("group_items", 0, MixtureOptions::kMaxGroupItems)
          .value_or(0);
}

void NodeParser::ParseLossWeight(TableReader& table, NodePosition at,
                                 Node* spec) {
  if (at == NodePosition::kRoot) {
    if (table.Has("loss_weight")) {
      table.Error("loss_weight",
                  "is allowed only below the root: at the root it would scale "
                  "all losses alike");
    }
    return;
  }
  spec->loss_weight =
      ParseWeight(table, "loss_weight", WeightRule::kProportions);
  if (spec->loss_weight > FLT_MAX) {
    table.Error("loss_weight", absl::StrCat("must be at most ", FLT_MAX,
                                            ", got ", *spec->loss_weight));
    spec->loss_weight.reset();
  }
}

void NodeParser::ParseSeed(TableReader& table, NodePosition at, Node* spec) {
  if (at == NodePosition::kRoot) return;  // the run's
  if (spec->kind == NodeKind::kMixture || spec->kind == NodeKind::kFlat) {
    spec->seed = table.Unsigned("seed", 0, kMaxInteger);
  } else if (table.Has("seed")) {
    table.Error("seed", "is allowed only for flat and mixture");
  }
}

void NodeParser::ParseDatasets(TableReader& data, const toml::array& datasets,
                               Node* mixture) {
  mixture->kind = NodeKind::kMixture;
  mixture->location = data.location();
  std::set<std::string> names;
  mixture->children.reserve(datasets.size());
  for (size_t i = 0; i < datasets.size(); ++i) {
    const toml::table& table = *datasets.get(i)->as_table();
    TableReader reader(table,
                       LocationOfNode(table, data.location(),
                                      absl::StrCat("datasets[", i, "]")),
                       errors_, {KeyTable::kNode});
    Node& made = mixture->children.emplace_back();
    reader.IgnoreBlankTexts();
    const bool has_source = reader.Has("path") || reader.Has("hf_name");
    made.name = reader.String("name").value_or("");
    reader.String("hf_config");
    ParseBelow(reader, NodePosition::kComponent, &made, 1);
    if (IsFull()) return;
    made.max_epochs = reader.Unsigned("max_epochs", 1, kMaxSamples);
    const double weight = reader.Number("weight").value_or(1);
    made.weight = weight;
    if (!(std::isfinite(weight) && weight > 0)) {
      reader.Error("weight", absl::StrCat("must be finite and above 0, got ",
                                          weight, "; a phase may set it to 0"));
      made.weight = 1;
    }
    if (made.name.empty() && has_source) {
      made.name =
          NameFromPath(made.kind == NodeKind::kHub ? made.hub_name : made.path);
    }
    if (made.name.empty()) {
      reader.ErrorHere(
          "needs a name, because the order of samples depends on it");
    } else if (!names.insert(made.name).second) {
      reader.ErrorHere(
          absl::StrCat("has the name '", made.name,
                       "' of an earlier dataset: state another name"));
    }
    reader.Finish();
  }
}

}  // namespace poniente::internal
