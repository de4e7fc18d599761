// SPDX-License-Identifier: Apache-2.0
// poniente config: whether a configuration is one, the tree that it makes, what
// its keys mean.

#include "poniente/config.h"

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/arguments.h"
#include "cli/command_line.h"
#include "cli/commands/commands.h"
#include "cli/commands/load_config.h"
#include "cli/screen/console.h"
#include "cli/screen/json.h"
#include "cli/screen/table.h"
#include "config/parse/config_keys.h"
#include "poniente/dataset_tree.h"
#include "poniente/packing.h"
#include "poniente/token_source.h"
#include "store/manifest/manifest.h"
#include "util/nearest_name.h"
#include "util/status_macros.h"

namespace poniente::cli {
namespace {

using internal::ConfigKey;
using internal::ConfigKeys;
using internal::KeyTable;
using internal::KeyTableName;

// Where the keys of a table stand, as one would write them.
std::vector<std::string_view> PrefixesOf(KeyTable table) {
  switch (table) {
    case KeyTable::kTop:
      return {""};
    case KeyTable::kStage:
      return {"data.stages.", "stages."};
    case KeyTable::kMixtureStage:
      return {"stages.", "mixture.stages."};
    case KeyTable::kSelection:
      return {"filter.", "documents.", "data.filter.", "data.documents."};
    case KeyTable::kThreshold:
      return {"at_least.", "filter.at_least.", "data.filter.at_least.",
              "thresholds."};
    case KeyTable::kOrder:
      return {"order.", "order_documents.", "data.order.",
              "data.order_documents."};
    case KeyTable::kPacking:
      return {"pack_documents.", "data.pack_documents."};
    case KeyTable::kInfilling:
      return {"fill_in_the_middle.", "data.fill_in_the_middle."};
    case KeyTable::kLossMask:
      return {"loss_mask.", "data.loss_mask."};
    case KeyTable::kHoldOut:
      return {"hold_out.", "data.hold_out."};
    case KeyTable::kEval:
      return {"eval.", "data.eval."};
    case KeyTable::kBlockShuffle:
      return {"block_shuffle.", "data.block_shuffle."};
    case KeyTable::kBatchSize:
      return {"data.batch_sizes.", "batch_sizes."};
    case KeyTable::kSeqLen:
      return {"data.seq_lens.", "seq_lens."};
    case KeyTable::kBudget:
      return {"data.budget.", "budget."};
    case KeyTable::kPhase:
      return {"data.phases.", "phases."};
    case KeyTable::kTrain:
      return {"train."};
    case KeyTable::kRuntime:
      return {"runtime."};
    case KeyTable::kNode:
      return {"data.", "node.", "data.datasets.", "datasets."};
    case KeyTable::kData:
    case KeyTable::kFlatForm:
      return {"data."};
  }
  return {};
}

// "[" and "]" and numbers in them, as messages have them, do not matter.
std::string WithoutBrackets(std::string_view name) {
  std::string plain;
  bool is_inside = false;
  for (const char c : name) {
    is_inside |= c == '[';
    if (!is_inside) plain += c;
    if (c == ']') is_inside = false;
  }
  return plain;
}

bool IsMeant(const ConfigKey& key, const std::string& name) {
  if (key.name == name) return true;
  const std::vector<std::string_view> prefixes = PrefixesOf(key.table);
  return std::any_of(
      prefixes.begin(), prefixes.end(), [&](std::string_view prefix) {
        return std::string(prefix) + std::string(key.name) == name;
      });
}

std::vector<const ConfigKey*> Explained(const std::string& name) {
  std::vector<const ConfigKey*> found;
  for (const ConfigKey& key : ConfigKeys()) {
    if (IsMeant(key, name)) found.push_back(&key);
  }
  if (!found.empty()) return found;
  // "data.mixture.web.weight": whatever leads there, it is a key of a node.
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos) return found;
  for (const ConfigKey& key : ConfigKeys(KeyTable::kNode)) {
    if (name.starts_with("data.") && key.name == name.substr(dot + 1)) {
      found.push_back(&key);
    }
  }
  return found;
}

// Markdown's marks mean nothing on a terminal.
std::string Plain(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '`') continue;
    // [title](address)
    if (text[i] == ']' && i + 1 < text.size() && text[i + 1] == '(') {
      i = text.find(')', i);
      continue;
    }
    const size_t close =
        text[i] == '[' ? text.find("](", i) : std::string::npos;
    if (close != std::string::npos && text.find(']', i) == close) continue;
    plain += text[i];
  }
  return plain;
}

