// SPDX-License-Identifier: Apache-2.0
#include "config/parse/run_parser.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/parse/budget_parser.h"
#include "config/parse/eval_parser.h"
#include "config/parse/flat_form_parser.h"
#include "config/parse/node_parser.h"
#include "config/parse/run_points.h"
#include "config/parse/runtime_parser.h"
#include "config/parse/stage_parser.h"
#include "config/parse/toml_reader.h"
#include "config/parse/weights_sum.h"
#include "config/run_nodes.h"
#include "index/max_samples.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kMaxBatch = uint64_t{1} << 32;

Node& MutableUsed(Node& node) {
  Node* used = &node;
  while (used->kind == NodeKind::kUse) used = &used->children[0];
  return *used;
}

// Components that neither state a weight nor have one from the stage that
// starts the run.
void CheckWeightsStated(const Node& node, ErrorList* errors) {
  for (const Node& child : node.children) {
    if (node.kind == NodeKind::kMixture && !child.weight.has_value()) {
      errors->Add(child.location, "needs a weight");
    }
    CheckWeightsStated(child, errors);
  }
}

// What [train] says of them holds where [data] says nothing.
void ParseSizes(TableReader& data, Run* run) {
  run->seed = data.Unsigned("seed", 0, kMaxInteger).value_or(run->seed);
  if (data.Has("total_tokens")) run->steps = 0;  // not what [train] says
  run->steps = data.Unsigned("steps", 1, kMaxSamples).value_or(run->steps);
  run->total_tokens = data.Amount("total_tokens", 1, kMaxInteger).value_or(0);
  if (data.Has("steps") && data.Has("total_tokens")) {
    data.Error("total_tokens", "cannot be combined with steps");
  }
  if (run->batch_size == 0 && !data.Has("batch_size")) {
    data.Error("batch_size", "is missing");
  }
  if (run->seq_len == 0 && !data.Has("seq_len")) {
    data.Error("seq_len", "is missing");
  }
  run->batch_size = data.Unsigned("batch_size", 1, kMaxBatch)
                        .value_or(std::max<uint64_t>(1, run->batch_size));
  run->seq_len =
      static_cast<uint32_t>(data.Unsigned("seq_len", 1, UINT32_MAX - 1)
                                .value_or(std::max<uint32_t>(1, run->seq_len)));
  run->seq_len_location = data.LocationOf("seq_len");
  run->max_seq_len = static_cast<uint32_t>(
      data.Unsigned("max_seq_len", 1, UINT32_MAX - 1).value_or(0));
  run->trim = data.Bool("trim").value_or(false);
  run->sample_overlap =
      static_cast<uint32_t>(data.Unsigned("sample_overlap", 0, 1).value_or(0));
  run->journal = data.String("journal").value_or("");
  run->journal_location = data.LocationOf("journal");
  if (data.Has("journal") && run->journal.empty()) {
    data.Error("journal", "must not be empty");
  }
  run->loader.last_batch =
      data.Choice("last_batch", {"keep", "drop"}) == size_t{1}
          ? LastBatch::kDrop
          : LastBatch::kKeep;
}

bool SizesChange(const Run& run) {
  return !run.batch_sizes.empty() || !run.seq_lens.empty() ||
         std::any_of(
             run.stages.begin(), run.stages.end(), [](const RunStage& stage) {
               return stage.batch_size.has_value() || stage.seq_len.has_value();
             });
}

bool HasShares(const std::vector<RunStage>& stages) {
  return std::any_of(stages.begin(), stages.end(), [](const RunStage& stage) {
    return IsShare(stage.start) || (stage.ramp && IsShare(*stage.ramp));
  });
}

bool HasNestedShares(const Node& node) {
  return HasShares(node.stages) ||
         std::any_of(node.children.begin(), node.children.end(),
                     HasNestedShares);
}

bool HasShares(const Run& run) {
  const auto is_share = [](const auto& change) {
    return IsShare(change.start);
  };
  return HasShares(run.stages) || HasNestedShares(run.data) ||
         std::any_of(run.batch_sizes.begin(), run.batch_sizes.end(),
                     is_share) ||
         std::any_of(run.seq_lens.begin(), run.seq_lens.end(), is_share);
}

void CheckLongest(TableReader& data, const Run& run) {
  const uint32_t longest = LongestSample(run);
  if (run.max_seq_len == 0 || longest <= run.max_seq_len) return;
  data.Error("max_seq_len",
             absl::StrCat("is ", run.max_seq_len, ", but samples of ", longest,
                          " tokens are asked for"));
}

