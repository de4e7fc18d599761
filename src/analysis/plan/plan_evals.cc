// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/plan_evals.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "config/tree/hold_outs.h"
#include "poniente/dataset_tree.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Compares the documents that were chosen, not the rules that chose them.
void Prove(const Config& config, const std::unordered_set<std::string>& undrawn,
           const ConfigSource& read, PlannedEvalSource* source) {
  for (const ConfigSource& trained : config.sources()) {
    const SharedData shared = SharedBy(trained, read);
    if (!shared.shares_store) continue;
    source->is_windows |= shared.is_windows;
    if (undrawn.contains(trained.path)) {
      source->undrawn_sources.push_back(trained.path);
      continue;
    }
    ++source->compared_sources;
    source->trained += shared.count;
  }
}

}  // namespace

absl::Status PlanEvals(const Config& config, PlannedRun* plan) {
  std::unordered_set<std::string> undrawn;
  for (const PlannedRunSource& source : plan->sources) {
    if (source.is_leaf && source.total_samples() == 0) {
      undrawn.insert(source.path);
    }
  }
  for (const RunEval& eval : config.run().evals) {
    PONIENTE_ASSIGN_OR_RETURN(const Config opened, config.Eval(eval.name));
    PlannedEval planned;
    planned.name = eval.name;
    planned.samples = opened.dataset()->length_now().readable;
    planned.batch_size = opened.run().batch_size;
    planned.seq_len = opened.run().seq_len;
    planned.batches = (planned.samples - 1) / planned.batch_size + 1;
    planned.tokens = planned.samples * planned.seq_len;
    planned.every_steps = eval.every_steps;
    if (eval.every_steps > 0) planned.times = plan->steps / eval.every_steps;
    const DatasetTree tree(*opened.dataset());
    for (size_t i = 0; i < opened.sources().size(); ++i) {
      const ConfigSource& read = opened.sources()[i];
      PlannedEvalSource& source = planned.sources.emplace_back();
      source.path = read.path;
      source.location = read.location;
      source.is_held_out = read.hold_out.has_value() && read.hold_out->invert;
      source.windows = read.windows != nullptr
                           ? read.windows->count()
                           : tree.leaves()[i].node->length_now().readable;
      if (read.data != nullptr && read.data->num_documents() > 0) {
        source.of_documents = read.data->num_documents();
        source.documents = read.documents != nullptr ? read.documents->count()
                                                     : source.of_documents;
      }
      Prove(config, undrawn, read, &source);
    }
    plan->evals.push_back(std::move(planned));
  }
  return absl::OkStatus();
}

}  // namespace poniente::internal