int Explain(const std::string& asked, bool as_json) {
  const std::string name = WithoutBrackets(asked);
  const std::vector<const ConfigKey*> found = Explained(name);
  if (found.empty()) {
    std::set<std::string> known;
    for (const ConfigKey& key : ConfigKeys()) known.emplace(key.name);
    const std::vector<std::string> names(known.begin(), known.end());
    const std::string last = name.substr(name.rfind('.') + 1);
    return FailUsage(absl::StrCat("config: no key '", OneLine(asked), "'",
                                  internal::DidYouMean(last, names),
                                  "; docs/config.md lists all"));
  }
  Json json = Json::array();
  for (const ConfigKey* key : found) {
    const std::vector<std::pair<const char*, std::string>> cells = {
        {"key", std::string(key->name)},
        {"in", std::string(KeyTableName(key->table))},
        {"type", Plain(key->type)},
        {"unit", Plain(key->unit)},
        {"default", Plain(key->fallback)},
        {"meaning", Plain(key->meaning)}};
    Json& row = json.emplace_back();
    if (!as_json && key != found.front()) std::cout << '\n';
    for (const auto& [what, text] : cells) {
      row[what] = text;
      if (as_json || text.empty()) continue;
      std::cout << absl::StrFormat("%-9s%s\n", what, text);
    }
  }
  if (as_json) PrintJson(json);
  return kExitOk;
}

// Only hands on items of an unnamed child: no line of its own.
bool IsPassedThrough(const DatasetNode& node) {
  const std::vector<NamedNode> children = node.children();
  return children.size() == 1 && children[0].name.empty();
}

std::string Length(const DatasetNode& node) {
  const LengthState length = node.length_now();
  return length.is_endless ? "endless" : Count(length.readable);
}

using Rows = std::vector<std::vector<std::string>>;

std::string KindOf(const ConfigSource& source) {
  if (!source.data) return "tokens";
  if (source.data->format() == internal::kStoreFormat) return "store";
  return std::string(source.data->format());
}

// The sources by the leaves that read them.
using SourceOfLeaf = std::map<const DatasetNode*, const ConfigSource*>;

void AddRows(const SourceOfLeaf& sources, const DatasetNode& node,
             const std::string& name, int depth, Rows* rows) {
  std::string what = node.name();
  const DatasetNode* shown = &node;
  while (IsPassedThrough(*shown)) {
    shown = shown->children()[0].node;
    what = shown->children().empty()
               ? what
               : absl::StrCat(what, " of ", shown->name());
  }
  std::string where;
  if (shown->children().empty()) {
    const ConfigSource& source = *sources.at(shown);
    const std::string kind = KindOf(source);
    what = shown == &node ? kind : absl::StrCat(what, " of ", kind);
    if (PackedItemsOf(*shown) != nullptr) what = absl::StrCat("packed ", kind);
    where = absl::StrCat(Count(source.tokens), " tokens",
                         source.data ? " in " : "", source.location);
  }
  rows->push_back({std::string(static_cast<size_t>(2 * depth), ' ') + name,
                   what, Length(node), where});
  for (const NamedNode& child : shown->children()) {
    if (child.shares_sources) continue;
    const size_t row = rows->size();
    AddRows(sources, *child.node, child.name, depth + 1, rows);
    if (child.added == 0) continue;
    std::string& about = (*rows)[row][3];
    absl::StrAppend(&about, about.empty() ? "" : ", ", "added by change ",
                    child.added);
  }
}

// "quantile 0.8".
std::string WordsOf(const ScoreThreshold& threshold) {
  const bool is_quantile = threshold.unit == ScoreThreshold::Unit::kQuantile;
  return absl::StrCat(is_quantile ? "quantile " : "sigmas ", threshold.value);
}

void PrintThresholds(const Config& config) {
  if (config.thresholds().empty()) return;
  Rows rows = {{"threshold", "stated", "at_least", "items chosen"}};
  for (const ComputedThreshold& threshold : config.thresholds()) {
    rows.push_back({threshold.key, WordsOf(threshold.stated),
                    absl::StrFormat("%.9g", threshold.value),
                    absl::StrCat(Count(threshold.chosen), " of ",
                                 Count(threshold.items))});
  }
  std::cout << '\n';
  PrintTable(rows);
}