// The places where only the run's own count can say where a nested stage
// starts: mixtures all the way down.
void CheckNestedStarts(const Node& node, const std::string& blocked_by,
                       ErrorList* errors) {
  std::string blocked = blocked_by;
  if (blocked.empty() && node.kind != NodeKind::kUse) {
    const bool is_open = node.kind == NodeKind::kMixture &&
                         node.mixture.stop_rule == StopRule::kRestart;
    if (!is_open) blocked = node.location.key;
  }
  if (blocked.empty() && (ChangesItems(node) || node.repeat)) {
    blocked = node.location.key;
  }
  for (const RunStage& stage : node.stages) {
    if (stage.start.unit == RunPoint::Unit::kSamples || blocked.empty()) {
      continue;
    }
    errors->Add(stage.location,
                absl::StrCat("cannot start at a step or token of the run: only "
                             "endless mixtures may lie above it, and ",
                             blocked, " is not one; state start_sample"));
  }
  for (const Node& child : node.children) {
    CheckNestedStarts(child, blocked, errors);
  }
}

void CheckRootLossWeight(const Node& root, ErrorList* errors) {
  for (const Node* node = &root; node->kind == NodeKind::kUse;) {
    node = &node->children[0];
    if (!node->loss_weight.has_value()) continue;
    errors->Add(node->location,
                "has a loss_weight, but the root uses it: there it would scale "
                "all losses alike; leave it out");
  }
}

bool ChangesSamples(const RunStage& stage) {
  return !stage.weights.empty() || !stage.thresholds.empty() ||
         stage.temperature.has_value() || stage.ramp.has_value() ||
         stage.seq_len.has_value();
}

// Stages and lengths of the run are those of the mixture, whose samples must
// be those of the run.
void CheckRootMixture(const Run& run, ErrorList* errors) {
  const bool changes =
      std::any_of(run.stages.begin(), run.stages.end(),
                  [](const RunStage& stage) {
                    return !IsStartOfRun(stage.start) && ChangesSamples(stage);
                  }) ||
      std::any_of(run.seq_lens.begin(), run.seq_lens.end(),
                  [](const SeqLenStage& change) {
                    return !IsStartOfRun(change.start);
                  });
  if (!changes || Used(run.data).kind != NodeKind::kMixture) return;
  for (const Node* node = &run.data;; node = &node->children[0]) {
    const bool moves = node->filter.has_value() || node->order.has_value() ||
                       (node->slice.has_value() && node->slice->begin > 0);
    if (moves) {
      errors->Add(node->location,
                  "has a filter, order or slice of the samples of a mixture, "
                  "whose stages and lengths are those of the run: they would "
                  "begin at other samples of the run than the schedule says; "
                  "state the filter, order or slice for the components of the "
                  "mixture, or leave the changes out");
    }
    if (node->kind != NodeKind::kUse) return;
  }
}

void ParseData(TableReader& data, Run* run,
               std::vector<std::string>* warnings) {
  run->location = data.location();
  ParseSizes(data, run);
  const std::optional<size_t> shares_of =
      data.Choice("shares_of", {"steps", "tokens"});
  const ShareOf share_of = !shares_of.has_value() ? ShareOf::kUnstated
                           : *shares_of == 0      ? ShareOf::kSteps
                                                  : ShareOf::kTokens;
  run->shares_of = share_of;
  run->budget = ParseBudget(data);
  NodeParser nodes(data.errors(), share_of);
  nodes.ParseDefinitions(data);
  if (IsFlatForm(data)) {
    ParseFlatForm(data, &nodes, run, warnings);
  } else {
    nodes.Parse(data, NodePosition::kRoot, &run->data,
                /*weights_follow=*/data.Has("stages"));
    CheckRootLossWeight(run->data, data.errors());
    Node& root = MutableUsed(run->data);
    const bool is_mixture = root.kind == NodeKind::kMixture;
    if (!root.stages.empty()) {
      data.Error("use",
                 "names a mixture with stages of its own, but at the root the "
                 "stages are those of the run; state them in data.stages");
    }
    if (!is_mixture) {
      run->data.mixture.group_items =
          data.Unsigned("group_items", 0, MixtureOptions::kMaxGroupItems)
              .value_or(0);
    }
    ParseRunStages(data, is_mixture ? &root : nullptr, share_of, run);
    if (is_mixture && data.Has("stages")) {
      CheckSomeWeight(root, {}, root.location, data.errors());
    }
  }
  ParseEvals(data, &nodes, &run->evals);
  ParseSizeLists(data, share_of, run);
  CheckLongest(data, *run);
  if (share_of == ShareOf::kUnstated && SizesChange(*run) && HasShares(*run)) {
    data.ErrorHere(
        "needs shares_of: shares of steps and of tokens differ where batch "
        "size or length changes");
  }
  CheckWeightsStated(run->data, data.errors());
  for (const RunEval& eval : run->evals) {
    CheckWeightsStated(eval.data, data.errors());
  }
  CheckNestedStarts(run->data, "", data.errors());
  for (const RunEval& eval : run->evals) {
    CheckNestedStarts(eval.data, eval.location.key, data.errors());
  }
  CheckBudgetNodes(*run, data.errors());
  CheckRootMixture(*run, data.errors());
  data.Finish();
  CheckWeightsSums(*run, data.errors());
}

