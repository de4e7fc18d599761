// SPDX-License-Identifier: Apache-2.0
#include "config/parse/eval_parser.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "index/max_samples.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kMaxEvalBatch = uint64_t{1} << 32;

std::optional<std::vector<std::string>> ParseHeldOut(TableReader& table) {
  if (!table.Has("held_out")) return std::nullopt;
  if (!table.IsArray("held_out")) {
    if (table.Bool("held_out") == false) {
      table.Error("held_out",
                  "must be true, for all sources that hold something out, or "
                  "an array of their paths");
    }
    return std::vector<std::string>();
  }
  std::vector<std::string> paths = table.Strings("held_out");
  if (paths.empty()) {
    table.Error("held_out", "names no source; true stands for all");
  }
  return paths;
}

// Its order is fixed, and is not that of a node.
void CheckEvalOrder(TableReader& table, const RunEval& eval) {
  if (!eval.data.shuffle.has_value() ||
      eval.data.shuffle->kind == ShuffleKind::kNone ||
      eval.data.shuffle->kind == ShuffleKind::kFull) {
    return;
  }
  table.Error(table.Has("era_shuffle") ? "era_shuffle" : "block_shuffle",
              "is not allowed here: the samples of an evaluation are shuffled "
              "as a whole, or stay as they are with shuffle = false");
}

void ParseEval(TableReader& table, NodeParser* nodes, RunEval* eval) {
  eval->location = table.location();
  eval->held_out = ParseHeldOut(table);
  eval->batch_size = table.Unsigned("batch_size", 1, kMaxEvalBatch).value_or(0);
  eval->seq_len = static_cast<uint32_t>(
      table.Unsigned("seq_len", 1, UINT32_MAX - 1).value_or(0));
  eval->max_samples = table.Unsigned("max_samples", 1, kMaxSamples).value_or(0);
  eval->max_tokens = table.Amount("max_tokens", 1, kMaxInteger).value_or(0);
  if (table.Has("max_samples") && table.Has("max_tokens")) {
    table.Error("max_tokens", "cannot be combined with max_samples");
  }
  eval->every_steps = table.Unsigned("every_steps", 1, kMaxSamples).value_or(0);
  eval->seed = table.Unsigned("seed", 0, kMaxInteger).value_or(0);
  if (!eval->held_out.has_value()) {
    nodes->Parse(table, NodePosition::kRoot, &eval->data,
                 /*weights_follow=*/false);
    CheckEvalOrder(table, *eval);
  }
  table.Finish();
}

}  // namespace

void ParseEvals(TableReader& data, NodeParser* nodes,
                std::vector<RunEval>* evals) {
  const toml::table* const stated = data.Table("eval");
  if (stated == nullptr) return;
  TableReader named(*stated, data.LocationOf("eval"), data.errors());
  for (const std::string& name : named.KeysInOrder()) {
    const toml::table* const table = named.Table(name);
    if (table == nullptr) continue;
    RunEval& eval = evals->emplace_back();
    eval.name = name;
    if (name.empty()) named.Error(name, "must have a name");
    TableReader reader(*table, named.LocationOf(name), data.errors(),
                       {KeyTable::kEval, KeyTable::kNode});
    ParseEval(reader, nodes, &eval);
  }
}

}  // namespace poniente::internal