Json ConfigToJson(const Config& config) {
  const Schedule& schedule = config.schedule();
  Json json;
  json["steps"] = schedule.steps() == 0 ? Json() : Json(schedule.steps());
  json["batch_size"] = schedule.At(0).batch_size;
  json["seq_len"] = schedule.At(0).seq_len;
  json["max_seq_len"] = schedule.max_seq_len();
  json["stages"] = schedule.stages().size();
  json["tokenizer"] = config.vocabulary().tokenizer;
  json["vocab_size"] = config.vocabulary().size;
  json["sources"] = Json::array();
  for (const ConfigSource& source : config.sources()) {
    Json& row = json["sources"].emplace_back();
    row["path"] = source.path;
    row["location"] = source.data ? Json(source.location) : Json();
    row["format"] =
        source.data ? Json(std::string(source.data->format())) : Json();
    row["tokens"] = source.tokens;
  }
  json["thresholds"] = Json::array();
  for (const ComputedThreshold& threshold : config.thresholds()) {
    Json& row = json["thresholds"].emplace_back();
    row["key"] = threshold.key;
    row["stated"] = WordsOf(threshold.stated);
    row["at_least"] = threshold.value;
    row["chosen"] = threshold.chosen;
    row["items"] = threshold.items;
  }
  json["warnings"] = config.warnings();
  json["toml"] = config.ToToml();
  return json;
}

void PrintTree(const Config& config, const std::string& path) {
  const Schedule& schedule = config.schedule();
  const StepPlan first = schedule.At(0);
  std::cout << OneLine(path) << ": "
            << (schedule.steps() == 0 ? "unlimited steps"
                                      : Plural(schedule.steps(), "step"))
            << " of " << first.batch_size << " x " << first.seq_len << ", "
            << Plural(schedule.stages().size(), "stage") << ", "
            << Plural(config.sources().size(), "source") << "\n\n";
  Rows rows = {{"node", "kind", "items per epoch", "source"}};
  const DatasetTree tree(*config.dataset());
  SourceOfLeaf sources;
  for (size_t l = 0; l < tree.leaves().size(); ++l) {
    sources[tree.leaves()[l].node] = &config.sources()[l];
  }
  AddRows(sources, *config.dataset(), "data", 0, &rows);
  PrintTable(rows);
  PrintThresholds(config);
}

}  // namespace

CommandSpec ConfigSpec() {
  return {.name = "config",
          .brief = "check a configuration, explain its keys",
          .positionals = "[CONFIG]",
          .summary =
              "Checks the TOML file CONFIG as opening its loader would, stores "
              "included, and shows\nthe tree of datasets that it makes.",
          .options = {{"print", "",
                       "print the same run as TOML with everything stated"},
                      {"explain", "KEY", "say what a key of such a file means"},
                      {"json", "", "print JSON"}},
          .example = "poniente config --explain ramp_share"};
}

int RunConfig(const std::vector<std::string>& args) {
  const auto read = ReadCommandLine(ConfigSpec(), args);
  if (const int* code = std::get_if<int>(&read)) return *code;
  const Arguments* const arguments = &std::get<Arguments>(read);
  const bool as_json = arguments->Has("json");
  if (const auto key = arguments->Text("explain")) {
    if (!arguments->positionals().empty() || arguments->Has("print")) {
      return FailUsage(
          "config: --explain KEY cannot be combined with a CONFIG or --print");
    }
    return Explain(*key, as_json);
  }
  if (arguments->positionals().size() != 1) {
    return FailUsage("config: give one CONFIG; see `poniente config --help`");
  }
  const std::string& path = arguments->positionals()[0];
  const absl::StatusOr<Config> config = LoadConfig(path);
  if (!config.ok()) return FailConfig(config.status());
  const absl::Status opens = config->CheckLoader();
  if (!opens.ok()) {
    const bool has_place = absl::StartsWith(opens.message(), path + ":");
    return FailConfig(has_place ? opens : internal::Prepend(opens, path));
  }
  if (as_json) {
    PrintJson(ConfigToJson(*config));
  } else if (arguments->Has("print")) {
    std::cout << config->ToToml();
  } else {
    PrintTree(*config, path);
  }
  return kExitOk;
}

}  // namespace poniente::cli
