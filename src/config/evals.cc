// SPDX-License-Identifier: Apache-2.0
#include "config/evals.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/parse/node_parser.h"
#include "config/run_nodes.h"
#include "config/tree/hold_outs.h"
#include "dataset/joined_path.h"
#include "util/nearest_name.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// A source of the training run, with what the nodes above say of it.
struct TrainedSource {
  std::string path;
  const Node* node = nullptr;
  const NodePacking* packing = nullptr;
  const NodeHoldOut* hold_out = nullptr;
};

void CollectSources(const Node& node, TrainedSource above,
                    std::vector<TrainedSource>* sources) {
  if (node.pack_documents) above.packing = &*node.pack_documents;
  if (node.hold_out) above.hold_out = &*node.hold_out;
  above.node = &node;
  if (IsSource(node)) sources->push_back(above);
  const std::string path = above.path;
  for (const Node& child : node.children) {
    above.path = JoinedPath(path, child.name);
    CollectSources(child, above, sources);
  }
}

absl::Status AtEval(const RunEval& eval, const std::string& message) {
  return absl::InvalidArgumentError(
      absl::StrCat(ToString(eval.location), " ", message));
}

// What the source holds out, as a source.
Node HeldOutOf(const TrainedSource& source) {
  Node node;
  node.kind = source.node->kind;
  node.path = source.node->path;
  node.hub_name = source.node->hub_name;
  node.hub_config = source.node->hub_config;
  node.hub_split = source.node->hub_split;
  node.files = source.node->files;
  node.tokens = source.node->tokens;
  node.vocabulary = source.node->vocabulary;
  node.documents = source.node->documents;
  node.hold_out = *source.hold_out;
  node.hold_out->invert = !source.hold_out->invert;
  if (source.packing != nullptr && source.packing->is_packed) {
    node.pack_documents = *source.packing;
    node.pack_documents->options.index_file.clear();  // of other documents
  }
  node.location = source.node->location;
  return node;
}

absl::StatusOr<std::vector<TrainedSource>> SourcesMeant(const Run& run,
                                                        const RunEval& eval) {
  std::vector<TrainedSource> all;
  CollectSources(run.data, {}, &all);
  std::vector<TrainedSource> meant;
  if (eval.held_out->empty()) {
    std::copy_if(all.begin(), all.end(), std::back_inserter(meant),
                 [](const auto& source) { return source.hold_out != nullptr; });
    if (meant.empty()) {
      return AtEval(eval,
                    "reads what is held out, but no source states hold_out");
    }
    return meant;
  }
  for (const std::string& name : *eval.held_out) {
    const size_t before = meant.size();
    std::vector<std::string> paths;
    for (const TrainedSource& source : all) {
      paths.push_back(source.path);
      if (!IsAtOrBelow(source.path, name)) continue;
      if (source.hold_out == nullptr) {
        return AtEval(eval, absl::StrCat("reads what '", source.path,
                                         "' holds out, but it states no "
                                         "hold_out"));
      }
      meant.push_back(source);
    }
    if (meant.size() == before) {
      return AtEval(eval, absl::StrCat("names '", name,
                                       "' in held_out, which is no source",
                                       NearestOrAll(name, paths)));
    }
  }
  return meant;
}

absl::Status CheckWindowLength(const Run& run, const RunEval& eval,
                               const TrainedSource& source, uint32_t seq_len) {
  if (source.hold_out->windows == 0 || seq_len == WindowTokens(run)) {
    return absl::OkStatus();
  }
  return AtEval(eval, absl::StrCat("reads windows of ", seq_len,
                                   " tokens, but '", source.path,
                                   "' holds out windows of ", WindowTokens(run),
                                   ": state seq_len = ", WindowTokens(run)));
}

absl::StatusOr<std::vector<Node>> PartsOf(const Run& run, const RunEval& eval,
                                          uint32_t seq_len) {
  std::vector<Node> parts;
  if (!eval.held_out.has_value()) {
    parts.push_back(eval.data);
    parts.back().name = eval.name;
    parts.back().shuffle.reset();
    return parts;
  }
  PONIENTE_ASSIGN_OR_RETURN(const std::vector<TrainedSource> sources,
                            SourcesMeant(run, eval));
  std::vector<Node> unnamed;
  for (const TrainedSource& source : sources) {
    PONIENTE_RETURN_IF_ERROR(CheckWindowLength(run, eval, source, seq_len));
    Node part = HeldOutOf(source);
    // Two components may read one source.
    if (std::find(unnamed.begin(), unnamed.end(), part) != unnamed.end()) {
      continue;
    }
    unnamed.push_back(part);
    part.name =
        source.path.empty() ? NameFromPath(source.node->path) : source.path;
    if (part.name.empty()) part.name = eval.name;
    parts.push_back(std::move(part));
  }
  return parts;
}

// The paths of components that are never drawn.
void CollectUndrawn(const Node& node, const std::string& path,
                    const std::vector<RunStage>& stages,
                    std::vector<std::string>* paths) {
  for (const Node& child : node.children) {
    const std::string at = JoinedPath(path, child.name);
    if (node.kind == NodeKind::kMixture && !IsDrawn(node, child, stages)) {
      paths->push_back(at);
    } else {
      // Stages of the run are those of the root, whatever name it is used
      // under.
      CollectUndrawn(child, at,
                     node.kind == NodeKind::kUse ? stages : child.stages,
                     paths);
    }
  }
}

}  // namespace

