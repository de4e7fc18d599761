// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/plan_evals.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "config/tree/hold_outs.h"
#include "poniente/dataset_tree.h"
#include "poniente/token_source.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Marks the windows that both sources read. REQUIRES: both choose windows.
void MarkWindows(const ConfigSource& trained, const ConfigSource& read,
                 std::vector<bool>* marks) {
  const uint64_t windows =
      std::min(trained.windows->size(), read.windows->size());
  marks->resize(read.windows->size());
  for (uint64_t w = 0; w < windows; ++w) {
    if (trained.windows->Contains(w) && read.windows->Contains(w)) {
      (*marks)[w] = true;
    }
  }
}

// Marks the documents that both sources read, by their numbers in `read`. Where
// documents are not known, all are one. REQUIRES: both sources have data.
void MarkDocuments(const ConfigSource& trained, const ConfigSource& read,
                   std::vector<bool>* marks) {
  marks->resize(std::max<uint64_t>(1, read.data->num_documents()));
  if (read.data->num_documents() == 0) (*marks)[0] = true;
  for (const StorePart& theirs : StoresOf(*trained.data)) {
    for (const StorePart& own : StoresOf(*read.data)) {
      if (theirs.fingerprint != own.fingerprint) continue;
      for (uint64_t d = 0; d < own.documents; ++d) {
        if (ReadsDocument(trained, theirs.first_document + d) &&
            ReadsDocument(read, own.first_document + d)) {
          (*marks)[own.first_document + d] = true;
        }
      }
    }
  }
}

// Compares the documents that were chosen, not the rules that chose them.
// Several training sources may read the same document, which counts once.
void Prove(const Config& config, const std::unordered_set<std::string>& undrawn,
           const ConfigSource& read, PlannedEvalSource* source) {
  std::vector<bool> windows;
  std::vector<bool> documents;
  for (const ConfigSource& trained : config.sources()) {
    const SharedData shared = SharedBy(trained, read);
    if (!shared.shares_store) continue;
    source->is_windows |= shared.is_windows;
    if (undrawn.contains(trained.path)) {
      source->undrawn_sources.push_back(trained.path);
      continue;
    }
    ++source->compared_sources;
    if (shared.count == 0) continue;
    if (shared.is_windows) {
      MarkWindows(trained, read, &windows);
    } else {
      MarkDocuments(trained, read, &documents);
    }
  }
  for (const std::vector<bool>* marks : {&windows, &documents}) {
    source->trained +=
        static_cast<uint64_t>(std::count(marks->begin(), marks->end(), true));
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
