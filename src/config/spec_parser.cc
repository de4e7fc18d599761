// SPDX-License-Identifier: Apache-2.0
#include "config/spec_parser.h"

#include <array>
#include <cfloat>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "config/runtime_parser.h"
#include "config/toml_reader.h"
#include "dataset/joined_path.h"
#include "util/nearest_name.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kMostSamples = uint64_t{1} << 62;
constexpr uint64_t kMostInteger = INT64_MAX;
// Deeper nesting is a mistake, and would only exhaust the stack.
constexpr int kDeepest = 100;

// Where a node stands: decides which keys it may have.
enum class Parent { kNone, kMixture, kOther };

std::optional<double> Weight(TableReader& table, std::string_view key) {
  const std::optional<double> weight = table.Number(key);
  if (!weight.has_value()) return std::nullopt;
  if (std::isfinite(*weight) && *weight >= 0) return weight;
  table.Error(key,
              absl::StrCat("must be finite and at least 0, got ", *weight));
  return std::nullopt;
}

std::vector<std::string> Names(const std::vector<NodeSpec>& nodes) {
  std::vector<std::string> names;
  for (const NodeSpec& node : nodes) names.push_back(node.name);
  return names;
}

void ParseWeights(TableReader& stage, const NodeSpec& mixture,
                  StageSpec* spec) {
  const toml::table* weights = stage.Table("weights");
  if (weights == nullptr) return;
  TableReader table(*weights, stage.PlaceOf("weights"), stage.errors());
  const std::vector<std::string> known = Names(mixture.children);
  double sum = 0;
  for (const NodeSpec& child : mixture.children) {
    const bool stated = table.Has(child.name);
    const std::optional<double> weight =
        stated ? Weight(table, child.name) : child.weight;
    sum += weight.value_or(1);  // reported already
    if (stated && weight.has_value()) spec->weights[child.name] = *weight;
  }
  for (const std::string& name : table.KeysInOrder()) {
    if (table.Has(name) &&
        std::find(known.begin(), known.end(), name) == known.end()) {
      table.Error(name,
                  absl::StrCat("is not a component of ", mixture.place.key,
                               DidYouMean(name, known)));
    }
  }
  if (sum == 0) table.ErrorHere("are all zero: nothing could be drawn");
}

// What stages of the run and of a nested mixture have in common.
std::vector<StageSpec> ParseStages(TableReader& parent,
                                   std::string_view start_key,
                                   const NodeSpec* mixture, bool of_run) {
  std::vector<StageSpec> stages;
  const toml::array* array = parent.Tables("stages");
  if (array == nullptr) return stages;
  uint64_t least = of_run ? 0 : 1;
  for (size_t i = 0; i < array->size(); ++i) {
    const toml::table& table = *array->get(i)->as_table();
    TableReader stage(
        table,
        PlaceOfNode(table, parent.place(), absl::StrCat("stages[", i, "]")),
        parent.errors());
    StageSpec& spec = stages.emplace_back();
    spec.place = stage.place();
    const bool has_start = stage.Has(start_key);
    const auto start = stage.Unsigned(start_key, 0, kMostSamples);
    if (!has_start) {
      stage.ErrorHere(absl::StrCat("needs ", Absl(start_key)));
    } else if (start.has_value() && *start < least) {
      stage.Error(start_key,
                  absl::StrCat("must be at least ", least,
                               ", after the stage before it, got ", *start));
    }
    spec.start = start.value_or(least);
    least = std::max(least, spec.start + 1);
    spec.name = stage.String("name").value_or("");
    if (of_run) {
      spec.lr_scale = stage.Number("lr_scale").value_or(1);
      if (!(std::isfinite(spec.lr_scale) && spec.lr_scale > 0)) {
        stage.Error("lr_scale", absl::StrCat("must be finite and above 0, got ",
                                             spec.lr_scale));
      }
    }
    if (spec.start == 0 && stage.Has("weights")) {
      stage.Error("weights",
                  "of the first stage are those of the components themselves");
    } else if (mixture != nullptr) {
      ParseWeights(stage, *mixture, &spec);
    } else if (stage.Has("weights")) {
      stage.Error("weights", "need a mixture at the root");
    }
    stage.Finish();
  }
  return stages;
}

class NodeParser {
 public:
  explicit NodeParser(ErrorList* errors) : errors_(errors) {}

  // Fills `spec` from the keys that make and modify a node.
  void Parse(TableReader& table, Parent parent, NodeSpec* spec, int depth) {
    spec->place = table.place();
    if (depth > kDeepest) {
      table.ErrorHere(absl::StrCat("is nested deeper than ", kDeepest));
      return;
    }
    ParseKind(table, spec, depth);
    ParseModifiers(table, parent, spec);
  }