// Returns the place behind the string of TOML that begins at `begin`. A string
// of one line that is not closed ends with its line.
size_t EndOfString(std::string_view text, size_t begin) {
  const char quote = text[begin];
  const bool has_lines = text.substr(begin).starts_with(std::string(3, quote));
  size_t i = begin + (has_lines ? 3 : 1);
  while (i < text.size()) {
    if (quote == '"' && text[i] == '\\') {
      i += 2;
    } else if (!has_lines && (text[i] == quote || text[i] == '\n')) {
      return text[i] == quote ? i + 1 : i;
    } else if (text[i] == quote) {
      // Up to two quotes of the string lie in front of those that close it.
      const size_t quotes =
          std::min(text.find_first_not_of(quote, i), text.size()) - i;
      if (quotes >= 3) return i + std::min<size_t>(quotes, 5);
      i += quotes;
    } else {
      ++i;
    }
  }
  return text.size();
}

// toml++ takes a key of any number of parts, one level of its recursion each.
absl::Status CheckDottedKeys(std::string_view text, const std::string& file) {
  int64_t line = 1;
  int dots = 0;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    size_t next = i + 1;
    if (c == '"' || c == '\'') next = EndOfString(text, i);
    if (c == '#') next = std::min(text.find('\n', i), text.size());
    if (c == '.') ++dots;
    if (std::string_view("=,{}[]\n").find(c) != std::string_view::npos) {
      dots = 0;
    }
    if (dots > NodeParser::kDeepest) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, ":", line, ":1: a key of more than ",
                       NodeParser::kDeepest, " parts is nested too deep"));
    }
    const std::string_view passed = text.substr(i, next - i);
    line += std::count(passed.begin(), passed.end(), '\n');
    i = next;
  }
  return absl::OkStatus();
}

absl::Status SyntaxError(const toml::parse_error& error,
                         const std::string& file) {
  const toml::source_position at = error.source().begin;
  const std::string place =
      file.empty() ? "the run cannot be stated in TOML"
                   : absl::StrCat(file, ":", at.line, ":", at.column);
  return absl::InvalidArgumentError(
      absl::StrCat(place, ": ", OneLine(error.description())));
}

absl::Status ParseToml(std::string_view text, const std::string& file,
                       toml::table* root) {
  PONIENTE_RETURN_IF_ERROR(CheckDottedKeys(text, file));
  try {
    *root = toml::parse(text, std::string_view(file));
  } catch (const toml::parse_error& error) {
    return SyntaxError(error, file);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Node> ParseComponentText(std::string_view text, WeightRule rule,
                                        ShareOf share_of) {
  toml::table root;
  PONIENTE_RETURN_IF_ERROR(ParseToml(text, "", &root));
  ErrorList errors;
  SourceLocation location;
  location.key = "data.mixture";
  TableReader named(root, location, &errors);
  Run run;
  Node& mixture = run.data;
  mixture.kind = NodeKind::kMixture;
  mixture.mixture.weight_rule = rule;
  NodeParser(&errors, share_of).ParseChildren(named, 0, &mixture);
  CheckWeightsStated(mixture, &errors);
  CheckNestedStarts(mixture, "", &errors);
  CheckWeightsSums(run, &errors);
  if (!errors.empty()) return errors.ToStatus();
  return std::move(mixture.children[0]);
}

absl::StatusOr<ParsedRun> ParseRunText(std::string_view text,
                                       const std::string& file) {
  toml::table root;
  PONIENTE_RETURN_IF_ERROR(ParseToml(text, file, &root));
  ErrorList errors;
  ParsedRun parsed;
  Run& run = parsed.run;
  SourceLocation location;
  location.file = file;
  location.line = 1;
  location.column = 1;
  TableReader top(root, location, &errors, {KeyTable::kTop});
  bool is_flat_form = false;
  if (const toml::table* data = top.Table("data")) {
    TableReader reader(*data, top.LocationOf("data"), &errors,
                       {KeyTable::kData, KeyTable::kNode, KeyTable::kFlatForm});
    is_flat_form = IsFlatForm(reader);
    if (is_flat_form) ParseTrainer(root, top, &run, &parsed.warnings);
    ParseData(reader, &run, &parsed.warnings);
  } else if (!top.Has("data")) {
    top.Error("data", "is missing: a [data] table says what to read");
  }
  if (const toml::table* runtime = top.Table("runtime")) {
    TableReader reader(*runtime, top.LocationOf("runtime"), &errors,
                       {KeyTable::kRuntime});
    run.runtime_location = reader.location();
    ParseRuntime(reader, &run);
  }
  // Other tables of that form are the trainer's.
  if (!is_flat_form) top.Finish();
  if (!errors.empty()) return errors.ToStatus();
  run.data.children.allow_sharing();
  for (RunEval& eval : run.evals) eval.data.children.allow_sharing();
  return parsed;
}

}  // namespace poniente::internal