absl::StatusOr<Run> EvalRunOf(const Run& run, const RunEval& eval) {
  Run made;
  made.seed = eval.seed;
  made.batch_size = eval.batch_size > 0 ? eval.batch_size : run.batch_size;
  made.seq_len = eval.seq_len > 0 ? eval.seq_len : run.seq_len;
  made.io = run.io;
  made.catalogs = run.catalogs;
  made.folder = run.folder;
  made.loader = run.loader;
  made.loader.last_batch = LastBatch::kKeep;
  made.loader.loss_weights.clear();
  made.loader.sharing.even_work = false;
  made.loader.report_every_steps = 0;
  made.location = eval.location;
  made.seq_len_location = eval.location;
  absl::StrAppend(&made.seq_len_location.key, ".seq_len");
  made.runtime_location = run.runtime_location;
  PONIENTE_ASSIGN_OR_RETURN(std::vector<Node> parts,
                            PartsOf(run, eval, made.seq_len));
  const bool is_shuffled = !eval.data.shuffle.has_value() ||
                           eval.data.shuffle->kind != ShuffleKind::kNone;
  Node& root = made.data;
  root.kind = is_shuffled ? NodeKind::kFlat : NodeKind::kConcat;
  if (!is_shuffled) root.shuffle = ShuffleOptions::None();
  for (Node& part : parts) root.children.push_back(std::move(part));
  if (eval.max_samples > 0) {
    root.take = eval.max_samples;
  } else if (eval.max_tokens > 0) {
    root.take = std::max<uint64_t>(1, eval.max_tokens / made.seq_len);
  }
  root.location = eval.location;
  return made;
}

absl::Status CheckEval(const RunEval& eval, const Config& opened) {
  const LengthState length = opened.dataset()->length_now();
  if (!length.is_final) {
    return AtEval(eval,
                  "reads a store that is still being written, so that its "
                  "samples are not known yet: evaluate on a complete one");
  }
  if (length.is_endless) {
    return AtEval(eval, "has no end: state take for its mixture");
  }
  if (length.readable == 0) {
    return AtEval(eval,
                  absl::StrCat("has no sample: what it reads is shorter than a "
                               "window of ",
                               opened.run().seq_len, " tokens"));
  }
  absl::Status status;
  ForEachSharedPair(opened.sources(), [&](size_t i, size_t j) {
    const ConfigSource& a = opened.sources()[i];
    const ConfigSource& b = opened.sources()[j];
    const SharedData shared = SharedBy(a, b);
    if (shared.count == 0 || !status.ok()) return;
    status =
        AtEval(eval, absl::StrCat("reads ", shared.count,
                                  shared.is_windows ? " windows" : " documents",
                                  " twice: they are in '", a.path, "' and in '",
                                  b.path, "'"));
  });
  return status;
}

std::vector<std::string> UndrawnPaths(const Run& run,
                                      std::span<const JournalEntry> journal) {
  std::vector<std::string> undrawn;
  CollectUndrawn(run.data, "", run.stages, &undrawn);
  if (undrawn.empty()) return undrawn;
  for (const JournalEntry& entry : journal) {
    for (const auto& [name, weight] : entry.change.weights) {
      if (weight > 0) std::erase(undrawn, JoinedPath(entry.change.path, name));
    }
  }
  return undrawn;
}

void WarnOfTrained(const std::vector<std::string>& undrawn,
                   const std::vector<ConfigSource>& trained,
                   const RunEval& eval, const std::vector<ConfigSource>& read,
                   std::vector<std::string>* warnings) {
  for (const ConfigSource& source : trained) {
    if (std::any_of(undrawn.begin(), undrawn.end(),
                    [&](const std::string& path) {
                      return IsAtOrBelow(source.path, path);
                    })) {
      continue;
    }
    uint64_t count = 0;
    bool is_windows = false;
    for (const ConfigSource& one : read) {
      const SharedData shared = SharedBy(source, one);
      count += shared.count;
      is_windows |= shared.is_windows;
    }
    if (count == 0) continue;
    warnings->push_back(absl::StrCat(
        ToString(eval.location), ": reads ", count,
        is_windows ? " windows" : " documents", " of '", source.location,
        "' that training source '", source.path,
        "' reads, too; hold them out (hold_out), or give the source weight 0"));
  }
}

std::vector<std::string> WarningsOfDrawn(const Config& config,
                                         const RunChange& change,
                                         std::vector<std::string>* undrawn) {
  std::vector<ConfigSource> drawn;
  for (const auto& [name, weight] : change.weights) {
    const std::string path = JoinedPath(change.path, name);
    if (weight <= 0 || std::erase(*undrawn, path) == 0) continue;
    std::copy_if(config.sources().begin(), config.sources().end(),
                 std::back_inserter(drawn), [&path](const auto& source) {
                   return IsAtOrBelow(source.path, path);
                 });
  }
  std::vector<std::string> warnings;
  if (drawn.empty()) return warnings;
  for (const RunEval& eval : config.run().evals) {
    const absl::StatusOr<Config> opened = config.Eval(eval.name);
    if (!opened.ok()) continue;
    WarnOfTrained(*undrawn, drawn, eval, opened->sources(), &warnings);
  }
  return warnings;
}

}  // namespace poniente::internal