 private:
  void ParseKind(TableReader& table, NodeSpec* spec, int depth) {
    struct Kind {
      const char* key;
      NodeKind kind;
    };
    constexpr std::array<Kind, 4> kKinds = {{{"path", NodeKind::kStore},
                                             {"flat", NodeKind::kFlat},
                                             {"mixture", NodeKind::kMixture},
                                             {"concat", NodeKind::kConcat}}};
    const char* found = nullptr;
    for (const Kind& kind : kKinds) {
      if (!table.Has(kind.key)) continue;
      if (found != nullptr) {
        table.Error(kind.key, absl::StrCat("cannot stand beside ", found,
                                           ": a node is of one kind"));
        continue;
      }
      found = kind.key;
      spec->kind = kind.kind;
    }
    if (found == nullptr) {
      table.ErrorHere("needs one of path, flat, mixture or concat");
    } else if (spec->kind == NodeKind::kStore) {
      const std::optional<std::string> path = table.String("path");
      if (path == "") table.Error("path", "must not be empty");
      spec->path = path.value_or("");
    } else if (spec->kind == NodeKind::kConcat) {
      ParseSequence(table, spec, depth);
    } else {
      ParseNamed(table, found, spec, depth);
    }
  }

  void ParseNamed(TableReader& table, const char* key, NodeSpec* spec,
                  int depth) {
    const toml::table* children = table.Table(key);
    if (children == nullptr) return;
    const bool weighted = spec->kind == NodeKind::kMixture;
    TableReader named(*children, table.PlaceOf(key), errors_);
    double sum = 0;
    for (const std::string& name : named.KeysInOrder()) {
      const toml::table* child = named.Table(name);
      NodeSpec& made = spec->children.emplace_back();
      made.name = name;
      if (name.empty())
        named.Error(name, "must have a name: it keys the order");
      if (child == nullptr) continue;
      TableReader reader(*child, named.PlaceOf(name), errors_);
      Parse(reader, weighted ? Parent::kMixture : Parent::kOther, &made,
            depth + 1);
      reader.Finish();
      sum += made.weight;
    }
    if (spec->children.empty()) {
      named.ErrorHere("has no components");
    } else if (weighted && sum == 0) {
      named.ErrorHere("has weights that are all zero: nothing could be drawn");
    }
  }

  void ParseSequence(TableReader& table, NodeSpec* spec, int depth) {
    const toml::array* parts = table.Tables("concat");
    if (parts == nullptr) return;
    const Place place = table.PlaceOf("concat");
    for (size_t i = 0; i < parts->size(); ++i) {
      const toml::table& part = *parts->get(i)->as_table();
      TableReader reader(
          part, PlaceOfNode(part, place, absl::StrCat("[", i, "]")), errors_);
      NodeSpec& made = spec->children.emplace_back();
      Parse(reader, Parent::kOther, &made, depth + 1);
      made.name = reader.String("name").value_or(absl::StrCat(i));
      reader.Finish();
    }
    if (parts->empty()) table.Error("concat", "has no parts");
  }

  void ParseModifiers(TableReader& table, Parent parent, NodeSpec* spec) {
    const bool is_mixture = spec->kind == NodeKind::kMixture;
    const bool is_root = parent == Parent::kNone;
    if (parent == Parent::kMixture) {
      spec->weight = Weight(table, "weight").value_or(1);
      if (!table.Has("weight")) table.ErrorHere("needs a weight");
    } else if (table.Has("weight")) {
      table.Error("weight", "has a meaning for components of a mixture only");
    }
    if (parent != Parent::kOther) {
      spec->shuffle = table.Bool("shuffle").value_or(true);
    } else if (table.Has("shuffle")) {
      table.Error("shuffle",
                  "has a meaning at the root and below a mixture only");
    }
    spec->take = table.Unsigned("take", 1, kMostSamples);
    if (!is_root) {
      spec->loss_weight = Weight(table, "loss_weight");
      if (spec->loss_weight > FLT_MAX) {
        table.Error("loss_weight", absl::StrCat("must be at most ", FLT_MAX,
                                                ", got ", *spec->loss_weight));
        spec->loss_weight.reset();
      }
    } else if (table.Has("loss_weight")) {
      table.Error("loss_weight",
                  "has a meaning below the root only: there it would scale "
                  "every loss alike");
    }
    const bool has_seed = is_mixture || spec->kind == NodeKind::kFlat;
    if (!is_root && has_seed) {
      spec->seed = table.Unsigned("seed", 0, kMostInteger);
    } else if (!is_root && table.Has("seed")) {
      table.Error("seed", "has a meaning for flat and mixture only");
    }
    if (is_mixture) {
      spec->block_size = table.Unsigned("block_size", 1, 65536).value_or(2048);
      if (!is_root) {
        spec->stages = ParseStages(table, "start_sample", spec, false);
      }
    } else if (table.Has("block_size")) {
      table.Error("block_size", "has a meaning for a mixture only");
    }
  }

  ErrorList* const errors_;
};

void ParseData(TableReader& data, RunSpec* run) {
  run->seed = data.Unsigned("seed", 0, kMostInteger).value_or(0);
  run->steps = data.Unsigned("steps", 1, kMostSamples).value_or(0);
  run->batch_size =
      data.Unsigned("batch_size", 1, uint64_t{1} << 32).value_or(1);
  run->seq_len = static_cast<uint32_t>(
      data.Unsigned("seq_len", 1, UINT32_MAX - 1).value_or(1));
  run->seq_len_place = data.PlaceOf("seq_len");
  for (const char* key : {"batch_size", "seq_len"}) {
    if (!data.Has(key)) data.Error(key, "is missing");
  }
  const std::string last = data.String("last_batch").value_or("keep");
  if (last != "keep" && last != "drop") {
    data.Error(
        "last_batch",
        absl::StrCat("must be \"keep\" or \"drop\", got \"", last, "\""));
  }
  run->loader.last_batch = last == "drop" ? LastBatch::kDrop : LastBatch::kKeep;
  NodeParser(data.errors()).Parse(data, Parent::kNone, &run->root, 0);
  const bool is_mixture = run->root.kind == NodeKind::kMixture;
  run->stages =
      ParseStages(data, "start_step", is_mixture ? &run->root : nullptr, true);
  for (const StageSpec& stage : run->stages) {
    if (run->steps != 0 && stage.start >= run->steps) {
      data.errors()->Add(
          stage.place,
          absl::StrCat("starts at step ", stage.start,
                       ", but the run ends after step ", run->steps - 1));
    } else if (stage.start > kMostSamples / run->batch_size) {
      data.errors()->Add(stage.place,
                         absl::StrCat("starts at step ", stage.start,
                                      ", behind the last of 2^62 samples"));
    }
  }
  data.Finish();
}

// By the paths of names that the loader knows the sources by.
void CollectLossWeights(const NodeSpec& node, const std::string& path,
                        LoaderOptions* loader) {
  for (const NodeSpec& child : node.children) {
    const std::string at = JoinedPath(path, child.name);
    if (child.loss_weight.has_value()) {
      loader->loss_weights[at] = static_cast<float>(*child.loss_weight);
    }
    CollectLossWeights(child, at, loader);
  }
}

// toml++ takes a key of any number of parts, one level of its recursion each.
absl::Status CheckDottedKeys(std::string_view text, const std::string& file) {
  int line = 1;
  int dots = 0;
  char quote = 0;
  for (const char c : text) {
    if (c == '\n') ++line;
    if (c == '\n' || c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    }
    if (quote != 0) continue;
    if (c == '.') ++dots;
    if (std::string_view("=,{}[]\n").find(c) != std::string_view::npos) {
      dots = 0;
    }
    if (dots > kDeepest) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, ":", line, ":1: a key of more than ", kDeepest,
                       " parts is nested too deep"));
    }
  }
  return absl::OkStatus();
}

absl::Status SyntaxError(const toml::parse_error& error,
                         const std::string& file) {
  const toml::source_position at = error.source().begin;
  return absl::InvalidArgumentError(absl::StrCat(
      file, ":", at.line, ":", at.column, ": ", OneLine(error.description())));
}

}  // namespace

absl::StatusOr<RunSpec> ParseSpec(std::string_view text,
                                  const std::string& file) {
  PONIENTE_RETURN_IF_ERROR(CheckDottedKeys(text, file));
  toml::table root;
  try {
    root = toml::parse(text, std::string_view(file));
  } catch (const toml::parse_error& error) {
    return SyntaxError(error, file);
  }
  ErrorList errors;
  RunSpec run;
  Place place;
  place.file = file;
  place.line = 1;
  place.column = 1;
  TableReader top(root, place, &errors);
  if (const toml::table* data = top.Table("data")) {
    TableReader reader(*data, top.PlaceOf("data"), &errors);
    ParseData(reader, &run);
  } else if (!top.Has("data")) {
    top.Error("data", "is missing: a [data] table says what to read");
  }
  if (const toml::table* runtime = top.Table("runtime")) {
    TableReader reader(*runtime, top.PlaceOf("runtime"), &errors);
    ParseRuntime(reader, &run);
  }
  CollectLossWeights(run.root, "", &run.loader);
  if (!run.loader.loss_weights.empty()) {
    run.loader.tensors.push_back(BatchTensor::kLossWeights);
  }
  top.Finish();
  if (!errors.empty()) return errors.ToStatus();
  return run;
}

}  // namespace poniente::internal
